"""Lists of neighbors in little memory: about a byte for each instead of four."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import Candidates


@dataclass(frozen=True)
class PackedLists:
    """Sorted lists as steps from one entry to the next.

    The largest code stands for a step of its size that leads to no entry, so that longer steps can be
    written as several codes. It is read like :class:`Candidates`, by slices.
    """

    first: NDArray[np.int32]
    start: NDArray[np.int64]
    codes: NDArray[Any]

    def __getitem__(self, rows: slice) -> Candidates:
        begin, end, _ = rows.indices(len(self.first))
        at = self.start[begin : end + 1] - self.start[begin]
        codes = self.codes[self.start[begin] : self.start[end]]
        entry = codes != np.iinfo(codes.dtype).max
        sums = np.cumsum(codes, dtype=np.int64)
        counts = np.concatenate([[0], np.cumsum(entry)])[at]
        base = np.repeat(self.first[begin:end] - sums[at[:-1]], np.diff(counts)) if len(codes) else 0
        return Candidates(counts, (sums[entry] + base).astype(np.int32))


def packed(candidates: Candidates | None) -> PackedLists | None:
    """Pack lists of at least one entry each."""
    if candidates is None:
        return None
    starts = candidates.start[:-1]
    steps = np.diff(candidates.indices, prepend=candidates.indices[:1])
    steps[starts] = 0
    kinds: list[type[Any]] = [np.uint8, np.uint16]
    sizes = [(len(steps) + int((steps // np.iinfo(kind).max).sum())) * kind().itemsize for kind in kinds]
    kind = kinds[int(np.argmin(sizes))]
    most = np.iinfo(kind).max
    ends = np.cumsum(steps // most + 1)
    codes = np.full(int(ends[-1]) if len(ends) else 0, most, dtype=kind)
    codes[ends - 1] = steps % most
    start = np.concatenate([[0], ends])[candidates.start]
    first = candidates.indices[starts]
    return PackedLists(first, start.astype(np.int64), codes)
