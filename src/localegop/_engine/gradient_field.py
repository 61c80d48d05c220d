"""The field strategy: gradients learned once at some training points, then averaged around any center.

A gradient field turns slowly, so some hundred points tell what all would: these are its anchors. Every
anchor looks at all training points that it may use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._core import Neighborhoods
from localegop._data.sums import merge_sums, sum_columns
from localegop._engine.centers import Centers, Widths
from localegop._engine.chunks import chunks
from localegop._engine.chunks import spread_points as spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.neighbor_lists import NeighborLists
from localegop._engine.recursion import MetricUpdate, Recursion, Stage, Step, isotropic_shapes
from localegop._engine.sites import Site
from localegop._engine.work import PolynomialFits
from localegop._progress import Progress

Array = NDArray[np.float64]

# AGOPs are averaged over neighborhoods this many times the size of those the gradients are fitted in: a
# gradient field turns slowly, and the average of few gradients is noisy.
AGOP_WIDENING = 3.0
FEWEST_GRADIENTS = 20.0  # that an AGOP is the average of, where anchors are sparse


@dataclass(frozen=True)
class GradientField:
    """Gradients at the anchors, one set per step: what the field strategy learns.

    Parameters
    ----------
    anchors : LocalData
        The anchors alone, to average over.
    n : int
        Number of training points that the gradients were fitted to, of which the anchors are some.
    largest_size : float
        Largest effective size that is asked of a neighborhood of training points.
    update : MetricUpdate
    gradients : tuple of ndarray of shape (a, K, D)
    loo_errors : tuple of ndarray of shape (a, 1)
        Squared residuals of the fits that gave the gradients, each without its own point, averaged over
        outputs.
    """

    anchors: LocalData
    n: int
    largest_size: float
    update: MetricUpdate
    gradients: tuple[Array, ...] = ()
    loo_errors: tuple[Array, ...] = ()

    @property
    def dimension(self) -> int:
        """Number of features."""
        return int(self.anchors.dimension)

    def follow(
        self, rows: Array, own: NDArray[np.int64] | None = None, lists: NeighborLists | None = None
    ) -> Recursion[FieldFollower]:
        """Recursion that takes centers at other rows through the learned gradients, without regressions.

        ``own`` are the anchors that the centers are, whose gradients then do not count; -1 for none.
        ``lists`` are the anchors that the centers look at, if not the nearest.
        """
        stage = Stage.first(len(rows), self.dimension)
        centers = Centers(rows, self.anchors.neighbor_lists(rows) if lists is None else lists, own)
        return Recursion(FieldFollower(self, centers), self.update, self, stage)

    def shapes(
        self,
        rows: Array,
        last: int,
        own: NDArray[np.int64] | None = None,
        lists: NeighborLists | None = None,
    ) -> Iterator[Array]:
        """Shapes (center, D, D) of the neighborhoods of other centers, after 0, 1, ... ``last`` steps."""
        yield isotropic_shapes(len(rows), self.dimension)
        if last == 0:
            return  # without a search for the anchors around
        recursion = self.follow(rows, own, lists)
        for _ in range(last):
            recursion.advance()
            yield recursion.shape

    def shapes_at(
        self,
        rows: Array,
        step: int,
        own: NDArray[np.int64] | None = None,
        lists: NeighborLists | None = None,
    ) -> Array:
        """Shapes (center, D, D) after so many steps; for ``own`` and ``lists`` see :meth:`follow`."""
        found = np.empty((len(rows), self.dimension, self.dimension))
        for part in chunks(len(rows), 8 * self.dimension**2 + 12 * self.anchors.max_visible):
            without = None if own is None else own[part]
            seen = None if lists is None else lists[part]
            for shape in self.shapes(rows[part], step, without, seen):
                found[part] = shape
        return found

    def wide_neighborhoods(self, centers: Centers, shape: Array, widths: Widths) -> Neighborhoods:
        """Neighborhoods that AGOPs are averaged over, where gradients are fitted with these widths."""
        anchors = self.anchors
        share = anchors.n / self.n
        fewest = FEWEST_GRADIENTS if share < 1.0 else 0.0
        wide = widths.widen(AGOP_WIDENING * share, anchors.largest_size, fewest)
        return anchors.localize(centers, shape, wide, keep=True).neighborhoods


@dataclass(frozen=True)
class FieldFollower:
    """The field strategy at queries."""

    field: GradientField
    centers: Centers

    def step(self, t: int, shape: Array, widths: Widths) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        field = self.field
        agop, scale, effective = np.empty_like(shape), np.empty(len(shape)), np.empty(len(shape))
        for rows in chunks(len(shape), 8 * field.dimension**2 + 12 * field.anchors.max_visible):
            around = field.wide_neighborhoods(self.centers[rows], shape[rows], widths[rows])
            around.outer_products(field.gradients[t], agop[rows], field.anchors.threads)
            scale[rows], effective[rows] = around.scale, around.effective_size
        return Step(shape, widths, scale, effective, agop)

    def match(self, shape: Array, widths: Widths) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`; only asked where all points are anchors."""
        return self.field.anchors.match(self.centers, shape, widths)


def learn_field(
    site: Site,
    anchors: LocalData,
    update: MetricUpdate,
    ridges: tuple[float, ...],
    n_iter: int,
    progress: Progress,
    largest_size: float | None = None,
) -> GradientField:
    """Run the recursion at the anchors, which are the centers of a site: their gradients at each step.

    Each step takes the ridge with the smallest leave-one-out error over all anchors. No size is larger than
    ``largest_size``, if not given that of the site.
    """
    largest = site.data.largest_size if largest_size is None else largest_size
    field = GradientField(anchors, site.data.n, largest, update)
    progress.expect(n_iter)
    if n_iter == 0:
        return field
    recursion = field.follow(site.rows, np.arange(len(site)))
    for t in range(n_iter):
        gradients, errors = _leave_one_out(site, ridges, *recursion.setting())
        field = replace(
            field, gradients=(*field.gradients, gradients), loo_errors=(*field.loo_errors, errors)
        )
        recursion.strategy = replace(recursion.strategy, field=field)
        if t < n_iter - 1:
            recursion.advance()
        progress.advance()
    return field


def _leave_one_out(
    site: Site, ridges: tuple[float, ...], shape: Array, widths: Widths
) -> tuple[Array, Array]:
    """Gradients (m, K, D) without each point's own label, and squared errors (m, 1), of the best ridge."""
    value, gradient = site.run(PolynomialFits(ridges, gradients=True), shape, widths)
    errors = np.mean((site.labels[:, None] - value[:, 0, 0]) ** 2, axis=2)
    best = best_ridge(sum_columns(errors * site.sample_weight[:, None]))
    return np.ascontiguousarray(gradient[:, 0, 0, best]), np.ascontiguousarray(errors[:, best, None])


def best_ridge(error_sums: Array) -> int:
    """Tell which ridge has the smallest error over all points."""
    return int(np.argmin(merge_sums([error_sums])))
