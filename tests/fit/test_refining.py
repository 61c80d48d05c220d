"""A process of all rows is looked for more closely once it is chosen: what that does to it, and to whom."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import make_friedman1
from tests.fit.test_trials import trial

from localegop import LocalEGOPRegressor
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._fit import refining
from localegop._fit.refining import refine_process
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


def test_the_refined_process_is_the_first_that_is_remembered():
    best, choice = trial(), Choice(0, None, GlobalKriging(0.3, 1.0), error=0.5)
    rivals = rivals_of(replace(choice, error=0.6))
    found, remembered = refine_process(best, choice, rivals)
    data = best.start.data
    errors = GlobalSearch(data.rows, data.labels, data.sample_weight)
    assert errors.error(found.final) < 0.9 * errors.error(choice.final)
    assert found.error == 0.5 and (found.step, found.size) == (0, None)  # what held-out points have told
    assert remembered.every[0] == Rival(replace(found, error=0.6), "initial")
    assert remembered.every[1:] == rivals.every[1:] and remembered.picks == rivals.picks


def test_other_kinds_precise_fits_many_rows_and_classes_stay_as_they_are(monkeypatch):
    best, process = trial(), Choice(0, None, GlobalKriging(0.3, 1.0), error=0.5)
    line = Choice(0, 60.0, Polynomial(1, 0, 0.1))
    remembered = rivals_of(line)
    found, same = refine_process(best, line, remembered)
    assert found == line and same is remembered
    precise = replace(process, error=0.9 * refining.PRECISE)
    assert refine_process(best, precise, rivals_of(precise))[0] == precise
    monkeypatch.setattr(refining, "MOST_ROWS", 239)
    assert refine_process(best, process, rivals_of(process))[0] == process
    monkeypatch.setattr(refining, "MOST_ROWS", 240)
    assert refine_process(best, process, rivals_of(process))[0] != process
    monkeypatch.setattr(type(best.search.settings), "classifies", True)
    assert refine_process(best, process, rivals_of(process))[0] == process


def test_the_rows_that_are_held_out_do_not_decide_length_and_ridge():
    """Axes are given, so that nothing else can differ; errors at held-out points do, with the folds."""
    parameters = {"final": "global", "initial_metric": "variance", "n_iter": 0, "n_jobs": 1}
    models = [LocalEGOPRegressor(**parameters, random_state=seed).fit(X, Y) for seed in range(4)]
    assert len({model.choice_.final for model in models}) == 1
    assert len({model.choice_.error for model in models}) == 4
    told = [model.predict(NEW).tolist() for model in models]
    assert told[1:] == told[:-1]
