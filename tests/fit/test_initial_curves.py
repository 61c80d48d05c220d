"""Curves for the features that need one, and for no others."""

import numpy as np
import pytest
from scipy.special import ndtri

from localegop._data.curves import MOST_SKEWED
from localegop._data.rows import merge_rows
from localegop._data.sums import LARGEST_RATIO
from localegop._fit.initial_curves import MARGIN, SAMPLE, find_curves

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(600, 3))


def curves_for(X, weight=None):
    n = len(X)
    return find_curves(merge_rows(X, np.arange(n)[:, None] / n, np.ones(n) if weight is None else weight))


def test_symmetric_features_need_none():
    assert curves_for(Z) is None
    assert curves_for(RNG.uniform(size=(600, 2))) is None
    assert curves_for((Z > 1.5).astype(float)) is None  # two values


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("skew", [0.6, 1.5, 3.0])
def test_a_skewed_feature_is_found_whatever_its_unit(skew, sign):
    X = Z.copy()
    X[:, 1] = 1e-9 * (sign * np.exp(skew * Z[:, 1]) - 50.0)
    found = curves_for(X)
    assert found.curved.tolist() == [False, True, False]
    assert found.skew[1] == pytest.approx(sign * skew, rel=0.2)
    straight = found(X)[:, 1]
    assert np.quantile(straight, [0.1, 0.5, 0.9]) == pytest.approx([-1.28, 0.0, 1.28], abs=0.05)


@pytest.mark.parametrize("value", [1e2, 1e8, -1e100])
def test_one_value_far_out_is_drawn_in_and_moves_nothing_else(value):
    X = Z.copy()
    X[7, 0] = value
    found = curves_for(X)
    assert found.curved.tolist() == [True, False, False] and found.drawn_in[0] == 1.0
    assert abs(found(X)[7, 0]) <= 3.5
    rest = np.delete(np.arange(600), 7)
    bulk = rest[np.abs(Z[rest, 0]) < 2.5]
    assert np.corrcoef(found(X)[bulk, 0], Z[bulk, 0])[0, 1] > 0.999


def test_mostly_zeros():
    X = np.where(Z > 0.5, np.exp(Z), 0.0)  # the median is the lower quantile
    found = curves_for(X)
    assert found.curved.all() and found.skew == pytest.approx(np.full(3, MOST_SKEWED))
    assert np.isfinite(found(X)).all() and np.ptp(found(X), axis=0).max() < 8.0
    assert curves_for(np.where(Z > 2.0, Z, 0.0)) is None  # both quantiles are zero


def test_weights_count_as_repeated_rows():
    X, weight = np.exp(Z[:200]), RNG.integers(1, 4, size=200)
    y = np.zeros((200, 1))
    weighted = find_curves(merge_rows(X, y, weight.astype(float)))
    repeated = find_curves(
        merge_rows(X.repeat(weight, axis=0), y.repeat(weight, axis=0), np.ones(weight.sum()))
    )
    for name in ("middle", "spread", "skew"):
        assert np.array_equal(getattr(weighted, name), getattr(repeated, name))


def test_many_rows_are_sampled():
    X = np.exp(RNG.normal(size=(3 * SAMPLE + 1, 1)))
    rows = merge_rows(X, np.zeros_like(X), np.ones(len(X)))
    sample, weight = rows.sample(SAMPLE)
    assert len(sample) == len(weight) <= SAMPLE and np.array_equal(sample, rows.X[::4])
    assert find_curves(rows).skew[0] == pytest.approx(1.0, abs=0.2)


def lognormal(n, skew):
    """Values at evenly spaced quantiles: their skew is no chance."""
    return np.exp(skew * ndtri((np.arange(n) + 0.5) / n))[:, None]


@pytest.mark.parametrize(
    ("n", "skew", "found"),
    [(60, 0.45, False), (60, 0.6, True), (600, 0.45, True), (600, 0.26, False)],
)
def test_few_rows_need_more_skew_for_a_curve(n, skew, found):
    """4 over the root of 60 is 0.52; with many rows it takes 0.3."""
    assert (curves_for(lognormal(n, skew)) is not None) == found


@pytest.mark.parametrize(("share", "usable"), [(1.5e-12, True), (0.7e-12, False)])
def test_a_spread_that_is_rounding_of_its_middle_has_no_curve(share, usable):
    skewed = np.exp(Z[:, :1])
    spread = float(curves_for(skewed).spread[0])
    found = curves_for(1e6 + skewed * (share * 1e6 / spread))
    assert (found is not None) == usable


@pytest.mark.parametrize(("share", "usable"), [(3.0, True), (0.4, False)])
def test_a_spread_that_is_tiny_beside_the_labels_has_no_curve(share, usable):
    """Slopes would be 1e130 labels a feature: their squares must stay finite."""
    skewed = np.exp(Z[:, :1])
    spread = float(curves_for(skewed).spread[0])
    labels = np.linspace(-1.0, 1.0, 600)[:, None]
    least = labels.std() * MARGIN / LARGEST_RATIO
    found = find_curves(merge_rows(skewed * (share * least / spread), labels, np.ones(600)))
    assert (found is not None) == usable


@pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e60, 1e150])
def test_extreme_units_stay_finite(scale):
    found = curves_for(np.exp(Z) * scale)
    if found is not None:
        at = np.array([[1e308] * 3, [-1e308] * 3, [0.0] * 3])
        assert np.isfinite(found(at)).all() and np.isfinite(found.slopes(at) ** 2).all()
