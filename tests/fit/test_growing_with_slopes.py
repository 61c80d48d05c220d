"""Processes of few functions that know slopes grow in one trial, where others may be left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.selection.made_up import MadeUpHoldout
from tests.selection.test_gradient_search import data

from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_kriging import GradientKriging
from localegop._fit.growing import let_functions_grow
from localegop._fit.trials import Trial
from localegop._selection import gradient_search
from localegop._selection.global_search import as_choice
from localegop._selection.race import Race

GOOD = GradientKriging(3.0, 1e-4, False, 3, 1e-3, 8)
EXACT = GradientKriging(3.0, 1e-4, False, 3, 1e-3)
BAD = GradientKriging(0.01, 1.0, False, 3, 10.0, 0)


class ByHand(MadeUpHoldout):
    """Errors of processes at points held out: as given for the first ones, the last for any other."""

    def __init__(self, errors: list[float]) -> None:
        super().__init__(np.tile(errors, (50, 1)))
        self.met: list[GradientKriging] = []

    def errors(self, some, start, stop):  # type: ignore[no-untyped-def]
        self.met += [one.final for one in some if one.final not in self.met]
        numbers = [min(self.met.index(one.final), self.table.shape[1] - 1) for one in some]
        return self.table[start:stop][:, numbers], self.weight[start:stop]

    def variances(self, some, stop):  # type: ignore[no-untyped-def]
        return np.zeros(len(some))


def trial(processes: list[GradientKriging], errors: list[float], points: int = 50) -> SimpleNamespace:
    everything = data(100, 3)
    holdout = ByHand(errors)
    opening = Race(holdout, [as_choice(one) for one in processes])
    opening.run_to(points)
    holdout.fold = lambda k: SimpleNamespace(everything=everything)  # type: ignore[attr-defined]
    return SimpleNamespace(opening=opening, holdout=holdout)


@pytest.fixture(autouse=True)
def few_equations_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_search, "MOST_EQUATIONS", 200)
    monkeypatch.setattr(gradient_search, "MOST_FUNCTIONS", 120)


def test_it_grows_in_its_trial_and_what_errs_more_without_a_row_is_left_out() -> None:
    one, other = trial([BAD, GOOD], [0.9, 1.0, 0.5]), trial([GOOD], [1.2])
    let_functions_grow([one, other])  # type: ignore[list-item]
    assert [choice.final.n_places for choice in one.opening.choices] == [30]
    assert [choice.final for choice in other.opening.choices] == [GOOD]


def test_errors_without_a_row_tell_trials_apart_that_a_first_look_does_not() -> None:
    worse = GradientKriging(0.01, 1.0, False, 3, 10.0, 8)
    one, other = trial([worse], [1.0]), trial([GOOD], [1.001, 0.5])
    let_functions_grow([one, other])  # type: ignore[list-item]
    assert len(one.opening.choices) == 1
    assert 30 in [choice.final.n_places for choice in other.opening.choices]


def test_what_is_far_behind_does_not_grow() -> None:
    one, other = trial([GOOD], [4.0]), trial([BAD], [1.0])
    let_functions_grow([one, other])  # type: ignore[list-item]
    assert [choice.final for choice in one.opening.choices] == [GOOD]


@pytest.mark.parametrize(("errors", "decided"), [([0.1, 10.0], True), ([0.99, 1.0], False)])
@pytest.mark.parametrize(("process", "points"), [(GOOD, 30), (EXACT, 40)])
def test_a_process_that_knows_slopes_and_is_clearly_ahead_is_all_that_is_left(
    process: GradientKriging, points: int, errors: list[float], decided: bool
) -> None:
    race = trial([process], errors, points=20).opening
    race.join([as_choice(GlobalKriging(1.0, 1e-2))])
    race.holdout.table += 0.1 * np.random.default_rng(0).normal(size=race.holdout.table.shape)
    race.holdout.first_count = 30
    fold = SimpleNamespace(looks=SimpleNamespace(first=20, second=45), holdout=race.holdout)
    assert Trial._is_decided_by_slopes(fold, race) is decided  # type: ignore[arg-type]
    assert race.points == points and len(race.choices) == (1 if decided else 2)
