"""Processes of all rows made of few functions, for more rows than can be solved for exactly.

A smooth f has few degrees of freedom, however many rows are there. It is taken to be made of the
covariances with M rows, the *functions*, with coefficients c for which

    c' K c + sum over the rows of (label - what c gives)^2 / noise

is least, where K are the covariances of the M rows. That costs n M^2 instead of n^3. As functions are
nearly the same where rows are near each other, they are combined to some that are not correlated: with the
factor K = L L', coefficients are d = L' c, the first term is d' d, and B are the values of the combined
functions at the rows. What d would be without a row follows from the inverse of S = 1 + B' B / noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm, dtrsm

from localegop._engine.blas import limited_blas
from localegop._engine.chunks import spread_points
from localegop._engine.global_kriging import (
    BLOCK,
    STRIP,
    TREND,
    GlobalKriging,
    Near,
    SolvedProcess,
    covariances,
    effective_sizes,
    lower_covariances,
)
from localegop._engine.lapack import factorize, invert, invert_factor, mirror, solve

Array = NDArray[np.float64]

MOST_ROWS = 20_000  # which have to fit into the process that fits, and each has a residual of its own
MOST_WORK = 1e10  # rows times the square of the functions: about half a second
ROUNDING = 1e-13  # share of the diagonal of K that is added to it, or more


@dataclass(frozen=True)
class FunctionKriging(GlobalKriging):
    """A Gaussian process of all rows, made of few functions.

    Parameters
    ----------
    length, ridge, rough
        See :class:`GlobalKriging`.
    n_places : int
        Number of rows, evenly spread, whose covariances are the functions.
    """

    kind: ClassVar[str] = "functions"

    n_places: int = 300


def most_places(n: int) -> int:
    """Return how many functions a process of n rows may be made of."""
    return min(int((MOST_WORK / n) ** 0.5), n)


class InFewFunctions(SolvedProcess):
    """A process made of few functions, solved for what is observed.

    ``dual`` (M, K) are the coefficients of the combined functions, ``inverse`` (M, M) is that of their
    normal equations.
    """

    def _function_covariances(self) -> Array:
        """Covariances (M, M) of the functions; the lower triangle counts."""
        raise NotImplementedError

    def _normal_equations(self) -> tuple[Array, Array, Array]:
        """B' B / noise (M, M), the part (M,) of all labels in it, and the right-hand sides (M, K)."""
        raise NotImplementedError

    def _near_functions(self, queries: Array) -> Near:
        """Covariances between queries and the functions."""
        raise NotImplementedError

    def _sizes(self, near: Near) -> Array:
        """Effective sizes (q,) of the queries that covariances are of."""
        raise NotImplementedError

    def _solve(self) -> None:
        """Combine the functions, and find their coefficients."""
        self._apart = self._factorize_functions()
        self.gram, self._ones, right = self._normal_equations()
        self._normal_factor = self.gram + np.eye(len(self.gram))
        factorize(self._normal_factor)  # which no rounding can hinder: no eigenvalue is below one
        self.dual = solve(self._normal_factor, right)

    def _factorize_functions(self) -> Array:
        """Inverse of the lower factor (M, M) of their covariances, with what rounding asks for added."""
        added = ROUNDING
        while True:
            system = self._function_covariances()
            system[np.diag_indices_from(system)] *= 1.0 + added
            if factorize(system) or added > 1.0:
                invert_factor(system)
                return np.tril(system)
            added *= 10.0

    def _combined(self, found: Array) -> Array:
        """Turn covariances (N, M) with the functions into those with the combined functions."""
        # found @ apart.T, half of which is zeros; BLAS sees rows in memory as columns
        combined: Array = dtrmm(1.0, self._apart.T, found.T, lower=0, trans_a=1).T
        return combined

    def _normal_root(self, there: Array) -> Array:
        """For values B (N, M) of the combined functions, some W (N, M) with W W' = B S^-1 B'."""
        root: Array = dtrsm(1.0, self._normal_factor.T, there.T, lower=0, trans_a=1).T
        return root

    def _separate(self, dual: Array) -> Array:
        """Turn coefficients (M, K) of the combined functions into those of the functions."""
        separate: Array = self._apart.T @ dual
        return separate

    @cached_property
    def _coefficients(self) -> Array:
        """Coefficients (M, K) of the functions."""
        with limited_blas(1, 1):
            return self._separate(self.dual)

    @cached_property
    def inverse(self) -> Array:
        """Inverse (M, M) of the normal equations."""
        with limited_blas(1, 1):
            whole = self._normal_factor.copy()
            invert(whole)
        mirror(whole)
        return whole

    def _at_block(self, queries: Array, first: int, gradients: bool, variances: bool) -> tuple[Array, ...]:
        """See :class:`SolvedProcess`."""
        block = queries[np.minimum(np.arange(first, first + BLOCK), len(queries) - 1)]
        near, dual = self._near_functions(block), self._coefficients
        value = self.means + np.einsum("qn,nk->qk", near.covariance, dual, optimize=False)
        gradient = near.slopes(dual) if gradients else np.zeros((BLOCK, len(self.means), 0))
        factor = np.zeros(BLOCK)
        if variances:
            with limited_blas(1, 1):
                weights = self._combined(near.covariance) @ self.inverse
                factor = self._factor_from(self._squares(weights), weights @ self._ones)
        return value, gradient, factor, self._sizes(near)

    def _squares(self, weights: Array) -> Array:
        """Sum (q,) the squared smoother, times noise, for weights (q, M) of the combined functions."""
        found: Array = np.einsum("qa,qa->q", weights @ self.gram, weights, optimize=False)
        return found

    def _factor_from(self, squares: Array, of_labels: Array) -> Array:
        """Variance factors from sums of the squared smoother, times noise, and of that of the labels."""
        ridge, weight = self.noise[0] * self.sample_weight[0], self.sample_weight.sum()
        rest = 1.0 - of_labels
        factor: Array = np.maximum(squares, 0.0) / ridge + (2.0 * rest * of_labels + rest**2) / weight
        return factor


