"""Slopes that were given with the rows, and the equations that follow from them in any axes.

A row knows the slopes of f along some directions: those of all features, where its gradient is given, or
any others. A slope may be unknown (NaN). Of what a row knows, directions at right angles are made, in the
units of the recursion; each is one equation: a row, a direction and the slope along it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = 1e-9  # share of the longest direction below which one tells nothing: an axis that was left out
MOST_PARTIAL = 2000  # rows that do not know all slopes, of which an AGOP is found
SOLVED, MOST_ROUNDS = (
    1e-10,
    30,
)  # what is left of the equations of an AGOP, and after how many rounds in any case


@dataclass(frozen=True)
class SlopeEquations:
    """Slopes (m, K) along directions (m, r) of length one, each at one of the rows (m,)."""

    row: NDArray[np.intp]
    direction: Array
    slope: Array

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class GivenSlopes:
    """Slopes of labels, in their units, along directions in the space of features after their curves.

    Parameters
    ----------
    values : ndarray of shape (n, K, m)
        NaN where unknown.
    frame : ndarray of shape (D, r)
        What a step of one along each feature is in the units of the recursion.
    directions : ndarray of shape (n, m, D), or None
        Along which the slopes are; None for those of the features, the same for all rows (m = D).
    """

    values: Array
    frame: Array
    directions: Array | None = None

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> GivenSlopes:
        """Take those of some rows."""
        directions = None if self.directions is None else self.directions[rows]
        return replace(self, values=self.values[rows], directions=directions)

    def rotated(self, axes: Array) -> GivenSlopes:
        """Take the same in other axes (r, s)."""
        return replace(self, frame=np.einsum("ab,bc->ac", self.frame, axes))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which slopes (n, m) are known, for all outputs."""
        return np.logical_not(np.isnan(self.values).any(axis=1))

    @property
    def most_each(self) -> int:
        """How many equations a row can have at most."""
        return int(min(self.values.shape[2], self.frame.shape[1]))

    def equations(self, most: int) -> SlopeEquations:
        """Equations of each row along at most so many directions: the leading axes, if all is known."""
        parts = [
            part for rows, known in _patterns(self.known) for part in self._equations_of(rows, known, most)
        ]
        row = np.concatenate([np.zeros(0, dtype=np.intp), *(part.row for part in parts)])
        order = np.argsort(row, kind="stable")
        direction = np.concatenate(
            [np.zeros((0, self.frame.shape[1])), *(part.direction for part in parts)]
        )
        slope = np.concatenate([np.zeros((0, self.values.shape[1])), *(part.slope for part in parts)])
        return SlopeEquations(row[order], direction[order], slope[order])

    def _equations_of(
        self, rows: NDArray[np.intp], known: NDArray[np.bool_], most: int
    ) -> list[SlopeEquations]:
        """Equations of rows of which the same slopes are known, by how many directions these come to."""
        given = np.eye(len(self.frame))[None] if self.directions is None else self.directions[rows]
        given = given[:, known]  # the first axis has one entry where all rows share the directions
        left, lengths, right = np.linalg.svd(given @ self.frame, full_matrices=False)
        scale = np.linalg.norm(self.frame, 2) * np.linalg.norm(given, 2, axis=(1, 2))
        counts = np.sum(lengths > SMALLEST * scale[:, None], axis=1)
        values = np.swapaxes(self.values[rows][:, :, known], 1, 2)
        found = []
        for count in np.unique(counts[counts > 0]):
            some = counts == count
            along, here = right[some, :count], slice(None) if self.directions is None else some
            from_given = np.swapaxes(left[some, :, :count] / lengths[some, None, :count], 1, 2)
            if count == self.frame.shape[1]:  # all is known: turn from the longest directions to the axes
                from_given, along = np.swapaxes(along, 1, 2) @ from_given, np.eye(count)[None]
            slopes = from_given[:, :most] @ values[here]
            found.append(_listed(rows[here], along[:, :most], slopes))
        return found

    def whole(self) -> Array:
        """Gradients (n, K, r) in the axes of the recursion, NaN where a row does not know all of its."""
        n, r = len(self.values), self.frame.shape[1]
        found = np.full((n, self.values.shape[1], r), np.nan)
        for rows, known in _patterns(self.known):
            for part in self._equations_of(rows, known, r):
                if (count := len(part)) and np.sum(part.row == part.row[0]) == r:
                    found[part.row[::r]] = np.swapaxes(part.slope.reshape(count // r, r, -1), 1, 2)
        return found

    def agop(self, sample_weight: Array) -> Array:
        """Average outer product (r, r) of the gradients: the matrix that best explains the known slopes.

        Along the directions R that a row knows, it should be the outer product s s' of its slopes. The
        matrix M of least squares, with the sum of |R M R' - s s'|^2 over the rows, is the plain average
        where all know all, and the average over the rows that know both where components are unknown. Of
        several ones it is the smallest; zero if nothing is known.
        """
        equations = self.equations(self.most_each)
        n, r = len(self.values), self.frame.shape[1]
        counts = np.bincount(equations.row, minlength=n)
        complete, partial = np.flatnonzero(counts == r), np.flatnonzero((counts > 0) & (counts < r))
        start = np.concatenate([[0], np.cumsum(counts)])
        whole = equations.slope[start[complete, None] + np.arange(r)]
        system = _OuterProducts(
            *_padded(equations, start, counts, thinned := _thinned(partial)),
            sample_weight[thinned] * _ratio(sample_weight[partial].sum(), sample_weight[thinned].sum()),
            sample_weight[complete].sum(),
        )
        sums = np.einsum("n,nak,nbk->ab", sample_weight[complete], whole, whole, optimize=False)
        squares, vectors = np.linalg.eigh(system.solve(sums + system.sums))
        agop: Array = (vectors * np.maximum(squares, 0.0)) @ vectors.T
        return agop


@dataclass(frozen=True)
class _OuterProducts:
    """Equations of a matrix M (r, r), which are R M R' = s s' for rows that do not know all, and their sum.

    ``direction`` R (n, c, r) and ``slope`` s (n, c, K) are zero where a row knows fewer; ``weight`` (n,)
    are their weights, ``of_complete`` that of all rows with R the identity.
    """

    direction: Array
    slope: Array
    weight: Array
    of_complete: float

    @property
    def sums(self) -> Array:
        """Right-hand side (r, r): the sum of R' s s' R."""
        there = np.swapaxes(self.direction, 1, 2) @ self.slope
        found: Array = np.einsum("n,nak,nbk->ab", self.weight, there, there, optimize=False)
        return found

    def _times(self, matrix: Array) -> Array:
        """Sum of R' R M R' R, which is the left-hand side."""
        inner = self.direction @ matrix @ np.swapaxes(self.direction, 1, 2)
        back = np.swapaxes(self.direction, 1, 2) @ inner @ self.direction
        found: Array = np.einsum("n,nab->ab", self.weight, back, optimize=False)
        return found + self.of_complete * matrix

    def solve(self, right: Array) -> Array:
        """Solve for the matrix by conjugate gradients, from zero, so that what no row knows stays zero."""
        found, rest = np.zeros_like(right), right.copy()
        step, square = rest.copy(), float(np.sum(rest**2))
        target = SOLVED**2 * square
        for _ in range(MOST_ROUNDS):
            if square <= target:
                break
            image = self._times(step)
            length = square / float(np.sum(step * image))
            found, rest = found + length * step, rest - length * image
            before, square = square, float(np.sum(rest**2))
            step = rest + square / before * step
        return found


def _listed(rows: NDArray[np.intp], directions: Array, slopes: Array) -> SlopeEquations:
    """List equations: directions (m, e, r), or (1, e, r) if all rows share them, and slopes (m, e, K)."""
    each = directions.shape[1]
    everywhere = np.broadcast_to(directions, (len(rows), *directions.shape[1:]))
    return SlopeEquations(
        np.repeat(rows, each),
        everywhere.reshape(len(rows) * each, directions.shape[2]),
        slopes.reshape(len(rows) * each, slopes.shape[2]),
    )


def _thinned(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Take every k-th of some rows, so that they are few."""
    return rows[:: max(1, -(-len(rows) // MOST_PARTIAL))]


def _ratio(whole: float, part: float) -> float:
    return whole / part if part > 0.0 else 1.0


def _padded(
    equations: SlopeEquations,
    start: NDArray[np.intp],
    counts: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> tuple[Array, Array]:
    """Directions (m, c, r) and slopes (m, c, K) of some rows, filled up with zeros."""
    most = int(counts[rows].max(initial=0))
    place = np.arange(most)
    there = place < counts[rows, None]
    at = np.where(there, start[rows, None] + place, 0)
    if not len(rows):
        return np.zeros((0, 0, equations.direction.shape[1])), np.zeros((0, 0, equations.slope.shape[1]))
    return equations.direction[at] * there[:, :, None], equations.slope[at] * there[:, :, None]


def _patterns(known: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Rows (g,) of which the same slopes (m,) are known, and these; rows that know nothing are left out."""
    kinds, which = np.unique(known, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [(np.flatnonzero(which == k), kind) for k, kind in enumerate(kinds) if kind.any()]
