"""The plan of a fit: which trials there are, which one wins, and who does the work."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from tests.selection.made_up import MadeUpHoldout, choices

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.sites import LocalSite
from localegop._fit import plan
from localegop._fit.plan import fit_field, fit_model
from localegop._fit.process import ProcessBackend
from localegop._selection.race import Looks, Race
from localegop.datasets import make_helix

QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}


def noisy_helix(n=150, dimension=3, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + np.random.default_rng(seed).normal(0.0, 0.3 * y.std(), n)


@pytest.fixture
def tried(monkeypatch):
    """Trials that a fit makes."""
    found, promising = [], plan._most_promising
    monkeypatch.setattr(plan, "_most_promising", lambda trials: found.extend(trials) or promising(trials))
    return found


def axes_of(trials):
    """In which axes each trial is."""
    return [axes_name(trial) for trial in trials]


def axes_name(trial):
    if isinstance(trial.start.decisions.initial_metric, str):
        return "initial"  # only these have a name
    return trial.origin


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
def test_axes_that_are_not_free_leave_one_trial(tried, changed):
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK | changed)
    assert axes_of(tried) == ["initial"]
    assert model.decisions.choice.error > 0.0 and model.decisions.isotropic_error > 0.0


def test_one_feature_leaves_one_trial(tried):
    X, y = noisy_helix()
    fitted(X[:, :1], y, **QUICK)
    assert axes_of(tried) == ["initial"]


@pytest.mark.parametrize(
    ("changed", "axes"),
    [
        ({}, ["initial", "slopes"]),
        ({"degree": "auto", "final": "polynomial"}, ["initial", "slopes"]),
        ({"degree": "auto", "final": "global"}, ["initial", "slopes", "gentle", "features", "jagged"]),
        ({"degree": "auto", "final": "kriging"}, ["initial", "slopes"]),
        ({"degree": "auto", "max_neighbors": 60}, ["initial", "slopes"]),
    ],
    ids=str,
)
def test_free_axes_are_tried_and_gentle_ones_where_all_rows_may_be_used(tried, changed, axes):
    X, y = noisy_helix()
    model = fitted(X, y, **QUICK | changed)
    assert axes_of(tried) == axes
    errors = [trial.opening.means.min() for trial in tried if trial.opening.choices]
    assert model.decisions.choice.error <= 1.1 * min(errors)
    units = [trial.start.decisions.units.transform for trial in tried]
    assert any(np.array_equal(model.decisions.units.transform, each) for each in units)
    assert model.data.n == 150 and all(len(each) == 150 for each in model.field.gradients)


@pytest.fixture
def finals(monkeypatch):
    """Finals between the races that are left."""
    found, decide = [], plan.Final.decide
    monkeypatch.setattr(plan.Final, "decide", lambda self: found.append(self) or decide(self))
    return found


@pytest.mark.parametrize("stopped", ["first look", "second look"])
def test_trials_that_are_clearly_behind_are_not_finished(monkeypatch, finals, stopped):
    """With a helix in ten columns of noise the initial axes lose."""
    if stopped == "second look":
        monkeypatch.setattr(plan, "_most_promising", lambda trials: trials)
    X, y = make_helix(150, 3, random_state=0)
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(150, 10))])
    model = fitted(wide, y, **QUICK)
    assert len(finals[0].races) == 1
    assert not isinstance(model.decisions.initial_metric, str)  # which axes from slopes have no name for


@pytest.mark.parametrize("final", ["global", "auto"])
def test_folds_that_only_the_final_needs_are_learned_then(monkeypatch, finals, final):
    """Trials that are out of the race by then have no choices left: nothing can be asked of them."""
    monkeypatch.setattr("localegop._fit.trials.Looks.for_rows", lambda n: Looks(20, 25, 30))
    monkeypatch.setattr("localegop._selection.final.FINALISTS", 2)
    monkeypatch.setattr("localegop._selection.final.MATTERS", 0.0)
    monkeypatch.setattr("localegop._selection.final.SURE", 1e9)
    monkeypatch.setattr(plan, "_may_be_better", lambda *_: True)
    X, y = noisy_helix(dimension=4)
    model = fitted(X, y, n_iter=1, final=final)  # few rows: every fold has axes of its own
    assert len(finals[0].races) == 2 and finals[0].points == 150
    assert model.decisions.choice.error > 0.0 and np.isfinite(model.loo.residuals).all()


@pytest.mark.parametrize(
    ("n", "parameters", "kind"),
    [
        (8, {}, "polynomial"),
        (8, {"final": "kriging"}, "kriging"),
        (8, {"final": "global"}, "global"),
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

    def hold_out(self, data, held_out, tested=None):
        self.held_out.append(tuple(held_out.tolist()))
        return super().hold_out(data, held_out, tested)


def test_all_trials_share_their_folds():
    X, y = noisy_helix()
    backend = WatchedBackend(merge_rows(X, y[:, None], np.ones(150)))
    model = fit_field(backend, LocalEGOPRegressor(**QUICK)._settings())
    folds = Counter(backend.held_out)
    assert sorted(sum(folds, ())) == list(range(150)) and len(folds) == 5
    assert max(folds.values()) == 2  # two trials
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


def test_folds_with_fewer_axes_than_the_choice_has_quadratic_directions():
    """A line leaves folds one or two axes; the choice made in the first of them has up to four bends."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4))
    y = X @ np.array([1.0, 2.0, 3.0, 4.0])
    X[3, 1] = 1e6
    model = fitted(X, y, n_iter=1, n_jobs=1, final="polynomial")
    assert model.decisions.choice.error < 0.5


