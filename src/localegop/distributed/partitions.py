"""Training points on a cluster: :class:`localegop._engine.local_data.LocalData` in partitions.

For each set of axes in which something is learned the rows are partitioned in space anew. The halo of a
partition are the rows of other partitions that its centers may look at (:mod:`localegop.distributed.halo`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data.units import Units, rotate
from localegop._engine.local_data import LocalData, half_of
from localegop.distributed.cluster import Cluster
from localegop.distributed.halo import CELL, HaloRegion, halo_region, halo_rows, neighbors_needed
from localegop.distributed.shuffling import shuffle
from localegop.distributed.sorting import PartitionedRows
from localegop.distributed.splitting import SAMPLE, Splits, split_space
from localegop.distributed.tables import Table, stack, take

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
DataOptions = dict[str, Any]  # options of LocalData

FEW_CENTERS = 300  # up to so many, the rows of new axes stay in the partitions of the old ones


@dataclass(frozen=True)
class RowTransform:
    """From sorted rows to rows in the units of the recursion, and in other axes (D, r) if there are any."""

    units: Units
    axes: Array | None = None

    def __call__(self, table: Table, first: int) -> Table:
        """Table of number, rows, labels and sample_weight."""
        rows = self.units.features(table["X"])
        return {
            "number": first + np.arange(len(rows)),
            "rows": rows if self.axes is None else rotate(rows, self.axes),
            "labels": self.units.labels(table["y"]),
            "sample_weight": table["sample_weight"],
        }


@dataclass(frozen=True)
class PartitionedData:
    """Rows on the cluster in the units of the recursion, with what a fit asks of data as a whole."""

    source: PartitionedRows
    row_transform: RowTransform
    options: DataOptions
    held_out: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # numbers, rising
    in_old_axes: PartitionedData | None = None  # the same data before its axes were changed
    origin: PartitionedData | None = None  # data with the same partitions, from which this was made

    @cached_property
    def partitioning(self) -> Partitioning:
        """All rows, those held out too, partitioned in space."""
        return _partition(self) if self.origin is None else self.origin.partitioning

    def partitioning_for(self, count: int) -> Partitioning:
        """Partitions for work at so many centers: for a few it does not pay to move all rows."""
        if self.in_old_axes is None or count > FEW_CENTERS:
            return self.partitioning
        return _change_axes(self, self.in_old_axes.partitioning)

    @property
    def cluster(self) -> Cluster:
        """Where the rows are."""
        return self.source.cluster

    @property
    def n(self) -> int:
        """Number of rows that are not held out."""
        return self.source.n - len(self.held_out)

    @property
    def dimension(self) -> int:
        """Number of features in the present axes."""
        axes = self.row_transform.axes
        return int((self.row_transform.units.transform if axes is None else axes).shape[1])

    @property
    def max_visible(self) -> int:
        """How many points a center can look at."""
        most: int | None = self.options["max_neighbors"]
        return self.n if most is None else min(most, self.n)

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood: half of what a center can look at."""
        return half_of(self.max_visible)

    @property
    def knows_gradients(self) -> bool:
        """Whether gradients were given with the points."""
        return False  # a cluster takes none

    def without(self, held_out: NDArray[np.intp]) -> PartitionedData:
        """Hold some points out."""
        assert not len(self.held_out)
        return replace(self, held_out=np.sort(held_out), origin=self)

    def rotated(self, axes: Array) -> PartitionedData:
        """Return the same points in other axes (D, r)."""
        assert self.row_transform.axes is None and not len(self.held_out)
        turned = replace(self.row_transform, axes=axes)
        return replace(self, row_transform=turned, in_old_axes=self, origin=None)

    def seeing(self, most: int | None) -> PartitionedData:
        """Return the same points, with centers that look at so many, or all for None."""
        return replace(self, options=self.options | {"max_neighbors": most}, origin=self)


def local_data(table: Table, n_total: int, options: DataOptions) -> LocalData:
    """Rows of a table, some of ``n_total``, ready for local fits."""
    columns = [np.ascontiguousarray(table[name]) for name in ("rows", "labels", "sample_weight")]
    return LocalData(*columns, **options, n_total=n_total)


@dataclass(frozen=True)
class Partition:
    """One partition: its rows on the cluster, and its bounding box."""

    table: Future[Table]
    low: Array
    high: Array

    def touches(self, low: Array, high: Array) -> bool:
        """Whether a box has a point in common with this one's."""
        return bool((low <= self.high).all() and (high >= self.low).all())


@dataclass(frozen=True)
class Partitioning:
    """Partitions in space: the splits, the numbers of the boxes that have rows, and their rows."""

    splits: Future[Splits]
    boxes: list[int]
    partitions: list[Partition]

    @property
    def tables(self) -> list[Future[Table]]:
        """The rows of each partition."""
        return [partition.table for partition in self.partitions]


