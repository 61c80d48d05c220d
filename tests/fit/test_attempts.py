"""Attempts in several axes: which steps are tested, and what is chosen where there is nothing to choose."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._fit import attempts
from localegop._fit.attempts import Search, attempt_in_initial_axes, steps_of_first_attempt
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT
from localegop._selection.folds import draw_folds
from localegop.datasets import make_helix

X, Y = make_helix(200, 3, random_state=0)


def search(n=200, **parameters):
    backend = ProcessBackend(merge_rows(X[:n], Y[:n, None], np.ones(n)))
    return Search(backend, _start(backend, LocalEGOPRegressor(**parameters)._settings()), draw_folds(n, 0))


@pytest.mark.parametrize(
    ("n", "steps", "tested"),
    [(4999, (0, 1, 2, 3), (0, 1, 2, 3)), (5000, (0, 1, 2, 3), (0, 2)), (5000, (0, 1), (0, 1))],
)
def test_first_attempt_is_short_where_points_are_many(n, steps, tested):
    assert steps_of_first_attempt(n, steps) == tested


SETTLED = {"n_iter": 0, "degree": 1, "ridge": 0.1, "schedule": "power"}


@pytest.mark.parametrize(
    ("n", "parameters", "final"), [(8, {}, "auto"), (8, {}, "kriging"), (200, SETTLED, "auto")]
)
def test_nothing_is_held_out_where_there_is_nothing_to_choose(monkeypatch, n, parameters, final):
    monkeypatch.setattr(ProcessBackend, "learn_without", None)
    found = attempt_in_initial_axes(search(n, final=final, **parameters), SILENT)
    assert np.isnan(found.error)
    assert found.decisions.choice.final.kind == ("kriging" if final == "kriging" else "polynomial")


def test_kriging_needs_no_second_look_where_it_gains_clearly(monkeypatch):
    monkeypatch.setattr(attempts, "refine_choice", None)
    monkeypatch.setattr(attempts, "CLEAR_GAIN", np.inf)
    found = attempt_in_initial_axes(search(n_iter=1), SILENT)
    assert found.decisions.choice.final.kind == "kriging" and found.error > 0.0


def test_other_axes_change_units_and_rows_alike():
    start = search(n_iter=1).start
    axes = np.random.default_rng(0).normal(size=(3, 2))
    there = start.in_axes(axes)
    assert there.data.rows == pytest.approx(start.data.rows @ axes)
    assert there.decisions.units.features(X) == pytest.approx(start.decisions.units.features(X) @ axes)
    transform = there.decisions.units.transform
    assert there.decisions.initial_metric == pytest.approx(transform @ transform.T)
    assert np.isnan(there.error)
