"""What users give, as blocks of rows on the cluster: dask arrays and dataframes, or anything in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from distributed import Future
from numpy.typing import NDArray

from localegop.distributed.cluster import Cluster
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

BLOCK_BYTES = 4e6  # of arrays from memory, which travel inside tasks


@dataclass(frozen=True)
class Blocks:
    """Checked rows on the cluster, as tables of X, y and weight; ``first`` numbers their first rows."""

    tables: list[Future[Table]]
    first: list[int]
    n: int
    dimension: int
    outputs: int


def lazy(value: Any, name: str) -> tuple[list[Any], Any]:
    """Blocks of rows of a dask array or dataframe, as delayed objects, and its columns if it has any."""
    columns = getattr(value, "columns", None)
    if isinstance(value, da.Array):
        if value.ndim == 2 and value.numblocks[1] > 1:
            value = value.rechunk({1: -1})
        if value.ndim not in (1, 2):
            raise ValueError(f"{name} must have one or two axes, got an array of shape {value.shape}")
        return list(value.to_delayed().ravel()), None
    if not (hasattr(value, "to_delayed") and hasattr(value, "divisions")):
        raise ValueError(f"{name} must be a dask array or dataframe, or an array, got {type(value)}")
    return list(value.to_delayed()), columns


def is_lazy(value: Any) -> bool:
    """Whether a value is a dask collection."""
    return bool(is_dask_collection(value))


def aligned(cluster: Cluster, X: Any, y: Any, weight: Any, missing: str) -> tuple[Blocks, list[str] | None]:
    """Blocks of X with their rows of y and weights, all checked; and the names of features."""
    parts = {"X": X, "y": y} | ({} if weight is None else {"sample_weight": weight})
    pieces: dict[str, tuple[list[Any], NDArray[np.int64]]] = {}
    names: list[str] | None = None
    for name, value in parts.items():
        blocks, lengths, columns = _placed(cluster, value, name)
        pieces[name] = blocks, np.concatenate([[0], np.cumsum(lengths)])
        if name == "X" and columns is not None and all(isinstance(c, str) for c in columns):
            names = list(columns)
    counts = {name: int(ends[-1]) for name, (_, ends) in pieces.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count} rows" for name, count in counts.items())
        raise ValueError(f"X, y and sample_weight must have as many rows each, but {told}")
    if counts["X"] < 2:
        raise ValueError(f"at least 2 rows are needed, but X has {counts['X']}")
    blocks, ends = pieces.pop("X")
    tables, first = [], []
    for i, block in enumerate(blocks):
        start, stop = int(ends[i]), int(ends[i + 1])
        if start == stop:
            continue
        others = [_overlap(theirs, at, start, stop) for theirs, at in pieces.values()]
        tables.append(cluster.submit(checked_rows, block, others, missing, i, start))
        first.append(start)
    shapes = cluster.gather(cluster.each(_widths, tables))
    if len(set(shapes)) > 1:
        raise ValueError(
            f"chunks must have equally many columns, but they have (X, y) {sorted(set(shapes))}"
        )
    return Blocks(tables, first, counts["X"], *shapes[0]), names


def _placed(cluster: Cluster, value: Any, name: str) -> tuple[list[Any], list[int], Any]:
    """Blocks on the cluster with their lengths; sizes that are unknown are computed."""
    if is_lazy(value):
        delayed, columns = lazy(value, name)
        futures = cluster.client.compute(delayed)
        cluster.remember(futures)
        return futures, cluster.gather(cluster.each(len, futures)), columns
    array = np.asarray(value)
    size = max(1, int(BLOCK_BYTES / max(array[:1].nbytes, 1)))
    cuts = [slice(i, i + size) for i in range(0, len(array), size)]
    return (
        [cluster.submit(_kept, array[cut]) for cut in cuts],
        [len(array[cut]) for cut in cuts],
        getattr(value, "columns", None),
    )


def _kept(block: NDArray[Any]) -> NDArray[Any]:
    return block


def _overlap(
    blocks: list[Any], ends: NDArray[np.int64], start: int, stop: int
) -> list[tuple[Any, int, int]]:
    """Pieces of blocks that make up the rows from start to stop."""
    found = []
    for block, low, high in zip(blocks, ends[:-1], ends[1:], strict=True):
        begin, end = max(start, int(low)), min(stop, int(high))
        if begin < end:
            found.append((block, begin - int(low), end - int(low)))
    return found


def checked_rows(
    block: Any, others: list[list[tuple[Any, int, int]]], missing: str, chunk: int, start: int
) -> Table:
    """Rows of one chunk as numbers; rows to be left out have weight 0."""
    where = f"chunk {chunk} (rows {start} to {start + len(block) - 1})"
    X = numbers(block, "X", where)
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, rows and features, but {where} has shape {X.shape}")
    columns = [
        np.concatenate([numbers(part, name, where)[a:b] for part, a, b in pieces])
        for name, pieces in zip(("y", "sample_weight"), others, strict=False)
    ]
    y = columns[0].reshape(len(X), -1)
    weight = columns[1].copy() if len(columns) > 1 else np.ones(len(X))
    if weight.shape != (len(X),) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight must be one finite number >= 0 a row, but not so in {where}")
    for name, values in (("X", X), ("y", y)):
        bad = np.flatnonzero(np.isinf(values).any(axis=1))
        lacking = np.flatnonzero(np.isnan(values).any(axis=1))
        if missing == "error" and len(lacking):
            raise ValueError(
                f"{name} contains NaN in {where}, first in row {start + lacking[0]}: fill missing values "
                "in, or leave such rows out with missing='drop'"
            )
        if len(bad):
            raise ValueError(f"{name} contains infinity in {where}, first in row {start + bad[0]}")
    out = np.isnan(X).any(axis=1) | np.isnan(y).any(axis=1)
    X, y = np.where(out[:, None], 0.0, X), np.where(out[:, None], 0.0, y)
    return {"X": X, "y": y, "weight": np.where(out, 0.0, weight), "given": start + np.arange(len(X))}


def numbers(block: Any, name: str, where: str) -> Array:
    """Array of floats, or an error that says where it is not one."""
    try:
        return np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, but not so in {where}: {error}") from None


def _widths(table: Table) -> tuple[int, int]:
    return table["X"].shape[1], table["y"].shape[1]