class SolvedByFunctions(InFewFunctions):
    """A process made of few functions, solved for the labels of all rows.

    Parameters
    ----------
    process : FunctionKriging
    rows : ndarray of shape (n, D)
    labels : ndarray of shape (n, K)
    sample_weight : ndarray of shape (n,)
    """

    def __init__(self, process: FunctionKriging, rows: Array, labels: Array, sample_weight: Array) -> None:
        self.process, self.rows, self.sample_weight = process, rows, sample_weight
        part = sample_weight / sample_weight.sum()
        self.means = np.einsum("n,nk->k", part, labels, optimize=False)
        self.labels, self.noise = labels - self.means, self._noise(process.ridge)
        self._at_places = spread_points(len(rows), process.n_places)
        self.places = np.ascontiguousarray(rows[self._at_places])
        with limited_blas(1, 1):
            self._solve()

    def _function_covariances(self) -> Array:
        return lower_covariances(self.process, self.places)

    def _near_functions(self, queries: Array) -> Near:
        return Near(self.process, queries, self.places)

    def _sizes(self, near: Near) -> Array:
        """See :class:`InFewFunctions`; from the places, each of which stands for as many rows."""
        sizes: Array = effective_sizes(near.kernel, self.sample_weight[self._at_places])
        return sizes * (len(self.rows) / len(self.places))

    def _combined_at(self, rows: Array) -> Array:
        """Values (m, M) of the combined functions at rows (m, D)."""
        return self._combined(covariances(self.process, rows, self.places))

    def _normal_equations(self) -> tuple[Array, Array, Array]:
        """B' B / noise (M, M), the part (M,) of all labels in it, and the right-hand sides (M, K)."""
        functions = len(self.places)
        gram, ones = np.zeros((functions, functions)), np.zeros(functions)
        right = np.zeros((functions, self.labels.shape[1]))
        for some in _strips(len(self.rows)):
            deviation = np.sqrt(self.noise[some])[:, None]
            there = self._combined_at(self.rows[some]) / deviation
            gram += there.T @ there
            right += there.T @ (self.labels[some] / deviation)
            ones += (there / deviation).sum(axis=0)
        return gram, ones, right

    def _without_own(self, own: NDArray[np.int64]) -> tuple[Array, ...]:
        """Results at some rows, each without one unit of its own weight."""
        there, noise = self._combined_at(self.rows[own]), self._noise_of_own(own)
        back = there @ self.inverse
        left = np.maximum(noise - np.einsum("ia,ia->i", back, there, optimize=False), ROUNDING * noise)
        residual = (self.labels[own] - there @ self.dual) / left[:, None]
        value = self.means + self.labels[own] - residual * noise[:, None]
        weights = back * (noise / left)[:, None]
        gone = np.einsum("ia,ia->i", weights, there, optimize=False)
        factor = self._factor_from(
            self._squares(weights) - gone**2 / noise, weights @ self._ones - gone / noise
        )
        near = self._near_functions(self.rows[own])
        return value, self._slopes_without(near, back, residual), factor, self._sizes(near)

    def _noise_of_own(self, own: NDArray[np.int64]) -> Array:
        """Variances (m,) of the noise of one unit of weight of some rows, or of all that they have."""
        noise: Array = self.noise[own] * np.maximum(self.sample_weight[own], 1.0)
        return noise

    def _slopes_without(self, near: Near, back: Array, residual: Array) -> Array:
        """Gradients (m, K, D) at rows with coefficients that are less by these residuals (m, K)."""
        changed = back @ self._apart
        steep = self.process.steepness(near.squared, near.kernel)
        gradient = np.empty((*residual.shape, self.rows.shape[1]))
        for k in range(residual.shape[1]):
            duals = self._coefficients[:, k] - changed * residual[:, k, None]
            straight = TREND / self.process.length**2 * (duals @ self.places)
            duals *= steep
            gradient[:, k] = duals @ self.places - duals.sum(axis=1)[:, None] * near.centers + straight
        return gradient

    def gradients_without_own(self) -> Array:
        """Gradients (n, K, D) at all rows, each without one unit of its own weight."""
        return self.without_own(np.arange(len(self.rows))).gradient

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """See :class:`SolvedProcess`."""
        values, factors = np.empty((len(own), self.labels.shape[1])), np.empty(len(own))
        with limited_blas(1, 1):
            for i, (row, block) in enumerate(zip(own, blocks, strict=True)):
                values[i], factors[i] = self._without_block(np.append(row, block).astype(np.intp))
        return values, factors

    def _without_block(self, out: NDArray[np.intp]) -> tuple[Array, float]:
        """Value (K,) and variance factor at the first of some rows without all of them."""
        there, noise = self._combined_at(self.rows[out]), self.noise[out]
        back = there @ self.inverse
        right = np.column_stack([self.labels[out] - there @ self.dual, there @ back[0]])
        share = np.linalg.lstsq(np.diag(noise) - back @ there.T, right)[0]
        weights = back[0] + back.T @ share[:, -1]
        gone = there @ weights
        squares = self._squares(weights[None]) - np.sum(gone**2 / noise)
        factor = self._factor_from(squares, weights[None] @ self._ones - np.sum(gone / noise))
        value: Array = self.means + there[0] @ (self.dual - back.T @ share[:, :-1])
        return value, float(factor[0])

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K) without each row, all of whose weight is taken away."""
        found = np.empty_like(self.labels)
        with limited_blas(1, 1):
            for some in _strips(len(self.rows)):
                there = self._combined_at(self.rows[some])
                left = self.noise[some] - np.einsum("ia,ia->i", there @ self.inverse, there, optimize=False)
                left = np.maximum(left, ROUNDING * self.noise[some])
                residual = self.labels[some] - there @ self.dual
                found[some] = residual * (self.noise[some] / left)[:, None]
        return found


def _strips(count: int) -> Iterator[slice]:
    return (slice(first, first + STRIP) for first in range(0, count, STRIP))
