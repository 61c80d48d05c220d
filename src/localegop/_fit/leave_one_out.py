"""Final fits at training points, each without its own point: residuals, noise, gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers
from localegop._engine.choice import Choice
from localegop._engine.chunks import chunks
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.placement import follow_field
from localegop._predict.decisions import Decisions, LooDiagnostics
from localegop._predict.uncertainty import correct_noise, surroundings
from localegop._progress import Progress

Array = NDArray[np.float64]


def leave_one_out_fits(
    decisions: Decisions, data: LocalData, centers: Centers, shapes: Array, progress: Progress
) -> tuple[LooDiagnostics, Array]:
    """Make the final fits at points of the data; the second are variance factors (m,)."""
    assert centers.left_out is not None
    update, choice, m = decisions.update, decisions.choice, len(centers)
    residuals, factors = np.empty((m, data.outputs)), np.empty(m)
    gradients = np.empty((m, data.outputs, data.dimension))
    for rows in progress.over(chunks(m, 8 * data.dimension**2), m):
        widths = update.widths(choice.step, rows.stop - rows.start, data, choice.sizes)
        fit = choice.final.fit(data, centers[rows], shapes[rows], widths, gradients=True, variances=True)
        residuals[rows] = data.labels[centers.left_out[rows]] - fit.value
        factors[rows] = fit.variance_factor
        gradients[rows] = fit.gradient
    return LooDiagnostics(residuals, correct_noise(residuals, factors), gradients), factors


def noise_around(
    data: LocalData, centers: Centers, shapes: Array, variances: Array, progress: Progress
) -> Array:
    """Noise (m, K) around some points, from its variances (n, K) at all points of the data."""
    noise = np.empty((len(centers), variances.shape[1]))
    each = 8 * data.dimension**2 + 12 * data.max_visible
    for rows in progress.over(chunks(len(centers), each), len(centers)):
        around = surroundings(data, centers[rows], shapes[rows])
        noise[rows] = np.sqrt(around.means(variances, data.threads))
    return noise


def gradients_in_field(
    field: GradientField, choice: Choice, points: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Gradients (m, K, D) of the chosen fit at points of a field, each without itself, and weights."""
    data = field.data
    gradients = [np.zeros((0, data.outputs, data.dimension))]
    for rows in chunks(len(points), 16 * data.dimension**2 + 64 * data.max_visible):
        place = follow_field(field, data.own_centers(points[rows]), choice, keep=False)
        fit = choice.final.fit(data, place.centers, place.shape, place.widths, gradients=True)
        gradients.append(fit.gradient)
    return np.concatenate(gradients), data.sample_weight[points]
