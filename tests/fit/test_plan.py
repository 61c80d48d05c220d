"""The plan of a fit: how many attempts there are, which one wins, and who does the work."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._fit import plan
from localegop._fit.plan import fit_field, fit_model
from localegop._fit.process import ProcessBackend
from localegop.datasets import make_helix

ATTEMPTS = ("attempt_from_pilot_slopes", "attempt_from_fitted_slopes", "attempt_in_initial_axes")
QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2}


def noisy_helix(n=150, dimension=3, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + np.random.default_rng(seed).normal(0.0, 0.3 * y.std(), n)


@pytest.fixture
def made(monkeypatch):
    """Names of the attempts that a fit makes, with their errors."""
    found = []

    def watch(name):
        attempt = getattr(plan, name)

        def watched(*given):
            result = attempt(*given)
            found.append((name, (result[0] if isinstance(result, tuple) else result).error))
            return result

        monkeypatch.setattr(plan, name, watched)

    for name in ATTEMPTS:
        watch(name)
    return found


def fitted(X, y, **parameters):
    rows = merge_rows(X, y[:, None], np.ones(len(y)))
    return fit_model(rows, LocalEGOPRegressor(**parameters)._settings())


@pytest.mark.parametrize(
    "changed",
    [
        {"initial_metric": "variance"},
        {"exclusion_radius": 3.0},
        {"covariance_cap": 1.0},
        {"schedule": "power", "n_iter": 2},
        {"n_iter": 0},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_axes_that_are_not_free_leave_one_attempt(made, changed):
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK | changed)
    assert [name for name, _ in made] == ["attempt_in_initial_axes"]
    assert model.decisions.choice.error == made[0][1]
    assert model.decisions.isotropic_error > 0.0


@pytest.mark.parametrize(("n", "dimension"), [(9, 3), (150, 1)])
def test_one_feature_or_few_points_leave_one_attempt(made, n, dimension):
    X, y = noisy_helix()
    model = fitted(X[:n, :dimension], y[:n], **QUICK)
    assert [name for name, _ in made] == ["attempt_in_initial_axes"]
    assert np.isnan(model.decisions.isotropic_error) == (n == 9)


@pytest.mark.parametrize(("doubtful", "count"), [(np.inf, 3), (0.0, 2)])
def test_the_attempt_with_the_least_error_is_learned_from_all_points(made, monkeypatch, doubtful, count):
    monkeypatch.setattr(plan, "DOUBTFUL", doubtful)
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK)
    assert [name for name, _ in made] == list(ATTEMPTS[:count])
    assert model.decisions.choice.error == min(error for _, error in made)
    assert model.data.n == 150 and all(len(each) == 150 for each in model.field.gradients)


def test_units_without_axes_compete_where_axes_hardly_help(monkeypatch):
    X, y = noisy_helix(200, 4)
    tried = []
    attempt = plan.attempt_in_initial_axes
    monkeypatch.setattr(plan, "attempt_in_initial_axes", lambda *given: tried.append(1) or attempt(*given))
    monkeypatch.setattr(plan, "DOUBTFUL", 1e9)
    most = LocalEGOPRegressor().fit(X, y)
    assert tried == [1]
    monkeypatch.setattr(plan, "DOUBTFUL", 0.0)
    least = LocalEGOPRegressor().fit(X, y)
    assert tried == [1] and most.choice_.error <= least.choice_.error


class WatchedBackend(ProcessBackend):
    """A backend that notes what it is asked for."""

    def __init__(self, rows):
        super().__init__(rows)
        self.calls = []

    def learn_without(self, data, update, grid, held_out, axes, progress):
        self.calls.append(tuple(held_out.tolist()))
        return super().learn_without(data, update, grid, held_out, axes, progress)

    def learn(self, data, decisions, progress):
        self.calls.append("learn")
        return super().learn(data, decisions, progress)


def test_all_attempts_share_their_folds_and_the_work_is_the_backends(monkeypatch):
    monkeypatch.setattr(plan, "DOUBTFUL", np.inf)
    X, y = noisy_helix()
    backend = WatchedBackend(merge_rows(X, y[:, None], np.ones(150)))
    model = fit_field(backend, LocalEGOPRegressor(**QUICK)._settings())
    assert backend.calls.pop() == "learn"
    assert backend.calls == 3 * backend.calls[:5]  # three attempts at the same five folds
    assert sorted(sum(backend.calls[:5], ())) == list(range(150))
    assert np.array_equal(model.loo.residuals, fitted(X, y, **QUICK).loo.residuals)


@pytest.mark.parametrize(("degree", "directions"), [("auto", 0), (0, 0), (1, 0), (2, 1)])
def test_queries_get_the_degree_asked_for(degree, directions):
    X, y = noisy_helix(60)
    model = fitted(X, y, strategy="query", degree=degree, ridge=0.01, n_iter=3)
    final = model.decisions.choice.final
    assert (final.degree, final.n_quadratic_directions) == (1 if degree == "auto" else degree, directions)
    assert model.decisions.choice.step == 3 and model.field is None and model.loo is None


def test_queries_get_the_best_ridge_of_pilot_fits():
    X, y = noisy_helix(80)
    settings = LocalEGOPRegressor("query", n_iter=3)._settings()
    chosen = fitted(X, y, strategy="query", n_iter=3).decisions.choice
    backend = ProcessBackend(merge_rows(X, y[:, None], np.ones(80)))
    _, _, data = plan.find_initial_units(backend, settings)
    errors = plan.run_pilot(backend, data, settings.ridges).errors
    assert chosen.ridge == settings.ridges[np.unravel_index(np.argmin(errors), errors.shape)[1]]
