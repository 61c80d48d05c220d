"""From the cluster back into one process: whole models, residuals of the input rows, mean slopes."""

from __future__ import annotations

from dataclasses import replace

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop._fit.blend_choice import choose_blending
from localegop._predict.decisions import Decisions
from localegop._predict.model import Model
from localegop._predict.uncertainty import Calibration
from localegop.distributed.backend import PartitionedModel
from localegop.distributed.predicting import QueryContext, attach_rows
from localegop.distributed.tables import Table, merge_sorted

Array = NDArray[np.float64]
Positions = NDArray[np.int64]

RESIDUAL_BLOCK = 100_000  # input rows in a block of residuals


def gather_model(model: PartitionedModel) -> Model:
    """Model with all its data in this process."""
    cluster, source = model.data.cluster, model.data.source
    tables: list[Table] = [cluster.gather([table])[0] for table in model.field.tables]
    together = merge_sorted(tables)
    position = np.full(source.n_input, -1, dtype=np.intp)
    part = np.zeros(source.n_input)
    for first, inputs in zip(source.first, source.inputs, strict=True):
        table: Table = cluster.gather([inputs])[0]
        position[table["input_row"]] = first + table["position"]
        part[table["input_row"]] = table["weight_fraction"]
    whole = attach_rows(QueryContext.of(model), together)
    assert whole.field is not None
    return replace(
        whole,
        position=position,
        part=part,
        calibration=Calibration.from_scores(together["score"], together["sample_weight"]),
        blending=choose_blending(whole.data, whole.field, model.decisions.choice),
    )


def mean_squared_slopes(model: PartitionedModel) -> Array:
    """Mean squares (D,) of the gradients at all rows, per standard deviation of a feature."""
    cluster = model.data.cluster
    parts = cluster.gather(cluster.each(_slope_sums, model.field.tables, model.decisions))
    mean: Array = np.sum([part[0] for part in parts], axis=0) / sum(part[1] for part in parts)
    return mean


def _slope_sums(table: Table, decisions: Decisions) -> tuple[Array, float]:
    weight = table["sample_weight"]
    slopes = decisions.squared_slopes(table["loo_gradients"], weight)
    return slopes * weight.sum(), float(weight.sum())


def lazy_residuals(models: list[PartitionedModel], flat: bool) -> da.Array:
    """Leave-one-out residuals of the input rows; NaN at rows that were left out."""
    sources = [model.data.source for model in models]
    n, outputs = sources[0].n_input, sum(source.outputs for source in sources)
    blocks = []
    for start in range(0, n, RESIDUAL_BLOCK):
        count = min(RESIDUAL_BLOCK, n - start)
        whole = delayed(_side_by_side)([_residual_block(model, start, count) for model in models], flat)
        blocks.append(da.from_delayed(whole, (count,) if flat else (count, outputs), dtype=np.float64))
    return da.concatenate(blocks)


def _residual_block(model: PartitionedModel, start: int, count: int) -> Delayed:
    """Residuals of ``count`` input rows from ``start`` on."""
    source = model.data.source
    numbers = delayed(_merge_numbers)(
        [
            delayed(_find_numbers)(inputs, first, start, count)
            for inputs, first in zip(source.inputs, source.first, strict=True)
        ],
        count,
    )
    parts = [delayed(_find_residuals)(table, numbers) for table in model.field.tables]
    scale = model.decisions.units.label_scale
    return delayed(_merge_residuals)(parts, count, source.outputs, scale)


def _find_numbers(inputs: Table, first: int, start: int, count: int) -> tuple[Positions, Positions]:
    """Input rows of a block, counted from its start, and the numbers of the rows they became."""
    here = (inputs["input_row"] >= start) & (inputs["input_row"] < start + count)
    return inputs["input_row"][here] - start, first + inputs["position"][here]


def _merge_numbers(parts: list[tuple[Positions, Positions]], count: int) -> Positions:
    numbers = np.full(count, -1, dtype=np.int64)
    for at, number in parts:
        numbers[at] = number
    return numbers


def _find_residuals(table: Table, numbers: Positions) -> tuple[Positions, Array]:
    at = np.flatnonzero(np.isin(numbers, table["number"]))
    return at, table["loo_residuals"][np.searchsorted(table["number"], numbers[at])]


def _merge_residuals(parts: list[tuple[Positions, Array]], count: int, outputs: int, scale: Array) -> Array:
    residuals = np.full((count, outputs), np.nan)
    for at, values in parts:
        residuals[at] = values * scale
    return residuals


def _side_by_side(columns: list[Array], flat: bool) -> Array:
    together = np.hstack(columns)
    return together[:, 0] if flat else together
