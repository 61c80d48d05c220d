"""Training points on a cluster: :class:`localegop._engine.local_data.LocalData` in partitions.

For each set of axes the rows are partitioned in space anew. The halo of a partition are the rows of other
partitions that its centers may look at (:mod:`localegop.distributed.halo`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class RowTransform:
    """From sorted rows to rows in the units of the recursion; held-out rows are marked.

    With ``held_out_excluded`` they are left out before neighbors are searched for; otherwise they are
    taken out of the lists of neighbors afterwards.
    """

    units: Units
    axes: Array | None
    held_out: Numbers
    held_out_excluded: bool = True

    def __call__(self, table: Table, first: int) -> Table:
        """Table of number, rows, labels, sample_weight and held_out."""
        rows = self.units.features(table["X"])
        number = first + np.arange(len(rows))
        return {
            "number": number,
            "rows": rows if self.axes is None else rotate(rows, self.axes),
            "labels": self.units.labels(table["y"]),
            "sample_weight": table["sample_weight"],
            "held_out": np.isin(number, self.held_out),
        }


@dataclass(frozen=True)
class PartitionedData:
    """Rows on the cluster in the units of the recursion, with what a fit asks of data as a whole."""

    source: PartitionedRows
    row_transform: RowTransform
    options: DataOptions
    in_old_axes: PartitionedData | None = None  # the same data before its axes were changed

    @cached_property
    def partitioning(self) -> Partitioning:
        """The rows, partitioned in space."""
        return _partition(self)

    @property
    def cluster(self) -> Cluster:
        """Where the rows are."""
        return self.source.cluster

    @property
    def n(self) -> int:
        """Number of rows that are not held out."""
        return self.source.n - len(self.row_transform.held_out)

    @property
    def dimension(self) -> int:
        """Number of features in the present axes."""
        axes = self.row_transform.axes
        return int((self.row_transform.units.transform if axes is None else axes).shape[1])

    @property
    def limit(self) -> int | None:
        """How many points a center looks at; None for all."""
        most: int | None = self.options["max_neighbors"]
        return None if most is None or most >= self.n else most

    @property
    def max_visible(self) -> int:
        """How many points a center can look at."""
        return self.n if self.limit is None else self.limit

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood: half of what a center can look at."""
        return half_of(self.max_visible)

    def without(self, held_out: NDArray[np.intp]) -> PartitionedData:
        """Hold some points out."""
        return replace(self, row_transform=replace(self.row_transform, held_out=held_out))

    def rotated(self, axes: Array) -> PartitionedData:
        """Return the same points in other axes (D, r)."""
        assert self.row_transform.axes is None
        return replace(self, row_transform=replace(self.row_transform, axes=axes), in_old_axes=self)

    def limited(self, most: int) -> PartitionedData:
        """Return the same points, with centers that look at no more than ``most`` of them."""
        return replace(self, options=self.options | {"max_neighbors": min(most, self.max_visible)})


def local_data(table: Table, n_total: int, options: DataOptions) -> LocalData:
    """Rows of a table, some of ``n_total``, ready for local fits."""
    columns = [np.ascontiguousarray(table[name]) for name in ("rows", "labels", "sample_weight")]
    return LocalData(*columns, **options, n_total=n_total)


@dataclass(frozen=True)
class Partition:
    """One partition: its rows on the cluster, how many, how many not held out, and its bounding box."""

    table: Future[Table]
    n_rows: int
    n_targets: int
    low: Array
    high: Array


@dataclass(frozen=True)
class HaloExchange:
    """Halo rows that a partition gets from their owner: the owner, their positions there, the rows."""

    owner: int
    positions: Future[NDArray[np.intp]]
    table: Future[Table] | None  # None once the rows are part of a PartitionData


@dataclass(frozen=True)
class Partitioning:
    """Partitions in space: the splits, the numbers of the boxes that have rows, and their rows."""

    splits: Future[Splits]
    boxes: list[int]
    partitions: list[Partition]


