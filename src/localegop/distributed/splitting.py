"""Balanced splits of space: every row belongs to one of several boxes, which hold about equally many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SAMPLE = 20_000  # rows that splits are computed from
ROWS = 50_000  # rows of a partition, unless the user asks for a number of partitions,
MOST = 1000  # or that would give more partitions than this: each one takes many tasks


def partition_count(n: int, threads: int, max_neighbors: int | None, wanted: int | None) -> int:
    """Choose the number of partitions: as wanted, but none with fewer rows than a center looks at."""
    if max_neighbors is None or max_neighbors >= n:
        return 1
    count = wanted if wanted is not None else max(threads, min(-(-n // ROWS), MOST))
    return max(1, min(count, n // max_neighbors))


@dataclass(frozen=True)
class Splits:
    """A tree of splits: left of node i lie the rows whose entry ``axis[i]`` is at most ``threshold[i]``.

    A child of zero or more is a node; a child of -1 - b is box b.
    """

    axis: NDArray[np.int64]
    threshold: Array
    children: NDArray[np.int64]
    count: int

    def box_of(self, rows: Array) -> NDArray[np.int64]:
        """Find the box that each row lies in."""
        found = np.zeros(len(rows), dtype=np.int64)
        waiting = [(0, np.arange(len(rows)))] if len(self.axis) else []
        while waiting:
            node, here = waiting.pop()
            left = rows[here, self.axis[node]] <= self.threshold[node]
            for child, part in zip(self.children[node], (here[left], here[~left]), strict=True):
                if child >= 0:
                    waiting.append((int(child), part))
                else:
                    found[part] = -1 - child
        return found


def split_space(samples: list[Array], count: int) -> Splits:
    """Split space into ``count`` boxes, each time along the axis in which the sample is widest."""
    nodes: list[tuple[int, float, list[int]]] = []
    leaves = iter(range(count))

    def split(rows: Array, wanted: int) -> int:
        if wanted == 1:
            return -1 - next(leaves)
        at, low = len(nodes), wanted // 2
        axis = int(np.argmax(rows.std(axis=0))) if len(rows) else 0
        threshold = float(np.quantile(rows[:, axis], low / wanted)) if len(rows) else 0.0
        nodes.append((axis, threshold, []))
        left = rows[:, axis] <= threshold
        nodes[at][2].append(split(rows[left], low))
        nodes[at][2].append(split(rows[~left], wanted - low))
        return at

    split(np.concatenate(samples), count)
    return Splits(
        np.array([node[0] for node in nodes], dtype=np.int64),
        np.array([node[1] for node in nodes]),
        np.array([node[2] for node in nodes], dtype=np.int64).reshape(-1, 2),
        count,
    )
