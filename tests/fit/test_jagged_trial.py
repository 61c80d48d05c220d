"""Fits to functions that are smooth in part, and in part jump or bend at single values."""

import numpy as np
import pytest

from localegop import LocalEGOPClassifier, LocalEGOPRegressor
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._fit import plan
from localegop.datasets import make_helix

N = 200


def stepped(n=N, seed=0, noise=0.1):
    """A smooth feature, one with a jump, one with a knee, and one that does not matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    clean = np.sin(2.0 * X[:, 0]) + 1.5 * (X[:, 1] > 0.2) + np.maximum(4.0 * (X[:, 2] + 0.3), 0.0)
    return X, clean + noise * rng.normal(size=n)


def fitted(X, y, **parameters):
    return LocalEGOPRegressor(n_jobs=1, **parameters).fit(X, y)


def error(model):
    X, y = stepped(1000, seed=9, noise=0.0)
    return float(np.mean((model.predict(X) - y) ** 2) / y.var())


@pytest.fixture
def tried(monkeypatch):
    """Origins of the trials of a fit."""
    found, grow = [], plan.let_functions_grow
    monkeypatch.setattr(
        plan,
        "let_functions_grow",
        lambda trials: found.extend(trial.origin for trial in trials) or grow(trials),
    )
    return found


@pytest.fixture(scope="module")
def model():
    return fitted(*stepped())


def test_it_is_chosen_and_better_than_smooth_processes(model, monkeypatch):
    parts = getattr(model.choice_.final, "parts", None)
    every = [model.choice_.final] if parts is None else [part.process for part in parts]
    assert isinstance(every[0], JaggedKriging)
    assert "partly jagged" in model.summary() or len(every) > 1
    monkeypatch.setattr(plan, "trial_of_jagged", lambda *_: [])
    without = fitted(*stepped())
    assert error(model) < 0.02 and error(model) < 0.8 * error(without)


def test_other_seeds_lead_to_the_same_process(model):
    X, y = stepped()
    final, same = model.choice_.final, fitted(X, y, random_state=3).choice_.final
    if isinstance(final, JaggedKriging) and isinstance(same, JaggedKriging):
        assert final == same
    asked = stepped(300, seed=5)[0]
    spread = np.std(model.predict(asked) - fitted(X, y, random_state=3).predict(asked))
    assert spread < 0.3 * np.mean(model.predict(asked, return_std=True)[1])


def test_explanations_find_it_again_in_halves(model):
    importance, std = model.global_importance(return_std=True)
    assert np.isfinite(std).all() and importance[3] < 0.05
    assert (importance[:3] > 0.05).all() and importance.sum() == pytest.approx(1.0)


def test_smooth_functions_have_no_such_trial(tried):
    X, y = make_helix(300, 3, random_state=1)
    fitted(X, y, final="global")
    assert "features" in tried and "jagged" not in tried


@pytest.mark.parametrize(
    "parameters",
    [{"final": "polynomial"}, {"final": "kriging"}, {"degree": 1}, {"max_neighbors": 60}],
    ids=str,
)
def test_it_competes_only_where_processes_of_all_rows_do(tried, parameters):
    fitted(*stepped(), **parameters)
    assert tried and "jagged" not in tried


def test_few_rows_have_no_such_trial(tried):
    fitted(*stepped(36), final="global")
    assert tried and "jagged" not in tried


def test_classes_have_no_such_trial(tried):
    X, y = stepped(120)
    LocalEGOPClassifier(n_jobs=1).fit(X, y > y.mean())
    assert tried and "jagged" not in tried
