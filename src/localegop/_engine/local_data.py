"""Training points with the compiled core behind them: neighborhoods and local fits at many centers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._data.slopes import GivenSlopes
from localegop._data.units import rotate
from localegop._engine.blas import limited_blas
from localegop._engine.centers import Centers, Widths
from localegop._engine.chunks import chunks
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.mixture import Mixture, Part, SolvedMixture
from localegop._engine.neighbor_lists import KeptLists, NeighborLists, NeighborSearch
from localegop._engine.sparse_kriging import solve_process
from localegop._engine.threads import work_together
from localegop.kernels import Kernel, as_kernel

Array = NDArray[np.float64]
# Weights below this share of the largest are dropped; results change by about as much.
FIELD_CUTOFF = 1e-6
QUERY_CUTOFF = 1e-12
LITERAL_CUTOFF = 1e-18  # fits to fewer points than unknowns magnify what is dropped
TOLERANCE = 1e-12  # share of a metric's trace that its factor may leave out


def half_of(max_visible: int) -> float:
    """Largest effective size that is asked of a neighborhood, where a center can look at so many points."""
    return max(0.5 * max_visible, 1.0)


class TrainingData(Protocol):
    """Training points as a fit sees them, be they in this process or on a cluster."""

    @property
    def n(self) -> int:
        """Number of points."""

    @property
    def dimension(self) -> int:
        """Number of features."""

    @property
    def max_visible(self) -> int:
        """How many points a center can look at."""

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood: half of what a center can look at."""

    @property
    def knows_gradients(self) -> bool:
        """Whether gradients were given with the points."""

    def without(self, held_out: NDArray[np.intp]) -> Self:
        """Take all points but some."""

    def rotated(self, axes: Array) -> Self:
        """Take the same points in other axes (D, r)."""

    def seeing(self, most: int | None) -> Self:
        """Take the same points, with centers that look at so many, or all for None."""


@dataclass(frozen=True)
class LocalBatch:
    """Fits at a batch of centers; axes are (center, size, quadratic directions, ridge, output, feature)."""

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array
    neighborhoods: _core.Neighborhoods


@dataclass(frozen=True)
class KrigingBatch:
    """Kriging at a batch of centers; axes are (center, process, output, feature)."""

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array


@dataclass(frozen=True)
class SampledBatch:
    """One step of Algorithm 1 at a batch of queries; axes are (query, ...).

    AGOP and leave-one-out error are means over the sample, whose part of all weight is ``drawn_weight``.
    """

    agop: Array
    loo_error: Array
    value: Array
    gradient: Array
    scale: Array
    effective_size: Array
    drawn_weight: Array