class MadeUpTrial:
    """A trial of choices with such errors at a hundred points, give or take a swing; notes how it ends."""

    looks = Looks(50, 100, 150, 180)

    def __init__(self, means, n=1000, swing=0.01):
        errors = np.tile(means, (200, 1)) + swing * np.tile([1.0, -1.0], 100)[:, None]
        self.race = Race(MadeUpHoldout(errors), choices(len(means)))
        self.race.run_to(100)
        self.start = SimpleNamespace(data=SimpleNamespace(n=n))
        self.finished = []

    def finish(self, *, widen):
        self.finished.append(widen)

    def errors_of(self, choice, points):
        return np.zeros(points), 0.0


def settle(monkeypatch, *trials):
    """Which of these trials wins, and how each was finished."""
    monkeypatch.setattr(plan, "remember_rivals", lambda *_: None)
    monkeypatch.setattr(plan, "can_average", lambda _: False)
    winner = plan._settle(list(trials)).trial
    return trials.index(winner), [each.finished for each in trials]


def test_the_trial_with_the_best_choice_is_finished_widely_and_others_if_they_may_be_better(monkeypatch):
    mixed, even = (
        MadeUpTrial([1.0, 9.0]),
        MadeUpTrial([5.0, 5.1]),
    )  # the worst choice of a trial is no matter
    assert settle(monkeypatch, even, mixed) == (1, [[], [True]])
    near = MadeUpTrial([1.01, 9.0], swing=0.2)
    assert settle(monkeypatch, near, MadeUpTrial([1.0, 9.0])) == (1, [[False], [True]])


def test_with_many_rows_all_that_may_be_better_try_wide_neighborhoods(monkeypatch):
    for n, widely in ((plan.MANY_ROWS - 1, False), (plan.MANY_ROWS, True)):
        near, best = MadeUpTrial([1.01, 9.0], n, swing=0.2), MadeUpTrial([1.0, 9.0], n)
        assert settle(monkeypatch, near, best)[1] == [[widely], [True]]


@pytest.mark.parametrize(
    ("changed", "times"), [({}, 3.0), ({"initial_metric": "variance", "n_iter": 0}, 1.0)]
)
def test_intervals_are_widened_where_axes_knew_the_labels(monkeypatch, changed, times):
    """Residuals of points left out alone are too small there; see test_optimism.py for by how much."""
    X, y = make_helix(150, 3, noise=0.1, random_state=0)
    wide, asked = np.hstack([X, np.random.default_rng(0).normal(size=(150, 3))]), []
    scores = []
    for factor in (1.0, 3.0):
        monkeypatch.setattr(
            plan, "measure_optimism", lambda *given, told=factor: asked.append(given) or told
        )
        scores.append(fitted(wide, y, **QUICK | changed).calibration.scores)
    np.testing.assert_allclose(scores[1], times * scores[0], rtol=1e-12)
    if asked:
        residuals, held_out, share = asked[0]
        assert residuals.shape == (150, 1) and share == 0.8  # a fifth is held out at a time
        assert np.mean(held_out) == pytest.approx(np.mean(residuals**2), rel=1.0)


@pytest.mark.parametrize(
    ("final", "few", "anchors"), [("global", 40, 150), ("polynomial", 40, 40), ("polynomial", 80, 60)]
)
def test_a_process_of_all_rows_has_all_of_them_as_anchors(monkeypatch, final, few, anchors):
    monkeypatch.setattr(plan, "FEW_ANCHORS", few)
    monkeypatch.setattr(plan, "MOST_ANCHORS", 60)
    model = fitted(*noisy_helix(), n_iter=1, n_jobs=1, final=final)
    assert model.field.anchors.n == anchors and model.data.n == 150
    assert model.loo.residuals.shape == (anchors, 1)
