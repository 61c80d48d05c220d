"""The gain over isotropic fits: what it is, and that it tells functions of few directions from others."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from localegop import LocalEGOPRegressor
from localegop._fit import attempts
from localegop.datasets import make_helix, make_multi_index


def test_a_helix_gains_and_a_bowl_does_not():
    X, y = make_helix(400, 5, random_state=0)
    assert LocalEGOPRegressor().fit(X, y).gain_over_isotropic_ > 3.0
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = (X**2).sum(axis=1) + rng.standard_normal(400)
    assert 0.7 < LocalEGOPRegressor(degree=1).fit(X, y).gain_over_isotropic_ < 1.4


def without_a_second_look(monkeypatch):
    """Isotropic fits have none, so that only without it the numbers are the same to the last digits."""
    monkeypatch.setattr(attempts, "refine_choice", lambda choice, *others: choice)


def test_without_steps_there_is_nothing_to_gain(monkeypatch):
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    model = LocalEGOPRegressor(n_iter=0, degree=1).fit(X, y)
    assert model.gain_over_isotropic_ == pytest.approx(1.0, rel=0.03)  # but for the second look
    without_a_second_look(monkeypatch)
    assert model.fit(X, y).gain_over_isotropic_ == pytest.approx(1.0, rel=1e-9)


def test_it_is_the_ratio_of_errors_at_the_same_points(monkeypatch):
    without_a_second_look(monkeypatch)
    X, y = make_multi_index(300, 6, noise=0.1, random_state=0)
    model = LocalEGOPRegressor().fit(X, y)
    isotropic = LocalEGOPRegressor(n_iter=0, degree=1, initial_metric="auto").fit(X, y)
    expected = isotropic.choice_.error / model.choice_.error
    assert model.gain_over_isotropic_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_it_tells_what_new_points_say():
    X, y = make_multi_index(900, 8, random_state=1)
    test = slice(400, None)
    models = [LocalEGOPRegressor(**more).fit(X[:400], y[:400]) for more in ({}, {"n_iter": 0, "degree": 1})]
    ours, isotropic = (np.mean((model.predict(X[test]) - y[test]) ** 2) for model in models)
    assert 0.3 < models[0].gain_over_isotropic_ / (isotropic / ours) < 3.0


def test_exact_fits_gain_nothing():
    X = np.random.default_rng(0).standard_normal((200, 3))
    assert LocalEGOPRegressor(ridge=0.0).fit(X, X @ [1.0, 2.0, 3.0]).gain_over_isotropic_ == 1.0


def test_bandwidths_are_compared_too():
    X, y = make_helix(200, 4, random_state=0)
    model = LocalEGOPRegressor(schedule="power", n_iter=8, initial_metric="identity").fit(X, y)
    assert model.gain_over_isotropic_ > 0.0


def test_where_it_is_not_known():
    X, y = make_helix(60, 3, random_state=0)
    assert np.isnan(LocalEGOPRegressor("query").fit(X, y).gain_over_isotropic_)
    assert np.isnan(LocalEGOPRegressor().fit(X[:6], y[:6]).gain_over_isotropic_)


@pytest.mark.slow
def test_it_is_saved_and_has_one_value_for_each_separate_output(tmp_path):
    X, y = make_helix(200, 4, random_state=0)
    labels = np.column_stack([y, np.random.default_rng(0).standard_normal(200)])
    model = LocalEGOPRegressor(outputs="separate").fit(X, labels)
    first, second = model.gain_over_isotropic_
    assert first > 2.0 * second
    model.save(tmp_path / "a.model")
    assert LocalEGOPRegressor.load(tmp_path / "a.model").gain_over_isotropic_ == (first, second)
