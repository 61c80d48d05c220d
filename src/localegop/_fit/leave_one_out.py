"""Final fits at anchors, each without its own point: residuals, noise, gradients, calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.chunks import chunks
from localegop._engine.gradient_field import GradientField
from localegop._engine.sites import Site
from localegop._engine.work import FinalFits
from localegop._predict.decisions import LooDiagnostics
from localegop._predict.uncertainty import Calibration, correct_noise, expect_deviation, surroundings

Array = NDArray[np.float64]


def leave_one_out_fits(
    site: Site, field: GradientField, choice: Choice
) -> tuple[LooDiagnostics, Calibration]:
    """Make the final fits at the anchors of a field, which are the centers of a site."""
    own = np.arange(len(site))
    shapes = field.shapes_at(site.rows, choice.step, own)
    value, gradient, factors = final_fits(site, field, choice, shapes)
    residuals = site.labels - value
    loo = LooDiagnostics(residuals, correct_noise(residuals, factors), gradient)
    noise = _noise_around(field, site.rows, own, shapes, loo.noise)
    expected = expect_deviation(noise, factors)
    return loo, Calibration.from_residuals(residuals, expected, site.sample_weight)


def final_fits(site: Site, field: GradientField, choice: Choice, shapes: Array) -> tuple[Array, ...]:
    """Values (m, K), gradients (m, K, D) and variance factors (m,) of the chosen fit."""
    widths = field.update.widths(choice.step, len(site), field, choice.sizes)
    return site.run(FinalFits(choice.final), shapes, widths)


def _noise_around(
    field: GradientField, rows: Array, own: NDArray[np.int64], shapes: Array, variances: Array
) -> Array:
    """Noise (m, K) around anchors, from its variances (a, K) at all of them."""
    anchors = field.anchors
    noise = np.empty((len(rows), variances.shape[1]))
    for part in chunks(len(rows), 8 * anchors.dimension**2 + 12 * anchors.max_visible):
        around = surroundings(field, rows[part], shapes[part], own[part])
        noise[part] = np.sqrt(around.means(variances, anchors.threads))
    return noise
