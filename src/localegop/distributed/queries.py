"""Lazy answers: blocks of queries in, dask arrays, series and dataframes out."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop.distributed.inputs import BLOCK_BYTES, is_lazy, lazy, numbers
from localegop.regressor import LocalEGOPRegressor
from localegop.results import LocalFits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Queries:
    """Checked blocks of queries, their lengths (NaN where unknown), and the dataframe they came in."""

    blocks: list[Delayed]
    lengths: list[float]
    frame: Any
    raw: list[Any]

    def array(self, parts: list[Delayed], tail: tuple[int, ...]) -> da.Array:
        """Array of the parts, each (q, *tail)."""
        arrays = [
            da.from_delayed(part, (length, *tail), dtype=np.float64)
            for part, length in zip(parts, self.lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def like_given(self, parts: list[Delayed], names: tuple[str, ...], flat: bool) -> Any:
        """Array, or series or dataframe with the index of the queries, of parts (q,) or (q, K)."""
        if self.frame is None:
            return self.array(parts, () if flat else (len(names),))
        import dask.dataframe as dd

        frames = [
            delayed(_framed)(part, block, names, flat) for part, block in zip(parts, self.raw, strict=True)
        ]
        meta = _framed(np.zeros((0,) if flat else (0, len(names))), self.frame._meta.iloc[:0], names, flat)
        return dd.from_delayed(frames, meta=meta, divisions=self.frame.divisions, verify_meta=False)


def queries_of(X: Any, width: int, names: Any) -> Queries:
    """Blocks of queries with so many features of these names."""
    columns, frame = getattr(X, "columns", None), None
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            f"X must have the columns of fit, {list(names)}, in that order, but has {list(columns)}"
        )
    if is_lazy(X):
        raw, _ = lazy(X, "X")
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
    blocks = [delayed(_checked, pure=False)(block, width, i) for i, block in enumerate(raw)]
    return Queries(blocks, lengths, frame, raw)


def _checked(block: Any, width: int, chunk: int) -> Array:
    X = numbers(block, "X", f"chunk {chunk}")
    if X.ndim != 2 or X.shape[1] != width:
        raise ValueError(
            f"X must have rows of {width} features, as in fit, but chunk {chunk} has shape {X.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(f"X contains NaN or infinity in chunk {chunk}, first in its row {bad[0]}")
    return np.ascontiguousarray(X)


def _framed(values: Array, block: Any, names: tuple[str, ...], flat: bool) -> Any:
    import pandas as pd

    if flat:
        return pd.Series(values, index=block.index, name=names[0])
    return pd.DataFrame(values, index=block.index, columns=list(names))


@dataclass(frozen=True)
class Answers:
    """Local fits at blocks of queries, and the estimator; without data, if these are on a cluster."""

    asked: Queries
    fits: list[Delayed]
    shell: LocalEGOPRegressor

    @property
    def _outputs(self) -> tuple[int, ...]:
        return () if self.shell._flat_output else (len(self.shell.output_names_),)

    def predicted(self, return_std: bool) -> Any:
        """Predictions, and standard errors if they are asked for."""
        found = [
            self.asked.like_given(
                [delayed(_values)(part, name, self._outputs) for part in self.fits],
                self.shell.output_names_,
                self.shell._flat_output,
            )
            for name in ("value", "std")[: 1 + return_std]
        ]
        return tuple(found) if return_std else found[0]

    def intervals(self, coverage: Any, multipliers: list[Any]) -> da.Array:
        """Intervals, from the multipliers of each model."""
        tail = (*self._outputs, 2) if np.ndim(coverage) == 0 else (*self._outputs, len(coverage), 2)
        shell = delayed(self.shell)
        parts = [delayed(_intervals)(shell, part, coverage, multipliers, tail) for part in self.fits]
        return self.asked.array(parts, tail)


def mapped(model: LocalEGOPRegressor, X: Any, **what: bool) -> Answers:
    """Answers of a plain estimator, which goes to where the blocks of queries are."""
    asked = queries_of(X, model.n_features_in_, getattr(model, "feature_names_in_", None))
    sent = copy(model)
    sent.n_jobs = 1 if model.n_jobs is None else model.n_jobs  # workers run several tasks at a time
    sent.verbose = 0
    everything = delayed(sent)
    return Answers(asked, [delayed(_fits)(everything, block, what) for block in asked.blocks], model)


def _fits(model: LocalEGOPRegressor, X: Array, what: dict[str, bool]) -> LocalFits | None:
    return model._presented(model._raw_fits(X, **what)) if len(X) else None


def presented(shell: LocalEGOPRegressor, fits: list[LocalFits | None]) -> LocalFits | None:
    """Fits of all models as the user gets them; None if the block has no queries."""
    found = [part for part in fits if part is not None]
    return shell._presented(found) if found else None


def _values(fits: LocalFits | None, name: str, tail: tuple[int, ...]) -> Array:
    return np.zeros((0, *tail)) if fits is None else getattr(fits, name)


def _intervals(
    shell: LocalEGOPRegressor,
    fits: LocalFits | None,
    coverage: Any,
    multipliers: list[Array],
    tail: tuple[int, ...],
) -> Array:
    return np.zeros((0, *tail)) if fits is None else shell._interval(fits, coverage, multipliers)
