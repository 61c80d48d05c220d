"""Whether predictions may be blended: decided by the errors at points that made none of the fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import ROUNDING
from localegop._engine.blend import KeptCenters, can_blend
from localegop._engine.choice import Choice
from localegop._engine.chunks import chunks
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.placement import follow_field
from localegop._predict.blending import Blending

Array = NDArray[np.float64]

MOST_HELD_OUT = 500  # enough for paired differences with a standard error below what is tolerated
HELD_OUT_EACH = 4  # one point held out of so many
TOLERATED = 0.04  # error that the blend may add, as a share of that of fits at the points themselves
MOST_CHANGE = 1.0  # mean square of what the blend changes, over the variance of exact fits by the noise
SURE = 2.0  # standard errors of the difference that count against the blend
COVERED, MARGIN = 0.99, 3.0  # near enough is MARGIN times as far as such a share of the points held out
NEAREST = 0.25  # squared distance that is always near enough: half the width of a neighborhood


def choose_blending(data: LocalData, field: GradientField, choice: Choice) -> Blending | None:
    """Compare a blend with exact fits, both without some points, at these points; None for exact fits.

    The learned gradients stay as they are. They have seen the labels of these points, but so have they for
    both sides.
    """
    if not can_blend(data, choice):
        return None
    count = min(data.n // HELD_OUT_EACH, MOST_HELD_OUT)
    held_out = np.arange(count) * data.n // count
    rest = data.without(held_out)
    rows, labels, weight = data.rows[held_out], data.labels[held_out], data.sample_weight[held_out]
    values, factors = _exact_fits(rest, field, choice, rows)
    exact = _squares(values - labels)
    blended = KeptCenters(rest, choice).blend(rest, field, choice, rows)
    change = _squares(blended.value - values)
    as_good = _as_good(_squares(blended.value - labels), exact, weight)
    if not (as_good and _changes_little(change, exact, factors, weight)):
        return None
    usual = float(np.sort(blended.distance)[int(COVERED * (count - 1))])
    return Blending(max(MARGIN * usual, NEAREST)).prepare(data, field, choice)


def _exact_fits(data: LocalData, field: GradientField, choice: Choice, rows: Array) -> tuple[Array, Array]:
    """Values (m, K) and variance factors (m,) of final fits at the rows themselves."""
    values, factors = np.empty((len(rows), data.outputs)), np.empty(len(rows))
    for part in chunks(len(rows), 32 * data.dimension**2 + 64 * data.max_visible):
        place = follow_field(field, data.centers(rows[part]), choice, keep=False)
        found = choice.fit_with(field.anchors).fit(
            data, place.centers, place.shape, place.widths, variances=True
        )
        values[part], factors[part] = found.value, found.variance_factor
    return values, factors


def _squares(residuals: Array) -> Array:
    """Mean squares (m,) of residuals (m, K), in units of the labels' variance."""
    squares: Array = np.mean(residuals**2, axis=1)
    return squares


def _as_good(blended: Array, exact: Array, sample_weight: Array) -> bool:
    """Whether the error of the blend is hardly larger, even if chance was on its side."""
    weight = sample_weight / sample_weight.sum()
    gap = blended - exact
    mean = float(weight @ gap)
    doubt = float(np.sqrt(weight @ (gap - mean) ** 2 / len(gap)))
    return mean + SURE * doubt <= TOLERATED * float(weight @ exact) + ROUNDING**2


def _changes_little(change: Array, exact: Array, factors: Array, sample_weight: Array) -> bool:
    """Whether the squares (m,) of what the blend changes are small beside those of the error of exact fits.

    Labels do not tell where their noise is most of every error. But then the part of the error that is
    variance is known, and the change is, too.
    """
    variance = float(sample_weight @ exact) * float(sample_weight @ factors) / float(sample_weight.sum())
    return float(sample_weight @ change) <= MOST_CHANGE * variance + ROUNDING**2 * float(
        sample_weight.sum()
    )
