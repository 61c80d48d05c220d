"""The halo of a partition: rows of other partitions that its centers need.

Centers are grouped into small cells. A ball around the middle of each cell is wide enough to contain the
nearest k rows of every center in it, so the rows of other partitions in these balls are all that is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Array = NDArray[np.float64]

CELL = 64  # centers in a cell, at most
WIDE = 2.0  # cells with a radius of more than so many times that of the ball of k rows are taken apart
MARGIN = 1.0 + 1e-9  # for rounding in distances


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
    return HaloRegion(middle, _radius_of_nearest(tree, middle, cell_radius, k), cell_radius)


def halo_rows(rows: Array, regions: Sequence[HaloRegion], k: int) -> list[NDArray[np.intp]]:
    """Positions of the rows in each region; in a ball of many, only those that can be among k nearest."""
    if not len(rows):
        return [np.zeros(0, dtype=np.intp) for _ in regions]
    low, high = rows.min(axis=0), rows.max(axis=0)
    tree = cKDTree(rows, leafsize=32)
    return [_rows_inside(tree, _near(region, low, high), k) for region in regions]


def _near(region: HaloRegion, low: Array, high: Array) -> HaloRegion:
    """Balls that touch a box."""
    gap = np.maximum(np.maximum(low - region.middle, region.middle - high), 0.0)
    near = np.sqrt(np.sum(gap**2, axis=1)) <= region.radius
    return HaloRegion(region.middle[near], region.radius[near], region.cell_radius[near])


def _rows_inside(tree: cKDTree, region: HaloRegion, k: int) -> NDArray[np.intp]:
    wanted = np.zeros(tree.n, dtype=bool)
    radius = region.radius
    if tree.n > k and len(radius):
        radius = np.minimum(radius, _radius_of_nearest(tree, region.middle, region.cell_radius, k))
    if np.isinf(radius).any():
        wanted[:] = True
    else:
        for found in (
            tree.query_ball_point(region.middle, radius, return_sorted=False) if len(radius) else ()
        ):
            wanted[found] = True
    return np.flatnonzero(wanted)


def _radius_of_nearest(tree: cKDTree, middle: Array, cell_radius: Array, k: int) -> Array:
    """Radius around the middle of each cell that contains the nearest k rows of all centers in the cell."""
    radius: Array = (tree.query(middle, [k])[0][:, 0] + 2.0 * cell_radius) * MARGIN
    return radius


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
