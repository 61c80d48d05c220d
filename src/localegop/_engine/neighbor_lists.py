"""Which points a center may look at: lists of its neighbors, and the search that makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from localegop import _core
from localegop._engine.threads import work_in_threads

Array = NDArray[np.float64]

# Computing all distances beats a tree beyond 15 dimensions, where a tree looks at nearly all points; from 8
# dimensions on for up to 200,000 points; and in few dimensions for up to 64 times as many points as
# neighbors wanted.
TREE_DIMENSION = 15
CROWDED_DIMENSION, CROWD = 8, 200_000
POINTS_PER_NEIGHBOR = 64
PART = 128  # centers whose neighbors are searched for at a time: an interrupt waits for so many


@dataclass(frozen=True)
class NeighborLists:
    """Lists of the points that centers may look at: list i is ``indices[start[i] : start[i + 1]]``."""

    start: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def of(cls, lists: list[NDArray[np.int32]]) -> NeighborLists:
        """Put single lists one after the other."""
        start = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(found) for found in lists], out=start[1:])
        return cls(start, np.concatenate(lists) if lists else np.zeros(0, np.int32))

    def __getitem__(self, rows: slice) -> NeighborLists:
        first, last, _ = rows.indices(len(self.start) - 1)
        start = self.start[first : last + 1]
        return NeighborLists(start - start[0], self.indices[start[0] : start[-1]])

    def pick(self, centers: NDArray[np.intp]) -> NeighborLists:
        """Take the lists of some centers."""
        return NeighborLists.of([self.indices[self.start[i] : self.start[i + 1]] for i in centers])


class KeptLists:
    """The same for centers that are looked at some at a time: each list is searched for once it is needed.

    Parameters
    ----------
    search : callable
        Gives the lists of centers (m, D).
    centers : ndarray of shape (q, D)
    """

    def __init__(self, search: Callable[[Array], NeighborLists], centers: Array) -> None:
        self._search, self._centers = search, centers
        self._lists: list[NDArray[np.int32] | None] = [None] * len(centers)

    def __getitem__(self, rows: slice) -> NeighborLists:
        return self.pick(np.arange(len(self._lists))[rows])

    def pick(self, centers: NDArray[np.intp]) -> NeighborLists:
        """Take the lists of some centers."""
        unknown = [i for i in centers if self._lists[i] is None]
        if unknown:
            found = self._search(self._centers[unknown])
            for k, i in enumerate(unknown):
                self._lists[i] = found.indices[found.start[k] : found.start[k + 1]]
        return NeighborLists.of([known for i in centers if (known := self._lists[i]) is not None])


class NeighborSearch:
    """Finds the nearest points of centers, or those within a radius.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    points : _core.Points
        The same, for the compiled core.
    limit : int or None
        A center looks at its nearest this many points only; None means all.
    radius : float or None
        A center looks at points within this distance only.
    """

    def __init__(self, rows: Array, points: _core.Points, limit: int | None, radius: float | None) -> None:
        self.rows, self.limit, self.radius = rows, limit, radius
        self.n, self.dimension = rows.shape
        self._points = points

    @property
    def shows_all(self) -> bool:
        """Whether a center may look at all points."""
        return self.limit is None and self.radius is None

    @property
    def fewest(self) -> int:
        """Number of points that a center gets where nobody is within the radius."""
        return min(int(self.n), int(self.dimension) + 2)

    def lists(self, centers: Array, threads: int) -> NeighborLists | None:
        """Points that each center may look at; None if all."""
        return None if self.shows_all else self.some_lists(centers, threads)

    def some_lists(self, centers: Array, threads: int) -> NeighborLists:
        """Points that each center may look at, which are not all."""
        if self.radius is None and self.limit is not None:
            found = self.nearest(centers, self.limit, threads)
            start = np.arange(0, found.size + 1, self.limit, dtype=np.int64)
            return NeighborLists(start, found.ravel())
        lists: list[NDArray[np.int32]] = [np.zeros(0, np.int32)] * len(centers)
        tree = self._tree  # made before threads use it

        def search(rows: slice) -> None:
            for i, inside in enumerate(tree.query_ball_point(centers[rows], self.radius), rows.start):
                lists[i] = self._some_of(np.sort(np.array(inside, dtype=np.int32)), centers[i])

        work_in_threads(search, _parts(len(centers)), threads)
        return NeighborLists.of(lists)

    def nearest(self, centers: Array, count: int, threads: int) -> NDArray[np.int32]:
        """Numbers (q, count) of the nearest points, in rising order; of equally far ones the first."""
        found = np.empty((len(centers), count), dtype=np.int32)
        if self._by_all_distances(count):
            _core.nearest(self._points, np.ascontiguousarray(centers), found, threads)
            return found
        tree = self._tree  # made before threads use it

        def search(rows: slice) -> None:
            found[rows] = np.sort(_nearest_in_tree(tree, centers[rows], count), axis=1)

        work_in_threads(search, _parts(len(centers)), threads)
        return found

    def isolated(self, centers: Array, threads: int) -> NDArray[np.bool_]:
        """Whether fewer than two points lie within the radius of a center."""
        if self.radius is None:
            return np.zeros(len(centers), dtype=bool)
        two = self.rows[self.nearest(centers, min(2, self.n), threads)]
        far: Array = np.sqrt(np.max(np.sum((two - centers[:, None]) ** 2, axis=2), axis=1))
        return far > self.radius

    def _by_all_distances(self, count: int) -> bool:
        """Whether all distances are computed faster than a tree finds so many neighbors."""
        crowded = self.dimension >= CROWDED_DIMENSION and self.n <= CROWD
        few = self.n <= POINTS_PER_NEIGHBOR * count
        return bool(self.dimension > TREE_DIMENSION or crowded or few)

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.rows, leafsize=32)

    def _some_of(self, inside: NDArray[np.int32], center: Array) -> NDArray[np.int32]:
        """Take the points within the radius of a center, or the nearest of them if they are too many."""
        if len(inside) < 2:  # nobody within the radius: the nearest few, and the status says so
            few: NDArray[np.int32] = self.nearest(center[None], self.fewest, 1)[0]
            return few
        if self.limit is None or len(inside) <= self.limit:
            return inside
        far = np.sum((self.rows[inside] - center) ** 2, axis=1)
        nearest: NDArray[np.int32] = inside[np.argsort(far, kind="stable")[: self.limit]]
        nearest.sort()
        return nearest


def _nearest_in_tree(tree: cKDTree, centers: Array, count: int) -> NDArray[np.intp]:
    """Numbers (q, count) of the nearest points; of equally far ones the first."""
    wanted = np.arange(1, min(count + 1, tree.n) + 1)
    distances, found = tree.query(centers, wanted)
    tied = (distances[:, count - 1] == distances[:, -1]) & (count < tree.n)
    for i in np.flatnonzero(tied):
        far, near, more = distances[i], found[i], count + 1
        while far[-1] == distances[i, -1] and more < tree.n:
            more = min(2 * more, tree.n)
            far, near = tree.query(centers[i], np.arange(1, more + 1))
        found[i, :count] = near[np.lexsort((near, far))[:count]]
    return np.asarray(found[:, :count])


def _parts(count: int) -> list[slice]:
    """Slices of so many centers that are searched for at a time."""
    return [slice(first, min(first + PART, count)) for first in range(0, count, PART)]