@dataclass(frozen=True)
class Layout:
    """Partitions in space, and for each one the exchanges that fill its halo."""

    partitioning: Partitioning
    exchanges: list[list[HaloExchange]]

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that have rows."""
        return self.partitioning.partitions


def lay_out(data: PartitionedData, some: Numbers | None = None) -> Layout:
    """Partition rows in space and find the halos for all centers, or for those of some numbers.

    For a few centers it does not pay to move all rows: partitions stay as they were in the old axes.
    """
    if some is None or data.in_old_axes is None:
        partitioning = data.partitioning
    else:
        partitioning = _change_axes(data, data.in_old_axes.partitioning)
    return Layout(partitioning, _exchange_halos(data, partitioning.partitions, some))


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
    tables = [p.table for p in partitioning.partitions]
    in_axes = data.cluster.each(_in_axes, tables, data.row_transform.axes)
    return _partitioning(data.cluster, partitioning.splits, partitioning.boxes, in_axes)


def _partitioning(
    cluster: Cluster, splits: Future[Splits], boxes: list[int], tables: list[Future[Table]]
) -> Partitioning:
    facts = cluster.gather(cluster.each(_facts, tables))
    kept = [i for i, fact in enumerate(facts) if fact[0] > 0]
    partitions = [Partition(tables[i], *facts[i]) for i in kept]
    return Partitioning(splits, [boxes[i] for i in kept], partitions)


def _exchange_halos(
    data: PartitionedData, partitions: list[Partition], some: Numbers | None
) -> list[list[HaloExchange]]:
    cluster, excluded = data.cluster, data.row_transform.held_out_excluded
    if len(partitions) == 1:
        return [[]]
    n = data.n if excluded else data.source.n
    k = neighbors_needed(data.options["max_neighbors"], data.dimension, n)
    regions = [cluster.submit(_halo_region, p.table, k, some, excluded) for p in partitions]
    bounds = cluster.gather(cluster.each(_bounds, regions))
    found: list[tuple[int, int, Future[NDArray[np.intp]]]] = []
    for i, (low, high) in enumerate(bounds):
        for j, other in enumerate(partitions):
            if i != j and (low <= other.high).all() and (high >= other.low).all():
                found.append((i, j, cluster.submit(_halo_rows, other.table, regions[i], k, excluded)))
    sizes = cluster.gather(
        [cluster.submit(_lengths, [one[2] for one in found if one[0] == i]) for i in range(len(partitions))]
    )
    exchanges: list[list[HaloExchange]] = [[] for _ in partitions]
    for (i, j, positions), size in zip(found, itertools.chain.from_iterable(sizes), strict=True):
        if size:
            table = cluster.submit(take, partitions[j].table, positions)
            exchanges[i].append(HaloExchange(j, positions, table))
    return exchanges


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


def _facts(table: Table) -> tuple[int, int, Array, Array]:
    """Return the numbers and bounds of a :class:`Partition`."""
    rows = table["rows"]
    if not len(rows):
        return 0, 0, np.zeros(0), np.zeros(0)
    return len(rows), int(np.count_nonzero(~table["held_out"])), rows.min(axis=0), rows.max(axis=0)


def _halo_region(table: Table, k: int, some: Numbers | None, held_out_excluded: bool) -> HaloRegion:
    rows = table["rows"]
    centers = rows if some is None else rows[np.isin(table["number"], some)]
    known = rows[~table["held_out"]] if held_out_excluded else rows
    return halo_region(known, centers, k, CELL if some is None else 1)


def _bounds(region: HaloRegion) -> tuple[Array, Array]:
    return region.bounds


def _lengths(found: list[NDArray[np.intp]]) -> list[int]:
    return [len(positions) for positions in found]


def _halo_rows(table: Table, region: HaloRegion, k: int, held_out_excluded: bool) -> NDArray[np.intp]:
    if not held_out_excluded:
        return halo_rows(table["rows"], region, k)
    rest = np.flatnonzero(~table["held_out"])
    return rest[halo_rows(table["rows"][rest], region, k)]


def without_held_out(table: Table, first: int, row_transform: RowTransform) -> Table:
    """Transform the rows of a range, and leave out those held out."""
    transformed = row_transform(table, first)
    return take(transformed, ~transformed["held_out"])


def rank_to_number(ranks: Numbers, held_out: Numbers) -> Numbers:
    """Numbers of rows from their ranks among those that are not held out."""
    before: Numbers = np.searchsorted(held_out - np.arange(len(held_out)), ranks, side="right")
    return ranks + before


def merge_column(tables: list[Table], name: str) -> Array:
    """Put a column of several tables together, in the order of the rows' numbers."""
    together = stack(tables)
    column: Array = together[name][np.argsort(together["number"])]
    return column
