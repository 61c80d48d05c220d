"""What a fit will take."""

from __future__ import annotations

ROWS = 50_000  # of a partition, where nothing else is said


def partitions_for(n: int, threads: int, max_neighbors: int | None, wanted: int | None) -> int:
    """Tell how many partitions: as wanted, but not so many that centers look beyond the next."""
    if max_neighbors is None or max_neighbors >= n:
        return 1
    count = wanted if wanted is not None else max(threads, -(-n // ROWS))
    return max(1, min(count, n // max_neighbors))
