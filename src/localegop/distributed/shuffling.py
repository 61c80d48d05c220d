"""Moving rows from every source to every partition, without a task for each pair where there are many.

With many partitions, sources and partitions are divided into about as many groups as a group has members.
Pieces first go from sources to groups of partitions, are put together for each pair of groups, and then go
on to the single partitions.
"""

from __future__ import annotations

import math

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop.distributed.cluster import Cluster
from localegop.distributed.tables import Table, stack

DIRECT = 32  # up to so many partitions, each pair of source and partition has its own task


def shuffle(cluster: Cluster, pieces: list[Future[list[Table]]], count: int) -> list[list[Future[Table]]]:
    """Send pieces to ``count`` partitions; each source has a list with one piece for each partition.

    Returns the tables of each partition, in the order of the sources.
    """
    if count <= DIRECT:
        return [[cluster.submit(_piece, piece, p) for piece in pieces] for p in range(count)]
    source_groups, partition_groups = _groups(len(pieces)), _groups(count)
    found: list[list[Future[Table]]] = [[] for _ in range(count)]
    for sources in source_groups:
        for partitions in partition_groups:
            first, last = int(partitions[0]), int(partitions[-1]) + 1
            some = [cluster.submit(_slice, pieces[r], first, last) for r in sources]
            merged = cluster.submit(_merge, some)
            for p in partitions:
                found[p].append(cluster.submit(_piece, merged, int(p) - first))
    return found


def shuffle_tasks(count: int) -> float:
    """Approximate number of tasks of a shuffle, with as many sources as partitions."""
    return float(count**2) if count <= DIRECT else 2.0 * count**1.5 + 2.0 * count


def _groups(count: int) -> list[NDArray[np.intp]]:
    return np.array_split(np.arange(count), math.isqrt(count - 1) + 1) if count > 1 else [np.arange(count)]


def _piece(pieces: list[Table], which: int) -> Table:
    return pieces[which]


def _slice(pieces: list[Table], first: int, last: int) -> list[Table]:
    return pieces[first:last]


def _merge(parts: list[list[Table]]) -> list[Table]:
    return [stack(list(same)) for same in zip(*parts, strict=True)]
