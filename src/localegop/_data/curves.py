"""Curves: increasing maps that take skew and far values out of single features.

With u = (x - middle) / spread and the skew g of a feature, v = log(1 + g u) / g is symmetric about 0; for a
lognormal feature of any shift and unit, v is normal. Where the logarithm would fall too steeply it is
continued by its tangent. In features with values far out, what lies beyond v = 3 is drawn in to less than
3.5, so that one such value decides neither about the units of all nor, by an extrapolation, about errors.
Both joints are smooth: every curve has a continuous, positive slope, and is finite at any x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

Array = NDArray[np.float64]

REACH = 3.0  # v at which far values begin, and the tangent of the logarithm
TAIL = 0.5  # width of the range that far values are drawn into
FARTHEST = 1e150  # u beyond which all is alike
FLATTEST = 1e-16  # least slope by u: lengths are divided by slopes, and must stay finite
MOST_SKEWED = 4.0


@dataclass(frozen=True)
class Curves:
    """One curve for each feature; a feature of spread 0 has none and stays as it is.

    Parameters
    ----------
    middle, spread, skew : ndarray of shape (D,)
        Median, and standard deviation and skew as quantiles tell them. What a curve gives has middle 0 and
        spread 1. The skew of exp(g z), with normal z, is g.
    drawn_in : ndarray of shape (D,)
        1.0 where far values are drawn in, else 0.0.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._data.curves import Curves
    >>> lognormal = Curves(np.ones(1), np.full(1, 2.0), np.full(1, 2.0), np.zeros(1))  # 1 + g u is x
    >>> lognormal(np.exp([[-2.0], [0.0], [4.0]])).ravel().tolist()
    [-1.0, 0.0, 2.0]
    """

    middle: Array
    spread: Array
    skew: Array
    drawn_in: Array

    @property
    def curved(self) -> NDArray[np.bool_]:
        """Which features have a curve."""
        return np.asarray(self.spread > 0.0)

    def __call__(self, X: Array) -> Array:
        """Features (n, D) on their curves, row by row the same for any number of rows."""
        bent, _, beyond = self._bend(X)
        near = np.where(beyond > 0.0, REACH, np.abs(bent))
        return np.where(self.curved, np.sign(bent) * (near + beyond / (1.0 + beyond / TAIL)), X)

    def slopes(self, X: Array) -> Array:
        """Return the derivatives (n, D) of the curves at X; far out they do not fall to 0."""
        _, bending, beyond = self._bend(X)
        drawing = 1.0 + beyond / TAIL
        slopes = np.maximum(bending / drawing / drawing, FLATTEST) / self._divisor
        return np.where(self.curved, slopes, 1.0)

    def without_skew(self, X: Array) -> Array:
        """Return v (n, D), before far values are drawn in."""
        return self._bend(X)[0]

    def draw_out(self, curved: Array) -> Array:
        """Take features (n, D) on their curves to what they were before far values were drawn in."""
        beyond = np.where(self.drawn_in > 0.0, np.maximum(np.abs(curved) - REACH, 0.0), 0.0)
        left = np.maximum(1.0 - beyond / TAIL, 1.0 / FARTHEST)
        return np.where(beyond > 0.0, np.sign(curved) * (REACH + beyond / left), curved)

    def inverse(self, curved: Array) -> Array:
        """Take features (n, D) on their curves to what they were before all of it."""
        bent = self.draw_out(curved)
        skewed = self.skew != 0.0
        skew = np.where(skewed, self.skew, 1.0)
        bottom = -np.abs(skew) * REACH
        logarithm = np.minimum(bent * skew, np.log(FARTHEST))
        argument = np.exp(np.maximum(logarithm, bottom)) + np.exp(bottom) * np.minimum(
            logarithm - bottom, 0.0
        )
        u = np.where(skewed, (argument - 1.0) / skew, bent)
        return np.where(self.curved, self.middle + u * self._divisor, curved)

    @property
    def _divisor(self) -> Array:
        return np.where(self.curved, self.spread, 1.0)

    def _bend(self, X: Array) -> tuple[Array, Array, Array]:
        """Return v, its derivative by u, and how far v is beyond the begin of what is drawn in."""
        farthest = FARTHEST * self._divisor
        u = np.clip(X - self.middle, -farthest, farthest) / self._divisor
        skewed = self.skew != 0.0
        skew = np.where(skewed, self.skew, 1.0)
        lowest = np.exp(-np.abs(skew) * REACH)  # of 1 + g u, below which the tangent goes on
        argument = 1.0 + skew * u
        inside = np.maximum(argument, lowest)
        # scipy's logarithm, element by element: NumPy's may round differently for other numbers of rows
        logarithm = xlogy(1.0, inside) + (argument - inside) / lowest
        bent = np.where(skewed, logarithm / skew, u)
        beyond = np.where(self.drawn_in > 0.0, np.maximum(np.abs(bent) - REACH, 0.0), 0.0)
        return bent, np.where(skewed, 1.0 / inside, 1.0), beyond
