"""Uncertainty: the local noise, what gaps add to it, and intervals calibrated by points left out.

The residual of a left-out point has variance noise^2 (1 + v), with v the variance factor of the fit without
it, so its square over 1 + v tells of the noise alone. Residuals divided by what was expected of them are
scores; the share of scores below a multiplier is the coverage that the multiplier gives (conformal
prediction by leaving one out). Where the rows are far, more is expected (:mod:`localegop._predict.gaps`),
and the multipliers are those of scores of points that were left out with a block around them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from localegop._core import Neighborhoods
from localegop._data.units import ROUNDING
from localegop._engine.centers import Centers, Widths
from localegop._engine.gradient_field import FEWEST_GRADIENTS, GradientField
from localegop._predict.coverage import needed_weight
from localegop._predict.decisions import LooDiagnostics

Array = NDArray[np.float64]

# Effective number of residuals that the noise of a place is averaged over: enough to know it to 15 %, few
# enough to follow noise that changes along the data.
SURROUNDINGS_SIZE = 100.0
PRIOR_BLOCKS = 5.0  # as many count as if errors around a query grew just as the law of gaps says
NEGLIGIBLE = 1e-6  # part of all weight up to which rows do not count
QUERY_HELD_OUT = 300  # points that the query strategy calibrates with


@dataclass(frozen=True)
class Calibration:
    """How far residuals go beyond the expected.

    Parameters
    ----------
    scores : ndarray of shape (m, K)
        Sizes of residuals of points left out alone over their expected standard deviation, rising.
    weight_below : ndarray of shape (m, K)
        Sum of the weights up to each of them.
    gap_scores, gap_weight_below : ndarrays of shape (b, K)
        The same of points left out with blocks around them, which weigh as much of their expected squared
        error as is due to the gap.
    """

    scores: Array
    weight_below: Array
    gap_scores: Array
    gap_weight_below: Array

    @classmethod
    def from_scores(
        cls, scores: Array, sample_weight: Array, gap_scores: Array, gap_weight: Array
    ) -> Calibration:
        """Sort scores (m, K) of weights (m,), and scores (b, K) of weights (b, K)."""
        weight = np.broadcast_to(sample_weight[:, None], scores.shape)
        return cls(*_sort_scores(scores, weight), *_sort_scores(gap_scores, gap_weight))

    @classmethod
    def without_blocks(cls, residuals: Array, expected: Array, sample_weight: Array) -> Calibration:
        """Sort the scores of residuals (m, K) of weights (m,), where no blocks were left out."""
        none = np.zeros((0, residuals.shape[1]))
        return cls.from_scores(score_residuals(residuals, expected), sample_weight, none, none)

    def widen(self, factor: float) -> Calibration:
        """Return the calibration of intervals that are so many times as wide."""
        return replace(self, scores=factor * self.scores, gap_scores=factor * self.gap_scores)

    def multipliers(self, coverage: Array) -> Array:
        """Factors (3, k, K) of what is expected that reach each coverage: near the rows, in gaps, beyond.

        A new point counts like one row more: the quantile is that of m + 1 scores. Factors are infinite
        with too few rows; with too few blocks those in gaps are the larger of those near the rows and the
        score of the worst block. No scores tell how far f goes beyond the data: as if that were normal.
        """
        near = _quantiles(self.scores, self.weight_below, coverage)
        gaps = _quantiles(self.gap_scores, self.gap_weight_below, coverage)
        worst = _worst_that_counts(self.gap_scores, self.gap_weight_below)
        gaps = np.where(np.isinf(gaps), np.maximum(near, worst), gaps)
        beyond = np.broadcast_to(ndtri(0.5 + 0.5 * coverage)[:, None], near.shape)
        return np.stack([near, *(np.where(np.isinf(near), np.inf, other) for other in (gaps, beyond))])


@dataclass(frozen=True)
class Diagnostics:
    """What the final fits at the anchors leave behind, and the calibration of intervals by them.

    ``loo`` is None with the query strategy, ``calibration`` where intervals are not asked for.
    """

    loo: LooDiagnostics | None
    calibration: Calibration | None


def _sort_scores(scores: Array, weight: Array) -> tuple[Array, Array]:
    """Scores (m, K), rising, and the sums of weights (m, K) up to each of them."""
    order = np.argsort(scores, axis=0, kind="stable")
    below = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    return np.take_along_axis(scores, order, axis=0), below


def _quantiles(scores: Array, weight_below: Array, coverage: Array) -> Array:
    """Scores (k, K) that reach each coverage; infinite if there are too few."""
    factors = np.full((len(coverage), scores.shape[1]), np.inf)
    if not len(scores):
        return factors
    for k, (rising, below) in enumerate(zip(scores.T, weight_below.T, strict=True)):
        at = np.searchsorted(below, needed_weight(coverage, float(below[-1])))
        enough = at < len(rising)
        factors[enough, k] = rising[at[enough]]
    return factors


def _worst_that_counts(scores: Array, weight_below: Array) -> Array:
    """Largest scores (K,) of rows that weigh more than next to nothing; 0 without any."""
    if not len(scores):
        return np.zeros(scores.shape[1])
    counts = weight_below < (1.0 - NEGLIGIBLE) * weight_below[-1]
    last = np.sum(counts, axis=0)[None]
    worst: Array = np.take_along_axis(scores, last, axis=0)[0]
    return worst


def score_residuals(residuals: Array, expected: Array) -> Array:
    """Sizes of residuals over what was expected of them."""
    scores: Array = np.abs(residuals) / expected
    return scores


def correct_noise(residuals: Array, variance_factor: Array) -> Array:
    """Squared residuals (m, K) of points left out, without the part that the fits' own variance adds."""
    corrected: Array = residuals**2 / (1.0 + variance_factor)[:, None]
    return corrected


