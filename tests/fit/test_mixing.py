"""Processes of all rows are refined after the choice, and averaged: when, and by which shares."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from tests.fit.made_up import search, trial

from localegop import LocalEGOPRegressor
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._fit import mixing
from localegop._fit.mixing import mix_processes
from localegop._fit.trials import Trial
from localegop._predict.rivals import PAIRS, Rival, Rivals
from localegop._selection.global_search import FINER, GlobalSearch

X, Y = make_friedman1(300, 6, noise=1.0, random_state=0)
NEW = make_friedman1(100, 6, random_state=1)[0]
ROWS = X / X.std(axis=0)
LABELS = (Y / Y.std())[:, None]
NEIGHBORS = (GlobalKriging(8.0, 3e-3), GlobalKriging(4.0, 3e-2), GlobalKriging(2.0, 3e-1))


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def values_of(process):
    return SolvedProcess(process, ROWS, LABELS, np.ones(len(ROWS))).at(NEW / X.std(axis=0)).value


def test_processes_that_do_about_equally_well_become_about_one():
    errors = GlobalSearch(ROWS, LABELS, np.ones(len(ROWS)))
    refined = [errors.refine(one) for one in NEIGHBORS]
    before, after = (np.std([values_of(one) for one in every], axis=0) for every in (NEIGHBORS, refined))
    assert rms(after) < 0.1 * rms(before)
    for one, other in zip(NEIGHBORS, refined, strict=True):
        assert errors.error(other) < 1.001 * errors.error(one)  # which may not be on the grid


def test_no_finer_move_helps_a_refined_process():
    errors = GlobalSearch(ROWS, LABELS, np.ones(len(ROWS)))
    found = errors.refine(GlobalKriging(4.0, 1e-2))
    longer, larger = FINER[-1]
    assert not found.rough and errors.refine(GlobalKriging(4.0, 1e-2, rough=True)).rough  # as was chosen
    for length, ridge in ((longer, 1.0), (1.0, larger), (longer, 1.0 / larger)):
        for sign in (1.0, -1.0):
            moved = replace(found, length=found.length * length**sign, ridge=found.ridge * ridge**sign)
            assert errors.error(moved) > (1.0 - 2e-5) * errors.error(found)


def rivals_of(choice):
    other = Rival(Choice(0, 60.0, Polynomial(1, 0, 0.1)), "initial")
    return Rivals(np.eye(3), (Rival(choice, "initial"), other), (0, 1) * PAIRS)


def test_one_process_alone_is_looked_for_more_closely_and_remembered_first():
    best, choice = trial(final="global"), Choice(0, None, GlobalKriging(0.3, 1.0), error=0.5)
    rivals = rivals_of(replace(choice, error=0.6))
    same, found, remembered = mix_processes([best], best, choice, rivals, 0.5)
    data = best.start.data
    errors = GlobalSearch(data.rows, data.labels, data.sample_weight)
    assert same is best and type(found.final) is GlobalKriging
    assert errors.error(found.final) < 0.9 * errors.error(choice.final)
    assert found.error == 0.5 and (found.step, found.size) == (0, None)  # what held-out points have told
    assert remembered.every[0] == Rival(replace(found, error=0.6), "initial")
    assert remembered.every[1:] == rivals.every[1:] and remembered.picks == rivals.picks


def in_axes(search, axes, processes):
    found = Trial(search, search.start.in_axes(axes), origin="slopes")
    found.__dict__["global_processes"] = processes
    return found


def test_a_mean_has_the_shares_that_errors_tell_in_axes_of_their_own():
    found = search()
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0] * [1.0, 0.5, 2.0]
    processes = [GlobalKriging(1.0, 1e-2), GlobalKriging(4.0, 1e-2, rough=True)]
    trials = [in_axes(found, axes, processes) for axes in (np.eye(3), turned)]
    line = Choice(2, 60.0, Polynomial(1, 0, 0.1), error=0.1)
    leading, choice, remembered = mix_processes(trials, trials[0], line, rivals_of(line), 0.1)
    assert (choice.step, choice.size, choice.error) == (0, None, 0.1)
    assert remembered.every[0].choice.final == choice.final and remembered.picks == rivals_of(line).picks
    data, errors = found.start.data, []
    for part in choice.final.parts:
        axes = leading.start.axes if part.axes is None else leading.start.axes @ np.array(part.axes)
        assert min(np.abs(axes - own.start.axes).max() for own in trials) < 1e-9
        errors.append(GlobalSearch(data.rows @ axes, data.labels, data.sample_weight).error(part.process))
    shares = np.array([part.share for part in choice.final.parts])
    assert len(shares) > 1 and shares == pytest.approx(
        np.array(errors) ** -20.0 / np.sum(np.array(errors) ** -20.0)
    )
    assert shares[0] == shares.max() and choice.final.parts[0].axes is None
    assert (choice.final.length, choice.final.ridge) == (
        choice.final.parts[0].process.length,
        choice.final.parts[0].process.ridge,
    )


def test_five_processes_are_averaged_and_none_of_a_small_share():
    def shares(errors):
        found = mixing._shared([mixing._Candidate(None, None, None, error) for error in errors])
        return [(one.error, share) for one, share in found]

    assert shares([2.0, 1.0]) == [(1.0, 1.0)]
    few = shares([1.0, 1.1, 1.2])  # 0.85, 0.13 and 0.02 of all
    assert [error for error, _ in few] == [1.0, 1.1]
    assert few[1][1] / few[0][1] == pytest.approx(1.1**-20.0)
    many = shares([1.0 + 0.001 * k for k in range(7)])
    assert len(many) == 5 and sum(share for _, share in many) == pytest.approx(1.0)


def test_errors_that_say_nothing_leave_the_choice_as_it_is(monkeypatch):
    """Infinite ones, where no covariance has a factor; of processes without any error each counts alike."""
    best, choice = trial(), Choice(0, None, GlobalKriging(0.3, 1.0), error=0.5)
    best.__dict__["global_processes"] = [choice.final]
    monkeypatch.setattr(GlobalSearch, "error", lambda *_: np.inf)
    assert mix_processes([best], best, choice, rivals_of(choice), 0.5)[1] == choice
    exact = mixing._shared([mixing._Candidate(None, None, None, 0.0)] * 2)
    assert [share for _, share in exact] == [0.5, 0.5]


def test_other_fits_stay_as_they_are(monkeypatch):
    """Those that are better, precise ones, many rows, classes."""
    best, process = trial(), Choice(0, None, GlobalKriging(0.3, 1.0), error=0.5)
    best.__dict__["global_processes"] = [process.final]

    def mixed(choice, tied=0.5):
        return mix_processes([best], best, choice, rivals_of(choice), tied)[1]

    line = Choice(1, 60.0, Polynomial(1, 0, 0.1), error=0.5)
    assert mixed(line, 0.526) == line and mixed(line, np.inf) == line
    assert type(mixed(line, 0.524).final) is GlobalKriging
    precise = replace(process, error=0.9 * mixing.PRECISE)
    assert mixed(precise, precise.error) == precise
    monkeypatch.setattr(mixing, "MOST_ROWS", 239)
    assert mixed(process) == process
    monkeypatch.setattr(mixing, "MOST_ROWS", 240)
    assert mixed(process) != process
    monkeypatch.setattr(type(best.search.settings), "classifies", True)
    assert mixed(process) == process


def test_predictions_of_other_seeds_hardly_differ():
    """Where noise decides which of several choices is the best."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(240, 5))
    labels = rows[:, 0] + np.tanh(rows[:, 1]) + 0.3 * rows[:, 2] + rng.normal(size=240)
    queries = rng.normal(size=(60, 5))
    models = [LocalEGOPRegressor(n_jobs=1, random_state=seed).fit(rows, labels) for seed in range(3)]
    told = [model.predict(queries, return_std=True) for model in models]
    spread = rms(np.std([value for value, _ in told], axis=0, ddof=1)) * np.sqrt(2.0)
    assert spread < 0.4 * rms([std for _, std in told])


def test_the_rows_that_are_held_out_do_not_decide_length_and_ridge():
    """Axes are given, so that nothing else can differ; errors at held-out points do, with the folds."""
    parameters = {"final": "global", "initial_metric": "variance", "n_iter": 0, "n_jobs": 1}
    models = [LocalEGOPRegressor(**parameters, random_state=seed).fit(X, Y) for seed in range(4)]
    assert len({model.choice_.final for model in models}) == 1
    assert len({model.choice_.error for model in models}) == 4
    told = [model.predict(NEW).tolist() for model in models]
    assert told[1:] == told[:-1]
