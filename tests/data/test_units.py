"""Units there and back."""

import numpy as np
import pytest

from localegop._data.curves import Curves
from localegop._data.sums import measure_extent
from localegop._data.units import Units, rotate
from localegop._fit.initial_units import feature_units

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -1.0]
ONES = np.ones(50)


@pytest.mark.parametrize("name", ["identity", "variance", "vector", "matrix"])
def test_units_there_and_back(name):
    root = RNG.normal(size=(3, 3))
    metric = {"vector": np.array([1.0, 2.0, 0.5]), "matrix": root @ root.T}.get(name, name)
    center, transform = feature_units(measure_extent(X, ONES), metric)
    y = 7.0 * X[:, :1] + 3.0
    labels = measure_extent(y, ONES)
    units = Units(center, transform, labels.mean, labels.std)
    z = units.features(X)
    distances = np.sum((z[0] - z[1:]) ** 2, axis=1)
    in_user_units = units.metrics(np.eye(3)[None], X[:1])[0]
    difference = X[0] - X[1:]
    assert np.einsum("ia,ab,ib->i", difference, in_user_units, difference) == pytest.approx(distances)
    if name in ("vector", "matrix"):
        assert in_user_units == pytest.approx(np.diag(metric) if name == "vector" else metric)
    assert units.values(units.labels(y)) == pytest.approx(y)
    slope = np.linalg.lstsq(z, units.labels(y), rcond=None)[0].T  # gradient in the recursion's units
    assert units.gradients(slope[None], X[:1])[0] == pytest.approx(np.array([[7.0, 0.0, 0.0]]), abs=1e-9)


def test_rotated_units_are_the_units_in_other_axes():
    units = Units(X.mean(axis=0), np.diag([1.0, 0.01, 100.0]), np.zeros(1), np.array([2.0]))
    axes = RNG.normal(size=(3, 2))
    assert units.rotated(axes).features(X) == pytest.approx(rotate(units.features(X), axes), rel=1e-9)
    assert units.label_unit == 4.0


def test_rows_are_rotated_alike_alone_and_together():
    axes = RNG.normal(size=(3, 2))
    together = rotate(X, axes)
    assert all(np.array_equal(rotate(X[i : i + 1], axes)[0], together[i]) for i in range(50))
    assert np.array_equal(rotate(X, np.diag([2.0, 3.0, 4.0])), X * [2.0, 3.0, 4.0])


def test_curves_bend_the_features_they_have():
    curves = Curves(np.zeros(3), np.array([0.0, 50.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.zeros(3))
    units = Units(np.zeros(3), np.eye(3), np.zeros(1), np.ones(1), curves)
    z = units.features(X)
    assert np.array_equal(z[:, [0, 2]], X[:, [0, 2]]) and not np.allclose(z[:, 1], X[:, 1] / 50.0)
    assert np.array_equal(units.feature_scale(np.full(3, 7.0)), [7.0, 1.0, 7.0])
    change = units.scale_at(np.array([7.0, 1.0, 7.0]), X)
    assert np.array_equal(change[:, 0], np.full(50, 7.0)) and change[:, 1] == pytest.approx(
        1.0 / curves.slopes(X)[:, 1]
    )


def test_slopes_and_metrics_follow_the_chain_rule():
    curves = Curves(np.ones(3), np.full(3, 2.0), np.array([1.0, -0.5, 0.0]), np.array([0.0, 1.0, 1.0]))
    root = RNG.normal(size=(3, 2))
    units = Units(np.zeros(3), root, np.zeros(1), np.array([2.0]), curves)
    at = RNG.normal(size=(5, 3)) * 8.0
    slope = np.array([0.3, -1.2])  # of f in the units of the recursion

    def f(x):
        return 2.0 * units.features(x) @ slope

    steps = 1e-6 * np.eye(3)
    numeric = np.stack([(f(at + h) - f(at - h)) / 2e-6 for h in steps], axis=1)
    gradients = units.gradients(np.tile(slope, (5, 1, 1)), at)
    assert gradients[:, 0] == pytest.approx(numeric, rel=1e-5, abs=1e-9)
    metric = units.metrics(np.tile(np.outer(slope, slope), (5, 1, 1)), at) * units.label_unit
    assert metric == pytest.approx(np.einsum("qa,qb->qab", gradients[:, 0], gradients[:, 0]))
