"""Fits without blocks of rows: what a query in a gap would get.

A row left out alone has its neighbors near, a query in a gap has not. So some fits are made again without a
*block*: the rows of a ball, in which the center may be anywhere, also near the edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.final_fits import FinalFit
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData, TrainingData
from localegop._engine.neighbor_lists import NeighborLists
from localegop._engine.query_sampling import query_seeds
from localegop._predict.gaps import squared_spread
from localegop._predict.support import NEIGHBORS, Spacing, is_surrounded

Array = NDArray[np.float64]
Numbers = NDArray[np.int32]

SMALLEST_BLOCK, LARGEST_BLOCK, SIZES = 10, 300, 4  # rows that are left out together
OF_ALL, OF_VISIBLE = 8, 3  # at most an eighth of all rows, and a third of those that a center looks at


def block_sizes(data: TrainingData) -> tuple[int, ...]:
    """Sizes of blocks for so many rows; none if these are too few."""
    most = min(data.n // OF_ALL, data.max_visible // OF_VISIBLE, LARGEST_BLOCK)
    if most < SMALLEST_BLOCK:
        return ()
    growth = (most / SMALLEST_BLOCK) ** (1.0 / (SIZES - 1))
    return tuple(sorted({round(SMALLEST_BLOCK * growth**k) for k in range(SIZES)}))


@dataclass(frozen=True)
class HeldOutFits:
    """Final fits at training points, each without itself, or without a block around it.

    The results are values (center, output), gradients with one more axis, variance factors (center,), mean
    squared distances (center,) of the rows used, and whether a query there would be fitted where it is
    (center,). See :class:`localegop._engine.sites.Work`.

    Parameters
    ----------
    final : FinalFit
    block : int
        Number of rows left out together; 0 for the point alone.
    reach : float
        See :mod:`localegop._predict.support`.
    """

    final: FinalFit
    block: int = 0
    reach: float = np.inf

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`localegop._engine.sites.Work`."""
        each = data.dimension * (2 * data.dimension + data.outputs)
        return float(8.0 * each + 32.0 * data.max_visible)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`localegop._engine.sites.Work`."""
        if self.block:
            centers, distances = leave_out_blocks(data, centers, self.block)
        else:
            (distances,) = Spacing()(data, centers, shapes, widths)
        stays = is_surrounded(data, centers, distances, self.reach).astype(float)
        fit = self.final.fit(data, centers, shapes, widths, gradients=True, variances=True)
        spread = squared_spread(data, centers, shapes, widths)
        return fit.value, fit.gradient, fit.variance_factor, spread, stays


@dataclass(frozen=True)
class FindBlocks:
    """Balls that hold the blocks around centers: middles (center, D) and squared radii (center,).

    See :class:`localegop._engine.sites.Work`.
    """

    size: int

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`localegop._engine.sites.Work`."""
        return float(8.0 * data.dimension + 32.0 * data.max_visible)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`localegop._engine.sites.Work`."""
        middles, radii = np.empty_like(centers.rows), np.empty(len(centers))
        for i, (middle, _, far, inside) in enumerate(_find_blocks(data, centers, self.size)):
            middles[i], radii[i] = middle, far[inside[-1]] if len(inside) else -1.0
        return middles, radii


def shapes_outside(
    field: GradientField, rows: Array, own: NDArray[np.int64], step: int, middles: Array, radii: Array
) -> Array:
    """Shapes (m, D, D) at anchors, found from the anchors outside of balls of such squared radii."""
    anchors, lists = field.anchors, []
    for i, visible in enumerate(_visible_rows(anchors, Centers(rows, anchors.neighbor_lists(rows), own))):
        outside = _squared_distances(anchors, visible, middles[i]) > radii[i]
        lists.append(visible[outside] if outside.any() else visible)
    return field.shapes_at(rows, step, own, NeighborLists.of(lists))


def leave_out_blocks(data: LocalData, centers: Centers, size: int) -> tuple[Centers, Array]:
    """Take so many rows around each center from what it looks at; also its distance (m,) to the others.

    Distances are those to the third nearest row.
    """
    lists, distances = [], np.empty(len(centers))
    for i, (_, visible, _, inside) in enumerate(_find_blocks(data, centers, size)):
        outside = np.delete(visible, inside)
        lists.append(outside)
        far = _squared_distances(data, outside, centers.rows[i])
        distances[i] = np.sqrt(np.sort(far)[:NEIGHBORS][-1]) if len(far) else np.inf
    return replace(centers, lists=NeighborLists.of(lists)), distances


def rows_in_blocks(data: LocalData, centers: Centers, size: int) -> Iterator[Numbers]:
    """Rows of the block of each center, which is not among them."""
    for _, visible, _, inside in _find_blocks(data, centers, size):
        yield visible[inside]


def _find_blocks(
    data: LocalData, centers: Centers, size: int
) -> Iterator[tuple[Array, Numbers, Array, NDArray[np.intp]]]:
    """Blocks of so many rows, one a center, which may be anywhere in the block.

    The block is a ball around one of the ``size`` rows nearest to the center. Given are its middle, the
    rows that the center looks at, their squared distances to the middle, and which of them are in the
    block, from the inside out.
    """
    ranks = (query_seeds(centers.rows, size) % np.uint64(size)).astype(np.intp)
    for i, visible in enumerate(_visible_rows(data, centers)):
        near = np.argsort(_squared_distances(data, visible, centers.rows[i]), kind="stable")
        middle = data.rows[visible[near[min(ranks[i], len(near) - 1)]]] if len(near) else centers.rows[i]
        far = _squared_distances(data, visible, middle)
        most = min(size, len(visible) // 2)  # some must be left, where a radius leaves few
        yield middle, visible, far, np.argsort(far, kind="stable")[:most]


def _visible_rows(data: LocalData, centers: Centers) -> Iterator[Numbers]:
    """Rows that each center looks at, without itself."""
    everyone = np.arange(data.n, dtype=np.int32)
    for i in range(len(centers)):
        lists = centers.lists
        visible = everyone if lists is None else lists.indices[lists.start[i] : lists.start[i + 1]]
        yield visible if centers.left_out is None else visible[visible != centers.left_out[i]]


def _squared_distances(data: LocalData, some: Numbers, row: Array) -> Array:
    """Squared distances (m,) of some rows to another, in the units of the recursion."""
    squared: Array = np.sum((data.rows[some] - row) ** 2, axis=1)
    return squared