def _partition(data: PartitionedData) -> Partitioning:
    cluster, source, count = data.cluster, data.source, data.source.n_partitions
    each = max(1, SAMPLE // len(source.ranges))
    pairs = list(zip(source.ranges, source.first, strict=True))
    splits = cluster.submit(
        split_space, [cluster.submit(_sample, *pair, data.row_transform, each) for pair in pairs], count
    )
    pieces = [cluster.submit(_pieces, *pair, data.row_transform, splits) for pair in pairs]
    tables = cluster.each(_stack_pieces, shuffle(cluster, pieces, count))
    return _partitioning(cluster, splits, list(range(count)), tables)


def _change_axes(data: PartitionedData, partitioning: Partitioning) -> Partitioning:
    in_axes = data.cluster.each(_in_axes, partitioning.tables, data.row_transform.axes)
    return _partitioning(data.cluster, partitioning.splits, partitioning.boxes, in_axes)


def _partitioning(
    cluster: Cluster, splits: Future[Splits], boxes: list[int], tables: list[Future[Table]]
) -> Partitioning:
    boxes_around = cluster.gather(cluster.each(_bounding_box, tables))
    kept = [i for i, box in enumerate(boxes_around) if box is not None]
    partitions = [Partition(tables[i], *boxes_around[i]) for i in kept]
    return Partitioning(splits, [boxes[i] for i in kept], partitions)


def find_halos(
    data: PartitionedData, partitions: list[Partition], centers: list[Array]
) -> list[list[Future[Table]]]:
    """For each partition, the rows of others that its centers may look at."""
    cluster, held_out = data.cluster, data.held_out
    halos: list[list[Future[Table]]] = [[] for _ in partitions]
    if len(partitions) == 1:
        return halos
    k = neighbors_needed(data.options["max_neighbors"], data.dimension, data.n)
    busy = [i for i, rows in enumerate(centers) if len(rows)]
    regions = {i: cluster.submit(_halo_region, partitions[i].table, held_out, centers[i], k) for i in busy}
    bounds = dict(zip(busy, cluster.gather(cluster.each(_bounds, list(regions.values()))), strict=True))
    for j, owner in enumerate(partitions):
        near = [i for i in busy if i != j and owner.touches(*bounds[i])]
        rows = cluster.submit(_rows_for, owner.table, held_out, [regions[i] for i in near], k)
        for which, i in enumerate(near):
            halos[i].append(cluster.submit(_piece, rows, which))
    return halos


def _sample(table: Table, first: int, row_transform: RowTransform, count: int) -> Array:
    step = max(1, len(table["sample_weight"]) // count)
    rows: Array = row_transform({name: column[::step] for name, column in table.items()}, first)["rows"]
    return rows


def _pieces(table: Table, first: int, row_transform: RowTransform, splits: Splits) -> list[Table]:
    transformed = row_transform(table, first)
    box = splits.box_of(transformed["rows"])
    return [take(transformed, box == p) for p in range(splits.count)]


def _stack_pieces(pieces: list[Table]) -> Table:
    return stack(pieces)  # pieces come in the order of numbers


def _in_axes(table: Table, axes: Array) -> Table:
    return {**table, "rows": rotate(table["rows"], axes)}


def _bounding_box(table: Table) -> tuple[Array, Array] | None:
    rows = table["rows"]
    return (rows.min(axis=0), rows.max(axis=0)) if len(rows) else None


def _halo_region(table: Table, held_out: Numbers, centers: Array, k: int) -> HaloRegion:
    rows = without_held_out(table, held_out)["rows"]
    cell = CELL * len(centers) // max(len(rows), 1)  # alone where centers are far between
    return halo_region(rows, centers, k, min(max(cell, 1), CELL))


def _bounds(region: HaloRegion) -> tuple[Array, Array]:
    return region.bounds


def _rows_for(table: Table, held_out: Numbers, regions: list[HaloRegion], k: int) -> list[Table]:
    rest = without_held_out(table, held_out)
    return [take(rest, positions) for positions in halo_rows(rest["rows"], regions, k)]


def _piece(pieces: list[Table], which: int) -> Table:
    return pieces[which]


def without_held_out(table: Table, held_out: Numbers) -> Table:
    """Leave out the rows of some numbers."""
    return take(table, ~np.isin(table["number"], held_out)) if len(held_out) else table


def transform_rest(table: Table, first: int, row_transform: RowTransform, held_out: Numbers) -> Table:
    """Transform the rows of a range, and leave out those held out."""
    return without_held_out(row_transform(table, first), held_out)


def rank_to_number(ranks: Numbers, held_out: Numbers) -> Numbers:
    """Numbers of rows from their ranks among those that are not held out."""
    before: Numbers = np.searchsorted(held_out - np.arange(len(held_out)), ranks, side="right")
    return ranks + before
