"""Input as blocks of rows on the cluster: dask arrays and dataframes, or anything in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Future
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from localegop._data.class_labels import join_labels, missing_labels
from localegop.distributed.cluster import Cluster
from localegop.distributed.tables import Table

Array = NDArray[np.float64]
Columns = Iterable[object] | None

BLOCK_BYTES = 4e6  # size of the blocks of an array in memory, which are sent inside tasks


@dataclass(frozen=True)
class Blocks:
    """Checked rows on the cluster.

    The tables have columns X, y, sample_weight and input_row, which counts the rows of the input; ``first``
    is the input row that each table starts with.
    """

    tables: list[Future[Table]]
    first: list[int]
    n: int
    dimension: int
    outputs: int


def lazy_blocks(value: Any, name: str) -> tuple[list[Delayed], Columns]:
    """Blocks of rows of a dask array or dataframe, and the names of its columns if it has any."""
    columns = getattr(value, "columns", None)
    if isinstance(value, da.Array):
        if value.ndim == 2 and value.numblocks[1] > 1:
            value = value.rechunk({1: -1})
        if value.ndim not in (1, 2):
            raise ValueError(f"{name} must have one or two dimensions, got an array of shape {value.shape}")
        return list(value.to_delayed().ravel()), None
    if not (hasattr(value, "to_delayed") and hasattr(value, "divisions")):
        raise ValueError(
            f"{name} must be a dask array or dataframe, or an array in memory, got {type(value).__name__}"
        )
    return list(value.to_delayed()), columns


def is_lazy(value: object) -> bool:
    """Whether a value is a dask collection."""
    return bool(is_dask_collection(value))


def align(
    cluster: Cluster, X: Any, y: Any, sample_weight: Any, missing: str, *, classes: bool = False
) -> tuple[Blocks, list[str] | None]:
    """Bring rows of y and weights to the blocks of X, and check all; the second are the feature names.

    Labels are numbers, or of any type if they are classes.
    """
    parts = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    pieces: dict[str, tuple[list[Future[Any]], NDArray[np.int64]]] = {}
    names: list[str] | None = None
    for name, value in parts.items():
        blocks, lengths, columns = _send(cluster, value, name)
        pieces[name] = blocks, np.concatenate([[0], np.cumsum(lengths)])
        if name == "X" and columns is not None and all(isinstance(c, str) for c in columns):
            names = [str(c) for c in columns]
    n = _check_counts({name: int(ends[-1]) for name, (_, ends) in pieces.items()})
    blocks, ends = pieces.pop("X")
    tables, first = [], []
    for i, block in enumerate(blocks):
        start, stop = int(ends[i]), int(ends[i + 1])
        if start == stop:
            continue
        others = [_overlap(theirs, their_ends, start, stop) for theirs, their_ends in pieces.values()]
        tables.append(cluster.submit(check_rows, block, others, missing, i, start, classes))
        first.append(start)
    shapes = cluster.gather(cluster.each(_widths, tables))
    if len(set(shapes)) > 1:
        raise ValueError(
            "all chunks must have the same number of columns, but those of (X, y) have "
            f"{sorted(set(shapes))}"
        )
    return Blocks(tables, first, n, *shapes[0]), names


def _check_counts(counts: dict[str, int]) -> int:
    """Return the number of rows, which must be the same for X, y and sample_weight."""
    if len(set(counts.values())) > 1:
        given = ", ".join(f"{name} has {count} rows" for name, count in counts.items())
        raise ValueError(f"X, y and sample_weight must have the same number of rows, but {given}")
    if counts["X"] < 2:
        raise ValueError(f"at least 2 rows are needed, but X has {counts['X']}")
    return counts["X"]


def _send(cluster: Cluster, value: Any, name: str) -> tuple[list[Future[Any]], list[int], Columns]:
    """Bring a value to the cluster: its blocks, their lengths and its columns if it has any."""
    if is_lazy(value):
        delayed, columns = lazy_blocks(value, name)
        futures = cluster.client.compute(delayed)
        cluster.remember(futures)
        return futures, cluster.gather(cluster.each(len, futures)), columns
    array = np.asarray(value)
    size = max(1, int(BLOCK_BYTES / max(array[:1].nbytes, 1)))
    cuts = [slice(i, i + size) for i in range(0, len(array), size)]
    return (
        [cluster.submit(_identity, array[cut]) for cut in cuts],
        [len(array[cut]) for cut in cuts],
        getattr(value, "columns", None),
    )


def _identity(block: NDArray[Any]) -> NDArray[Any]:
    return block


def _overlap(
    blocks: list[Future[Any]], ends: NDArray[np.int64], start: int, stop: int
) -> list[tuple[Future[Any], int, int]]:
    """Pieces of blocks that make up the rows from start to stop."""
    found = []
    for block, low, high in zip(blocks, ends[:-1], ends[1:], strict=True):
        begin, end = max(start, int(low)), min(stop, int(high))
        if begin < end:
            found.append((block, begin - int(low), end - int(low)))
    return found


def check_rows(
    block: Any,
    others: list[list[tuple[Any, int, int]]],
    missing: str,
    chunk: int,
    start: int,
    classes: bool,
) -> Table:
    """Turn the rows of one chunk into numbers, except labels of classes; rows left out get weight 0.

    The others are pieces of y, and of sample_weight if it was given: blocks, each with its slice.
    """
    where = f"chunk {chunk} (rows {start} to {start + len(block) - 1})"
    X = to_numbers(block, "X", where)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, (rows, features), but {where} has shape {X.shape}")
    readers = {"y": to_labels if classes else to_numbers, "sample_weight": to_numbers}
    columns = [
        join_labels([read(part, name, where)[a:b] for part, a, b in pieces])
        for (name, read), pieces in zip(readers.items(), others, strict=False)
    ]
    y = columns[0].reshape(len(X), -1)
    weight = columns[1].copy() if len(columns) > 1 else np.ones(len(X))
    if weight.shape != (len(X),) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            f"sample_weight must be one finite number >= 0 for each row, but is not in {where}"
        )
    out = _find_missing(X, "X", missing, where, start) | _find_missing(y, "y", missing, where, start)
    X = np.where(out[:, None], 0.0, X)
    y = np.where(out[:, None], 0.0, y) if y.dtype.kind == "f" else y
    return {
        "X": X,
        "y": y,
        "sample_weight": np.where(out, 0.0, weight),
        "input_row": start + np.arange(len(X)),
    }


def _find_missing(
    values: NDArray[Any], name: str, missing: str, where: str, start: int
) -> NDArray[np.bool_]:
    """Which rows (n,) have missing values, if they may; infinite ones are refused."""
    unknown = np.any([missing_labels(column) for column in values.T], axis=0)
    lacking = np.flatnonzero(unknown)
    numeric = values if values.dtype.kind == "f" else np.zeros((0, 1))
    infinite = np.flatnonzero(np.isinf(numeric).any(axis=1))
    if missing == "error" and len(lacking):
        raise ValueError(
            f"{name} contains NaN in {where}, first in row {start + lacking[0]}: fill in missing "
            "values, or leave such rows out with missing='drop'"
        )
    if len(infinite):
        raise ValueError(f"{name} contains infinity in {where}, first in row {start + infinite[0]}")
    return np.asarray(unknown)


def to_numbers(block: ArrayLike, name: str, where: str) -> Array:
    """Turn a block into an array of floats, or raise an error that says where that is impossible."""
    try:
        return np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers only, but {where} does not: {error}") from None


def to_labels(block: ArrayLike, name: str, where: str) -> NDArray[Any]:
    """Turn a block into a column of labels of any type."""
    try:
        return np.asarray(column_or_1d(block))
    except ValueError as error:
        raise ValueError(f"{name} must be one column of labels, but {where} is not: {error}") from None


def _widths(table: Table) -> tuple[int, int]:
    return table["X"].shape[1], table["y"].shape[1]
