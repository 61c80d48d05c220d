"""Lazy answers: blocks of queries in, dask arrays, series and dataframes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike, NDArray

from localegop._predict.model import Requested
from localegop._progress import Callback
from localegop.distributed.inputs import BLOCK_BYTES, is_lazy, lazy_blocks, to_numbers
from localegop.results import LocalFits

Array = NDArray[np.float64]
Turn = Callable[[Array], NDArray[Any]]


class Presenter(Protocol):
    """Turns the fits of models into answers as the user gets them: a plain estimator, even without data."""

    n_features_in_: int
    output_names_: tuple[str, ...]
    _flat_output: bool

    def _presented(self, parts: list[LocalFits]) -> LocalFits: ...

    def _interval(self, fits: LocalFits, coverage: ArrayLike, multipliers: Sequence[Array]) -> Array: ...


class Predictor(Presenter, Protocol):
    """Makes the fits as well: a plain estimator with its data."""

    n_jobs: int | None
    verbose: int
    callback: Callback | None

    def _raw_fits(self, X: Array, requested: Requested) -> list[LocalFits]: ...


@dataclass(frozen=True)
class Queries:
    """Checked blocks of queries, their lengths (NaN where unknown), and the dataframe they came in."""

    blocks: list[Delayed]
    lengths: list[float]
    frame: Any
    raw: list[Delayed]

    def array(self, parts: list[Delayed], tail: tuple[int, ...], dtype: Any = np.float64) -> da.Array:
        """Array of the parts, each (q, *tail)."""
        arrays = [
            da.from_delayed(part, (length, *tail), dtype=dtype)
            for part, length in zip(parts, self.lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def like_input(
        self, parts: list[Delayed], names: tuple[str, ...], flat: bool, dtype: Any = np.float64
    ) -> Any:
        """Array, or series or dataframe with the index of the queries, of parts (q,) or (q, K)."""
        if self.frame is None:
            return self.array(parts, () if flat else (len(names),), dtype)
        import dask.dataframe as dd

        frames = [
            delayed(_to_frame)(part, block, names, flat)
            for part, block in zip(parts, self.raw, strict=True)
        ]
        nothing = np.zeros((0,) if flat else (0, len(names)), dtype=dtype)
        meta = _to_frame(nothing, self.frame._meta.iloc[:0], names, flat)
        return dd.from_delayed(frames, meta=meta, divisions=self.frame.divisions, verify_meta=False)


def read_queries(X: Any, width: int, names: Iterable[str] | None) -> Queries:
    """Check queries: blocks of rows with so many features, of these names if X has any."""
    columns, frame = getattr(X, "columns", None), None
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            f"X must have the columns of fit, {list(names)}, in that order, but has {list(columns)}"
        )
    if is_lazy(X):
        raw, _ = lazy_blocks(X, "X")
        lengths = [np.nan] * len(raw)
        if isinstance(X, da.Array):
            lengths = list(X.chunks[0])
        else:
            frame = X
    else:
        array = np.asarray(X)
        size = max(1, int(BLOCK_BYTES / max(array[:1].nbytes, 1)))
        cuts = [array[i : i + size] for i in range(0, max(len(array), 1), size)]
        raw, lengths = [delayed(cut) for cut in cuts], [float(len(cut)) for cut in cuts]
    blocks = [delayed(_check_block, pure=False)(block, width, i) for i, block in enumerate(raw)]
    return Queries(blocks, lengths, frame, raw)


def _check_block(block: ArrayLike, width: int, chunk: int) -> Array:
    X = to_numbers(block, "X", f"chunk {chunk}")
    if X.ndim != 2 or X.shape[1] != width:
        raise ValueError(
            f"X must have rows of {width} features, as in fit, but chunk {chunk} has shape {X.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(
            f"X contains NaN or infinity in chunk {chunk}, first in row {bad[0]} of the chunk: fill in or "
            "leave out such rows"
        )
    return np.ascontiguousarray(X)


def _to_frame(values: Array, block: Any, names: tuple[str, ...], flat: bool) -> Any:
    import pandas as pd

    if flat:
        return pd.Series(values, index=block.index, name=names[0])
    return pd.DataFrame(values, index=block.index, columns=list(names))


@dataclass(frozen=True)
class Answers:
    """Lazy local fits at blocks of queries, and the estimator that presents them."""

    queries: Queries
    fits: list[Delayed]
    presenter: Presenter

    @property
    def _tail(self) -> tuple[int, ...]:
        """Shape of the answer to one query."""
        return () if self.presenter._flat_output else (len(self.presenter.output_names_),)

    def predicted(self, return_std: bool) -> Any:
        """Predictions, and standard errors if they are asked for."""
        found = [
            self.queries.like_input(
                [delayed(_values)(part, name, self._tail) for part in self.fits],
                self.presenter.output_names_,
                self.presenter._flat_output,
            )
            for name in ("value", "std")[: 1 + return_std]
        ]
        return tuple(found) if return_std else found[0]

    def intervals(self, coverage: ArrayLike, multipliers: Sequence[Array | Delayed]) -> da.Array:
        """Intervals, from the multipliers of each model."""
        levels = np.shape(coverage)
        tail = (*self._tail, *levels, 2)
        presenter = delayed(self.presenter)
        parts = [delayed(_intervals)(presenter, part, coverage, multipliers, tail) for part in self.fits]
        return self.queries.array(parts, tail)

    def turned(
        self, turn: Turn, names: tuple[str, ...] | None, tail: tuple[int, ...], dtype: Any = np.float64
    ) -> Any:
        """Turn values (q, K) into arrays (q, *tail), or into what queries came in if there are names."""
        parts = [delayed(_turned)(part, turn, self._tail) for part in self.fits]
        if names is None:
            return self.queries.array(parts, tail, dtype)
        return self.queries.like_input(parts, names, not tail, dtype)


P = TypeVar("P", bound=Predictor)


def map_blocks(model: P, X: Any, requested: Requested) -> Answers:
    """Answers of an estimator in this process, which is sent to where the blocks of queries are."""
    queries = read_queries(X, model.n_features_in_, getattr(model, "feature_names_in_", None))
    sent = copy(model)
    sent.n_jobs = 1 if model.n_jobs is None else model.n_jobs  # workers run several tasks at a time
    sent.verbose, sent.callback = 0, None
    everything = delayed(sent)
    fits = [delayed(_fits)(everything, block, requested) for block in queries.blocks]
    return Answers(queries, fits, model)


def _fits(model: Predictor, X: Array, requested: Requested) -> LocalFits | None:
    return model._presented(model._raw_fits(X, requested)) if len(X) else None


def present(presenter: Presenter, fits: list[LocalFits | None]) -> LocalFits | None:
    """Fits of all models as the user gets them; None if the block has no queries."""
    found = [part for part in fits if part is not None]
    return presenter._presented(found) if found else None


def _values(fits: LocalFits | None, name: str, tail: tuple[int, ...]) -> Array:
    return np.zeros((0, *tail)) if fits is None else getattr(fits, name)


def _turned(fits: LocalFits | None, turn: Turn, tail: tuple[int, ...]) -> NDArray[Any]:
    return turn(_values(fits, "value", tail))


def _intervals(
    presenter: Presenter,
    fits: LocalFits | None,
    coverage: ArrayLike,
    multipliers: list[Array],
    tail: tuple[int, ...],
) -> Array:
    return np.zeros((0, *tail)) if fits is None else presenter._interval(fits, coverage, multipliers)
