"""Weighted local fits at many centers: the compiled core, seen from Python.

:class:`LocalData` holds training points in the units of the recursion and knows which of them a center
may look at. Its :meth:`~LocalData.localize` cuts neighborhoods out of them and fits in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from localegop import _core
from localegop.kernels import Kernel, as_kernel

Array = NDArray[np.float64]
# Weights below this share of the largest are dropped; results change by about as much.
FIELD_CUTOFF = 1e-6
QUERY_CUTOFF = 1e-12
TOLERANCE = 1e-12  # share of a metric's trace that its factor may leave out
TREE_DIMENSION = 15  # beyond, a search by tree looks at nearly all points, and all distances are faster
CHUNK_BYTES = 16e6  # memory for the metrics and fits of one chunk of centers: malloc reuses as much


@dataclass(frozen=True)
class Candidates:
    """Lists of the points that centers may look at: list i is ``indices[start[i] : start[i + 1]]``."""

    start: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __getitem__(self, rows: slice) -> Candidates:
        first, last, _ = rows.indices(len(self.start) - 1)
        start = self.start[first : last + 1]
        return Candidates(start - start[0], self.indices[start[0] : start[-1]])

    def some(self, centers: NDArray[np.intp]) -> Candidates:
        """Take the lists of some centers."""
        return _listed([self.indices[self.start[i] : self.start[i + 1]] for i in centers])

    def restricted(self, centers: NDArray[np.intp], kept: NDArray[np.intp], n: int) -> Candidates:
        """Take the lists of some centers, without points that are not kept; those are numbered anew."""
        number = np.full(n, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        lists = []
        for i in centers:
            found = number[self.indices[self.start[i] : self.start[i + 1]]]
            lists.append(found[found >= 0])
        return _listed(lists)


class Lists(Protocol):
    """Lists of points for many centers, of which some can be had at a time."""

    def __getitem__(self, rows: slice) -> Candidates:
        """Give the lists of these centers."""
        ...


@dataclass(frozen=True)
class LocalBatch:
    """Fits at a batch of centers; axes are (center, size, bends, ridge, output, feature)."""

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array
    neighborhoods: _core.Neighborhoods


class LocalData:
    """Training points, ready for local fits.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Features in the units of the recursion.
    labels : ndarray of shape (n, K)
        Labels in those units.
    share : ndarray of shape (n,)
        Sample weights: how many rows each one stands for.
    kernel : Kernel
    max_neighbors : int or None
        A center looks at its nearest this many points only; None means all.
    radius : float or None
        A center looks at points within this distance only.
    threads : int
    cutoff : float
        Weights below this share of the largest are dropped.
    among : int or None
        Number of points that these are a part of; None if they are all. Where ``max_neighbors`` is less,
        a part must hold everything that its centers may look at.
    """

    def __init__(
        self,
        rows: Array,
        labels: Array,
        share: Array,
        *,
        kernel: Kernel,
        max_neighbors: int | None,
        radius: float | None,
        threads: int,
        cutoff: float = FIELD_CUTOFF,
        among: int | None = None,
    ) -> None:
        self.cutoff = cutoff
        self.rows, self.labels, self.share = rows, labels, share
        self.n, self.dimension = rows.shape
        self.kernel, self.radius = kernel, radius
        self.among = self.n if among is None else among
        self.limit = None if max_neighbors is None or max_neighbors >= self.among else int(max_neighbors)
        self.named = kernel.built_in
        self.threads = threads if self.named else 1
        self._points = _core.Points(rows, labels, share)
        self._kernel = kernel.spec(cutoff, TOLERANCE)
        self._tree: Any = None
        self._ball: NearestNeighbors | None = None
        self._own: Candidates | None = None

    def __reduce__(self) -> tuple[object, ...]:
        kernel = self.kernel.name if self.named else self.kernel
        arguments = (self.rows, self.labels, self.share, kernel, self.limit, self.radius, self.threads)
        return (_rebuild, (*arguments, self.cutoff, self.among))

    def subset(self, rows: NDArray[np.intp], among: int | None = None) -> LocalData:
        """Take some of the points, with the same settings."""
        return self._like(self.rows[rows], self.labels[rows], self.share[rows], among)

    def without(self, held_out: NDArray[np.intp]) -> LocalData:
        """Take all points but some."""
        return self.subset(np.setdiff1d(np.arange(self.n), held_out))

    def turned(self, axes: Array) -> LocalData:
        """Take the same points in other axes (D, r)."""
        return self._like(turned(self.rows, axes), self.labels, self.share, self.among)

    def narrowed(self, most: int) -> LocalData:
        """Take the same points, with centers that look at no more than so many."""
        return self._like(self.rows, self.labels, self.share, self.among, min(most, self.reachable))

    def _like(
        self, rows: Array, labels: Array, share: Array, among: int | None, limit: int | None = None
    ) -> LocalData:
        return LocalData(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(labels),
            np.ascontiguousarray(share),
            kernel=self.kernel,
            max_neighbors=self.limit if limit is None else limit,
            radius=self.radius,
            threads=self.threads,
            cutoff=self.cutoff,
            among=among,
        )

    @property
    def reachable(self) -> int:
        """How many points a center can look at."""
        return self.among if self.limit is None else self.limit

    def candidates(self, centers: Array) -> Candidates | None:
        """Points that each center may look at; None if all."""
        if self.limit is None and self.radius is None:
            return None
        if self.radius is None and self.limit is not None:
            found = self._nearest(centers, self.limit)
            start = np.arange(0, found.size + 1, self.limit, dtype=np.int64)
            return Candidates(start, found.ravel())
        lists: list[NDArray[np.int32]] = []
        for rows in self.chunks(len(centers), 16 * self.reachable):
            lists.extend(self._lists_within_radius(centers[rows]))
        return _listed(lists)

    def own_candidates(self) -> Candidates | None:
        """Points that each point may look at, kept until :meth:`forget_candidates`."""
        if self._own is None:
            self._own = self.candidates(self.rows)
        return self._own

    def forget_candidates(self) -> None:
        """Free the memory of :meth:`own_candidates`."""
        self._own = None

    def _nearest(self, centers: Array, count: int) -> NDArray[np.int32]:
        """Numbers (q, count) of the nearest points, in rising order; of equally far ones the first."""
        found = np.empty((len(centers), count), dtype=np.int32)
        if self.dimension > TREE_DIMENSION:
            _core.nearest(self._points, np.ascontiguousarray(centers), found, self.threads)
            return found
        for rows in self.chunks(len(centers), 16 * count):
            found[rows] = np.sort(self._nearest_in_tree(centers[rows], count), axis=1)
        return found

    def _nearest_in_tree(self, centers: Array, count: int) -> NDArray[np.intp]:
        if self._tree is None:
            self._tree = cKDTree(self.rows, leafsize=32)
        wanted = np.arange(1, min(count + 1, self.n) + 1)
        distances, found = self._tree.query(centers, wanted, workers=self.threads)
        tied = (distances[:, count - 1] == distances[:, -1]) & (count < self.n)
        for i in np.flatnonzero(tied):
            far, near, more = distances[i], found[i], count + 1
            while far[-1] == distances[i, -1] and more < self.n:
                more = min(2 * more, self.n)
                far, near = self._tree.query(centers[i], np.arange(1, more + 1))
            found[i, :count] = near[np.lexsort((near, far))[:count]]
        return np.asarray(found[:, :count])

    def _lists_within_radius(self, centers: Array) -> list[NDArray[np.int32]]:
        if self._ball is None:
            self._ball = NearestNeighbors(n_jobs=self.threads).fit(self.rows)
        distances, found = self._ball.radius_neighbors(centers, self.radius, sort_results=True)
        least = min(self.n, self.dimension + 2)
        lists = []
        for center, far, near in zip(centers, distances, found, strict=True):
            if len(near) < 2:  # nobody within the radius: the nearest few, and the status says so
                near = self._nearest(center[None], least)[0]
            elif self.limit is not None and len(far) > self.limit:
                near = near[: self.limit]
            lists.append(np.sort(near).astype(np.int32))
        return lists

    def filled(self, centers: Array, candidates: Candidates | None) -> Candidates | None:
        """Give centers whose lists have fewer than two points their nearest few instead."""
        if candidates is None:
            return None
        lists = [candidates.indices[a:b] for a, b in pairwise(candidates.start)]
        short = [i for i, found in enumerate(lists) if len(found) < 2]
        for i in short:
            lists[i] = self._nearest(centers[i : i + 1], min(self.n, self.dimension + 2))[0]
        return _listed(lists) if short else candidates

    def lonely(self, centers: Array) -> NDArray[np.bool_]:
        """Whether fewer than two points lie within the radius of a center."""
        if self.radius is None:
            return np.zeros(len(centers), dtype=bool)
        two = self.rows[self._nearest(centers, min(2, self.n))]
        far: Array = np.sqrt(np.max(np.sum((two - centers[:, None]) ** 2, axis=2), axis=1))
        return far > self.radius

    def chunks(self, count: int, bytes_each: float) -> Iterator[slice]:
        """Slices of centers small enough for the memory budget."""
        size = int(np.clip(CHUNK_BYTES / max(bytes_each, 1.0), 64, 4096))
        for first in range(0, count, size):
            yield slice(first, min(first + size, count))

    def _around(
        self, centers: Array, metrics: Array, candidates: Candidates | None
    ) -> tuple[
        _core.Points, _core.KernelSpec, Array, Array, NDArray[np.int64] | None, NDArray[np.int32] | None
    ]:
        """Return what every call of the core begins with."""
        return (
            self._points,
            self._kernel,
            np.ascontiguousarray(centers),
            np.ascontiguousarray(metrics),
            None if candidates is None else candidates.start,
            None if candidates is None else candidates.indices,
        )

    def localize(
        self,
        centers: Array,
        metrics: Array,
        candidates: Candidates | None,
        *,
        sizes: Array | None = None,
        scales: Array | None = None,
        left_out: NDArray[np.int64] | None = None,
        degree: int = -1,
        bends: Sequence[int] = (0,),
        ridges: Sequence[float] = (0.0,),
        gradients: bool = False,
        variances: bool = False,
        keep: bool = False,
        kept_sizes: Array | None = None,
    ) -> LocalBatch:
        """Neighborhoods of effective sizes ``sizes`` (falling) or scales ``scales``, and fits in them.

        Parameters
        ----------
        centers : ndarray of shape (q, D)
        metrics : ndarray of shape (q, D, D)
        candidates : Candidates or None
        sizes, scales : ndarray of shape (q, S) or None
            One of them; with both, scales are first guesses.
        left_out : ndarray of shape (q,) or None
            Index of the point that each center leaves out; -1 for none.
        degree : {-1, 0, 1}
            -1 for no fits, 0 for local means, 1 for local linear fits.
        bends : sequence of int
            Numbers of leading directions whose products with all features join the linear terms.
        ridges : sequence of float
        gradients, variances, keep : bool
            What to return beyond values; ``keep`` means the neighborhoods of the last size.
        kept_sizes : ndarray of shape (q,) or None
            With ``keep``, effective sizes of other neighborhoods to keep instead.
        """
        hoods, scale, size, value, gradient, variance = _core.localize(
            *self._around(centers, metrics, candidates),
            left_out,
            None if sizes is None else np.ascontiguousarray(sizes, dtype=float),
            None if scales is None else np.ascontiguousarray(scales, dtype=float),
            keep,
            kept_sizes,
            degree,
            list(bends),
            [float(r) for r in ridges],
            gradients,
            variances,
            self.threads,
        )
        return LocalBatch(scale, size, value, gradient, variance, hoods)

    def krige(
        self,
        centers: Array,
        metrics: Array,
        candidates: Candidates | None,
        *,
        size: float,
        most: int,
        lengths: Sequence[float],
        ridges: Sequence[float],
        trends: Sequence[bool],
        rough: Sequence[bool],
        left_out: NDArray[np.int64] | None = None,
        gradients: bool = False,
        variances: bool = False,
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Kriging in neighborhoods of an effective size.

        Parameters
        ----------
        centers, metrics, candidates, left_out, gradients, variances
            See :meth:`localize`.
        size : float
            Effective size of the neighborhood, whose width is the unit of ``lengths``.
        most : int
            Only as many of its heaviest points are used.
        lengths, ridges : sequences of float
            Of each fit: correlation length, and variance of the noise over that of f.
        trends : sequence of bool
            Whether a fit has a linear trend.
        rough : sequence of bool
            Whether it has an exponential covariance instead of a Gaussian one.

        Returns
        -------
        scale, effective_size : ndarrays of shape (q,)
        value : ndarray of shape (q, fit, K)
        gradient : ndarray of shape (q, fit, K, D)
        variance_factor : ndarray of shape (q, fit)
        """
        return _core.krige(
            *self._around(centers, metrics, candidates),
            left_out,
            np.full(len(centers), float(size)),
            most,
            [float(length) for length in lengths],
            [float(ridge) for ridge in ridges],
            [bool(trend) for trend in trends],
            [bool(one) for one in rough],
            gradients,
            variances,
            self.threads,
        )

    def match(
        self,
        centers: Array,
        shapes: Array,
        candidates: Lists | None,
        size: Array,
        left_out: NDArray[np.int64] | None = None,
    ) -> Array:
        """Scales at which neighborhoods of these shapes have these effective sizes."""
        scales = np.empty(len(centers))
        for rows in self.chunks(len(centers), 8 * self.dimension**2):
            scales[rows] = self.localize(
                centers[rows],
                shapes[rows],
                None if candidates is None else candidates[rows],
                sizes=size[rows, None],
                left_out=None if left_out is None else left_out[rows],
            ).scale[:, 0]
        return scales

    def sampled_steps(
        self,
        centers: Array,
        metrics: Array,
        candidates: Candidates | None,
        *,
        sizes: Array | None,
        scales: Array | None,
        seeds: NDArray[np.uint64],
        step: int,
        n_subsamples: int,
        ridge: float,
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        """One step of Algorithm 1 per center: AGOP, LOO error, value, gradient, scale, effective size."""
        return _core.sampled_steps(
            *self._around(centers, metrics, candidates),
            sizes,
            scales,
            seeds,
            step,
            n_subsamples,
            ridge,
            self.threads,
        )


def turned(rows: Array, axes: Array) -> Array:
    """Rows in other axes (D, r), each one the same for any number of rows."""
    diagonal = np.diagonal(axes)
    if axes.shape[0] == axes.shape[1] and np.array_equal(axes, np.diag(diagonal)):
        return np.ascontiguousarray(rows * diagonal)
    # einsum without BLAS: a matrix product may round differently for different numbers of rows.
    return np.ascontiguousarray(np.einsum("ia,ab->ib", rows, axes, optimize=False))


def _listed(lists: list[NDArray[np.int32]]) -> Candidates:
    start = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(found) for found in lists], out=start[1:])
    return Candidates(start, np.concatenate(lists) if lists else np.zeros(0, np.int32))


def _rebuild(
    rows: Array,
    labels: Array,
    share: Array,
    kernel: str | Kernel,
    limit: int | None,
    radius: float | None,
    threads: int,
    cutoff: float,
    among: int,
) -> LocalData:
    return LocalData(
        rows,
        labels,
        share,
        kernel=as_kernel(kernel),
        max_neighbors=limit,
        radius=radius,
        threads=threads,
        cutoff=cutoff,
        among=among,
    )
