"""Training points on a cluster: :class:`localegop._engine.local_data.LocalData` in partitions.

For each set of axes the rows are partitioned in space anew, and every partition borrows from the others the
rows that its centers may look at (:mod:`localegop.distributed.halo`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.local_data import LocalData, turned
from localegop._fit.initial_axes import extent_in
from localegop._fit.pilot_fits import TrialFits, trial_fits
from localegop._fit.setup import Settings, data_options, in_units
from localegop.distributed.cluster import Cluster
from localegop.distributed.halo import CELL, Reach, lent, neighbors_needed, reach_of
from localegop.distributed.shuffling import shuffled
from localegop.distributed.sorting import SpreadRows
from localegop.distributed.splitting import SAMPLE, Splits, splits_of
from localegop.distributed.tables import Table, in_order, stacked, take

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Frame:
    """How rows as sorted become rows of the recursion; rows held out are marked.

    They are no part of the data from the start (``apart``), or only when lists have been made.
    """

    units: Units
    axes: Array | None
    held_out: Numbers
    apart: bool = True

    def __call__(self, table: Table, first: int) -> Table:
        """Table of number, rows, labels, share and held."""
        rows = self.units.features(table["X"])
        number = first + np.arange(len(rows))
        return {
            "number": number,
            "rows": rows if self.axes is None else turned(rows, self.axes),
            "labels": self.units.labels(table["y"]),
            "share": table["share"],
            "held": np.isin(number, self.held_out),
        }


@dataclass(frozen=True)
class SpreadData:
    """Rows on the cluster in the units of the recursion. Has what a fit asks of data as a whole."""

    source: SpreadRows
    frame: Frame
    options: dict[str, Any]
    origin: SpreadData | None = None  # the same before it was turned

    @cached_property
    def placed(self) -> Placed:
        """The rows, partitioned in space."""
        return _placed(self)

    @property
    def cluster(self) -> Cluster:
        """Where the rows are."""
        return self.source.cluster

    @property
    def n(self) -> int:
        """Number of rows that are not held out."""
        return self.source.n - len(self.frame.held_out)

    @property
    def dimension(self) -> int:
        """Number of features in the axes in force."""
        axes = self.frame.axes
        return int((self.frame.units.transform if axes is None else axes).shape[1])

    @property
    def limit(self) -> int | None:
        """How many points a center looks at; None for all."""
        most: int | None = self.options["max_neighbors"]
        return None if most is None or most >= self.n else most

    @property
    def reachable(self) -> int:
        """How many points a center can look at."""
        return self.n if self.limit is None else self.limit

    def without(self, held_out: NDArray[np.intp]) -> SpreadData:
        """Take all points but some."""
        return replace(self, frame=replace(self.frame, held_out=held_out))

    def turned(self, axes: Array) -> SpreadData:
        """Take the same points in other axes (D, r)."""
        assert self.frame.axes is None
        return replace(self, frame=replace(self.frame, axes=axes), origin=self)

    def narrowed(self, most: int) -> SpreadData:
        """Take the same points, with centers that look at no more than so many."""
        return replace(self, options=self.options | {"max_neighbors": min(most, self.reachable)})


def local_data(table: Table, among: int, options: dict[str, Any]) -> LocalData:
    """Rows of a table, ready for local fits."""
    columns = [np.ascontiguousarray(table[name]) for name in ("rows", "labels", "share")]
    return LocalData(*columns, **options, among=among)


@dataclass(frozen=True)
class Partition:
    """One partition: its rows on the cluster, how many, how many not held out, and its box."""

    table: Future[Table]
    count: int
    rest: int
    low: Array
    high: Array


@dataclass(frozen=True)
class Loan:
    """Rows that one partition borrows of another: which one's, their positions there, and themselves."""

    lender: int
    positions: Future[NDArray[np.intp]]
    table: Future[Table] | None  # None once it has been put to use


