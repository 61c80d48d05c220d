"""Units there and back."""

import numpy as np
import pytest

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
    in_user_units = units.metrics(np.eye(3)[None])[0]
    difference = X[0] - X[1:]
    assert np.einsum("ia,ab,ib->i", difference, in_user_units, difference) == pytest.approx(distances)
    if name in ("vector", "matrix"):
        assert in_user_units == pytest.approx(np.diag(metric) if name == "vector" else metric)
    assert units.values(units.labels(y)) == pytest.approx(y)
    slope = np.linalg.lstsq(z, units.labels(y), rcond=None)[0].T  # gradient in the recursion's units
    assert units.gradients(slope[None])[0] == pytest.approx(np.array([[7.0, 0.0, 0.0]]), abs=1e-9)


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
