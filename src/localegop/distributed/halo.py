"""Who may look at whom: the rows of one partition that centers in another one need.

Centers are taken in small cells. Balls around the middle of each cell are wide enough to hold the nearest
k rows of every center in it, so the rows in them are all that a partition has to lend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Array = NDArray[np.float64]

CELL = 64  # centers in a cell, at most
WIDE = 2.0  # width of a cell, in radii of the ball of k rows, from which its centers go alone
MARGIN = 1.0 + 1e-9  # for rounding in distances
ROUNDING = 1e-13  # in squared distances, as a share of squared lengths
BATCH = 64  # balls looked at at a time


@dataclass(frozen=True)
class Reach:
    """Balls that hold whatever centers may look at, and how far centers lie from the middle of each."""

    middle: Array
    radius: Array
    width: Array

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper ends of all balls."""
        if not len(self.middle):
            nothing = np.full(self.middle.shape[1], np.inf)
            return nothing, -nothing
        low = (self.middle - self.radius[:, None]).min(axis=0)
        return low, (self.middle + self.radius[:, None]).max(axis=0)


def neighbors_needed(limit: int | None, dimension: int, n: int) -> int:
    """Count the nearest rows that a center needs: those it looks at, and a few where those are too few."""
    return n if limit is None else min(n, max(limit + 1, 4 * (dimension + 2) + 32))


def reach_of(rows: Array, centers: Array, k: int, cell: int = CELL) -> Reach:
    """Reach of centers, as far as some rows can tell: infinite if these are fewer than k.

    Where centers of a cell lie far apart, as outliers do, each one gets a ball of its own.
    """
    tree = cKDTree(rows, leafsize=32) if len(rows) >= k else None
    members = _cells(centers, cell)
    reach = _reach_of_cells(tree, centers, members, k)
    wide = np.isfinite(reach.radius) & (reach.width > WIDE * (reach.radius - 2.0 * reach.width))
    if not wide.any():
        return reach
    alone = [np.array([i]) for part, far in zip(members, wide, strict=True) if far for i in part]
    members = [part for part, far in zip(members, wide, strict=True) if not far]
    return _reach_of_cells(tree, centers, members + alone, k)


def _reach_of_cells(tree: cKDTree | None, centers: Array, members: list[NDArray[np.intp]], k: int) -> Reach:
    middle = np.array([centers[part].mean(axis=0) for part in members]).reshape(-1, centers.shape[1])
    width = np.array(
        [_distances(centers[part], at).max() for part, at in zip(members, middle, strict=True)]
    )
    if tree is None or not len(middle):
        return Reach(middle, np.full(len(middle), np.inf), width.astype(float))
    found = tree.query(middle, [k])[0][:, 0]
    return Reach(middle, (found + 2.0 * width) * MARGIN, width)


def lent(rows: Array, reach: Reach, k: int) -> NDArray[np.intp]:
    """Positions of the rows that lie within reach; of many, only those that can be among the nearest k."""
    wanted = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return np.flatnonzero(wanted)
    low, high = rows.min(axis=0), rows.max(axis=0)
    gap = np.maximum(np.maximum(low - reach.middle, reach.middle - high), 0.0)
    near = np.flatnonzero(np.sqrt(np.sum(gap**2, axis=1)) <= reach.radius)
    center = 0.5 * (low + high)
    rows = rows - center
    lengths = np.sum(rows**2, axis=1)
    for first in range(0, len(near), BATCH):
        some = near[first : first + BATCH]
        middle = reach.middle[some] - center
        own = np.sum(middle**2, axis=1)
        # Squared distances less what rounding may have added: rather a row too many than one too few.
        squares = own[:, None] + lengths - 2.0 * (middle @ rows.T)
        squares -= ROUNDING * (own[:, None] + lengths.max())
        within = squares <= reach.radius[some, None] ** 2
        for i in np.flatnonzero(np.count_nonzero(within, axis=1) > k):
            kth = np.partition(squares[i], k - 1)[k - 1] + 2.0 * ROUNDING * (own[i] + lengths.max())
            tighter = (np.sqrt(max(kth, 0.0)) + 2.0 * reach.width[some[i]]) * MARGIN
            within[i] &= squares[i] <= tighter**2
        wanted |= within.any(axis=0)
    return np.flatnonzero(wanted)


def _cells(points: Array, size: int) -> list[NDArray[np.intp]]:
    """Points in groups of at most ``size`` that lie close together, but for repeated ones."""
    if size == 1 or not len(points):
        return [np.array([i]) for i in range(len(points))]
    waiting, leaves = [cKDTree(points, leafsize=size).tree], []
    while waiting:
        node = waiting.pop()
        if node.split_dim == -1:
            leaves.append(np.asarray(node.indices))
        else:
            waiting += [node.lesser, node.greater]
    return leaves


def _distances(rows: Array, center: Array) -> Array:
    distances: Array = np.sqrt(np.sum((rows - center) ** 2, axis=1))
    return distances
