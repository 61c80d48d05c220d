"""From the cluster back into one process: whole models, residuals of rows as given, sums of slopes."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from localegop._predict.model import Model, squared_slopes
from localegop._predict.uncertainty import Calibration
from localegop.distributed.backend import LearnedField, bare
from localegop.distributed.partitions import SpreadData
from localegop.distributed.predicting import Head, placed_model
from localegop.distributed.sorting import SpreadRows
from localegop.distributed.tables import Table, in_order

Array = NDArray[np.float64]

RESIDUAL_BLOCK = 100_000  # rows as given in a block of residuals


def gathered(model: Model) -> Model:
    """Model with all its data in this process."""
    data, field = model.data, model.field
    assert isinstance(data, SpreadData) and isinstance(field, LearnedField)
    cluster, source = data.cluster, data.source
    tables: list[Table] = [cluster.gather([table])[0] for table in field.tables]
    together, _ = in_order(tables)
    head = Head(bare(model), data.options, data.n, tuple(field.numbers))
    whole = placed_model(head, together)
    whole.position = np.full(source.n_given, -1, dtype=np.intp)
    whole.part = np.zeros(source.n_given)
    for first, given in zip(source.first, source.given, strict=True):
        table = cluster.gather([given])[0]
        whole.position[table["given"]] = first + table["at"]
        whole.part[table["given"]] = table["part"]
    whole.calibration = Calibration.from_scores(together["score"], together["share"])
    return whole


def _data(model: Model) -> SpreadData:
    assert isinstance(model.data, SpreadData)
    return model.data


def slope_sums(model: Model) -> Array:
    """Mean squares (D,) of the gradients at all rows, per standard deviation of a feature."""
    data, field = model.data, model.field
    assert isinstance(data, SpreadData) and isinstance(field, LearnedField)
    parts = data.cluster.gather(data.cluster.each(_slopes, field.tables, bare(model)))
    total: Array = np.sum([part[0] for part in parts], axis=0) / sum(part[1] for part in parts)
    return total


def _slopes(table: Table, model: Model) -> tuple[Array, float]:
    share = table["share"]
    return squared_slopes(model, table["after_gradients"], share) * share.sum(), float(share.sum())


def residuals_as_given(models: list[Model], flat: bool) -> Any:
    """Leave-one-out residuals of the rows as given, lazily; NaN at rows that took no part."""
    sources = [_data(model).source for model in models]
    n = sources[0].n_given
    blocks = []
    for start in range(0, n, RESIDUAL_BLOCK):
        count = min(RESIDUAL_BLOCK, n - start)
        columns = [
            _residual_block(source, model, start, count)
            for source, model in zip(sources, models, strict=True)
        ]
        whole = delayed(_side_by_side)(columns, flat)
        outputs = sum(source.outputs for source in sources)
        blocks.append(da.from_delayed(whole, (count,) if flat else (count, outputs), dtype=np.float64))
    return da.concatenate(blocks)


def _residual_block(source: SpreadRows, model: Model, start: int, count: int) -> Any:
    field = model.field
    assert isinstance(field, LearnedField)
    numbers = delayed(_numbers)(
        [
            delayed(_numbers_in)(given, first, start, count)
            for given, first in zip(source.given, source.first, strict=True)
        ],
        count,
    )
    parts = [delayed(_residuals_in)(table, numbers) for table in field.tables]
    return delayed(_residuals)(parts, count, source.outputs, model.units.label_scale)


def _numbers_in(given: Table, first: int, start: int, count: int) -> tuple[Any, Any]:
    here = (given["given"] >= start) & (given["given"] < start + count)
    return given["given"][here] - start, first + given["at"][here]


def _numbers(parts: list[tuple[Any, Any]], count: int) -> NDArray[np.int64]:
    numbers = np.full(count, -1, dtype=np.int64)
    for at, number in parts:
        numbers[at] = number
    return numbers


def _residuals_in(table: Table, numbers: NDArray[np.int64]) -> tuple[Any, Any]:
    at = np.flatnonzero(np.isin(numbers, table["number"]))
    return at, table["after_residuals"][np.searchsorted(table["number"], numbers[at])]


def _residuals(parts: list[tuple[Any, Any]], count: int, outputs: int, scale: Array) -> Array:
    residuals = np.full((count, outputs), np.nan)
    for at, values in parts:
        residuals[at] = values * scale
    return residuals


def _side_by_side(columns: list[Array], flat: bool) -> Array:
    together = np.hstack(columns)
    return together[:, 0] if flat else together
