"""Chunks of centers, small enough for a memory budget, and some of many points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CHUNK_BYTES = 16e6  # memory for the metrics and fits of one chunk: malloc reuses as much
SMALLEST, LARGEST = 64, 4096  # centers


def chunks(count: int, bytes_each: float) -> Iterator[slice]:
    """Slices of ``count`` centers that need so many bytes each."""
    size = int(min(max(CHUNK_BYTES / max(bytes_each, 1.0), SMALLEST), LARGEST))
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def spread_points(n: int, most: int) -> NDArray[np.int64]:
    """Take at most so many of n points, evenly spaced in their order."""
    return np.arange(n) if n <= most else (np.arange(most) * n) // most