@dataclass(frozen=True)
class Placed:
    """Partitions in space: the splits, and the numbers of the boxes that have rows."""

    splits: Future[Splits]
    numbers: list[int]
    partitions: list[Partition]


@dataclass(frozen=True)
class Arrangement:
    """Partitions in space, and what each one borrows for its centers."""

    placed: Placed
    loans: list[list[Loan]]

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that have rows."""
        return self.placed.partitions


def arranged(data: SpreadData, some: Numbers | None = None) -> Arrangement:
    """Partition rows in space and borrow for all centers; or for those of some numbers.

    For a few centers it does not pay to move all rows: partitions stay as they were before axes turned.
    """
    placed = data.placed if some is None or data.origin is None else _turned(data, data.origin.placed)
    return Arrangement(placed, _borrowed(data, placed.partitions, some))


def _placed(data: SpreadData) -> Placed:
    cluster, source, count = data.cluster, data.source, data.source.n_partitions
    each = max(1, SAMPLE // len(source.parts))
    pairs = list(zip(source.parts, source.first, strict=True))
    splits = cluster.submit(
        splits_of, [cluster.submit(_sample, *pair, data.frame, each) for pair in pairs], count
    )
    pieces = [cluster.submit(_pieces, *pair, data.frame, splits) for pair in pairs]
    tables = cluster.each(_joined, shuffled(cluster, pieces, count))
    return _with_facts(cluster, splits, list(range(count)), tables)


def _turned(data: SpreadData, placed: Placed) -> Placed:
    tables = [p.table for p in placed.partitions]
    turned_tables = data.cluster.each(_in_axes, tables, data.frame.axes)
    return _with_facts(data.cluster, placed.splits, placed.numbers, turned_tables)


def _with_facts(
    cluster: Cluster, splits: Future[Splits], numbers: list[int], tables: list[Future[Table]]
) -> Placed:
    facts = cluster.gather(cluster.each(_facts, tables))
    kept = [i for i, fact in enumerate(facts) if fact[0] > 0]
    partitions = [Partition(tables[i], *facts[i]) for i in kept]
    return Placed(splits, [numbers[i] for i in kept], partitions)


def _borrowed(data: SpreadData, partitions: list[Partition], some: Numbers | None) -> list[list[Loan]]:
    cluster, apart = data.cluster, data.frame.apart
    if len(partitions) == 1:
        return [[]]
    n = data.n if apart else data.source.n
    k = neighbors_needed(data.options["max_neighbors"], data.dimension, n)
    reaches = [cluster.submit(_reach, p.table, k, some, apart) for p in partitions]
    bounds = cluster.gather(cluster.each(_bounds, reaches))
    found: list[tuple[int, int, Future[Any]]] = []
    for i, (low, high) in enumerate(bounds):
        for j, other in enumerate(partitions):
            if i != j and (low <= other.high).all() and (high >= other.low).all():
                found.append((i, j, cluster.submit(_lent, other.table, reaches[i], k, apart)))
    sizes = cluster.gather(
        [cluster.submit(_lengths, [one[2] for one in found if one[0] == i]) for i in range(len(partitions))]
    )
    loans: list[list[Loan]] = [[] for _ in partitions]
    for (i, j, positions), size in zip(found, itertools.chain.from_iterable(sizes), strict=True):
        if size:
            table = cluster.submit(take, partitions[j].table, positions)
            loans[i].append(Loan(j, positions, table))
    return loans


def _sample(table: Table, first: int, frame: Frame, count: int) -> Array:
    step = max(1, len(table["share"]) // count)
    rows: Array = frame({name: column[::step] for name, column in table.items()}, first)["rows"]
    return rows


def _pieces(table: Table, first: int, frame: Frame, splits: Splits) -> list[Table]:
    placed = frame(table, first)
    home = splits.home(placed["rows"])
    return [take(placed, home == p) for p in range(splits.count)]


def _joined(pieces: list[Table]) -> Table:
    return stacked(pieces)  # pieces come in the order of numbers


def _in_axes(table: Table, axes: Array) -> Table:
    return {**table, "rows": turned(table["rows"], axes)}


def _facts(table: Table) -> tuple[int, int, Array, Array]:
    rows = table["rows"]
    if not len(rows):
        return 0, 0, np.zeros(0), np.zeros(0)
    return len(rows), int(np.count_nonzero(~table["held"])), rows.min(axis=0), rows.max(axis=0)


def _reach(table: Table, k: int, some: Numbers | None, apart: bool) -> Reach:
    rows = table["rows"]
    centers = rows if some is None else rows[np.isin(table["number"], some)]
    return reach_of(rows[~table["held"]] if apart else rows, centers, k, CELL if some is None else 1)


def _bounds(reach: Reach) -> tuple[Array, Array]:
    return reach.bounds


def _lengths(found: list[NDArray[np.intp]]) -> list[int]:
    return [len(positions) for positions in found]


def _lent(table: Table, reach: Reach, k: int, apart: bool) -> NDArray[np.intp]:
    if not apart:
        return lent(table["rows"], reach, k)
    rest = np.flatnonzero(~table["held"])
    return rest[lent(table["rows"][rest], reach, k)]


@in_units.register
def _(rows: SpreadRows, units: Units, settings: Settings) -> SpreadData:
    frame = Frame(units, None, np.zeros(0, dtype=np.int64))
    return SpreadData(rows, frame, data_options(units, settings))


@extent_in.register
def _(data: SpreadData) -> Extent:
    return data.source.extent("rows", _rest_in, data.frame)


def _rest_in(table: Table, first: int, frame: Frame) -> Table:
    placed = frame(table, first)
    return take(placed, ~placed["held"])


def rank_to_number(ranks: Numbers, held_out: Numbers) -> Numbers:
    """Numbers of rows from their ranks among those that are not held out."""
    before: Numbers = np.searchsorted(held_out - np.arange(len(held_out)), ranks, side="right")
    return ranks + before


@trial_fits.register
def _(
    data: SpreadData,
    tried: Numbers,
    sizes: tuple[float, ...],
    ridges: tuple[float, ...],
    gradients: bool,
) -> TrialFits:
    cluster = data.cluster
    numbers = rank_to_number(tried, data.frame.held_out)
    scene = arranged(data, numbers)
    fits = [
        cluster.submit(
            _trial,
            partition.table,
            [loan.table for loan in loans],
            numbers,
            (data.n, data.options),
            (sizes, ridges, gradients),
        )
        for partition, loans in zip(scene.partitions, scene.loans, strict=True)
    ]
    found = cluster.gather(cluster.each(_squares, fits))
    return TrialFits(
        by_number(found, "squares"),
        by_number(found, "share"),
        lambda size, ridge: by_number(
            cluster.gather(cluster.each(_gradients, fits, size, ridge)), "gradients"
        ),
    )


def by_number(tables: list[Table], name: str) -> Array:
    """Put a column together, in the order of the numbers."""
    together = stacked(tables)
    column: Array = together[name][np.argsort(together["number"])]
    return column


def _trial(
    table: Table,
    borrowed: list[Table],
    numbers: Numbers,
    about: tuple[int, dict[str, Any]],
    what: tuple[Any, ...],
) -> tuple[Table, Callable[[int, int], Array]]:
    mine = take(table, ~table["held"])
    together, _ = in_order([mine, *borrowed])
    own = mine["number"][np.isin(mine["number"], numbers)]
    at = np.searchsorted(together["number"], own)
    fits = trial_fits(local_data(together, *about), at, *what)
    return {"number": own, "squares": fits.squares, "share": fits.share}, fits.gradients


def _squares(fits: tuple[Table, Any]) -> Table:
    return fits[0]


def _gradients(fits: tuple[Table, Any], size: int, ridge: int) -> Table:
    return {"number": fits[0]["number"], "gradients": fits[1](size, ridge)}