class LocalData:
    """Training points, ready for local fits. Nothing about it changes once it is made.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Features in the units of the recursion.
    labels : ndarray of shape (n, K)
        Labels in those units.
    sample_weight : ndarray of shape (n,)
        How many rows each one stands for.
    kernel : Kernel
    max_neighbors : int or None
        A center looks at its nearest this many points only; None means all.
    radius : float or None
        A center looks at points within this distance only.
    threads : int
    cutoff : float
        Weights below this share of the largest are dropped.
    n_total : int or None
        Number of points that these are a part of; None if they are all. Where ``max_neighbors`` is less,
        a part must hold everything that its centers may look at.
    slopes : GivenSlopes or None
        Gradients that were given with the points.
    """

    def __init__(
        self,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        *,
        kernel: Kernel,
        max_neighbors: int | None,
        radius: float | None,
        threads: int,
        cutoff: float = FIELD_CUTOFF,
        n_total: int | None = None,
        slopes: GivenSlopes | None = None,
    ) -> None:
        self.rows, self.labels, self.sample_weight, self.slopes = rows, labels, sample_weight, slopes
        self.n, self.dimension = rows.shape
        self.kernel, self.radius, self.cutoff = kernel, radius, cutoff
        self.n_total = self.n if n_total is None else n_total
        self.limit = None if max_neighbors is None or max_neighbors >= self.n_total else int(max_neighbors)
        self.threads = threads if kernel.built_in else 1
        self._points = _core.Points(rows, labels, sample_weight)
        self._kernel = kernel.spec(cutoff, TOLERANCE)
        self._search = NeighborSearch(rows, self._points, self.limit, radius)
        self._solved: dict[GlobalKriging, SolvedProcess] = {}

    def __getstate__(self) -> dict[str, Any]:
        names = ("rows", "labels", "sample_weight", "radius", "threads", "cutoff", "n_total", "slopes")
        kernel = self.kernel.name if self.kernel.built_in else self.kernel
        return {name: getattr(self, name) for name in names} | {"kernel": kernel, "limit": self.limit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = dict(state)
        kernel, limit = as_kernel(given.pop("kernel")), given.pop("limit")
        self.__init__(**given, kernel=kernel, max_neighbors=limit)  # type: ignore[misc]

    @property
    def knows_gradients(self) -> bool:
        """Whether gradients were given with the points."""
        return self.slopes is not None

    @cached_property
    def _points_with_slopes(self) -> _core.Points:
        """The points and what they know of their gradients, once somebody asks."""
        assert self.slopes is not None
        with limited_blas(1, 1):
            whole = np.ascontiguousarray(self.slopes.whole())
        return _core.Points(self.rows, self.labels, self.sample_weight, whole)

    @property
    def outputs(self) -> int:
        """Number of labels of a point."""
        return int(self.labels.shape[1])

    @property
    def max_visible(self) -> int:
        """How many points a center can look at."""
        return self.n_total if self.limit is None else self.limit

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood: half of what a center can look at."""
        return half_of(self.max_visible)

    def with_threads(self, threads: int) -> LocalData:
        """Return the same data, worked on by so many threads."""
        same = object.__new__(LocalData)
        same.__dict__.update(self.__dict__, threads=threads if self.kernel.built_in else 1)
        return same

    def subset(self, rows: NDArray[np.intp], n_total: int | None = None) -> LocalData:
        """Take some of the points, with the same settings."""
        slopes = None if self.slopes is None else self.slopes.take(rows)
        return self.like(self.rows[rows], self.labels[rows], self.sample_weight[rows], n_total, slopes)

    def without(self, held_out: NDArray[np.intp]) -> LocalData:
        """Take all points but some."""
        return self.subset(np.setdiff1d(np.arange(self.n), held_out))

    def rotated(self, axes: Array) -> LocalData:
        """Take the same points in other axes (D, r)."""
        slopes = None if self.slopes is None else self.slopes.rotated(axes)
        return self.like(rotate(self.rows, axes), self.labels, self.sample_weight, self.n_total, slopes)

    def seeing(self, most: int | None) -> LocalData:
        """Take the same points, with centers that look at so many, or all for None."""
        same = object.__new__(LocalData)
        limit = None if most is None or most >= self.n_total else most
        search = NeighborSearch(self.rows, self._points, limit, self.radius)
        same.__dict__.update(self.__dict__, limit=limit, _search=search)
        return same

    def like(
        self,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        n_total: int | None = None,
        slopes: GivenSlopes | None = None,
    ) -> LocalData:
        """Make data of other points, with the same settings."""
        return LocalData(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(labels),
            np.ascontiguousarray(sample_weight),
            kernel=self.kernel,
            max_neighbors=self.limit,
            radius=self.radius,
            threads=self.threads,
            cutoff=self.cutoff,
            n_total=n_total,
            slopes=slopes,
        )

    def solved(self, process: GlobalKriging) -> SolvedProcess:
        """Return a process of all points, solved now or before."""
        return self.solve_all([process])[0]

    def solve_all(self, processes: Sequence[GlobalKriging]) -> list[SolvedProcess]:
        """Return processes of all points, solved now or before."""
        mixtures = [one for one in processes if isinstance(one, Mixture)]
        alike = [part.process for one in mixtures for part in one.parts if part.axes is None]
        if alike:
            self.solve_all(alike)
        unknown = [one for one in dict.fromkeys(processes) if one not in self._solved]
        solved = work_together([partial(self.fresh_solution, one) for one in unknown], self.threads)
        self._solved |= dict(zip(unknown, solved, strict=True))
        return [self._solved[one] for one in processes]

    def fresh_solution(self, process: GlobalKriging) -> SolvedProcess:
        """Return a process of all points, solved now and not kept."""
        if isinstance(process, Mixture):
            return SolvedMixture(process, self.rows, [self._solve_part(part) for part in process.parts])
        return solve_process(process, self.rows, self.labels, self.sample_weight, self.slopes)

    def _solve_part(self, part: Part) -> SolvedProcess:
        """Return a process of a mean, solved now, or before where others may have it, too."""
        if part.axes is None:
            return self.solved(part.process)
        return solve_process(part.process, part.turned(self.rows), self.labels, self.sample_weight, None)

    def neighbor_lists(self, rows: Array) -> NeighborLists | None:
        """Points that centers at these rows may look at; None if all."""
        return self._search.lists(rows, self.threads)

    def keep_neighbor_lists(self, rows: Array) -> KeptLists | None:
        """Do the same for rows that are looked at some at a time."""
        if self._search.shows_all:
            return None
        return KeptLists(lambda some: self._search.some_lists(some, self.threads), rows)

    def nearest(self, rows: Array, count: int) -> NDArray[np.int32]:
        """Numbers (q, count) of the points nearest to rows (q, D), in rising order."""
        return self._search.nearest(rows, count, self.threads)

    def isolated(self, rows: Array) -> NDArray[np.bool_]:
        """Whether fewer than two points lie within the radius of a center."""
        return self._search.isolated(rows, self.threads)

    def centers(self, rows: Array) -> Centers:
        """Centers at any rows (q, D), with the points that they may look at."""
        return Centers(rows, self.neighbor_lists(rows))

    def own_centers(self, points: NDArray[np.int64]) -> Centers:
        """Centers at some of these points, each without itself, with the points that they may look at."""
        return Centers(self.rows[points], self.neighbor_lists(self.rows[points]), points)

    def localize(
        self,
        centers: Centers,
        metrics: Array,
        widths: Widths,
        *,
        degree: int = -1,
        quadratic_directions: Sequence[int] = (0,),
        ridges: Sequence[float] = (0.0,),
        gradients: bool = False,
        variances: bool = False,
        logistic: bool = False,
        slope_weight: float = 0.0,
        keep: bool = False,
        kept_widths: Widths | None = None,
    ) -> LocalBatch:
        """Neighborhoods of these widths, and fits in them.

        Parameters
        ----------
        centers : Centers
        metrics : ndarray of shape (q, D, D)
        widths : Widths
        degree : {-1, 0, 1}
            -1 for no fits, 0 for local means, 1 for local linear fits.
        quadratic_directions : sequence of int
            Numbers of leading directions whose products with all features join the linear terms.
        ridges : sequence of float
        logistic : bool
            Whether labels are one-hot and fits logistic, whose values are probabilities; variance factors
            are those of fits to the labels themselves.
        slope_weight : float
            How much given slopes count, of points that know all of theirs.
        gradients, variances, keep : bool
            What to return beyond values; ``keep`` means the neighborhoods of the last width.
        kept_widths : Widths or None
            With ``keep``, effective sizes of other neighborhoods to keep instead.
        """
        kept = None if kept_widths is None or kept_widths.sizes is None else kept_widths.sizes[:, 0]
        hoods, scale, size, value, gradient, variance = _core.localize(
            *self._around(centers, metrics, slopes=slope_weight > 0.0),
            centers.left_out,
            None if widths.sizes is None else np.ascontiguousarray(widths.sizes, dtype=float),
            None if widths.scales is None else np.ascontiguousarray(widths.scales, dtype=float),
            keep,
            None if kept is None else np.ascontiguousarray(kept),
            degree,
            list(quadratic_directions),
            [float(r) for r in ridges],
            gradients,
            variances,
            self.threads,
            logistic,
            float(slope_weight),
        )
        return LocalBatch(scale, size, value, gradient, variance, hoods)

    def krige(
        self,
        centers: Centers,
        metrics: Array,
        *,
        size: float,
        most: int,
        lengths: Sequence[float],
        ridges: Sequence[float],
        trends: Sequence[bool],
        rough: Sequence[bool],
        gradients: bool = False,
        variances: bool = False,
    ) -> KrigingBatch:
        """Kriging in neighborhoods of an effective size, by several processes.

        Parameters
        ----------
        centers, metrics, gradients, variances
            See :meth:`localize`.
        size : float
            Effective size of the neighborhood, whose width is the unit of ``lengths``.
        most : int
            Only as many of its heaviest points are used.
        lengths, ridges : sequences of float
            Of each process: correlation length, and variance of the noise over that of f.
        trends : sequence of bool
            Whether a process has a linear trend.
        rough : sequence of bool
            Whether it has an exponential covariance instead of a Gaussian one.
        """
        return KrigingBatch(
            *_core.krige(
                *self._around(centers, metrics),
                centers.left_out,
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
        )

    def keep_polynomials(
        self,
        centers: Centers,
        metrics: Array,
        widths: Widths,
        *,
        degree: int,
        n_quadratic_directions: int,
        ridge: float,
        slope_weight: float = 0.0,
    ) -> _core.KeptFits:
        """Make the fits of :meth:`localize` and keep them, one a center, as functions of the query."""
        return _core.KeptFits.polynomials(
            *self._around(centers, metrics, slopes=slope_weight > 0.0),
            *widths.columns(),
            degree,
            n_quadratic_directions,
            float(ridge),
            self.threads,
            float(slope_weight),
        )

    def keep_kriging(
        self,
        centers: Centers,
        metrics: Array,
        widths: Widths,
        *,
        most: int,
        length: float,
        ridge: float,
        trend: bool,
        rough: bool,
    ) -> _core.KeptFits:
        """Make the fits of :meth:`krige` and keep them, one a center, as functions of the query."""
        return _core.KeptFits.kriging(
            *self._around(centers, metrics),
            *widths.columns(),
            most,
            float(length),
            float(ridge),
            bool(trend),
            bool(rough),
            self.threads,
        )

    def match(self, centers: Centers, shapes: Array, widths: Widths) -> Array:
        """Scales at which neighborhoods of these shapes have the sizes asked for."""
        scales = np.empty(len(centers))
        for rows in chunks(len(centers), 8 * self.dimension**2):
            scales[rows] = self.localize(centers[rows], shapes[rows], widths[rows]).scale[:, 0]
        return scales

    def sample_step(
        self,
        centers: Centers,
        metrics: Array,
        widths: Widths,
        *,
        seeds: NDArray[np.uint64],
        step: int,
        n_subsamples: int,
        ridge: float,
        weighting: str,
    ) -> SampledBatch:
        """One step of Algorithm 1 for each center; the weighting is one of the core."""
        return SampledBatch(
            *_core.sampled_steps(
                *self._around(centers, metrics),
                *widths.columns(),
                seeds,
                step,
                n_subsamples,
                ridge,
                weighting,
                self.threads,
            )
        )

    def _around(
        self, centers: Centers, metrics: Array, *, slopes: bool = False
    ) -> tuple[
        _core.Points, _core.KernelSpec, Array, Array, NDArray[np.int64] | None, NDArray[np.int32] | None
    ]:
        """Return what every call of the core begins with."""
        lists = centers.lists
        return (
            self._points_with_slopes if slopes else self._points,
            self._kernel,
            np.ascontiguousarray(centers.rows),
            np.ascontiguousarray(metrics),
            None if lists is None else lists.start,
            None if lists is None else lists.indices,
        )