def expect_deviation(noise: Array, variance_factor: Array) -> Array:
    """Deviation (m, K) of a new label from its prediction, positive also where all is exact.

    Labels and noise are in units of the labels' standard deviation.
    """
    std = noise * np.sqrt(1.0 + variance_factor)[:, None]
    return np.maximum(std, ROUNDING)


def expect_gap(
    loo: LooDiagnostics, near: Neighborhoods, spread: Array, factor: Array, threads: int
) -> Array:
    """Deviation (q, K) beyond the noise, where rows at such distances are used, in these surroundings."""
    squares = loo.gap_law(spread, factor) * gap_ratio(loo, near, threads)
    return np.sqrt(squares)


def gap_ratio(loo: LooDiagnostics, near: Neighborhoods, threads: int) -> Array:
    """Squared errors (q, K) beyond the noise in gaps of these surroundings, over those of the law."""
    size = near.effective_size[:, None]
    share, excess = (near.means(each, threads) * size for each in (loo.gap_share, loo.gap_excess))
    ratio: Array = (excess + PRIOR_BLOCKS) / (share + PRIOR_BLOCKS)
    return ratio


def interval_widths(noise: Array, gap: Array, drift: Array, multipliers: Array) -> Array:
    """Half widths (q, K, k) of intervals, from what is expected (q, K) of noise, gaps and drift.

    Multipliers (3, k, K) go from those near the rows to those in gaps with the gap's part of the squares.
    The last ones are those of the drift.
    """
    expected = np.hypot(noise, gap)
    near, gaps, beyond = multipliers.transpose(0, 2, 1)[:, None]
    with np.errstate(invalid="ignore"):  # infinite ones
        factor = np.where(np.isinf(near), np.inf, near + (gap / expected)[:, :, None] ** 2 * (gaps - near))
        moved = np.where(np.isinf(near), np.inf, drift[:, :, None] * beyond)
    widths: Array = np.hypot(expected[:, :, None] * factor, moved)
    return widths


def check_coverage(coverage: ArrayLike) -> Array:
    """Coverages as a vector, or an error that says what is allowed."""
    levels = np.asarray(coverage, dtype=float)
    if levels.ndim > 1 or levels.size == 0 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(
            f"coverage must be a number, or several in a row, strictly between 0 and 1, got {coverage!r}"
        )
    return np.atleast_1d(levels)


def surroundings(
    field: GradientField,
    rows: Array,
    shapes: Array,
    own: NDArray[np.int64] | None = None,
    size: float = SURROUNDINGS_SIZE,
) -> Neighborhoods:
    """Neighborhoods of so many anchors, to average over; for ``own`` see :meth:`GradientField.follow`."""
    anchors = field.anchors
    widths = Widths.of_sizes((min(size, anchors.largest_size),), len(rows))
    centers = Centers(rows, anchors.neighbor_lists(rows), own)
    return anchors.localize(centers, shapes, widths, keep=True).neighborhoods


def gradients_around(field: GradientField, rows: Array, shapes: Array) -> Neighborhoods:
    """Neighborhoods to average gradients over: as wide as if all points were anchors, if that is enough."""
    share = field.anchors.n / field.n
    size = SURROUNDINGS_SIZE if share == 1.0 else max(SURROUNDINGS_SIZE * share, FEWEST_GRADIENTS)
    return surroundings(field, rows, shapes, size=size)
