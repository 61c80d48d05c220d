"""The steps of a recursion as users see them: in their units, with the estimate that each step gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localegop._engine.local_data import Candidates, LocalBatch
from localegop._engine.recursion import Step
from localegop.results import Trace

if TYPE_CHECKING:
    from localegop._predict.model import Model

Array = NDArray[np.float64]


def traced(model: Model, centers: Array, candidates: Candidates | None, steps: Sequence[Step]) -> Trace:
    """Trace of a batch of centers; estimates are linear fits at the step's own scale."""
    units, label_unit = model.units, model.units.label_unit
    if not steps:
        q, dimension = centers.shape
        square, line = np.zeros((0, q, dimension, dimension)), np.zeros((0, q))
        return Trace(square, square, line, line, np.zeros((0, q, model.data.labels.shape[1])))
    errors, values, metrics, sizes = [], [], [], []
    for t, step in enumerate(steps):
        batch = _localized(model, centers, candidates, step, t)
        error = step.loo_error
        if error is None and model.field is not None:
            error = batch.neighborhoods.means(model.field.loo_errors[t], model.data.threads)[:, 0]
        assert error is not None
        errors.append(error * label_unit)
        values.append(units.values(batch.value[:, 0, 0, 0]))
        metrics.append(units.metrics(batch.scale[:, :, None] * step.shape))
        sizes.append(batch.effective_size[:, 0])
    agops = [units.metrics(step.agop) * label_unit for step in steps]
    return Trace(*(np.array(part) for part in (metrics, agops, sizes, errors, values)))


def _localized(
    model: Model, centers: Array, candidates: Candidates | None, step: Step, t: int
) -> LocalBatch:
    rules, sizes, scales = model.rules, None, None
    if step.value is None and rules.by_size and rules.covariance_cap is None:
        sizes = np.full((len(centers), 1), rules.size(t, model.data.reachable))
    else:
        scales = step.scale[:, None]
    return model.data.localize(
        centers,
        step.shape,
        candidates,
        sizes=sizes,
        scales=scales,
        degree=1,
        ridges=(model.choice.ridge,),
        keep=True,
    )
