"""The steps of a recursion as users see them: in their units, with the estimate that each step gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.centers import Centers
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.placement import Place
from localegop.results import Trace

Array = NDArray[np.float64]


def trace_steps(
    data: LocalData, field: GradientField | None, units: Units, ridge: float, place: Place, X: Array
) -> Trace:
    """Trace of a batch of centers, the queries X; estimates are linear fits of the step's own width."""
    label_unit, centers = units.label_unit, place.centers
    if not place.steps:
        q, dimension = centers.rows.shape
        square, line = np.zeros((0, q, dimension, dimension)), np.zeros((0, q))
        return Trace(square, square, line, line, np.zeros((0, q, data.outputs)))
    errors, values, metrics, sizes = [], [], [], []
    for t, step in enumerate(place.steps):
        batch = data.localize(centers, step.shape, step.widths, degree=1, ridges=(ridge,))
        error = step.loo_error
        if error is None:
            assert field is not None
            own = Centers(centers.rows, field.anchors.neighbor_lists(centers.rows))
            around = field.wide_neighborhoods(own, step.shape, step.widths)
            error = around.means(field.loo_errors[t], data.threads)[:, 0]
        errors.append(error * label_unit)
        values.append(units.values(batch.value[:, 0, 0, 0]))
        metrics.append(units.metrics(batch.scale[:, :, None] * step.shape, X))
        sizes.append(batch.effective_size[:, 0])
    agops = [units.metrics(step.agop, X) * label_unit for step in place.steps]
    return Trace(*(np.array(part) for part in (metrics, agops, sizes, errors, values)))
