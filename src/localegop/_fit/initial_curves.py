"""Curves for skewed features and for those with values far out, from quantiles of some rows.

Quantiles do not feel a few values far out, which moments, and what maximizes a likelihood, would follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from localegop._data.curves import FARTHEST, MOST_SKEWED, Curves
from localegop._data.sums import LARGEST_RATIO, SMALLEST, Extent
from localegop._fit.backend import Rows

Array = NDArray[np.float64]

SAMPLE = 2000  # rows that quantiles are taken of
TAILS = (0.05, 0.1, 0.25)  # each tells a skew; the median of them is taken
SPREAD_TAIL = 0.1  # the quantiles that tell the spread
SKEWED = 0.3  # exp(g z) with normal z has skew g
FAR = 6.0  # spreads from the middle: values farther than this are drawn in
MARGIN = 1e10  # by which spreads exceed the least that check_range allows


def find_curves(rows: Rows) -> Curves | None:
    """Curves for the features that are skewed or have values far out; None if there is no such feature."""
    sample, weight = rows.sample(SAMPLE)
    found = [_find_curve(column, weight) for column in sample.T]
    curves = Curves(*(np.array(each) for each in zip(*found, strict=True)))
    needed = _usable(curves, rows) & ((curves.skew != 0.0) | _has_far_values(curves, rows.features))
    if not needed.any():
        return None
    return Curves(*(np.where(needed, each, 0.0) for each in (curves.middle, curves.spread, curves.skew)))


def _find_curve(values: Array, weight: Array) -> tuple[float, float, float]:
    """Middle, spread and skew of values (m,); the skew is 0 where it is small."""
    lower, upper = _quantiles(values, weight, TAILS), _quantiles(values, weight, [1.0 - p for p in TAILS])
    middle = float(_quantiles(values, weight, [0.5])[0])
    skew = _skew(middle - lower, upper - middle)
    two_values = bool(((values == values.min()) | (values == values.max())).all())  # nothing to bend
    if abs(skew) < SKEWED or two_values:
        skew = 0.0
    at, z = TAILS.index(SPREAD_TAIL), float(-ndtri(SPREAD_TAIL))
    per_spread = 2.0 * z if skew == 0.0 else 2.0 * np.sinh(skew * z) / skew
    return middle, float(upper[at] - lower[at]) / per_spread, skew


def _skew(below: Array, above: Array) -> float:
    """Skew from the distances of lower and upper quantiles from the median."""
    known = below + above > 0.0
    if not known.any():
        return 0.0
    with np.errstate(divide="ignore"):
        each = (np.log(above[known]) - np.log(below[known])) / -ndtri(np.array(TAILS)[known])
    return float(np.median(np.clip(each, -MOST_SKEWED, MOST_SKEWED)))


def _quantiles(values: Array, weight: Array, shares: list[float] | tuple[float, ...]) -> Array:
    """Return the least values up to which there is such a share of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    at = np.searchsorted(below, np.array(shares) * below[-1])
    found: Array = values[order][np.minimum(at, len(values) - 1)]
    return found


def _usable(curves: Curves, rows: Rows) -> NDArray[np.bool_]:
    """Which features vary enough around their middle for finite slopes, and squares of slopes."""
    largest = max(each.std[~each.constant].max(initial=0.0) for each in (rows.features, rows.labels))
    least = MARGIN * max(float(largest) / LARGEST_RATIO, SMALLEST)
    return np.asarray(curves.spread > np.maximum(least, 1e-12 * np.abs(curves.middle)))


def _has_far_values(curves: Curves, found: Extent) -> NDArray[np.bool_]:
    """Which features have values far from their middle, of all rows."""
    spread = np.where(curves.curved, curves.spread, FARTHEST)
    farthest = np.maximum(found.high - curves.middle, curves.middle - found.low)
    return np.asarray(farthest > FAR * spread)
