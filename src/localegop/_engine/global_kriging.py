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

from localegop._engine.blas import limited_blas
from localegop._engine.lapack import factorize, invert, solve

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

    def kernel(self, squared: Array) -> Array:
        """Covariances, but for the trend, from squared distances."""
        scaled = -self.scale * squared
        if self.rough:
            np.negative(np.sqrt(np.abs(scaled, out=scaled), out=scaled), out=scaled)
        found: Array = np.exp(scaled, out=scaled)
        return found

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
        return lower_covariances(self.process, self.rows)

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
        for first in range(0, len(whole), STRIP):  # what is below the diagonal counts
            last = min(first + STRIP, len(whole))
            whole[:first, first:last] = whole[first:last, :first].T
            corner = whole[first:last, first:last]
            corner[:] = np.tril(corner) + np.tril(corner, -1).T
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
        return value, gradient, factor, near.effective_size

    def _near(self, queries: Array) -> Near:
        """Covariances between queries and what is observed."""
        return Near(self, queries)

    def _without_own(self, own: NDArray[np.int64]) -> tuple[Array, ...]:
        """Results at some rows, each without one unit of its own weight."""
        rows, inverse, itself = self.rows[own], self.inverse[own], np.arange(len(own))
        # Taking weight away is adding noise to one label: the inverse changes by a matrix of rank one.
        weight, noise = self.sample_weight[own], self.noise[own]
        rest = np.maximum(weight - 1.0, 0.0)
        share = inverse / (rest / noise + inverse[itself, own])[:, None]
        _, squared = squared_distances(rows, self.rows)
        squared[itself, own] = 0.0
        kernel = self.process.kernel(squared)
        gradient = self._slopes(rows, squared, kernel, share, self.dual[own])
        smoother = -(1.0 + rest)[:, None] * share  # of the label: that itself, less its new dual
        smoother[itself, own] += 1.0
        value = self.means + smoother @ self.labels
        factor = self._variance_factor(smoother)
        repeated = np.flatnonzero(rest > 0.0)  # of which one unit of weight less is left
        squares = smoother[repeated, own[repeated]] ** 2
        factor[repeated] += squares * (1.0 / rest[repeated] - 1.0 / weight[repeated])
        return value, gradient, factor, effective_sizes(kernel, self.sample_weight)

    def _slopes(self, rows: Array, squared: Array, kernel: Array, share: Array, own_dual: Array) -> Array:
        """Gradients (m, K, D) at rows (m, D), each with the duals less shares (m, n) of its own (m, K)."""
        steep, trend = self.process.steepness(squared, kernel), TREND / self.process.length**2
        gradient = np.empty((len(rows), self.labels.shape[1], rows.shape[1]))
        for k in range(self.labels.shape[1]):
            duals = self.dual[:, k] - share * own_dual[:, k, None]
            straight = trend * (duals @ self.rows)
            duals *= steep
            gradient[:, k] = duals @ self.rows - duals.sum(axis=1)[:, None] * rows + straight
        return gradient

    def _variance_factor(self, smoother: Array) -> Array:
        """Sum (q,) of the squared coefficients of the labels, from those (q, n) of centered labels."""
        part = self.sample_weight / self.sample_weight.sum()
        rest = 1.0 - smoother.sum(axis=1, keepdims=True)
        factors: Array = np.sum((smoother + rest * part) ** 2 / self.sample_weight, axis=1)
        return factors


class Near:
    """Covariances between queries (q, D) and all rows."""

    def __init__(self, solved: SolvedProcess, queries: Array) -> None:
        process, rows = solved.process, solved.rows
        self.queries, self.rows, self.process = queries, rows, process
        self.squared, products = np.zeros((len(queries), len(rows))), np.zeros((len(queries), len(rows)))
        for a in range(rows.shape[1]):  # one feature after the other: no bit depends on other queries
            self.squared += (queries[:, a, None] - rows[:, a]) ** 2
            products += queries[:, a, None] * rows[:, a]
        self.kernel = process.kernel(self.squared)
        self.covariance = self.kernel + TREND * (1.0 + products / process.length**2)
        self.effective_size = effective_sizes(self.kernel, solved.sample_weight)

    def slopes(self, dual: Array) -> Array:
        """Gradients (q, K, D) for coefficients (n, K) of the covariances."""
        steep = self.process.steepness(self.squared, self.kernel)
        pulls = dual[None] * steep[:, :, None]
        toward = np.einsum("qnk,nd->qkd", pulls, self.rows, optimize=False)
        back = np.einsum("qnk->qk", pulls)[:, :, None] * self.queries[:, None]
        straight = np.einsum("nk,nd->kd", dual, self.rows, optimize=False)
        gradient: Array = toward - back + TREND / self.process.length**2 * straight
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


def lower_covariances(process: GlobalKriging, rows: Array) -> Array:
    """Covariances (n, n) of f at rows (n, D), with the trend; only the lower triangle means something."""
    found = np.empty((len(rows), len(rows)))
    norms = np.sum(rows**2, axis=1)
    for first in range(0, len(rows), STRIP):
        last = min(first + STRIP, len(rows))
        products, squared = squared_distances(rows[first:last], rows[:last])
        strip = found[first:last, :last]
        strip[:] = process.kernel(squared)
        products *= TREND / process.length**2
        strip += products
        strip += TREND
    found[np.diag_indices_from(found)] = 1.0 + TREND * (1.0 + norms / process.length**2)
    return found


def squared_distances(some: Array, rows: Array) -> tuple[Array, Array]:
    """Products and squared distances (m, n) of some rows (m, D) and rows (n, D)."""
    products: Array = some @ rows.T
    squared = -2.0 * products
    squared += np.sum(rows**2, axis=1)
    squared += np.sum(some**2, axis=1)[:, None]
    np.maximum(squared, 0.0, out=squared)
    return products, squared
