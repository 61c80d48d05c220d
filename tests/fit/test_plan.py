"""The plan of a fit: which trials there are, which one wins, and who does the work."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.sites import LocalSite
from localegop._fit import plan
from localegop._fit.plan import fit_field, fit_model
from localegop._fit.process import ProcessBackend
from localegop.datasets import make_helix

QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}


def noisy_helix(n=150, dimension=3, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + np.random.default_rng(seed).normal(0.0, 0.3 * y.std(), n)


@pytest.fixture
def settled(monkeypatch):
    """Trials that a fit compares at last."""
    found, settle = [], plan._settle
    monkeypatch.setattr(plan, "_settle", lambda trials: found.extend(trials) or settle(trials))
    return found


def axes_of(trials):
    """Whether each trial is in the initial axes, which have a name."""
    return [
        "initial" if isinstance(trial.start.decisions.initial_metric, str) else "slopes" for trial in trials
    ]


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
def test_axes_that_are_not_free_leave_one_trial(settled, changed):
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK | changed)
    assert axes_of(settled) == ["initial"]
    assert model.decisions.choice.error > 0.0 and model.decisions.isotropic_error > 0.0


def test_one_feature_leaves_one_trial(settled):
    X, y = noisy_helix()
    fitted(X[:, :1], y, **QUICK)
    assert axes_of(settled) == ["initial"]


@pytest.mark.parametrize(
    ("doubtful", "axes"), [(np.inf, ["slopes", "slopes", "initial"]), (0.0, 2 * ["slopes"])]
)
def test_free_axes_are_tried_twice_and_the_initial_ones_in_doubt(settled, monkeypatch, doubtful, axes):
    monkeypatch.setattr(plan, "DOUBTFUL", doubtful)
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK)
    assert axes_of(settled) == axes
    errors = [trial.race.means.min() for trial in settled]
    assert model.decisions.choice.error <= 1.1 * min(errors)
    units = [trial.start.decisions.units.transform for trial in settled]
    assert any(np.array_equal(model.decisions.units.transform, each) for each in units)
    assert model.data.n == 150 and all(len(each) == 150 for each in model.field.gradients)


@pytest.mark.parametrize(
    ("n", "parameters", "kind"),
    [
        (8, {}, "polynomial"),
        (8, {"final": "kriging"}, "kriging"),
        (150, {"n_iter": 0, "degree": 1, "ridge": 0.1, "schedule": "power"}, "polynomial"),
    ],
)
def test_nothing_is_held_out_where_there_is_nothing_to_choose(monkeypatch, n, parameters, kind):
    monkeypatch.setattr(ProcessBackend, "hold_out", None)
    X, y = noisy_helix()
    decisions = fitted(X[:n], y[:n], **parameters).decisions
    assert decisions.choice.final.kind == kind
    assert np.isnan(decisions.choice.error) and np.isnan(decisions.isotropic_error)


class WatchedBackend(ProcessBackend):
    """A backend that notes which points are held out and in how many dimensions."""

    def __init__(self, rows):
        super().__init__(rows)
        self.held_out = []

    def hold_out(self, data, held_out):
        self.held_out.append(tuple(held_out.tolist()))
        return super().hold_out(data, held_out)


def test_all_trials_share_their_folds(monkeypatch):
    monkeypatch.setattr(plan, "DOUBTFUL", np.inf)
    X, y = noisy_helix()
    backend = WatchedBackend(merge_rows(X, y[:, None], np.ones(150)))
    model = fit_field(backend, LocalEGOPRegressor(**QUICK)._settings())
    folds = set(backend.held_out)
    assert sorted(sum(folds, ())) == list(range(150)) and len(folds) == 5
    assert len(backend.held_out) == 15  # three trials
    assert np.array_equal(model.loo.residuals, fitted(X, y, **QUICK).loo.residuals)


def test_work_at_centers_is_done_at_sites_only(monkeypatch):
    """So that a cluster can do it: without sites there is no fit."""
    monkeypatch.setattr(LocalSite, "run", lambda self, *given: 1 / 0)
    X, y = noisy_helix()
    with pytest.raises(ZeroDivisionError):
        fitted(X, y, **QUICK)


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
