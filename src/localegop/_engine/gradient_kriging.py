"""Kriging by all rows at once, with given gradients as equations of their own.

The derivative of a Gaussian process is one, too, so that a slope of f along a direction is one more
observation, with covariances that are derivatives of those of the values. All slopes of n rows in D
dimensions would make n D equations; in axes that are sorted by how much f varies along them, those along
the leading few tell most. How far slopes are trusted is their noise, which is chosen as the ridge is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localegop._data.slopes import GivenSlopes, SlopeEquations
from localegop._engine.blas import limited_blas
from localegop._engine.global_kriging import (
    STRIP,
    TREND,
    GlobalFits,
    GlobalKriging,
    Near,
    SolvedProcess,
    covariances,
    effective_sizes,
    kernels,
    lower_covariances,
    no_fits,
)

Array = NDArray[np.float64]

MOST_EQUATIONS = 3000  # values and slopes together, for which solving takes about a second


@dataclass(frozen=True)
class GradientKriging(GlobalKriging):
    """A Gaussian process of all rows that knows slopes of f, too.

    Parameters
    ----------
    length, ridge, rough
        See :class:`GlobalKriging`; it cannot be rough, as rough processes have no slopes.
    n_slopes : int
        Number of leading directions, in the axes of the recursion, along which slopes count.
    slope_ridge : float
        Variance of the noise of slopes, times the squared length, over the variance of f.
    n_places : int
        Number of rows whose covariances are the functions that f is made of, see
        :mod:`localegop._engine.sparse_kriging`; 0 if each equation has its own.
    """

    kind: ClassVar[str] = "gradients"

    n_slopes: int = 1
    slope_ridge: float = 1e-2
    n_places: int = 0


@dataclass(frozen=True)
class Observed:
    """What is known of f, or asked: values at rows (n, D), then slopes at some of them."""

    rows: Array
    slopes: SlopeEquations

    def __len__(self) -> int:
        return len(self.rows) + len(self.slopes)

    @property
    def places(self) -> Array:
        """Where the slopes are (m, D)."""
        return self.rows[self.slopes.row]

    def only_slopes(self, first: int, last: int) -> Observed:
        """Take some of the slopes, and no values."""
        some = slice(first, last)
        own = SlopeEquations(np.arange(last - first), self.slopes.direction[some], self.slopes.slope[some])
        return Observed(self.places[some], own)


class SolvedWithSlopes(SolvedProcess):
    """A process solved for the labels of all rows and slopes there: N = n + m equations.

    Slopes are multiplied by the length of the process, so that they have the units of labels. A row that is
    left out takes its slopes with it, and all of its weight.
    """

    process: GradientKriging

    def __init__(
        self,
        process: GradientKriging,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        slopes: GivenSlopes,
    ) -> None:
        with limited_blas(1, 1):
            self.slopes = slopes.equations(process.n_slopes)
        super().__init__(process, rows, labels, sample_weight)

    def _targets(self, labels: Array) -> Array:
        return np.concatenate([labels, self.process.length * self.slopes.slope])

    def _noise(self, ridge: float) -> Array:
        added = ridge - self.process.ridge  # because of rounding
        of_slopes = (self.process.slope_ridge + added) / self.sample_weight[self.slopes.row]
        return np.concatenate([ridge / self.sample_weight, of_slopes])

    def _covariances(self) -> Array:
        n, count, known = len(self.rows), len(self.labels), Observed(self.rows, self.slopes)
        found = np.zeros((count, count))
        found[:n, :n] = lower_covariances(self.process, self.rows)
        for first in range(n, count, STRIP):
            last = min(first + STRIP, count)
            some = known.only_slopes(first - n, last - n)
            found[first:last, :n] = slopes_with_values(self.process, some, self.rows)
            before = known.only_slopes(0, last - n)
            found[first:last, n:last] = slopes_with_slopes(self.process, some, before)
        return found

    def _near(self, queries: Array) -> Near:
        return NearSlopes(self.process, queries, Observed(self.rows, self.slopes))

    def _equations_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        slopes = np.flatnonzero(np.isin(self.slopes.row, rows))
        return np.concatenate([rows, len(self.rows) + slopes])

    def without_own(self, own: NDArray[np.int64]) -> GlobalFits:
        """Fits at some of the rows, each without its label and its slopes."""
        if not len(own):
            return no_fits(self.rows.shape[1], self.labels.shape[1])
        with limited_blas(1, 1):
            found = [self._without_row(row) for row in own]
        return GlobalFits(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _without_row(self, row: int) -> tuple[Array, ...]:
        """Value, gradient, variance factor and effective size at a row, without what it brings."""
        out = self._equations_of(np.array([row]))
        smoother = self._smoother_without(out)
        share = solve_each(self.inverse[np.ix_(out, out)][None], self.dual[out][None])[0]
        dual = self.dual - np.einsum("na,ak->nk", self.inverse[:, out], share, optimize=False)
        dual[out] = 0.0
        near = self._near(self.rows[[row]])
        value = self.means + np.einsum("n,nk->k", smoother, self.labels, optimize=False)
        factor = self._variance_factor(smoother[None])
        return value[None], near.slopes(dual), factor, effective_sizes(near.kernel, self.sample_weight)

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K), each row without what it brings."""
        n, outputs = len(self.rows), self.labels.shape[1]
        residuals = np.empty((n, outputs))
        first = np.searchsorted(self.slopes.row, np.arange(n + 1)) + n
        counts = np.diff(first)
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            out = np.column_stack([rows, first[rows, None] + np.arange(count)])
            inner = self.inverse[out[:, :, None], out[:, None]]
            residuals[rows] = solve_each(inner, self.dual[out])[:, 0]
        return residuals

    def _variance_factor(self, smoother: Array) -> Array:
        """See :class:`SolvedProcess`; slopes vary by their noise over that of labels."""
        n = len(self.rows)
        noise = self.noise[n:] / (self.noise[0] * self.sample_weight[0])
        of_slopes: Array = np.sum(smoother[:, n:] ** 2 * noise, axis=1)
        return super()._variance_factor(smoother[:, :n]) + of_slopes


