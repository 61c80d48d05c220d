"""Axes from the slopes of f over all data."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.local_data import LocalData
from localegop._fit.initial_axes import axes_from, find_first_axes, global_agop
from localegop._fit.process import ProcessBackend
from localegop.datasets import make_helix
from localegop.kernels import as_kernel

RIDGES = (1e-6, 1e-2)
BACKEND = ProcessBackend(merge_rows(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2)))


def local_data(X, y):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(X, y.reshape(len(y), -1), np.ones(len(y)), **options)


def test_a_ridge_function_has_one_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    direction = np.array([1.0, 2.0, 0.0, -1.0]) / np.sqrt(6.0)
    data = local_data(X, np.sin(X @ direction))
    axes = find_first_axes(BACKEND, data, RIDGES)
    assert axes.shape == (4, 4)  # nothing is left out on a first look
    scaled = X.std(axis=0) * axes[:, 0]  # the axis, in units of the features
    wanted = X.std(axis=0) * direction
    cosine = abs(scaled @ wanted) / np.linalg.norm(scaled) / np.linalg.norm(wanted)
    assert cosine > 0.99
    exact = global_agop(np.eye(4), np.cos(X @ direction)[:, None, None] * direction, np.ones(400))
    assert axes_from(BACKEND.extent(data), exact, leave_out=True).shape == (4, 1)


def test_agops_are_those_of_the_units_before_the_axes():
    rng = np.random.default_rng(1)
    axes, gradients = rng.normal(size=(3, 2)), rng.normal(size=(5, 1, 2))
    back = gradients[:, 0] @ axes.T
    weight = np.array([1.0, 1.0, 2.0, 1.0, 1.0])
    expected = (back * weight[:, None]).T @ back / 6.0
    assert global_agop(axes, gradients, weight) == pytest.approx(expected, rel=1e-12)


def test_flat_labels_leave_the_axes_alone():
    data = local_data(np.random.default_rng(2).normal(size=(50, 3)), np.zeros(50))
    assert np.array_equal(find_first_axes(BACKEND, data, RIDGES), np.eye(3))
    assert np.array_equal(axes_from(BACKEND.extent(data), np.zeros((3, 3)), leave_out=True), np.eye(3))


@pytest.mark.slow
def test_columns_of_noise_are_left_out():
    X, y = make_helix(700, 3, random_state=0)
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(700, 4))])
    plain = LocalEGOPRegressor().fit(X[:600], y[:600])
    model = LocalEGOPRegressor().fit(wide[:600], y[:600])
    fits = model.localize(wide[600:])
    assert fits.importance[:, 3:].max() < 0.01
    assert model.global_importance()[3:].max() < 1e-3
    error, more = (np.sqrt(np.mean((v - y[600:]) ** 2)) for v in (plain.predict(X[600:]), fits.value))
    assert more < 4.0 * error
    scaled = LocalEGOPRegressor(initial_metric="variance").fit(wide[:600], y[:600])
    assert more < 0.5 * np.sqrt(np.mean((scaled.predict(wide[600:]) - y[600:]) ** 2))


def test_weak_features_are_kept_when_they_matter():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, size=(600, 3))
    y = X[:, 0] + 1e-3 * X[:, 1]  # a share of 1e-6 of the squared slope, but no noise
    model = LocalEGOPRegressor().fit(X[:500], y[:500])
    assert np.sqrt(np.mean((model.predict(X[500:]) - y[500:]) ** 2)) < 1e-5
