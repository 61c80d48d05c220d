"""Balanced splits of space: each row belongs to one of several boxes with about as many rows each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SAMPLE = 20_000  # rows that splits are computed from


@dataclass(frozen=True)
class Splits:
    """A tree of splits: left of node i lie the rows with entry ``axis[i]`` of at most ``threshold[i]``.

    Children of zero or more are nodes; a child of -1 - p is partition p.
    """

    axis: NDArray[np.int64]
    threshold: Array
    children: NDArray[np.int64]
    count: int

    def home(self, rows: Array) -> NDArray[np.int64]:
        """Tell the partition of each row."""
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


def splits_of(samples: list[Array], count: int) -> Splits:
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
