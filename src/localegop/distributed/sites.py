"""Sites on a cluster; see :class:`localegop._engine.sites.Site`.

Every partition that has some of the centers keeps the rows that these look at. The process that fits has
the centers themselves, sends shapes and widths of their neighborhoods, and gets back what was found there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.local_data import LocalData
from localegop._engine.neighbor_lists import NeighborLists
from localegop._engine.sites import LocalSite, Work
from localegop.distributed.inputs import BLOCK_BYTES
from localegop.distributed.partitions import (
    DataOptions,
    Numbers,
    PartitionedData,
    Partitioning,
    find_halos,
    local_data,
    without_held_out,
)
from localegop.distributed.tables import Table, merge_sorted, stack, take

Array = NDArray[np.float64]


class SiteInPartition(LocalSite):
    """The centers of one partition, with the rows that they look at."""

    def __sizeof__(self) -> int:  # for the scheduler, which moves what is small
        data, lists = self.data, self.lists
        rows = 2 * (data.rows.nbytes + data.labels.nbytes + data.sample_weight.nbytes)
        return rows + self.rows.nbytes + (lists.indices.nbytes if isinstance(lists, NeighborLists) else 0)


@dataclass(frozen=True)
class ClusterSite:
    """Centers in partitions of a cluster; see :class:`localegop._engine.sites.Site`.

    ``partition`` (m,) and ``position`` (m,) say where each center is.
    """

    data: PartitionedData
    parts: list[Future[LocalSite]]
    partition: NDArray[np.intp]
    position: NDArray[np.intp]
    rows: Array
    labels: Array
    sample_weight: Array

    def __len__(self) -> int:
        return len(self.rows)

    def pick(self, some: NDArray[np.intp]) -> ClusterSite:
        """See :class:`Site`."""
        return replace(
            self,
            partition=self.partition[some],
            position=self.position[some],
            rows=self.rows[some],
            labels=self.labels[some],
            sample_weight=self.sample_weight[some],
        )

    def relabelled(self, labels: Array) -> ClusterSite:
        """See :class:`Site`."""
        return replace(self, labels=labels)

    def run(self, work: Work, shapes: Array, widths: Widths) -> tuple[Array, ...]:
        """See :class:`Site`."""
        cluster, blocks = self.data.cluster, list(self._blocks())
        found = cluster.gather(
            [
                cluster.submit(_run, self.parts[p], self.position[some], work, shapes[some], widths[some])
                for p, some in blocks
            ]
        )
        order = np.argsort(np.concatenate([some for _, some in blocks]))
        return tuple(np.concatenate(each)[order] for each in zip(*found, strict=True))

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Partitions with some of their centers, as many as a task can be sent the shapes of."""
        most = max(1, int(BLOCK_BYTES / (8 * self.data.dimension**2)))
        for p in np.unique(self.partition):
            some = np.flatnonzero(self.partition == p)
            for first in range(0, len(some), most):
                yield int(p), some[first : first + most]


def _run(
    site: LocalSite, position: NDArray[np.intp], work: Work, shapes: Array, widths: Widths
) -> tuple[Array, ...]:
    return site.pick(position).run(work, shapes, widths)


def make_site(
    data: PartitionedData, partitioning: Partitioning, numbers: Numbers, *, own: bool
) -> ClusterSite:
    """Make a site at the rows of some numbers; if they are the data's own, each leaves itself out."""
    cluster = data.cluster
    chosen = _choose_rows(data, partitioning, numbers)
    centers: list[Table] = cluster.gather(chosen)
    halos = find_halos(data, partitioning.partitions, [table["rows"] for table in centers])
    parts = [
        cluster.submit(prepare_site, table, halo, some, data.held_out, (data.n, data.options), own)
        for table, halo, some in zip(partitioning.tables, halos, chosen, strict=True)
    ]
    counts = [len(table["number"]) for table in centers]
    together, at = _in_order(centers, numbers)
    return ClusterSite(
        data,
        parts,
        np.repeat(np.arange(len(counts)), counts)[at],
        np.concatenate([np.arange(count) for count in counts])[at],
        *(together[name][at] for name in ("rows", "labels", "sample_weight")),
    )


def gather_rows(data: PartitionedData, partitioning: Partitioning, numbers: Numbers) -> LocalData:
    """Take the rows of some numbers into this process, as data of their own."""
    found = data.cluster.gather(_choose_rows(data, partitioning, numbers))
    together, at = _in_order(found, numbers)
    return LocalData(*(together[name][at] for name in ("rows", "labels", "sample_weight")), **data.options)


def rows_in_process(site: ClusterSite) -> LocalData:
    """Centers of a site as data of their own, in this process."""
    return LocalData(site.rows, site.labels, site.sample_weight, **site.data.options)


def _choose_rows(
    data: PartitionedData, partitioning: Partitioning, numbers: Numbers
) -> list[Future[Table]]:
    """Rows of some numbers, a table for each partition, on the cluster."""
    cluster = data.cluster
    return cluster.each(rows_of, partitioning.tables, cluster.submit(_identity, np.sort(numbers)))


def _in_order(tables: list[Table], numbers: Numbers) -> tuple[Table, NDArray[np.intp]]:
    """All rows of some tables, and where those of some numbers are among them."""
    together = stack(tables)
    order = np.argsort(together["number"])
    return together, order[np.searchsorted(together["number"], numbers, sorter=order)]


def _identity(numbers: Numbers) -> Numbers:
    return numbers


def rows_of(table: Table, numbers: Numbers) -> Table:
    """Take the rows of some numbers."""
    return take(table, np.isin(table["number"], numbers))


def prepare_site(
    table: Table,
    halo: list[Table],
    chosen: Table,
    held_out: Numbers,
    n_total_and_options: tuple[int, DataOptions],
    own: bool,
) -> LocalSite | None:
    """Find the rows that the chosen centers of a partition look at; None if it has no centers."""
    if not len(chosen["number"]):
        return None
    together = merge_sorted([without_held_out(table, held_out), *halo])
    itself = np.searchsorted(together["number"], chosen["number"]) if own else None
    data = local_data(together, *n_total_and_options)
    rows, labels, weight = (
        np.ascontiguousarray(chosen[name]) for name in ("rows", "labels", "sample_weight")
    )
    return _drop_unused_rows(SiteInPartition.at(data, rows, labels, weight, itself))


def _drop_unused_rows(site: LocalSite) -> LocalSite:
    """Leave out the rows that no center looks at, where the lists tell the nearest."""
    lists, own, data = None if site.lists is None else site.lists[:], site.left_out, site.data
    if lists is None or data.radius is not None:
        return replace(site, lists=lists)
    used = np.zeros(data.n, dtype=bool)
    used[lists.indices] = True
    if own is not None:
        used[own] = True
    number = (np.cumsum(used) - 1).astype(np.int32)
    return replace(
        site,
        data=data.subset(np.flatnonzero(used), data.n_total),
        left_out=None if own is None else number[own].astype(np.int64),
        lists=NeighborLists(lists.start, number[lists.indices]),
    )
