"""Queries on a cluster: each one is answered in the partition it lies in, with the halo that it needs.

The graph is lazy. For each block of queries and each partition there are four tasks: its queries, the
region that these need, its rows in the regions of the other partitions, and the fits at its queries. What
was learned at the anchors is small, and goes to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop._predict.later import Later
from localegop._predict.model import Model, Requested
from localegop._predict.uncertainty import Diagnostics
from localegop.distributed.halo import HaloRegion, halo_region, halo_rows
from localegop.distributed.models import PartitionedModel, QueryContext
from localegop.distributed.partitions import local_data
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table, merge_sorted, take
from localegop.results import LocalFits, Neighbors, join_fits, reorder_fits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RoutedQueries:
    """A block of queries, the same in the units of the recursion, and the partition of each."""

    X: Array
    centers: Array
    partition: NDArray[np.int64]


def lazy_fits(block: Delayed, model: PartitionedModel, requested: Requested) -> Delayed:
    """Local fits at a block of queries."""
    context = model.context_there
    routed = delayed(_route, pure=False)(block, context, model.splits)
    centers = [delayed(_centers_in, pure=False)(routed, p) for p in range(len(model.tables))]
    halos = lazy_halos(model, centers)
    fits = [
        delayed(_fit_in_partition, pure=False)(routed, p, table, halos, context, requested)
        for p, table in enumerate(model.tables)
    ]
    return delayed(_merge_fits, pure=False)(routed, fits)


def lazy_halos(model: PartitionedModel, centers: list[Delayed]) -> list[Delayed]:
    """Rows that each partition has for each of the others, where these are to fit around some centers."""
    tables, context = model.tables, model.context_there
    if len(tables) == 1:
        return []
    regions = [
        delayed(_halo_region, pure=False)(table, some, context)
        for table, some in zip(tables, centers, strict=True)
    ]
    return [
        delayed(_rows_for_others, pure=False)(table, regions, q, context) for q, table in enumerate(tables)
    ]


def _route(X: Array, context: QueryContext, splits: Splits) -> RoutedQueries:
    centers = context.decisions.query_rows(X)
    # queries in a box without rows go to the first partition, whose halo then has all of their neighbors
    partition = np.zeros(splits.count, dtype=np.int64)
    partition[list(context.boxes)] = np.arange(len(context.boxes))
    return RoutedQueries(X, centers, partition[splits.box_of(centers)])


def _centers_in(routed: RoutedQueries, p: int) -> Array:
    centers: Array = routed.centers[routed.partition == p]
    return centers


def _halo_region(table: Table, centers: Array, context: QueryContext) -> HaloRegion:
    return halo_region(table["rows"], centers, context.neighbors_needed)


def _rows_for_others(
    table: Table, regions: Sequence[HaloRegion], q: int, context: QueryContext
) -> list[Table | None]:
    """Rows of partition q in the region of each of the others."""
    found = halo_rows(table["rows"], regions, context.neighbors_needed)
    return [
        take(table, positions) if p != q and len(positions) else None for p, positions in enumerate(found)
    ]


def with_halo(table: Table, p: int, halos: list[list[Table | None]]) -> Table:
    """Rows of partition p and of its halo, in the order of their numbers."""
    return merge_sorted([table, *(part for other in halos if (part := other[p]) is not None)])


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
    fits = attach_rows(context, with_halo(table, p, halos)).fits(routed.X[here], requested)
    return replace(fits, _neighbors_at=_neighbors_elsewhere)


def attach_rows(context: QueryContext, table: Table) -> Model:
    """Model that knows only the rows of a table, and not what became of the input rows."""
    data, nothing = local_data(table, context.n, context.options), np.zeros(0)
    known = Later.known(Diagnostics(context.loo, None))
    return Model(context.decisions, data, nothing.astype(np.intp), nothing, context.field, known)


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
