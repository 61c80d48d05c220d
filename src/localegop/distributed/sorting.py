"""Distinct rows on the cluster, sorted as one process would: :class:`.rows.DistinctRows` in ranges.

Splitters drawn from a sample divide the rows into ranges. In each range rows are sorted and repeated ones
merged; counting then gives every row its number among all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data.rows import merge_rows, multiply_weights, spacing
from localegop._data.sums import Extent, measure_extent_in_parts
from localegop.distributed.cluster import Cluster
from localegop.distributed.inputs import Blocks
from localegop.distributed.shuffling import shuffle
from localegop.distributed.splitting import SAMPLE
from localegop.distributed.tables import Table, stack, take

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class PartitionedRows:
    """Distinct rows in ranges: tables of X, y and sample_weight.

    The tables of ``inputs`` say where the rows of the input went: ``input_row`` became the row at
    ``position`` of the range and brought ``weight_fraction`` of its weight.
    """

    cluster: Cluster
    ranges: list[Future[Table]]
    inputs: list[Future[Table]]
    first: list[int]  # number of the first row of each range
    n: int
    n_input: int
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

    def reweighted(self, factors: Array) -> PartitionedRows:
        """Return the same rows, with weights multiplied by factors (n,)."""
        ends = [*self.first[1:], self.n]
        ranges = [
            self.cluster.submit(_reweight, table, factors[first:end])
            for table, first, end in zip(self.ranges, self.first, ends, strict=True)
        ]
        return replace(self, ranges=ranges)

    def sample(self, most: int) -> tuple[Array, Array]:
        """Features and weights of at most so many rows: every k-th by number."""
        every = spacing(self.n, most)
        parts = [
            self.cluster.submit(_every_kth, table, first, every)
            for table, first in zip(self.ranges, self.first, strict=True)
        ]
        together = stack(self.cluster.gather(parts))
        return together["X"], together["sample_weight"]

    def extent(self, name: str, prepare: Callable[..., Table] | None = None, *arguments: object) -> Extent:
        """Extent of a column of ``prepare(table, first, *arguments)``, or of the tables themselves."""
        return measure_extent_in_parts(
            lambda function: self.cluster.gather(
                [
                    self.cluster.submit(_apply, table, first, name, function, prepare, arguments)
                    for table, first in zip(self.ranges, self.first, strict=True)
                ]
            )
        )


def sort_rows(cluster: Cluster, blocks: Blocks, n_partitions: int, output: int | None) -> PartitionedRows:
    """Sort rows and merge repeated ones; with ``output``, rows of that single output."""
    tables = blocks.tables
    each = max(1, SAMPLE // len(tables))
    samples = cluster.each(_sample, tables, output, each)
    splitters = cluster.submit(_splitters, samples, n_partitions)
    pieces = [cluster.submit(_split_by_range, table, output, splitters, n_partitions) for table in tables]
    ranges = cluster.each(_merge_repeats, shuffle(cluster, pieces, n_partitions))
    sizes = cluster.gather(cluster.each(_sizes, ranges))
    kept = [r for r in range(n_partitions) if sizes[r][0]]
    counts = [sizes[r][0] for r in kept]
    if sum(counts) < 2 and sum(sizes[r][1] for r in kept) < 2:
        raise ValueError(
            "at least 2 rows of positive weight and without missing values are needed, but there are "
            f"{sum(counts)}"
        )
    return PartitionedRows(
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


def _apply(
    table: Table,
    first: int,
    name: str,
    function: Callable[[Array, Array], T],
    prepare: Callable[..., Table] | None,
    arguments: tuple[object, ...],
) -> T:
    if prepare is not None:
        table = prepare(table, first, *arguments)
    return function(table[name], table["sample_weight"])


def _reweight(table: Table, factors: Array) -> Table:
    return table | {"sample_weight": multiply_weights(table["sample_weight"], factors)}


def _every_kth(table: Table, first: int, every: int) -> Table:
    """Take the rows whose numbers are multiples of ``every``."""
    return take(table, slice(-first % every, None, every), ("X", "sample_weight"))


def _piece(pieces: tuple[Table, Table], which: int) -> Table:
    return pieces[which]


def _select(table: Table, output: int | None) -> tuple[Table, Array]:
    """Select rows of positive weight; the second are X and y side by side."""
    table = take(table, table["sample_weight"] > 0.0)
    if output is not None:
        table["y"] = table["y"][:, output : output + 1]
    return table, np.hstack([table["X"], table["y"]]) + 0.0  # + 0.0 turns -0.0 into 0.0


def _sample(table: Table, output: int | None, count: int) -> Array:
    both = _select(table, output)[1]
    return both[:: max(1, len(both) // count)]


def _splitters(samples: list[Array], count: int) -> Array:
    rows = np.unique(np.concatenate(samples), axis=0)  # sorted, first column first
    at = np.unique(np.arange(1, count) * len(rows) // count)
    return rows[at[at > 0]]


def _split_by_range(table: Table, output: int | None, splitters: Array, count: int) -> list[Table]:
    """Divide rows by range; a splitter is the first row of its range."""
    table, both = _select(table, output)
    keys = np.vstack([splitters, both])
    is_row = np.arange(len(keys)) >= len(splitters)
    order = np.lexsort((is_row, *keys.T[::-1]))
    passed = np.empty(len(keys), dtype=np.int64)
    passed[order] = np.cumsum(~is_row[order])
    range_of = passed[len(splitters) :]
    return [take(table, range_of == r) for r in range(count)]


def _merge_repeats(pieces: list[Table]) -> tuple[Table, Table]:
    table = stack(pieces)
    rows = merge_rows(table["X"], table["y"], table["sample_weight"])
    inputs = {"input_row": table["input_row"], "position": rows.position, "weight_fraction": rows.part}
    return {"X": rows.X, "y": rows.y, "sample_weight": rows.sample_weight}, inputs


def _sizes(merged: tuple[Table, Table]) -> tuple[int, float]:
    return len(merged[0]["sample_weight"]), float(merged[0]["sample_weight"].sum())