def slopes_with_values(process: GradientKriging, some: Observed, rows: Array) -> Array:
    """Covariances (m, n) of slopes, times the length of the process, and values at rows."""
    places, directions = some.places, some.slopes.direction
    kernel, ahead = kernels(process, places, rows), directions @ rows.T
    away = ahead - np.sum(places * directions, axis=1)[:, None]
    found: Array = (kernel * away + TREND * ahead) / process.length
    return found


def slopes_with_slopes(process: GradientKriging, some: Observed, others: Observed) -> Array:
    """Covariances (m, c) of slopes and others, both times the length of the process."""
    places, there = some.places, others.places
    along, ahead = some.slopes.direction, others.slopes.direction
    alike = along @ ahead.T
    away = np.sum(places * along, axis=1)[:, None] - along @ there.T
    away *= places @ ahead.T - np.sum(there * ahead, axis=1)
    away /= -(process.length**2)
    away += alike
    away *= kernels(process, places, there)
    away += TREND * alike
    found: Array = away
    return found


def covariances_of(process: GradientKriging, some: Observed, others: Observed) -> Array:
    """Covariances (N, M) of what is observed and something else: values first, then slopes, of both."""
    n, m = len(some.rows), len(others.rows)
    found = np.empty((len(some), len(others)))
    found[:n, :m] = covariances(process, some.rows, others.rows)
    found[:n, m:] = slopes_with_values(process, others, some.rows).T
    found[n:, :m] = slopes_with_values(process, some, others.rows)
    found[n:, m:] = slopes_with_slopes(process, some, others)
    return found


def solve_each(systems: Array, right: Array) -> Array:
    """Solve systems (m, s, s) for right-hand sides (m, s, K), as well as can be if one has no solution."""
    try:
        found: Array = np.linalg.solve(systems, right).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:  # by rounding, where the ridge is tiny
        pairs = zip(systems, right, strict=True)
        found = np.stack([np.linalg.lstsq(system, side)[0].astype(np.float64) for system, side in pairs])
    return found


class NearSlopes(Near):
    """Covariances between queries (q, D) and all values and slopes."""

    def __init__(self, process: GradientKriging, queries: Array, known: Observed) -> None:
        super().__init__(process, queries, known.rows)
        row, direction, length = known.slopes.row, known.slopes.direction, process.length
        self._direction, self._places = direction, known.places
        self._slope_kernel = self.kernel[:, row]
        ahead = np.einsum("qd,md->qm", queries, direction, optimize=False)
        self._away = ahead - np.sum(self._places * direction, axis=1)
        of_slopes = (self._slope_kernel * self._away + TREND * ahead) / length
        self.covariance = np.concatenate([self.covariance, of_slopes], axis=1)

    def slopes(self, dual: Array) -> Array:
        """Gradients (q, K, D) for coefficients (N, K) of the covariances."""
        n, length = len(self.rows), self.process.length
        gradient = super().slopes(dual[:n])
        along = (self._slope_kernel + TREND)[:, :, None] * dual[None, n:] / length
        gradient += np.einsum("qmk,md->qkd", along, self._direction, optimize=False)
        back = (self._slope_kernel * self._away)[:, :, None] * dual[None, n:] / length**3
        gradient += np.einsum("qmk,md->qkd", back, self._places, optimize=False)
        gradient -= np.einsum("qmk->qk", back)[:, :, None] * self.centers[:, None]
        return gradient
