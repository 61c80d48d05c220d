"""From the cluster back into one process: whole models, and residuals of the input rows."""

from __future__ import annotations

from dataclasses import replace

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop._engine.gradient_field import spread_points
from localegop._fit.blend_choice import choose_blending
from localegop._predict.later import Later
from localegop._predict.model import Model
from localegop._predict.uncertainty import Diagnostics
from localegop.distributed.models import PartitionedModel, QueryContext
from localegop.distributed.predicting import attach_rows, lazy_halos, with_halo
from localegop.distributed.tables import Table, merge_sorted

Array = NDArray[np.float64]
Positions = NDArray[np.int64]

RESIDUAL_BLOCK = 100_000  # input rows in a block of residuals


def gather_model(model: PartitionedModel) -> Model:
    """Model with all its data in this process."""
    cluster, source = model.data.cluster, model.data.source
    tables: list[Table] = [cluster.gather([table])[0] for table in model.tables]
    position = np.full(source.n_input, -1, dtype=np.intp)
    part = np.zeros(source.n_input)
    for first, inputs in zip(source.first, source.inputs, strict=True):
        table: Table = cluster.gather([inputs])[0]
        position[table["input_row"]] = first + table["position"]
        part[table["input_row"]] = table["weight_fraction"]
    found = attach_rows(model.context, merge_sorted(tables))
    assert found.field is not None
    blending = choose_blending(found.data, found.field, model.context.decisions.choice)
    return replace(
        found,
        position=position,
        part=part,
        diagnostics=Later.known(Diagnostics(found.loo, model.calibration)),
        blending=blending,
        robustness=model.robustness,
    )


def lazy_residuals(models: list[PartitionedModel], flat: bool) -> da.Array:
    """Leave-one-out residuals of the input rows; NaN at rows that were left out."""
    sources = [model.data.source for model in models]
    n, outputs = sources[0].n_input, sum(source.outputs for source in sources)
    at_rows = [_residuals_by_partition(model) for model in models]
    blocks = []
    for start in range(0, n, RESIDUAL_BLOCK):
        count = min(RESIDUAL_BLOCK, n - start)
        parts = [_residual_block(*each, start, count) for each in zip(models, at_rows, strict=True)]
        whole = delayed(_side_by_side)(parts, flat)
        blocks.append(da.from_delayed(whole, (count,) if flat else (count, outputs), dtype=np.float64))
    return da.concatenate(blocks)


def _residuals_by_partition(model: PartitionedModel) -> list[Delayed]:
    """Numbers and residuals of the distinct rows in each partition."""
    halos = lazy_halos(model, [delayed(_rows_in)(table) for table in model.tables])
    return [
        delayed(_residuals_in)(table, p, halos, model.context_there) for p, table in enumerate(model.tables)
    ]


def _rows_in(table: Table) -> Array:
    return table["rows"]


def _residuals_in(
    table: Table, p: int, halos: list[list[Table | None]], context: QueryContext
) -> tuple[Positions, Array]:
    """Numbers of the rows in partition p, and their residuals (m, K): those of the anchors are known."""
    anchors = spread_points(context.n, context.field.anchors.n)
    number = table["number"]
    residuals = np.empty(table["labels"].shape)
    known = np.isin(number, anchors)
    residuals[known] = context.loo.residuals[np.searchsorted(anchors, number[known])]
    if not known.all():
        together = with_halo(table, p, halos)
        points = np.searchsorted(together["number"], number[~known])
        residuals[~known] = attach_rows(context, together).residuals_without(points)
    return number, residuals


def _residual_block(model: PartitionedModel, at_rows: list[Delayed], start: int, count: int) -> Delayed:
    """Residuals of ``count`` input rows from ``start`` on."""
    source = model.data.source
    numbers = delayed(_merge_numbers)(
        [
            delayed(_find_numbers)(inputs, first, start, count)
            for inputs, first in zip(source.inputs, source.first, strict=True)
        ],
        count,
    )
    parts = [delayed(_find_residuals)(each, numbers) for each in at_rows]
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


def _find_residuals(at_rows: tuple[Positions, Array], numbers: Positions) -> tuple[Positions, Array]:
    number, residuals = at_rows
    at = np.flatnonzero(np.isin(numbers, number))
    return at, residuals[np.searchsorted(number, numbers[at])]


def _merge_residuals(parts: list[tuple[Positions, Array]], count: int, outputs: int, scale: Array) -> Array:
    residuals = np.full((count, outputs), np.nan)
    for at, values in parts:
        residuals[at] = values * scale
    return residuals


def _side_by_side(columns: list[Array], flat: bool) -> Array:
    together = np.hstack(columns)
    return together[:, 0] if flat else together
