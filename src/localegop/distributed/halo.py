"""The halo of a partition: rows of other partitions that its centers need.

Centers are grouped into small cells. A ball around the middle of each cell is wide enough to contain the
nearest k rows of every center in it, so the rows of other partitions in these balls are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Array = NDArray[np.float64]

CELL = 64  # centers in a cell, at most
WIDE = 2.0  # cells with a radius of more than so many times that of the ball of k rows are taken apart
MARGIN = 1.0 + 1e-9  # for rounding in distances
ROUNDING = 1e-13  # in squared distances, as a fraction of squared lengths
BATCH = 64  # balls compared with the rows at a time


@dataclass(frozen=True)
class HaloRegion:
    """Balls that contain every row that some centers may need.

    ``cell_radius`` is the largest distance of a cell's centers from its middle.
    """

    middle: Array
    radius: Array
    cell_radius: Array

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper ends of the box around all balls."""
        if not len(self.middle):
            nothing = np.full(self.middle.shape[1], np.inf)
            return nothing, -nothing
        low = (self.middle - self.radius[:, None]).min(axis=0)
        return low, (self.middle + self.radius[:, None]).max(axis=0)


def neighbors_needed(limit: int | None, dimension: int, n: int) -> int:
    """Count the nearest rows that a center needs: those it looks at, and some more where those are few."""
    return n if limit is None else min(n, max(limit + 1, 4 * (dimension + 2) + 32))


def halo_region(rows: Array, centers: Array, k: int, cell: int = CELL) -> HaloRegion:
    """Find the region of centers from the rows of their own partition; infinite if these are fewer than k.

    Where the centers of a cell lie far apart, as outliers do, each one gets its own ball.
    """
    tree = cKDTree(rows, leafsize=32) if len(rows) >= k else None
    members = _cells(centers, cell)
    region = _region_of_cells(tree, centers, members, k)
    wide = np.isfinite(region.radius) & (
        region.cell_radius > WIDE * (region.radius - 2.0 * region.cell_radius)
    )
    if not wide.any():
        return region
    alone = [np.array([i]) for part, far in zip(members, wide, strict=True) if far for i in part]
    members = [part for part, far in zip(members, wide, strict=True) if not far]
    return _region_of_cells(tree, centers, members + alone, k)


def _region_of_cells(
    tree: cKDTree | None, centers: Array, members: list[NDArray[np.intp]], k: int
) -> HaloRegion:
    middle = np.array([centers[part].mean(axis=0) for part in members]).reshape(-1, centers.shape[1])
    cell_radius = np.array(
        [_distances(centers[part], at).max() for part, at in zip(members, middle, strict=True)]
    )
    if tree is None or not len(middle):
        return HaloRegion(middle, np.full(len(middle), np.inf), cell_radius.astype(float))
    found = tree.query(middle, [k])[0][:, 0]
    return HaloRegion(middle, (found + 2.0 * cell_radius) * MARGIN, cell_radius)


def halo_rows(rows: Array, region: HaloRegion, k: int) -> NDArray[np.intp]:
    """Positions of the rows in a region; in a ball of many rows, only those that can be among k nearest."""
    wanted = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return np.flatnonzero(wanted)
    low, high = rows.min(axis=0), rows.max(axis=0)
    gap = np.maximum(np.maximum(low - region.middle, region.middle - high), 0.0)
    near = np.flatnonzero(np.sqrt(np.sum(gap**2, axis=1)) <= region.radius)
    center = 0.5 * (low + high)
    rows = rows - center
    row_lengths = np.sum(rows**2, axis=1)
    for first in range(0, len(near), BATCH):
        some = near[first : first + BATCH]
        middle = region.middle[some] - center
        lengths = np.sum(middle**2, axis=1)
        # Squared distances less what rounding may have added: rather a row too many than one too few.
        squares = lengths[:, None] + row_lengths - 2.0 * (middle @ rows.T)
        squares -= ROUNDING * (lengths[:, None] + row_lengths.max())
        within = squares <= region.radius[some, None] ** 2
        for i in np.flatnonzero(np.count_nonzero(within, axis=1) > k):
            kth = np.partition(squares[i], k - 1)[k - 1]
            kth += 2.0 * ROUNDING * (lengths[i] + row_lengths.max())
            tighter = (np.sqrt(max(kth, 0.0)) + 2.0 * region.cell_radius[some[i]]) * MARGIN
            within[i] &= squares[i] <= tighter**2
        wanted |= within.any(axis=0)
    return np.flatnonzero(wanted)


def _cells(points: Array, size: int) -> list[NDArray[np.intp]]:
    """Group points that lie close together, at most ``size`` each unless points are repeated."""
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
