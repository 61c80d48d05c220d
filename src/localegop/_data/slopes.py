"""Gradients that were given with the rows, and the equations that follow from them in any axes.

A component may be unknown (NaN), so that in turned axes a row knows the slopes of f along some directions
only. Each known slope is one equation: a row, a direction and the slope along it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = 1e-9  # share of the longest direction below which one tells nothing: an axis that was left out


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
    """Gradients of labels, in their units, with respect to features after their curves.

    Parameters
    ----------
    values : ndarray of shape (n, K, D)
        NaN where unknown.
    frame : ndarray of shape (D, r)
        What a step of one along each feature is in the units of the recursion.
    """

    values: Array
    frame: Array

    def take(self, rows: NDArray[np.integer]) -> GivenSlopes:
        """Take those of some rows."""
        return replace(self, values=self.values[rows])

    def rotated(self, axes: Array) -> GivenSlopes:
        """Take the same in other axes (r, s)."""
        return replace(self, frame=np.einsum("ab,bc->ac", self.frame, axes))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which components (n, D) are known, for all outputs."""
        return np.logical_not(np.isnan(self.values).any(axis=1))

    def equations(self, most: int) -> SlopeEquations:
        """Equations of each row along at most so many directions: the leading axes, if all is known."""
        parts = [self._equations_of(rows, known, most) for rows, known in _patterns(self.known)]
        row = np.concatenate([np.zeros(0, dtype=np.intp), *(part.row for part in parts)])
        order = np.argsort(row, kind="stable")
        direction = np.concatenate(
            [np.zeros((0, self.frame.shape[1])), *(part.direction for part in parts)]
        )
        slope = np.concatenate([np.zeros((0, self.values.shape[1])), *(part.slope for part in parts)])
        return SlopeEquations(row[order], direction[order], slope[order])

    def _equations_of(self, rows: NDArray[np.intp], known: NDArray[np.bool_], most: int) -> SlopeEquations:
        """Equations of rows that know the same components."""
        left, lengths, right = np.linalg.svd(self.frame[known], full_matrices=False)
        enough = lengths > SMALLEST * np.linalg.norm(self.frame, 2)
        left, lengths, right = left[:, enough], lengths[enough], right[enough]
        complete = len(lengths) == self.frame.shape[1]
        turn = (right.T if complete else np.eye(len(lengths)))[:most]  # to the axes, or the longest
        directions = np.einsum("pa,ar->pr", turn, right, optimize=False)
        from_given = np.einsum("pa,ba->pb", turn / lengths, left, optimize=False)
        slopes = np.einsum("pb,nkb->npk", from_given, self.values[rows][:, :, known], optimize=False)
        each = len(directions)
        return SlopeEquations(
            np.repeat(rows, each),
            np.tile(directions, (len(rows), 1)),
            slopes.reshape(len(rows) * each, self.values.shape[1]),
        )

    def agop(self, sample_weight: Array) -> Array:
        """Average outer product (r, r) of the gradients, from all pairs of components that are known.

        Zero if none is known.
        """
        weight = self.known * sample_weight[:, None]
        values = np.where(self.known[:, None], self.values, 0.0)
        sums = np.einsum("n,nka,nkb->ab", sample_weight, values, values, optimize=False)
        pairs = np.einsum("na,nb->ab", weight, self.known.astype(float), optimize=False)
        means = np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0.0)
        squares, vectors = np.linalg.eigh(means)  # pairs from different rows need not fit together
        means = (vectors * np.maximum(squares, 0.0)) @ vectors.T
        back = np.linalg.pinv(self.frame, rcond=SMALLEST)
        agop: Array = back @ means @ back.T
        return agop


def _patterns(known: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Rows (m,) that know the same components (D,), and these; rows that know nothing are left out."""
    kinds, which = np.unique(known, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [(np.flatnonzero(which == k), kind) for k, kind in enumerate(kinds) if kind.any()]
