"""Curves: increasing maps that take skew and far tails out of single features.

With u = (x - middle) / spread and the skew g of a feature, v = log(1 + g u) / g is symmetric if x is; for
a lognormal feature of any shift and unit, v is normal. Where the logarithm would fall too steeply it is
continued by its tangent. What lies beyond v = 3 is drawn in by another logarithm, so that one value far out
does not decide about the units of all. Both joints are smooth: every curve has a continuous, positive
slope, and is finite at any x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

REACH = 3.0  # standard deviations from the middle at which tails begin
MOST_SKEWED = 3.0  # skew: the slopes of a curve differ by a factor exp(18) at most within the reach
FARTHEST = 1e150  # in spreads from the middle: what is farther is taken for this far


@dataclass(frozen=True)
class Curves:
    """One curve for each feature; a feature of spread 0 has none and stays as it is.

    Parameters
    ----------
    middle, spread, skew : ndarray of shape (D,)
        Median, and standard deviation and skew as quantiles tell them. What a curve gives has middle 0 and
        spread 1.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._data.curves import Curves
    >>> lognormal = Curves(np.ones(1), np.full(1, 2.0), np.full(1, 2.0))  # 1 + g u is x itself
    >>> lognormal(np.exp([[-2.0], [0.0], [4.0]])).ravel().tolist()
    [-1.0, 0.0, 2.0]
    """

    middle: Array
    spread: Array
    skew: Array

    @property
    def curved(self) -> NDArray[np.bool_]:
        """Which features have a curve."""
        return np.asarray(self.spread > 0.0)

    def __call__(self, X: Array) -> Array:
        """Features (n, D) on their curves, row by row the same for any number of rows."""
        bent, _, beyond = self._bend(X)
        drawn_in = np.sign(bent) * (np.minimum(np.abs(bent), REACH) + special.log1p(beyond))
        return np.where(self.curved, drawn_in, X)

    def slopes(self, X: Array) -> Array:
        """Return the derivatives (n, D) of the curves at X."""
        _, bending, beyond = self._bend(X)
        spread = np.where(self.curved, self.spread, 1.0)
        return np.where(self.curved, bending / (1.0 + beyond) / spread, 1.0)

    def _bend(self, X: Array) -> tuple[Array, Array, Array]:
        """Return v, its derivative by u, and how far v is beyond the tails' beginning."""
        spread = np.where(self.curved, self.spread, 1.0)
        farthest = FARTHEST * spread
        u = np.clip(X - self.middle, -farthest, farthest) / spread
        skewed = self.skew != 0.0
        skew = np.where(skewed, self.skew, 1.0)
        lowest = np.exp(-np.abs(skew) * REACH)  # of 1 + g u, below which the tangent goes on
        argument = 1.0 + skew * u
        inside = np.maximum(argument, lowest)
        # scipy's logarithm, element by element: NumPy's may round differently for other numbers of rows
        logarithm = special.xlogy(1.0, inside) + (argument - inside) / lowest
        bent = np.where(skewed, logarithm / skew, u)
        return bent, np.where(skewed, 1.0 / inside, 1.0), np.maximum(np.abs(bent) - REACH, 0.0)
