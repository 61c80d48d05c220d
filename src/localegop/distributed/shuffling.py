"""Rows from every source to every partition, without a task for each pair where there are many.

Sources and partitions are then taken in groups, about as many as there are in each: pieces first go from
sources to groups of partitions, are put together for each pair of groups, and go on to the partitions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from distributed import Future

from localegop.distributed.cluster import Cluster
from localegop.distributed.tables import Table, stacked

DIRECT = 32  # partitions up to which each pair has a task of its own


def shuffled(cluster: Cluster, pieces: list[Future[Any]], count: int) -> list[list[Future[Table]]]:
    """Tables for each partition, in the order of sources; a source has a list of pieces by partition."""
    if count <= DIRECT:
        return [[cluster.submit(_piece, piece, p) for piece in pieces] for p in range(count)]
    sources, targets = _groups(len(pieces)), _groups(count)
    found: list[list[Future[Table]]] = [[] for _ in range(count)]
    for group in sources:
        for target in targets:
            first, last = int(target[0]), int(target[-1]) + 1
            some = [cluster.submit(_slice, pieces[r], first, last) for r in group]
            merged = cluster.submit(_merged, some)
            for p in target:
                found[p].append(cluster.submit(_piece, merged, int(p) - first))
    return found


def shuffle_tasks(count: int) -> float:
    """Tasks of a shuffle, with as many sources as partitions."""
    return float(count**2) if count <= DIRECT else 2.0 * count**1.5 + 2.0 * count


def _groups(count: int) -> list[Any]:
    return np.array_split(np.arange(count), math.isqrt(count - 1) + 1) if count > 1 else [np.arange(count)]


def _piece(pieces: list[Table], which: int) -> Table:
    return pieces[which]


def _slice(pieces: list[Table], first: int, last: int) -> list[Table]:
    return pieces[first:last]


def _merged(parts: list[list[Table]]) -> list[Table]:
    return [stacked(list(same)) for same in zip(*parts, strict=True)]
