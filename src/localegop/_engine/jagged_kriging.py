"""A process of all rows for functions that are smooth in part, and in part jump or bend at single values.

Tables are often like that: strength against age has a knee, a level matters only from some value on, a
feature takes few values. A Gaussian covariance has to become short everywhere to follow. Here a second
covariance is added to it, exp(-sum_r |z_r - z'_r| / l_r): that of functions which jump a little at many
values of single features, as the mean of many random trees does. Both have a length for each feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._data.sums import measure_extent
from localegop._engine.global_kriging import GlobalKriging, Near, SolvedProcess, lower_covariances

Array = NDArray[np.float64]

WINDOW = 0.25  # standard deviations to both sides of a row over which slopes are averaged


@dataclass(frozen=True)
class JaggedKriging(GlobalKriging):
    """A Gaussian process of all rows whose covariance is a Gaussian and one of jagged functions.

    Parameters
    ----------
    length, ridge, rough
        See :class:`GlobalKriging`; it is not rough otherwise.
    jagged : float
        Variance of the jagged part, over that of the smooth one.
    inverse_lengths : tuple of float
        For each axis, one over the length of the jagged part there, in units of ``length``.
    """

    kind: ClassVar[str] = "jagged"

    jagged: float = 0.0
    inverse_lengths: tuple[float, ...] = ()

    def lower_covariances(self, rows: Array, out: Array | None = None) -> Array:
        """See :class:`GlobalKriging`."""
        found = lower_covariances(self, rows, out)
        jagged, scaled = np.zeros_like(found), self.in_lengths(rows)
        _core.city_block(scaled, scaled, jagged, True, 1)
        jagged *= self.jagged
        found += jagged
        return found

    def in_lengths(self, rows: Array) -> Array:
        """Rows (n, D) in units of the lengths of the jagged part."""
        return np.ascontiguousarray(rows * self.per_unit)

    @property
    def per_unit(self) -> Array:
        """One over the lengths (D,) of the jagged part."""
        return np.array(self.inverse_lengths) / self.length


class SolvedJagged(SolvedProcess):
    """A jagged process, solved for the labels of all rows."""

    process: JaggedKriging

    def _near_labels(self, queries: Array) -> Near:
        return NearJagged(self.process, queries, self.rows)

    def _near_own(self, own: NDArray[np.int64]) -> Near:
        """See :class:`SolvedProcess`. Slopes are averaged: that at a row says little of f around it."""
        return NearJagged(self.process, self.rows[own], self.rows, self._window)

    @cached_property
    def _window(self) -> Array:
        """Half the width (D,) of what slopes at rows are averaged over."""
        window: Array = WINDOW * measure_extent(self.rows, self.sample_weight).std
        return window


class NearJagged(Near):
    """The same with a jagged part; ``kernel`` and ``squared`` are those of the smooth one.

    Slopes of the jagged part are averaged over a ``window`` (D,) on both sides; None for the slope itself.
    """

    process: JaggedKriging

    def __init__(
        self, process: JaggedKriging, centers: Array, rows: Array, window: Array | None = None
    ) -> None:
        super().__init__(process, centers, rows)
        self.window = np.zeros(centers.shape[1]) if window is None else window
        self.jagged = np.empty_like(self.kernel)
        _core.city_block(process.in_lengths(rows), process.in_lengths(self.centers), self.jagged, False, 1)
        self.jagged *= process.jagged
        self.covariance += self.jagged

    @property
    def closeness(self) -> Array:
        """See :class:`Near`."""
        both: Array = (self.kernel + self.jagged) / (1.0 + self.process.jagged)
        return both

    def slopes(self, dual: Array) -> Array:
        """See :class:`Near`."""
        gradient = super().slopes(dual)
        for k in range(dual.shape[1]):
            gradient[:, k] += self._jagged_slopes(dual[:, k] * self.jagged)
        return gradient

    def slopes_of_each(self, duals: Array) -> Array:
        """See :class:`Near`."""
        jagged = self._jagged_slopes(duals * self.jagged)
        return super().slopes_of_each(duals) + jagged

    def _jagged_slopes(self, pulls: Array) -> Array:
        """Gradients (q, D) of the jagged part, from coefficients times its covariances (q, n).

        At the value of a row, where the function bends, it is the mean of the slopes on both sides.
        """
        found = np.empty_like(self.centers)
        for r in range(self.centers.shape[1]):
            away = self.centers[:, r, None] - self.rows[:, r]
            within = self.window[r] > 0.0
            side = np.clip(away / self.window[r], -1.0, 1.0) if within else np.sign(away)
            found[:, r] = np.einsum("qn,qn->q", pulls, side, optimize=False)
        gradient: Array = -self.process.per_unit * found
        return gradient
