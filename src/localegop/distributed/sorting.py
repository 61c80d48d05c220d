"""Distinct rows on the cluster, sorted as one process would: :class:`.rows.DistinctRows` in parts.

Rows are ranged between splitters drawn from a sample, and each range is sorted and freed of repeats by
itself; counting then gives every row the number it has among all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data.rows import distinct_rows
from localegop._data.sums import Extent, extent_of
from localegop.distributed.cluster import Cluster
from localegop.distributed.inputs import Blocks
from localegop.distributed.shuffling import shuffled
from localegop.distributed.splitting import SAMPLE
from localegop.distributed.tables import Table, stacked, take

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SpreadRows:
    """Distinct rows in ranges: tables of X, y and share; ``given`` tells where the rows as given went."""

    cluster: Cluster
    parts: list[Future[Table]]
    given: list[Future[Table]]
    first: list[int]  # number of the first row of each part
    n: int
    n_given: int
    dimension: int
    outputs: int
    n_partitions: int

    @cached_property
    def features(self) -> Extent:
        """Extent of the features."""
        return self.extent("X")

    @cached_property
    def labels(self) -> Extent:
        """Extent of the labels."""
        return self.extent("y")

    @property
    def position(self) -> NDArray[np.intp]:
        """Rows as given stay on the cluster."""
        return np.zeros(0, dtype=np.intp)

    @property
    def part(self) -> Array:
        """Likewise."""
        return np.zeros(0)

    def extent(self, name: str, prepare: Callable[..., Table] | None = None, *arguments: Any) -> Extent:
        """Extent of a column, after some preparation of the table (given its first number)."""
        return extent_of(
            lambda function: self.cluster.gather(
                [
                    self.cluster.submit(_applied, part, first, name, function, prepare, arguments)
                    for part, first in zip(self.parts, self.first, strict=True)
                ]
            )
        )


def spread_rows(cluster: Cluster, blocks: Blocks, n_partitions: int, output: int | None) -> SpreadRows:
    """Sort and merge rows, with one output only if it is given."""
    tables = blocks.tables
    each = max(1, SAMPLE // len(tables))
    samples = cluster.each(_sample, tables, output, each)
    splitters = cluster.submit(_splitters, samples, n_partitions)
    pieces = [cluster.submit(_ranged, table, output, splitters, n_partitions) for table in tables]
    ranges = cluster.each(_merged, shuffled(cluster, pieces, n_partitions))
    facts = cluster.gather(cluster.each(_facts, ranges))
    kept = [r for r in range(n_partitions) if facts[r][0]]
    counts = [facts[r][0] for r in kept]
    if sum(counts) < 2 and sum(facts[r][1] for r in kept) < 2:
        raise ValueError(
            f"{sum(counts)} rows of positive weight and without missing values are left, but at least 2 "
            "are needed"
        )
    return SpreadRows(
        cluster,
        [cluster.submit(_piece, ranges[r], 0) for r in kept],
        [cluster.submit(_piece, ranges[r], 1) for r in kept],
        [int(first) for first in np.cumsum([0, *counts])[:-1]],
        sum(counts),
        blocks.n,
        blocks.dimension,
        blocks.outputs if output is None else 1,
        n_partitions,
    )


def _applied(
    table: Table, first: int, name: str, function: Any, prepare: Any, arguments: tuple[Any, ...]
) -> Any:
    if prepare is not None:
        table = prepare(table, first, *arguments)
    return function(table[name], table["share"])


def _piece(pieces: Any, which: int) -> Any:
    return pieces[which]


def _both(table: Table, output: int | None) -> tuple[Table, Array]:
    """Rows of positive weight, and X and y side by side."""
    table = take(table, table["weight"] > 0.0)
    if output is not None:
        table["y"] = table["y"][:, output : output + 1]
    return table, np.hstack([table["X"], table["y"]]) + 0.0  # + 0.0 turns -0.0 into 0.0


def _sample(table: Table, output: int | None, count: int) -> Array:
    both = _both(table, output)[1]
    return both[:: max(1, len(both) // count)]


def _splitters(samples: list[Array], count: int) -> Array:
    rows = np.unique(np.concatenate(samples), axis=0)  # sorted, first column first
    at = np.unique(np.arange(1, count) * len(rows) // count)
    return rows[at[at > 0]]


def _ranged(table: Table, output: int | None, splitters: Array, count: int) -> list[Table]:
    """Rows of each range; a splitter is the first row of its range."""
    table, both = _both(table, output)
    keys = np.vstack([splitters, both])
    is_row = np.arange(len(keys)) >= len(splitters)
    order = np.lexsort((is_row, *keys.T[::-1]))
    passed = np.empty(len(keys), dtype=np.int64)
    passed[order] = np.cumsum(~is_row[order])
    home = passed[len(splitters) :]
    return [take(table, home == r) for r in range(count)]


def _merged(pieces: list[Table]) -> tuple[Table, Table]:
    table = stacked(pieces)
    rows = distinct_rows(table["X"], table["y"], table["weight"])
    given = {"given": table["given"], "at": rows.position, "part": rows.part}
    return {"X": rows.X, "y": rows.y, "share": rows.share}, given


def _facts(merged: tuple[Table, Table]) -> tuple[int, float]:
    return len(merged[0]["share"]), float(merged[0]["share"].sum())
