"""Skewed features and values far out, from fit to explanation."""

import numpy as np
import pytest
from sklearn.base import clone

from localegop import LocalEGOPRegressor
from localegop.results import Status

RNG = np.random.default_rng(0)
Z, QUERIES = RNG.normal(size=(500, 5)), RNG.normal(size=(500, 5))
QUICK = {"n_jobs": 1, "n_iter": 1, "final": "polynomial"}


def f(z):
    return np.sin(2.0 * z[:, 0]) + z[:, 1] * z[:, 2]


Y = f(Z) + 0.05 * RNG.normal(size=500)


@pytest.fixture(scope="module")
def clean():
    return LocalEGOPRegressor(n_jobs=1, n_iter=1).fit(Z, Y)


def curves_of(model):
    return model._decisions[0].units.curves


def test_features_without_skew_have_no_curves(clean):
    assert curves_of(clean) is None
    same = LocalEGOPRegressor(**QUICK, initial_metric="power").fit(Z, Y)
    variance = LocalEGOPRegressor(**QUICK, initial_metric="variance").fit(Z, Y)
    assert same.initial_metric_ == "power"
    assert np.array_equal(same.predict(QUERIES[:9]), variance.predict(QUERIES[:9]))


@pytest.mark.parametrize("value", [1e6, *(pytest.param(v, marks=pytest.mark.slow) for v in (1e4, 1e8))])
def test_one_value_far_out_hardly_hurts(clean, value):
    X = Z.copy()
    X[7, 0] = value
    model = LocalEGOPRegressor(n_jobs=1, n_iter=1).fit(X, Y)
    assert curves_of(model).curved.tolist() == [True, False, False, False, False]
    assert model.score(QUERIES, f(QUERIES)) > clean.score(QUERIES, f(QUERIES)) - 0.02
    importance, usual = (each.global_importance(errors=False) for each in (model, clean))
    assert importance == pytest.approx(usual, abs=0.05)


def test_lognormal_features():
    model = LocalEGOPRegressor(n_jobs=1).fit(np.exp(3.0 * Z), Y)
    assert curves_of(model).curved.all()
    assert model.score(np.exp(3.0 * QUERIES), f(QUERIES)) > 0.84
    importance = model.localize(np.exp(3.0 * QUERIES), errors=False).importance.mean(axis=0)
    assert importance[:3].min() > 5.0 * importance[3:].max()


def test_gradients_are_those_of_the_predictions_in_the_units_of_the_data():
    def g(x):
        return np.log(x[:, 0]) ** 2 + np.log(x[:, 0]) * x[:, 1]

    X = np.column_stack([np.exp(2.0 * Z[:, 0]), Z[:, 1]])
    model = LocalEGOPRegressor(n_jobs=1).fit(X, g(X))
    assert curves_of(model).curved.tolist() == [True, False]
    at = X[(np.abs(Z[:, :2]) < 1.2).all(axis=1)][:60] * 1.01
    fits = model.localize(at, trace=True, errors=False)
    step = 1e-4 * np.column_stack([at[:, 0], np.ones(len(at))])
    numeric = np.empty_like(at)
    for j in range(2):
        move = step * np.eye(2)[j]
        numeric[:, j] = (model.predict(at + move) - model.predict(at - move)) / (2.0 * step[:, j])
    scale = np.abs(step * numeric).mean(axis=0) / step  # a slope in x0 means the less, the larger x0
    assert np.median(np.abs(fits.gradient - numeric) / scale) < 0.02
    # the AGOP nearby, and the steps that led there, are in the same units
    exact = np.column_stack([(2.0 * np.log(at[:, 0]) + at[:, 1]) / at[:, 0], np.log(at[:, 0])])
    slope = np.sqrt(np.diagonal(fits.agop, axis1=1, axis2=2))
    large = np.abs(exact) > 0.5 * np.abs(exact * step).mean(axis=0) / step
    assert np.median(np.abs(np.log(slope / np.abs(exact)))[large]) < 0.3
    assert fits.trace.metric.shape[1:] == fits.metric.shape
    ratio = np.sqrt(fits.trace.metric[0, :, 0, 0] / fits.trace.metric[0, :, 1, 1])
    assert np.corrcoef(np.log(ratio), np.log(at[:, 0]))[0, 1] < -0.8  # lengths in x0 grow with x0


