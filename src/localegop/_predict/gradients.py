"""Gradients of what ``predict`` answers: in closed form where there is one, else by differences.

A process of all rows and a blend of kept fits are functions whose derivatives can be written down. Where a
query lies beyond the data, or too far from all centers, the answer changes over to fits made elsewhere, and
central differences of it are taken. A fit made anew at every query jumps where neighbors come and go, a
little, and has no derivative: there the slope of the fit at the query is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localegop._engine.global_kriging import GlobalKriging
from localegop._predict.blending import fade

if TYPE_CHECKING:
    from localegop._predict.model import Model

Array = NDArray[np.float64]

STEP = 1e-5  # of differences, in standard deviations of the features: best for their two kinds of errors


def predictor_gradients(model: Model, X: Array) -> Array:
    """Gradients (q, K, D) of predictions at queries X (q, D), in the user's units."""
    queries, support = model.look_at(X)
    decisions = model.decisions
    if model.blending is not None:
        assert model.field is not None
        found, uncovered = model.blending.gradients(model.data, model.field, decisions.choice, queries)
        changing = (uncovered > 0.0) | (fade(support.remoteness, model.edge, 1.0) > 0.0)
    elif isinstance(decisions.choice.final, GlobalKriging):
        found, changing = model.slopes_of_fits(queries, support), support.beyond
    else:
        found, changing = model.slopes_of_fits(queries, support), np.zeros(len(X), dtype=bool)
    gradients = decisions.units.gradients(found, X)
    some = np.flatnonzero(changing)
    if len(some):
        gradients[some] = _differences(model, X[some])
    return gradients


def _differences(model: Model, X: Array) -> Array:
    """Central differences (q, K, D) of predictions at queries X (q, D)."""
    steps = STEP * model.decisions.units.scale_at(model.decisions.feature_scale, X)
    found = np.zeros((len(X), model.data.outputs, X.shape[1]))
    for a in np.flatnonzero(model.decisions.feature_scale > 0.0):
        ahead, behind = X.copy(), X.copy()
        ahead[:, a] += steps[:, a]
        behind[:, a] -= steps[:, a]
        change = model.values(ahead) - model.values(behind)
        found[:, :, a] = change / (ahead[:, a] - behind[:, a])[:, None]
    return found
