"""Axes from the slopes of f over all data."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.local_data import LocalData
from localegop._fit.initial_axes import (
    FEATURES,
    GENTLE,
    SHARP,
    FirstRound,
    Sample,
    axes_from,
    find_single_slopes,
    find_slopes,
    global_agop,
    repeat_slopes,
)
from localegop._fit.process import ProcessBackend
from localegop.datasets import make_helix
from localegop.kernels import as_kernel

BACKEND = ProcessBackend(merge_rows(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2)))


def local_data(X, y):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(X, y.reshape(len(y), -1), np.ones(len(y)), **options)


def slopes_of(data, *, single=False):
    sample = Sample.take(BACKEND, data)
    return find_single_slopes(sample) if single else find_slopes(sample, FirstRound.find(sample))


def test_a_ridge_function_has_one_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    direction = np.array([1.0, 2.0, 0.0, -1.0]) / np.sqrt(6.0)
    data = local_data(X, np.sin(X @ direction))
    found = slopes_of(data).agop
    assert direction @ found @ direction > 0.99 * np.trace(found)
    exact = global_agop(np.eye(4), np.cos(X @ direction)[:, None, None] * direction, np.ones(400))
    assert found == pytest.approx(exact, abs=0.02 * np.trace(exact))
    extent = BACKEND.extent(data)
    steep, gentle = (axes_from(extent, exact, each) for each in (SHARP, GENTLE))
    assert steep.shape == (4, 1) and gentle.shape == (4, 4)  # gentle axes leave nothing out
    for axes in (steep, gentle):
        scaled, wanted = X.std(axis=0) * axes[:, 0], X.std(axis=0) * direction
        assert abs(scaled @ wanted) > 0.999 * np.linalg.norm(scaled) * np.linalg.norm(wanted)


def test_axes_are_as_long_as_f_varies_along_them_and_gentle_ones_as_the_root_of_that():
    X = np.random.default_rng(4).normal(size=(300, 3)) * [1.0, 5.0, 0.2]
    extent = BACKEND.extent(local_data(X, X[:, 0]))
    agop = np.diag([1.0, 0.3, 0.5] / extent.std) ** 2  # slopes per standard deviation
    for gentle, expected in ((False, [1.0, 0.5, 0.3]), (True, np.sqrt([1.0, 0.5, 0.3]))):
        axes = axes_from(extent, agop, GENTLE if gentle else SHARP)
        lengths = np.linalg.norm(extent.std[:, None] * axes, axis=0)
        assert lengths == pytest.approx(expected, rel=1e-9)


def test_known_rounds_are_repeated_with_the_rows_that_are_left():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    held_out = np.arange(0, 120, 5)
    rest = np.setdiff1d(np.arange(120), held_out)
    found = slopes_of(local_data(X[rest], y[rest]))
    assert found.rounds
    spoiled = y.copy()
    spoiled[held_out] += 100.0 * rng.normal(size=len(held_out))
    left = local_data(X, spoiled).without(held_out)
    again = repeat_slopes(Sample.take(BACKEND, left), found.rounds)
    np.testing.assert_array_equal(again, found.agop)


def test_weights_count_as_repeated_rows_do():
    """The AGOP of a sample, each of whose rows is left out of its own process once."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
    plain, heavy = local_data(X, y), local_data(X, y)
    heavy = heavy.like(heavy.rows, heavy.labels, np.full(90, 3.0))
    one, three = (slopes_of(data).agop for data in (plain, heavy))
    assert three == pytest.approx(one, rel=0.2)  # less noise in the labels, much the same slopes
    assert not np.array_equal(one, three)


def test_agops_are_those_of_the_units_before_the_axes():
    rng = np.random.default_rng(1)
    axes, gradients = rng.normal(size=(3, 2)), rng.normal(size=(5, 1, 2))
    back = gradients[:, 0] @ axes.T
    weight = np.array([1.0, 1.0, 2.0, 1.0, 1.0])
    expected = (back * weight[:, None]).T @ back / 6.0
    assert global_agop(axes, gradients, weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gentle", [False, True])
def test_flat_labels_leave_the_axes_alone(gentle):
    data = local_data(np.random.default_rng(2).normal(size=(50, 3)), np.zeros(50))
    agop = slopes_of(data).agop
    assert np.array_equal(agop, np.zeros((3, 3)))
    assert np.array_equal(axes_from(BACKEND.extent(data), agop, GENTLE if gentle else SHARP), np.eye(3))


@pytest.mark.parametrize("gentle", [False, True])
def test_columns_that_never_change_have_no_part_in_the_axes(gentle):
    X = np.random.default_rng(7).normal(size=(80, 3))
    X[:, 1] = 2.0
    data = local_data(X, np.sin(X[:, 0]) + 0.3 * X[:, 2])
    axes = axes_from(BACKEND.extent(data), slopes_of(data).agop, GENTLE if gentle else SHARP)
    assert np.isfinite(axes).all() and not axes[1].any() and axes[[0, 2]].any()


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


def test_columns_of_noise_are_found_one_by_one():
    """Turned axes of many features follow the noise of few labels; single ones do not."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 30))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=300)
    data = local_data(X, (y - y.mean()) / y.std())
    single, turned = (slopes_of(data, single=each).agop for each in (True, False))
    assert np.trace(single[:3, :3]) > 0.99 * np.trace(single)
    assert np.trace(turned[:3, :3]) < 0.9 * np.trace(turned)
    axes = axes_from(BACKEND.extent(data), single, FEATURES)
    assert np.all(np.count_nonzero(axes, axis=0) == 1)  # none is turned
    assert np.abs(axes[3:]).max() < 0.1 * np.abs(axes[:3]).max(axis=1).min()