def test_metrics_tell_the_weights_of_near_neighbors():
    X = np.exp(Z[:, :2])
    model = LocalEGOPRegressor(**QUICK, initial_metric="power", degree=1).fit(X, Z[:, 0] + Z[:, 1])
    fits = model.localize(np.exp([[-1.0, 0.8]]), errors=False)
    near = fits.neighbors(0)
    difference = X[near.index] - fits.query[0]
    u = np.einsum("ia,ab,ib->i", difference, fits.metric[0], difference)
    weight = np.exp(-u) / np.exp(-u).max()
    close = weight > 0.5  # there the curves are almost their tangents
    assert close.sum() >= 3
    assert near.weight[close] / near.weight[0] == pytest.approx(weight[close], rel=0.2)


@pytest.mark.parametrize("strategy", ["field", "query"])
@pytest.mark.parametrize("metric", ["auto", "power"])
def test_far_queries_are_finite(strategy, metric):
    X = np.exp(3.0 * Z[:120, :2])
    X[3, 1] = 1e100
    model = LocalEGOPRegressor(strategy, n_iter=1, n_subsamples=20, initial_metric=metric, n_jobs=1)
    model.fit(X, Y[:120])
    far = np.array([[1e300, -1e300], [-1e300, 1e300], [0.0, 0.0], [1e-300, 1e20]])
    fits = model.localize(far, trace=True)  # with standard errors, which must not trip over them
    for name in (
        "value",
        "gradient",
        "metric",
        "agop",
        "std",
        "sensitivity",
        "feature_scale",
    ):
        assert np.isfinite(getattr(fits, name)).all(), name


def test_far_queries_of_a_skewed_feature_are_extrapolated():
    X = np.exp(Z[:200, :2])
    model = LocalEGOPRegressor(**QUICK, initial_metric="power").fit(X, Z[:200, 0])
    assert curves_of(model).curved.all() and not curves_of(model).drawn_in.any()
    assert model.localize(np.array([[1e9, 1.0]]), errors=False).status[0] == Status.EXTRAPOLATED


def test_order_and_threads_change_nothing_and_clone_keeps_the_name():
    X = np.exp(2.0 * Z[:150, :3])
    order = RNG.permutation(150)
    one = LocalEGOPRegressor(**QUICK, initial_metric="power").fit(X, Y[:150])
    other = clone(one).set_params(n_jobs=2).fit(X[order], Y[:150][order])
    assert np.array_equal(one.predict(X[:20] * 1.01), other.predict(X[:20] * 1.01))


def test_separate_outputs_have_scales_of_their_own():
    X = np.exp(2.0 * Z[:150, :2])
    both = np.column_stack([Z[:150, 0], X[:, 0] / 100.0])
    fits = LocalEGOPRegressor(**QUICK, outputs="separate").fit(X, both).localize(X[:7])
    assert fits.feature_scale.shape == (7, 2, 2) and fits.importance.shape == (7, 2, 2)
    assert fits.intrinsic_dimension.shape == (7, 2)
    assert np.array_equal(fits.output(1).importance, fits.importance[:, 1])


def test_lengths_and_bandwidths_keep_their_units():
    X = np.exp(2.0 * Z[:150, :2])
    for given in ({"exclusion_radius": 100.0}, {"covariance_cap": 100.0}, {"schedule": "power"}):
        assert curves_of(LocalEGOPRegressor(**QUICK | given).fit(X, Y[:150])) is None
