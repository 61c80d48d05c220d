"""Curves for skewed features and for those with values far out, from quantiles of some rows.

Quantiles do not feel a few values far out, which moments, and what maximizes a likelihood, would follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from localegop._data.curves import MOST_SKEWED, Curves
from localegop._data.sums import LARGEST_RATIO, SMALLEST, Extent
from localegop._fit.backend import Rows

Array = NDArray[np.float64]

SAMPLE = 2000  # rows that quantiles are taken of
QUANTILE = 0.1  # this one, the median and the one at 0.9 tell spread and skew
SKEWED = 0.3  # the least skew that is worth a curve
CHANCE = 4.0  # over the root of the number of rows, the skew that normal data hardly exceed
FAR = 6.0  # standard deviations: farther from the middle, normal data have no values
MARGIN = 1e10  # by which spreads exceed the least that check_range allows


def find_curves(rows: Rows) -> Curves | None:
    """Curves for the features that are skewed or have values far out; None if there is no such feature."""
    sample, weight = rows.sample(SAMPLE)
    found = [_find_curve(column, weight) for column in sample.T]
    middle, spread, skew = (np.array(each) for each in zip(*found, strict=True))
    spread = np.where(_usable(middle, spread, rows), spread, 0.0)
    far = _has_far_values(Curves(middle, spread, skew, np.zeros_like(skew)), rows.features)
    spread = np.where((skew != 0.0) | far, spread, 0.0)
    curves = Curves(middle, spread, skew, far.astype(float))
    return curves if curves.curved.any() else None


def _find_curve(values: Array, weight: Array) -> tuple[float, float, float]:
    """Middle, spread and skew of values (m,); the skew is 0 where it is small.

    On the curve, the two quantiles are as far from the median as those of a normal distribution.
    """
    lower, middle, upper = _quantiles(values, weight, (QUANTILE, 0.5, 1.0 - QUANTILE)).tolist()
    z = float(-ndtri(QUANTILE))
    two_values = bool(((values == values.min()) | (values == values.max())).all())  # nothing to bend
    skew = 0.0 if two_values else _skew(middle - lower, upper - middle, z)
    if abs(skew) < max(SKEWED, CHANCE / np.sqrt(len(values))):
        skew = 0.0
    return middle, (upper - lower) / (2.0 * z if skew == 0.0 else 2.0 * np.sinh(skew * z) / skew), skew


def _skew(below: float, above: float, z: float) -> float:
    """Skew from the distances of two quantiles from the median."""
    least = np.exp(-MOST_SKEWED * z) * max(below, above)
    if least == 0.0:
        return 0.0
    return float(np.log(max(above, least) / max(below, least)) / z)


def _quantiles(values: Array, weight: Array, shares: tuple[float, ...]) -> Array:
    """Return the least values up to which there is such a share of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    at = np.searchsorted(below, np.array(shares) * below[-1])
    found: Array = values[order][np.minimum(at, len(values) - 1)]
    return found


def _usable(middle: Array, spread: Array, rows: Rows) -> NDArray[np.bool_]:
    """Which features vary enough around their middle for finite slopes, and squares of slopes."""
    largest = max(each.std[~each.constant].max(initial=0.0) for each in (rows.features, rows.labels))
    least = MARGIN * max(float(largest) / LARGEST_RATIO, SMALLEST)
    return np.asarray(spread > np.maximum(least, 1e-12 * np.abs(middle)))


def _has_far_values(curves: Curves, found: Extent) -> NDArray[np.bool_]:
    """Which curved features have values far out, among all rows."""
    ends = curves.without_skew(np.stack([found.low, found.high]))
    return np.asarray(curves.curved & (np.abs(ends).max(axis=0) > FAR))
