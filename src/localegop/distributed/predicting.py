"""Queries on a cluster: each one is answered in the partition it lies in, with the halo that it needs.

The graph is lazy. For each block of queries and each partition there are three tasks: the region that its
queries need, its rows in the regions of the other partitions, and the fits at its queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._predict.decisions import Decisions, LooDiagnostics
from localegop._predict.model import Model, Requested
from localegop.distributed.backend import LearnedField, PartitionedModel
from localegop.distributed.halo import HaloRegion, halo_region, halo_rows, neighbors_needed
from localegop.distributed.partitions import DataOptions, local_data
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table, merge_sorted, take
from localegop.results import LocalFits, Neighbors, join_fits, reorder_fits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QueryContext:
    """What queries have to know of a fit: what was decided, and the options of its data."""

    decisions: Decisions
    options: DataOptions
    n: int
    boxes: tuple[int, ...]  # of the splits, one for each partition

    @classmethod
    def of(cls, model: PartitionedModel) -> QueryContext:
        """Context of a model that was fitted on a cluster."""
        return cls(model.decisions, model.data.options, model.data.n, tuple(model.field.boxes))

    @property
    def steps(self) -> int:
        """Number of steps of the recursion before the final fit."""
        return self.decisions.choice.step

    @property
    def neighbors_needed(self) -> int:
        """How many of the nearest rows a query needs."""
        dimension = self.decisions.units.transform.shape[1]
        return neighbors_needed(self.options["max_neighbors"], dimension, self.n)


def columns_for(requested: Requested, steps: int) -> list[str]:
    """Columns of the partitions' tables that are needed for what is requested."""
    names = ["number", "rows", "labels", "sample_weight", *(f"gradients_{t}" for t in range(steps))]
    if requested.uncertainty or requested.everything:
        names += ["loo_residuals", "loo_noise", "loo_gradients"]
    return names + [f"errors_{t}" for t in range(steps) if requested.trace]


@dataclass(frozen=True)
class RoutedQueries:
    """A block of queries, the same in the units of the recursion, and the partition of each."""

    X: Array
    centers: Array
    partition: NDArray[np.int64]


def lazy_fits(block: Delayed, context: QueryContext, field: LearnedField, requested: Requested) -> Delayed:
    """Local fits at a block of queries."""
    context = delayed(context)
    routed = delayed(_route, pure=False)(block, context, field.splits)
    regions = [
        delayed(_halo_region, pure=False)(routed, p, table, context) for p, table in enumerate(field.tables)
    ]
    halos = []
    if len(field.tables) > 1:
        halos = [
            delayed(_rows_for_others, pure=False)(table, regions, q, context, requested)
            for q, table in enumerate(field.tables)
        ]
    fits = [
        delayed(_fit_in_partition, pure=False)(routed, p, table, halos, context, requested)
        for p, table in enumerate(field.tables)
    ]
    return delayed(_merge_fits, pure=False)(routed, fits)


def _route(X: Array, context: QueryContext, splits: Splits) -> RoutedQueries:
    centers = context.decisions.query_rows(X)
    # queries in a box without rows go to the first partition, whose halo then has all of their neighbors
    partition = np.zeros(splits.count, dtype=np.int64)
    partition[list(context.boxes)] = np.arange(len(context.boxes))
    return RoutedQueries(X, centers, partition[splits.box_of(centers)])


def _halo_region(routed: RoutedQueries, p: int, table: Table, context: QueryContext) -> HaloRegion:
    centers = routed.centers[routed.partition == p]
    return halo_region(table["rows"], centers, context.neighbors_needed)


def _rows_for_others(
    table: Table, regions: Sequence[HaloRegion], q: int, context: QueryContext, requested: Requested
) -> list[Table | None]:
    """Rows of partition q in the region of each of the others."""
    found: list[Table | None] = []
    columns = columns_for(requested, context.steps)
    for p, region in enumerate(regions):
        positions = np.zeros(0, dtype=np.intp)
        if p != q:
            positions = halo_rows(table["rows"], region, context.neighbors_needed)
        found.append(take(table, positions, columns) if len(positions) else None)
    return found


def _fit_in_partition(
    routed: RoutedQueries,
    p: int,
    table: Table,
    halos: list[list[Table | None]],
    context: QueryContext,
    requested: Requested,
) -> LocalFits | None:
    """Fits at the queries of partition p; None if it has none."""
    here = routed.partition == p
    if not here.any():
        return None
    columns = columns_for(requested, context.steps)
    halo = [part for from_other in halos if (part := from_other[p]) is not None]
    together = merge_sorted([take(table, slice(None), columns), *halo])
    fits = attach_rows(context, together).fits(routed.X[here], requested)
    return replace(fits, _neighbors_at=_neighbors_elsewhere)


def attach_rows(context: QueryContext, table: Table) -> Model:
    """Model that knows only the rows of a table, and not what became of the input rows."""
    data, steps = local_data(table, context.n, context.options), context.steps
    field = GradientField(
        data,
        context.decisions.update,
        tuple(np.ascontiguousarray(table[f"gradients_{t}"]) for t in range(steps)),
        tuple(table[f"errors_{t}"] for t in range(steps) if f"errors_{t}" in table),
    )
    loo = None
    if "loo_noise" in table:
        names = ("loo_residuals", "loo_noise", "loo_gradients")
        loo = LooDiagnostics(*(np.ascontiguousarray(table[name]) for name in names))
    return Model(context.decisions, data, np.zeros(0, dtype=np.intp), np.zeros(0), field, loo)


def _merge_fits(routed: RoutedQueries, fits: list[LocalFits | None]) -> LocalFits | None:
    """Fits in the order of the queries; None if there are no queries."""
    found = [part for part in fits if part is not None]
    if not found:
        return None
    order = np.concatenate(
        [np.flatnonzero(routed.partition == p) for p, part in enumerate(fits) if part is not None]
    )
    return reorder_fits(join_fits(found), np.argsort(order))


def _neighbors_elsewhere(query: Array) -> Neighbors:
    raise ValueError(
        "neighbors(i) needs the training rows, which stay on the cluster: bring the model into this "
        "process with to_local(), then call localize(X).neighbors(i)"
    )
