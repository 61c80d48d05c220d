"""Kriging by all rows at once: one Gaussian process for the whole space, where rows are few.

Local kriging looks at 200 neighbors and solves anew at every query. Up to some thousand rows one process of
all of them can be solved once, sees more of f, and answers with a sum over the rows. Its covariance is that
of local kriging (``src/core/kriging.hpp``): a Gaussian, or exponential for rough functions, and a linear
trend. What it predicts without a row, and how that varies, follows from the inverse of one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from localegop import _core
from localegop._engine.blas import limited_blas
from localegop._engine.lapack import factorize, invert, mirror, solve

Array = NDArray[np.float64]

TREND = 10.0  # variance of the constant and of the slopes, over that of the rest
MOST_ROWS = 2500  # for more of them, solving takes longer than all the rest of a fit
FEW_ROWS = 600  # up to which a factor is kept until an inverse is asked for; more would take much memory
STRIP = 256  # rows whose covariances are computed at a time
# Queries at a time: always as many, so that no bit depends on how many there are, and a multiple of BLAS's
# tiles (4, 8, 12, 16 or 24), so that none depends on the place of a query among them.
BLOCK = 48


@dataclass(frozen=True)
class GlobalKriging:
    """A Gaussian process of all rows.

    Parameters
    ----------
    length : float
        Correlation length, in the units of the recursion.
    ridge : float
        Variance of the noise over that of f.
    rough : bool
        Whether the covariance is exponential instead of Gaussian.
    """

    kind: ClassVar[str] = "global"

    length: float
    ridge: float
    rough: bool = False

    @property
    def degree(self) -> int:
        """Degree of the trend."""
        return 1

    @property
    def scale(self) -> float:
        """Factor of squared distances for which the covariance is a kernel of them."""
        return (1.0 if self.rough else 0.5) / self.length**2

    @property
    def kernel(self) -> str:
        """Name of that kernel."""
        return "laplace" if self.rough else "gaussian"

    def lower_covariances(self, rows: Array, out: Array | None = None) -> Array:
        """Covariances (n, n) of f at rows (n, D), see :func:`lower_covariances`."""
        return lower_covariances(self, rows, out)

    def steepness(self, squared: Array, kernel: Array) -> Array:
        """By which an offset is multiplied to have the slope of the covariance there, downward."""
        if not self.rough:
            return kernel / self.length**2
        distance = self.length * np.sqrt(squared)
        return np.divide(kernel, distance, out=np.zeros_like(kernel), where=distance > 0.0)


@dataclass(frozen=True)
class GlobalFits:
    """Values (q, K), gradients (q, K, D), variance factors and effective sizes (q,) at q centers.

    Gradients and variance factors are empty unless asked for.
    """

    value: Array
    gradient: Array
    variance_factor: Array
    effective_size: Array


class SolvedProcess:
    """A process solved for the labels of all rows; nothing about it changes once it is made.

    Parameters
    ----------
    process : GlobalKriging
    rows : ndarray of shape (n, D)
    labels : ndarray of shape (n, K)
    sample_weight : ndarray of shape (n,)
    """

    def __init__(self, process: GlobalKriging, rows: Array, labels: Array, sample_weight: Array) -> None:
        self.process, self.rows, self.sample_weight = process, rows, sample_weight
        part = sample_weight / sample_weight.sum()
        self.means: Array = np.einsum("n,nk->k", part, labels, optimize=False)
        self.labels = self._targets(labels - self.means)
        with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
            factor, self.noise = self._factorize()
            self.dual = solve(factor, self.labels)
        self._factor = factor if len(factor) <= FEW_ROWS else None

    def _targets(self, labels: Array) -> Array:
        """Give what the process is solved for (N, K), one row an equation: the centered labels."""
        return labels

    def _covariances(self) -> Array:
        """Covariances (N, N) of what is observed, without noise; the lower triangle."""
        return self.process.lower_covariances(self.rows)

    def _noise(self, ridge: float) -> Array:
        """Variances (N,) of the noise of what is observed, for some ridge."""
        return ridge / self.sample_weight

    def _factorize(self) -> tuple[Array, Array]:
        """Lower factor (N, N) of the covariance of what is observed, and the variances (N,) of its noise.

        The ridge is raised until the matrix is positive definite in spite of rounding.
        """
        process = self.process
        largest = 1.0 + TREND * (1.0 + float(np.max(np.sum(self.rows**2, axis=1))) / process.length**2)
        added = process.ridge
        while True:
            system, noise = self._covariances(), self._noise(added)
            system[np.diag_indices_from(system)] += noise
            if factorize(system) or added > 1e3 * largest:
                return system, noise
            added = max(100.0 * added, 1e-12 * largest)

    @cached_property
    def inverse(self) -> Array:
        """Inverse (n, n) of the covariance of the labels."""
        with limited_blas(1, 1):
            factor = self._factor
            if factor is None:
                whole, _ = self._factorize()
            else:
                whole = factor.copy()  # another thread may be inverting it, too
            invert(whole)
        self._factor = None
        mirror(whole)
        return whole

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K) without each row, all of whose weight is taken away."""
        residuals: Array = self.dual / np.diagonal(self.inverse)[:, None]
        return residuals

    def at(self, queries: Array, *, gradients: bool = False, variances: bool = False) -> GlobalFits:
        """Fits at queries (q, D)."""
        found = [self._at_block(queries, first, gradients, variances) for first in _blocks(len(queries))]
        if not found:
            return no_fits(self.rows.shape[1], self.labels.shape[1])
        return GlobalFits(*(np.concatenate(each)[: len(queries)] for each in zip(*found, strict=True)))

    def without_own(self, own: NDArray[np.int64]) -> GlobalFits:
        """Fits at some of the rows, each without one unit of its own weight."""
        if not len(own):
            return no_fits(self.rows.shape[1], self.labels.shape[1])
        with limited_blas(1, 1):
            strips = [self._without_own(own[k : k + STRIP]) for k in range(0, len(own), STRIP)]
        return GlobalFits(*(np.concatenate(each) for each in zip(*strips, strict=True)))

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """Values (m, K) and variance factors (m,) at some rows, each without itself and a block."""
        smoothers = np.empty((len(own), len(self.labels)))
        with limited_blas(1, 1):
            for i, (row, block) in enumerate(zip(own, blocks, strict=True)):
                smoothers[i] = self._smoother_without(self._equations_of(np.append(row, block)))
        value: Array = self.means + np.einsum("mn,nk->mk", smoothers, self.labels, optimize=False)
        return value, self._variance_factor(smoothers)

    def _equations_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the equations that some rows bring, that of the first label first."""
        return rows

    def _smoother_without(self, out: NDArray[np.int64]) -> Array:
        """Coefficients (N,) where the first of some equations is predicted without all of them."""
        first = np.zeros(len(out))
        first[0] = 1.0
        inner = self.inverse[np.ix_(out, out)]
        _, share, failed = dposv(inner, first)
        if failed:  # by rounding, where the ridge is tiny
            share = np.linalg.lstsq(inner, first)[0]
        smoother: Array = -np.einsum("b,bn->n", share, self.inverse[out], optimize=False)
        smoother[out] = 0.0
        return smoother

    def _at_block(self, queries: Array, first: int, gradients: bool, variances: bool) -> tuple[Array, ...]:
        """Results at one block of queries, filled up with the last of them."""
        block = queries[np.minimum(np.arange(first, first + BLOCK), len(queries) - 1)]
        near = self._near(block)
        value = self.means + np.einsum("qn,nk->qk", near.covariance, self.dual, optimize=False)
        gradient = near.slopes(self.dual) if gradients else np.zeros((BLOCK, len(self.means), 0))
        factor = np.zeros(BLOCK)
        if variances:
            with limited_blas(1, 1):
                factor = self._variance_factor(near.covariance @ self.inverse)
        return value, gradient, factor, effective_sizes(near.closeness, self.sample_weight)

    def _near(self, queries: Array) -> Near:
        """Covariances between queries and what is observed."""
        return self._near_labels(queries)

    def _near_labels(self, queries: Array) -> Near:
        """Covariances between queries and the labels."""
        return Near(self.process, queries, self.rows)

    def _near_own(self, own: NDArray[np.int64]) -> Near:
        """Covariances between some of the rows, to be left out, and the labels."""
        return self._near_labels(self.rows[own])

    def _without_own(self, own: NDArray[np.int64]) -> tuple[Array, ...]:
        """Results at some rows, each without one unit of its own weight."""
        itself, weight = np.arange(len(own)), self.sample_weight[own]
        rest, share = np.maximum(weight - 1.0, 0.0), self._shares_of_own(own)
        near = self._near_own(own)
        gradient = self._slopes(near, share, self.dual[own])
        smoother = -(1.0 + rest)[:, None] * share  # of the label: that itself, less its new dual
        smoother[itself, own] += 1.0
        value = self.means + smoother @ self.labels
        factor = self._variance_factor(smoother)
        repeated = np.flatnonzero(rest > 0.0)  # of which one unit of weight less is left
        squares = smoother[repeated, own[repeated]] ** 2
        factor[repeated] += squares * (1.0 / rest[repeated] - 1.0 / weight[repeated])
        return value, gradient, factor, effective_sizes(near.closeness, self.sample_weight)

    def gradients_without_own(self) -> Array:
        """Gradients (n, K, D) at all rows, each without one unit of its own weight."""
        found = np.empty((len(self.rows), self.labels.shape[1], self.rows.shape[1]))
        with limited_blas(1, 1):
            for first in range(0, len(self.rows), STRIP):
                own = np.arange(first, min(first + STRIP, len(self.rows)))
                near = self._near_own(own)
                found[own] = self._slopes(near, self._shares_of_own(own), self.dual[own])
        return found

    def _shares_of_own(self, own: NDArray[np.int64]) -> Array:
        """Parts (m, n) of its own dual by which the duals change when a row loses one unit of weight.

        Taking weight away is adding noise to one label: the inverse changes by a matrix of rank one.
        """
        rest = np.maximum(self.sample_weight[own] - 1.0, 0.0)
        inverse = self.inverse[own]
        shares: Array = inverse / (rest / self.noise[own] + inverse[np.arange(len(own)), own])[:, None]
        return shares

    def _slopes(self, near: Near, share: Array, own_dual: Array) -> Array:
        """Gradients (m, K, D) at centers, each with the duals less shares (m, n) of its own (m, K)."""
        gradient = np.empty((len(near.centers), self.labels.shape[1], near.centers.shape[1]))
        for k in range(self.labels.shape[1]):
            gradient[:, k] = near.slopes_of_each(self.dual[:, k] - share * own_dual[:, k, None])
        return gradient

    def _variance_factor(self, smoother: Array) -> Array:
        """Sum (q,) of the squared coefficients of the labels, from those (q, n) of centered labels."""
        part = self.sample_weight / self.sample_weight.sum()
        rest = 1.0 - smoother.sum(axis=1, keepdims=True)
        factors: Array = np.sum((smoother + rest * part) ** 2 / self.sample_weight, axis=1)
        return factors


class Near:
    """Squared distances, kernels and covariances (q, n) between centers (q, D) and all rows (n, D).

    No bit of those of a center depends on the other centers.
    """

    def __init__(self, process: GlobalKriging, centers: Array, rows: Array) -> None:
        self.process, self.centers, self.rows = process, np.ascontiguousarray(centers), rows
        self.squared, self.kernel, self.covariance = (np.empty((len(centers), len(rows))) for _ in range(3))
        _fill(process, rows, self.centers, self.squared, self.kernel, self.covariance)

    @property
    def closeness(self) -> Array:
        """How near (q, n) the rows are: one at no distance, and falling with it."""
        return self.kernel

    def slopes(self, dual: Array) -> Array:
        """Gradients (q, K, D) for coefficients (n, K) of the covariances."""
        steep = self.process.steepness(self.squared, self.kernel)
        pulls = dual[None] * steep[:, :, None]
        toward = np.einsum("qnk,nd->qkd", pulls, self.rows, optimize=False)
        back = np.einsum("qnk->qk", pulls)[:, :, None] * self.centers[:, None]
        straight = np.einsum("nk,nd->kd", dual, self.rows, optimize=False)
        gradient: Array = toward - back + TREND / self.process.length**2 * straight
        return gradient

    def slopes_of_each(self, duals: Array) -> Array:
        """Gradients (q, D) where every center has coefficients (q, n) of its own, which are lost."""
        straight = TREND / self.process.length**2 * (duals @ self.rows)
        duals *= self.process.steepness(self.squared, self.kernel)
        gradient: Array = duals @ self.rows - duals.sum(axis=1)[:, None] * self.centers + straight
        return gradient


def effective_sizes(kernel: Array, sample_weight: Array) -> Array:
    """Effective numbers (q,) of rows with such covariances (q, n) with a query."""
    weight = kernel * sample_weight
    first, second = weight.sum(axis=1), (weight * kernel).sum(axis=1)
    sizes: Array = np.divide(first**2, second, out=np.ones(len(kernel)), where=second > 0.0)
    return sizes


def _blocks(count: int) -> range:
    return range(0, count, BLOCK)


def no_fits(dimension: int, outputs: int) -> GlobalFits:
    nothing = np.zeros(0)
    return GlobalFits(np.zeros((0, outputs)), np.zeros((0, outputs, dimension)), nothing, nothing)


def lower_covariances(process: GlobalKriging, rows: Array, out: Array | None = None) -> Array:
    """Covariances (n, n) of f at rows (n, D), with the trend: the lower triangle, zeros elsewhere.

    They are put into ``out`` if it is given, where nothing but the lower triangle changes.
    """
    found = np.zeros((len(rows), len(rows))) if out is None else out
    _fill(process, rows, rows, None, None, found, lower=True)
    return found


def kernels(process: GlobalKriging, centers: Array, rows: Array) -> Array:
    """Covariances (q, n) between centers (q, D) and rows (n, D), but for the trend."""
    found = np.empty((len(centers), len(rows)))
    _fill(process, rows, np.ascontiguousarray(centers), None, found, None)
    return found


def covariances(process: GlobalKriging, centers: Array, rows: Array) -> Array:
    """Covariances (q, n) between centers (q, D) and rows (n, D), with the trend."""
    found = np.empty((len(centers), len(rows)))
    _fill(process, rows, np.ascontiguousarray(centers), None, None, found)
    return found


def squared_distances(centers: Array, rows: Array) -> Array:
    """Squared distances (q, n) between centers (q, D) and rows (n, D)."""
    found = np.empty((len(centers), len(rows)))
    _fill(GlobalKriging(1.0, 0.0), rows, np.ascontiguousarray(centers), found, None, None)
    return found


def _fill(
    process: GlobalKriging,
    rows: Array,
    centers: Array,
    squared: Array | None,
    kernels: Array | None,
    covariances: Array | None,
    *,
    lower: bool = False,
) -> None:
    """Fill squared distances, kernels and covariances (q, n), where given; on the calling thread."""
    slope = TREND / process.length**2
    scales = process.scale, TREND, slope
    rows = np.ascontiguousarray(rows)
    _core.covariances(rows, centers, process.kernel, *scales, squared, kernels, covariances, lower, 1)
