"""Uncertainty: the local noise, and intervals calibrated by residuals of points left out.

The residual of a left-out point has variance noise^2 (1 + v), with v the variance factor of the fit without
it, so its square over 1 + v tells of the noise alone. Residuals divided by what was expected of them are
scores; the share of scores below a multiplier is the coverage that the multiplier gives (conformal
prediction by leaving one out).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._core import Neighborhoods
from localegop._data.units import ROUNDING
from localegop._engine.centers import Centers, Widths
from localegop._engine.gradient_field import FEWEST_GRADIENTS, GradientField

Array = NDArray[np.float64]

# Effective number of residuals that the noise of a place is averaged over: enough to know it to 15 %, few
# enough to follow noise that changes along the data.
SURROUNDINGS_SIZE = 100.0
QUERY_HELD_OUT = 300  # points that the query strategy calibrates with


@dataclass(frozen=True)
class Calibration:
    """How far residuals go beyond the expected.

    Parameters
    ----------
    scores : ndarray of shape (m, K)
        Sizes of residuals over their expected standard deviation, rising.
    weight_below : ndarray of shape (m, K)
        Sum of the weights up to each of them.
    """

    scores: Array
    weight_below: Array

    @classmethod
    def from_residuals(cls, residuals: Array, expected: Array, sample_weight: Array) -> Calibration:
        """Sort the scores of residuals (m, K) of weights (m,)."""
        return cls.from_scores(score_residuals(residuals, expected), sample_weight)

    @classmethod
    def from_scores(cls, scores: Array, sample_weight: Array) -> Calibration:
        """Sort scores (m, K) of weights (m,)."""
        order = np.argsort(scores, axis=0, kind="stable")
        return cls(np.take_along_axis(scores, order, axis=0), np.cumsum(sample_weight[order], axis=0))

    def multipliers(self, coverage: Array) -> Array:
        """Factors (k, K) of the expected deviation that reach each coverage; infinite with too few data.

        A new point counts like one row more: the quantile is that of m + 1 scores.
        """
        factors = np.full((len(coverage), self.scores.shape[1]), np.inf)
        for k, (scores, below) in enumerate(zip(self.scores.T, self.weight_below.T, strict=True)):
            at = np.searchsorted(below, needed_weight(coverage, float(below[-1])))
            enough = at < len(scores)
            factors[enough, k] = scores[at[enough]]
        return factors


def score_residuals(residuals: Array, expected: Array) -> Array:
    """Sizes of residuals over what was expected of them."""
    scores: Array = np.abs(residuals) / expected
    return scores


def needed_weight(coverage: Array, total: float) -> Array:
    """Sum of weights, of such a total, that scores must reach for each coverage."""
    needed: Array = coverage * (total + 1.0) * (1.0 - 1e-12)  # rounding in the sums must not cost a row
    return needed


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
