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

Array = NDArray[np.float64]

# Effective number of residuals that the noise of a place is averaged over: enough to know it to 15 %, few
# enough to follow noise that changes along the data.
SURROUNDINGS = 100.0
QUERY_HELD_OUT = 300  # points that the query strategy calibrates with
EXACT = 1e-12  # residuals below this share of the labels' standard deviation are rounding


@dataclass(frozen=True)
class Calibration:
    """How far residuals go beyond the expected.

    Parameters
    ----------
    scores : ndarray of shape (m, K)
        Sizes of residuals over their expected standard deviation, rising.
    share : ndarray of shape (m, K)
        Sum of the weights up to each of them.
    """

    scores: Array
    share: Array

    @classmethod
    def from_residuals(cls, residuals: Array, expected: Array, share: Array) -> Calibration:
        """Sort the scores of residuals (m, K) of weights ``share`` (m,)."""
        return cls.from_scores(scores_of(residuals, expected), share)

    @classmethod
    def from_scores(cls, scores: Array, share: Array) -> Calibration:
        """Sort scores (m, K) of weights ``share`` (m,)."""
        order = np.argsort(scores, axis=0, kind="stable")
        return cls(np.take_along_axis(scores, order, axis=0), np.cumsum(share[order], axis=0))

    def multipliers(self, coverage: Array) -> Array:
        """Factors (k, K) of the expected deviation that reach each coverage; infinite with too few data.

        A new point counts like one row more: the quantile is that of m + 1 scores.
        """
        factors = np.full((len(coverage), self.scores.shape[1]), np.inf)
        for k, (scores, share) in enumerate(zip(self.scores.T, self.share.T, strict=True)):
            at = np.searchsorted(share, needed_share(coverage, float(share[-1])))
            enough = at < len(scores)
            factors[enough, k] = scores[at[enough]]
        return factors


def scores_of(residuals: Array, expected: Array) -> Array:
    """Sizes of residuals over what was expected of them."""
    scores: Array = np.abs(residuals) / expected
    return scores


def needed_share(coverage: Array, total: float) -> Array:
    """Sum of weights, of such a total, that scores must reach for each coverage."""
    needed: Array = coverage * (total + 1.0) * (1.0 - 1e-12)  # rounding in the sums must not cost a row
    return needed


def noise_variances(residuals: Array, variance_factor: Array) -> Array:
    """Squared residuals (m, K) of points left out, without the part that the fits' own variance adds."""
    corrected: Array = residuals**2 / (1.0 + variance_factor)[:, None]
    return corrected


def expected_deviation(noise: Array, variance_factor: Array) -> Array:
    """Deviation (m, K) of a new label from its prediction, positive also where all is exact.

    Labels and noise are in units of the labels' standard deviation.
    """
    spread = noise * np.sqrt(1.0 + variance_factor)[:, None]
    return np.maximum(spread, EXACT)


def checked_coverage(coverage: ArrayLike) -> Array:
    """Coverages as a vector, or an error that says what is allowed."""
    levels = np.asarray(coverage, dtype=float)
    if levels.ndim > 1 or levels.size == 0 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(
            f"coverage must be a number, or several in a row, strictly between 0 and 1, got {coverage!r}"
        )
    return np.atleast_1d(levels)
