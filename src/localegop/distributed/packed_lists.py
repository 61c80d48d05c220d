"""Lists of neighbors in little memory: about one byte for each entry instead of four."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData
from localegop._engine.neighbor_lists import NeighborLists

Array = NDArray[np.float64]
Code = np.uint8 | np.uint16

BATCH = 4096  # lists unpacked at a time


@dataclass(frozen=True)
class PackedLists:
    """Sorted lists, stored as steps from one entry to the next.

    The largest code stands for a step of its size that leads to no entry, so that longer steps can be
    written as several codes. Slices are unpacked to :class:`NeighborLists`.
    """

    first: NDArray[np.int32]
    start: NDArray[np.int64]
    codes: NDArray[Code]

    def __len__(self) -> int:
        return len(self.first)

    def __sizeof__(self) -> int:  # for the scheduler
        return self.first.nbytes + self.start.nbytes + self.codes.nbytes

    def batches(self) -> Iterator[slice]:
        """Slices of lists to unpack at a time."""
        for first in range(0, len(self), BATCH):
            yield slice(first, min(first + BATCH, len(self)))

    def mark(self, used: NDArray[np.bool_]) -> None:
        """Mark all points that are in a list."""
        for rows in self.batches():
            used[self[rows].indices] = True

    def renumber(self, number: NDArray[np.int32]) -> PackedLists:
        """Give the points other numbers, which must rise as before."""
        parts = []
        for rows in self.batches():
            lists = self[rows]
            parts.append(pack(NeighborLists(lists.start, number[lists.indices]), self.codes.dtype.type))
        return join(parts)

    def __getitem__(self, rows: slice) -> NeighborLists:
        begin, end, _ = rows.indices(len(self.first))
        at = self.start[begin : end + 1] - self.start[begin]
        codes = self.codes[self.start[begin] : self.start[end]]
        entry = codes != np.iinfo(codes.dtype).max
        sums = np.cumsum(codes, dtype=np.int64)
        counts = np.concatenate([[0], np.cumsum(entry)])[at]
        base = np.repeat(self.first[begin:end] - sums[at[:-1]], np.diff(counts)) if len(codes) else 0
        return NeighborLists(counts, (sums[entry] + base).astype(np.int32))


def find_and_pack(data: LocalData, centers: Array) -> PackedLists | None:
    """Find the points that centers may look at, and pack them a few centers at a time."""
    if data.limit is None and data.radius is None:
        return None
    kind: type[Code] = np.uint8 if data.n < 255 * data.max_visible else np.uint16  # by the usual step
    return join(
        [
            pack(data.neighbor_lists(centers[rows]), kind)
            for rows in chunks(len(centers), 8 * data.max_visible)
        ]
    )


def join(parts: list[PackedLists]) -> PackedLists:
    """Put lists of several batches of centers one after the other."""
    if not parts:
        return PackedLists(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint8))
    ends = np.cumsum([0] + [len(part.codes) for part in parts])
    starts = [part.start[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return PackedLists(
        np.concatenate([part.first for part in parts]),
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([part.codes for part in parts]),
    )


def pack(lists: NeighborLists | None, kind: type[Code] = np.uint8) -> PackedLists:
    """Pack lists of at least one entry each."""
    assert lists is not None
    starts = lists.start[:-1]
    steps = np.diff(lists.indices, prepend=lists.indices[:1])
    steps[starts] = 0
    most = np.iinfo(kind).max
    ends = np.cumsum(steps // most + 1)
    codes = np.full(int(ends[-1]) if len(ends) else 0, most, dtype=kind)
    codes[ends - 1] = steps % most
    start = np.concatenate([[0], ends])[lists.start]
    return PackedLists(lists.indices[starts], start.astype(np.int64), codes)
