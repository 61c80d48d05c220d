"""Processes of all rows and all slopes, made of few functions, so that their cost is linear in the rows.

All slopes of n rows in D dimensions are n D equations, too many to be solved for. But f need not have as
many degrees of freedom: it is made of the covariances of M values and slopes at some of the rows, the
*functions*, with coefficients c for which

    c' K c + sum over the equations of (what is observed - what c gives)^2 / its noise

is least, where K are the covariances of the functions. That costs N M^2 for N equations, and the rest is as
in :mod:`localegop._engine.few_functions`: B are then the observations of the combined functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localegop._data.slopes import GivenSlopes, SlopeEquations
from localegop._engine.blas import limited_blas
from localegop._engine.few_functions import FunctionKriging, InFewFunctions, SolvedByFunctions
from localegop._engine.global_kriging import (
    GlobalKriging,
    Near,
    SolvedProcess,
    effective_sizes,
    kernels,
)
from localegop._engine.gradient_kriging import (
    GradientKriging,
    NearSlopes,
    Observed,
    SolvedWithSlopes,
    covariances_of,
    solve_each,
)
from localegop._engine.jagged_kriging import JaggedKriging, SolvedJagged
from localegop._engine.logistic_process import LogisticProcess, SolvedLogistic

Array = NDArray[np.float64]

ROWS_AT_ONCE = 64  # whose equations are set up at a time
MOST_KEPT = 10_000_000  # values of combined functions that are kept, as long as residuals are to be found
ROUNDING = 1e-13  # share of the diagonal of K that is added to it, or more


def solve_process(
    process: GlobalKriging, rows: Array, labels: Array, sample_weight: Array, slopes: GivenSlopes | None
) -> SolvedProcess:
    """Solve a process for labels (n, K) of rows (n, D) and, if it knows slopes, for given ones."""
    if isinstance(process, FunctionKriging):
        return SolvedByFunctions(process, rows, labels, sample_weight)
    if isinstance(process, LogisticProcess):
        return SolvedLogistic(process, rows, labels, sample_weight)
    if isinstance(process, JaggedKriging):
        return SolvedJagged(process, rows, labels, sample_weight)
    if not isinstance(process, GradientKriging):
        return SolvedProcess(process, rows, labels, sample_weight)
    assert slopes is not None
    if process.n_places > 0:
        return SolvedSparsely(process, rows, labels, sample_weight, slopes)
    return SolvedWithSlopes(process, rows, labels, sample_weight, slopes)


class SolvedSparsely(InFewFunctions, SolvedWithSlopes):
    """A process made of few functions, solved for the labels of all rows and all slopes there.

    ``n_slopes`` of the process is how many functions a place has beside its value. Where ``loo_residuals``
    are all that is asked for, ``for_residuals`` keeps what they need, if that is not much.
    """

    def __init__(
        self,
        process: GradientKriging,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        slopes: GivenSlopes,
        *,
        for_residuals: bool = False,
    ) -> None:
        self.process, self.rows, self.sample_weight = process, rows, sample_weight
        part = sample_weight / sample_weight.sum()
        self.means = np.einsum("n,nk->k", part, labels, optimize=False)
        places = _spread(len(rows), process.n_places)
        with limited_blas(1, 1):
            self.slopes = slopes.equations(slopes.most_each)
            self._first = np.searchsorted(self.slopes.row, np.arange(len(rows) + 1))
            self.functions = Observed(rows[places], slopes.take(places).equations(process.n_slopes))
            self.labels = self._targets(labels - self.means)
            self.noise = self._noise(process.ridge)
            few = len(self.labels) * len(self.functions) <= MOST_KEPT
            self._kept: dict[int, Array] | None = {} if for_residuals and few else None
            self._solve()

    def _rows_with_slopes(self, rows: NDArray[np.intp]) -> tuple[Observed, NDArray[np.intp]]:
        """Tell what is observed at some rows, and the numbers of these equations: values, then slopes."""
        counts = self._first[rows + 1] - self._first[rows]
        slopes = np.concatenate(
            [np.zeros(0, dtype=np.intp), *(np.arange(*self._first[row : row + 2]) for row in rows)]
        )
        given = SlopeEquations(
            np.repeat(np.arange(len(rows)), counts),
            self.slopes.direction[slopes],
            self.slopes.slope[slopes],
        )
        return Observed(self.rows[rows], given), np.concatenate([rows, len(self.rows) + slopes])

    def _combined_at(self, known: Observed) -> Array:
        """Values and slopes (N, M) of the combined functions."""
        return self._combined(covariances_of(self.process, known, self.functions))

    def _normal_equations(self) -> tuple[Array, Array, Array]:
        """B' B / noise (M, M), the part (M,) of all values in it, and the right-hand sides (M, K)."""
        functions = len(self.functions)
        gram, ones = np.zeros((functions, functions)), np.zeros(functions)
        right = np.zeros((functions, self.labels.shape[1]))
        for first in range(0, len(self.rows), ROWS_AT_ONCE):
            rows = np.arange(first, min(first + ROWS_AT_ONCE, len(self.rows)))
            known, equations = self._rows_with_slopes(rows)
            there = self._combined_at(known)
            if self._kept is not None:
                self._kept[first] = there
            deviation = np.sqrt(self.noise[equations])
            there = there / deviation[:, None]
            gram += there.T @ there
            right += there.T @ (self.labels[equations] / deviation[:, None])
            ones += (there[: len(rows)] / deviation[: len(rows), None]).sum(axis=0)
        return gram, ones, right

    def _function_covariances(self) -> Array:
        return covariances_of(self.process, self.functions, self.functions)

    def _near_functions(self, queries: Array) -> Near:
        return NearSlopes(self.process, queries, self.functions)

    def _sizes(self, near: Near) -> Array:
        return effective_sizes(kernels(self.process, near.centers, self.rows), self.sample_weight)

    def _without(self, rows: NDArray[np.intp]) -> tuple[Array, Array, float]:
        """Value (K,) at the first of some rows without all, coefficients (M, K) and variance factor."""
        known, equations = self._rows_with_slopes(rows)
        there, noise = self._combined_at(known), self.noise[equations]
        back = there @ self.inverse
        inner = np.diag(noise) - back @ there.T
        residual = self.labels[equations] - there @ self.dual
        right = np.column_stack([residual, there @ back[0]])
        share = solve_each(inner[None], right[None])[0]
        dual = self.dual - back.T @ share[:, :-1]
        weights = back[0] + back.T @ share[:, -1]
        gone, values = there @ weights, len(rows)
        squares = weights @ self.gram @ weights - np.sum(gone**2 / noise)
        of_values = weights @ self._ones - np.sum(gone[:values] / noise[:values])
        factor = self._factor_from(np.maximum(squares, 0.0), of_values)
        return self.means + there[0] @ dual, dual, float(factor)

    def _without_row(self, row: int) -> tuple[Array, ...]:
        """Value, gradient, variance factor and effective size at a row, without what it brings."""
        value, dual, factor = self._without(np.array([row]))
        query = self.rows[[row]]
        near = self._near_functions(query)
        gradient, size = near.slopes(self._separate(dual)), self._sizes(near)
        return value[None], gradient, np.array([factor]), size

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """See :class:`SolvedProcess`."""
        with limited_blas(1, 1):
            found = [
                self._without(np.append(row, block).astype(np.intp))
                for row, block in zip(own, blocks, strict=True)
            ]
        values = np.array([value for value, _, _ in found]).reshape(len(own), len(self.means))
        return values, np.array([factor for _, _, factor in found])

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K), each row without what it brings."""
        found = np.empty((len(self.rows), self.labels.shape[1]))
        with limited_blas(1, 1):
            for first in range(0, len(self.rows), ROWS_AT_ONCE):
                rows = np.arange(first, min(first + ROWS_AT_ONCE, len(self.rows)))
                found[rows] = self._residuals_alone(rows)
        return found

    def _residuals_alone(self, rows: NDArray[np.intp]) -> Array:
        """Labels minus predictions (m, K) at some rows, each without what it brings."""
        known, equations = self._rows_with_slopes(rows)
        kept = None if self._kept is None else self._kept[int(rows[0])]
        there, noise = self._combined_at(known) if kept is None else kept, self.noise[equations]
        residual = self.labels[equations] - there @ self.dual
        root = self._normal_root(there)
        counts, first = np.bincount(known.slopes.row, minlength=len(rows)), len(rows)
        starts = first + np.cumsum(counts) - counts
        found = np.empty((len(rows), self.labels.shape[1]))
        for count in np.unique(counts):
            alike = np.flatnonzero(counts == count)
            own = np.column_stack([alike, starts[alike, None] + np.arange(count)])
            inner = np.eye(1 + count) * noise[own][:, None] - root[own] @ np.swapaxes(root[own], 1, 2)
            found[alike] = noise[alike, None] * solve_each(inner, residual[own])[:, 0]
        return found


def _spread(n: int, count: int) -> NDArray[np.intp]:
    """Numbers of so many of n rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(count, n)).round().astype(np.intp))
