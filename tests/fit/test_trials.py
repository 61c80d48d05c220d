"""Trials in several axes: where gradients are learned, and which choices come through their races."""

import numpy as np
import pytest
from tests.fit.made_up import CLEAN, X, Y, search, trial

from localegop import LocalEGOPClassifier, LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial, SlopePolynomial
from localegop._engine.global_kriging import MOST_ROWS, GlobalKriging
from localegop._engine.logistic_process import LogisticProcess
from localegop._fit import trials
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import Search, Trial, anchor_points
from localegop._selection.folds import draw_folds
from localegop._selection.global_search import GlobalSearch


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ({}, 500),
        ({"max_neighbors": None}, 500),
        ({"schedule": "power"}, 5000),
        ({"schedule": "geometric"}, 5000),
        ({"exclusion_radius": 1.0}, 5000),
        ({"covariance_cap": 1.0}, 5000),
    ],
    ids=str,
)
def test_gradients_are_learned_at_some_points_or_at_all_where_lengths_are_given(parameters, count):
    points = anchor_points(LocalEGOPRegressor(**parameters)._settings(), 5000, 500)
    assert len(points) == count and len(np.unique(points)) == count


def test_other_axes_change_units_and_rows_alike():
    start = search(n_iter=1).start
    axes = np.random.default_rng(0).normal(size=(3, 2))
    there = start.in_axes(axes)
    assert there.data.rows == pytest.approx(start.data.rows @ axes)
    assert there.decisions.units.features(X) == pytest.approx(start.decisions.units.features(X) @ axes)
    transform = there.decisions.units.transform
    assert there.decisions.initial_metric == pytest.approx(transform @ transform.T)


def test_folds_are_learned_without_their_points_at_some_anchors(monkeypatch):
    monkeypatch.setattr(trials, "FOLD_ANCHORS", 40)
    one = trial(n_iter=2)
    fold = one.holdout.fold(1)
    assert fold.field(None).n == 192 and fold.field(None).anchors.n == len(fold.anchors) == 40
    assert len(fold.held_out) == 48 and len(fold.field(None).gradients) == 2
    held_out = {tuple(row) for row in one.start.data.rows[one.search.folds[1]]}
    assert {tuple(row) for row in fold.held_out.rows} == held_out
    assert not held_out & {tuple(row) for row in fold.anchors.rows}
    assert one.largest_size == 96.0 and one.widest == 96.0


def test_polynomials_and_global_processes_have_a_first_look_and_the_best_go_on():
    one = trial(n_iter=2)
    opening = list(one.opening.choices)
    assert {type(each.final) for each in opening} == {Polynomial, GlobalKriging}
    assert all(each.step == 0 for each in opening if isinstance(each.final, GlobalKriging))
    race = one.race
    assert race.points == 240 and 0 < len(race.choices) <= trials.MOST_COMPARED
    every, _ = one.holdout.errors([*opening, *one.grid.coarse().choices(3)], 0, 240)
    assert race.means.min() <= 1.05 * (race.weight @ every / race.weight.sum()).min()


def test_a_third_of_the_coarse_grid_comes_through_the_first_look():
    one = trial(n_iter=2, final="polynomial")
    coarse = one.grid.coarse().choices(3)
    errors, weight = one.holdout.errors(coarse, 0, one.looks.first)
    best = np.argsort(weight @ errors)[: len(coarse) // 3]
    assert len(one.opening.choices) == len(coarse) // 3 > 1
    # ranked by what is expected at new points, so not just by the errors seen, but mostly
    assert len({*one.opening.choices} & {coarse[k] for k in best}) >= 0.7 * len(best)


def test_the_best_kriging_is_also_tried_after_all_steps():
    opening = trial(n_iter=2, final="kriging").opening.choices
    before, later = ([each for each in opening if each.step == step] for step in (0, 2))
    assert len(before) == 4 and len(before) + len(later) == len(opening)
    # the best, and that with half and twice its length
    best = later[0].final
    assert best in [each.final for each in before]
    assert [each.final.length / best.length for each in later] == [1.0, 0.5, 2.0]


@pytest.mark.parametrize(
    ("parameters", "kinds"),
    [
        ({"final": "polynomial"}, {Polynomial}),
        ({"final": "kriging"}, {Kriging}),
        ({"final": "global"}, {GlobalKriging}),
        ({"max_neighbors": 60}, {Polynomial, Kriging}),
        ({"max_neighbors": 240, "final": "global"}, {GlobalKriging}),
    ],
    ids=["polynomial", "kriging", "global", "few neighbors", "as many neighbors as rows"],
)
def test_only_what_may_be_taken_has_a_first_look(parameters, kinds):
    assert {type(each.final) for each in trial(n_iter=1, **parameters).opening.choices} == kinds


@pytest.mark.parametrize("kind", [Polynomial, Kriging, GlobalKriging])
@pytest.mark.parametrize("labels", [Y, CLEAN], ids=["noise", "no noise"])
def test_a_trial_may_begin_with_one_kind_and_the_others_join_later(monkeypatch, kind, labels):
    found, looked = search(n_iter=1, labels=labels), []
    one = Trial(found, found.start, origin="gentle", first_kinds=(kind,))
    find = one._find_first
    monkeypatch.setattr(one, "_find_first", lambda each: looked.append(each) or find(each))
    assert {type(each.final) for each in one.opening.choices} == {kind}
    assert one.opening.points == one.looks.first and looked == [kind]
    assert one.race.choices and one.race.points == 240
    precise = bool(one.opening.means.min() < trials.FINE)
    assert precise == (labels is CLEAN)
    expected = {Polynomial, SlopePolynomial, GlobalKriging, kind} | ({Kriging} if precise else set())
    assert len(looked) == len(expected) and set(looked) == expected


def search_of_classes(**parameters):
    backend = ProcessBackend(merge_rows(X, np.eye(2)[(Y > 0.0).astype(int)], np.ones(240)))
    settings = LocalEGOPClassifier(n_iter=1, n_jobs=1, **parameters)._settings()
    return Search(backend, _start(backend, settings), draw_folds(240, 0))


def test_of_classes_further_trials_begin_with_the_process_that_was_best(monkeypatch):
    begun, best_near = [], GlobalSearch.best
    monkeypatch.setattr(
        GlobalSearch, "best", lambda self, guesses: begun.append(guesses) or best_near(self, guesses)
    )
    for found, counts in ((search_of_classes(), [2, 1]), (search(n_iter=1), [2, 2])):
        begun.clear()
        first = Trial(found, found.start).global_processes
        again = Trial(found, found.start).global_processes
        assert [len(guesses) for guesses in begun] == counts
        assert again[0].rough == first[0].rough
    found = search_of_classes()
    first = Trial(found, found.start).global_processes[0]
    Trial(found, found.start).global_processes  # noqa: B018
    assert begun[-1][0].length == pytest.approx(first.length) and begun[-1][0].ridge == first.ridge


@pytest.mark.parametrize(
    ("parameters", "most_rows", "kinds"),
    [
        ({}, MOST_ROWS, {GlobalKriging, LogisticProcess}),
        ({}, 200, {LogisticProcess, Polynomial}),
        ({"max_neighbors": 60}, MOST_ROWS, {Polynomial}),
        ({"final": "polynomial"}, MOST_ROWS, {Polynomial}),
    ],
    ids=["few rows", "many rows", "few neighbors", "polynomial"],
)
def test_polynomials_of_classes_do_not_compete_with_processes_of_all_rows(
    monkeypatch, parameters, most_rows, kinds
):
    monkeypatch.setattr("localegop._engine.settings.MOST_ROWS", most_rows)
    found = search_of_classes(**parameters)
    one = Trial(found, found.start)
    assert {type(each.final) for each in one.opening.choices} - {Kriging} == kinds
    assert any(type(each.final) is Polynomial for each in one.race.choices) is (Polynomial in kinds)


@pytest.mark.parametrize(("times", "compete"), [(1.9, True), (2.1, False)])
def test_polynomials_that_were_clearly_worse_in_other_axes_do_not_compete(times, compete):
    first, second = trial(), trial()
    is_process = [isinstance(one.final, GlobalKriging) for one in first.opening.choices]
    second.search.least_errors[Polynomial] = times * first.opening.means[is_process].min()
    kinds = {type(one.final) for one in second.opening.choices}
    assert (Polynomial in kinds) is compete


def test_the_least_errors_of_each_kind_are_noted():
    one = trial()
    least = {kind: np.inf for kind in (Polynomial, GlobalKriging)}
    for choice, mean in zip(one.opening.choices, one.opening.means, strict=True):
        if type(choice.final) in least:
            least[type(choice.final)] = min(least[type(choice.final)], mean)
    assert {kind: one.search.least_errors[kind] for kind in least} == least


def test_local_kriging_has_a_first_look_where_errors_are_small():
    found = search(n_iter=1, labels=CLEAN)
    kinds = {type(each.final) for each in Trial(found, found.start).opening.choices}
    assert kinds == {Polynomial, Kriging, GlobalKriging}


def test_a_smooth_and_a_rough_global_process_compete_unless_one_is_clearly_worse(monkeypatch):
    monkeypatch.setattr(trials, "NOT_CLEARLY_WORSE", np.inf)
    both = trial(n_iter=1).global_processes
    assert sorted(each.rough for each in both) == [False, True]
    monkeypatch.setattr(trials, "NOT_CLEARLY_WORSE", 1.0)
    assert trial(n_iter=1).global_processes == both[:1]


@pytest.mark.parametrize(("n", "competes"), [(MOST_ROWS, True), (MOST_ROWS + 1, False)])
def test_global_processes_compete_where_rows_are_few(n, competes):
    settings = LocalEGOPRegressor()._settings()
    assert settings.may_use_all(n) == competes


def test_finishing_a_race_tries_finer_sizes_and_larger_ridges():
    one = trial(n_iter=1, final="polynomial")
    before = one.race.means.min()
    one.finish(widen=True)
    race = one.race
    assert 0 < len(race.choices) <= trials.MOST_COMPARED and race.points == 240
    assert race.means.min() <= 1.05 * before
    grid = {*one.grid.choices(3)}
    assert any(each not in grid for each in race.choices)


@pytest.mark.parametrize("n_iter", [1, 2])
def test_races_of_one_or_two_choices(n_iter):
    """A third of two choices is one."""
    one = trial(n_iter=n_iter, degree=1, ridge=1e-2, schedule="power")
    assert len(one.grid.coarse().choices(3)) == 2
    one.finish(widen=True)
    assert one.race.choices


def test_only_kriging_is_left_where_it_is_asked_for():
    one = trial(n_iter=1, final="kriging")
    one.finish(widen=True)
    assert all(isinstance(each.final, Kriging) for each in one.race.choices)
    assert {each.step for each in one.race.choices} <= {0, 1}


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"final": "polynomial", "ridge": 1e-3}, lambda one: one.ridge == 1e-3),
        ({"degree": 1}, lambda one: one.degree == 1),
        ({"degree": 0}, lambda one: one.degree == 0),
        ({"degree": 2}, lambda one: one.degree == 2),
        ({"final": "polynomial", "schedule": "power"}, lambda one: one.size is None),
    ],
    ids=["ridge", "degree 1", "degree 0", "degree 2", "bandwidths"],
)
def test_what_was_asked_for_stays_through_all_rounds(parameters, told):
    one = trial(n_iter=2, **parameters)
    one.finish(widen=True)
    assert one.race.choices and all(map(told, one.race.choices))


def test_sizes_go_on_doubling_as_long_as_errors_fall(monkeypatch):
    """A linear function under noise: the wider, the better, up to half of what a center may look at."""
    monkeypatch.setattr("localegop._engine.settings.NEAREST", 60)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    labels = rows @ [1.0, 0.5] + rng.normal(size=600)
    backend = ProcessBackend(merge_rows(rows, labels[:, None], np.ones(600)))
    for max_neighbors, widest in (("auto", 240.0), (60, 30.0)):
        settings = LocalEGOPRegressor(
            n_jobs=1, n_iter=1, degree=1, ridge=1e-4, max_neighbors=max_neighbors
        )._settings()
        found = Search(backend, _start(backend, settings), draw_folds(600, 0))
        one = Trial(found, found.start)
        assert one.largest_size == 30.0 and one.widest == widest
        best = one._widen(Choice(0, 30.0, Polynomial(1, 0, 1e-4)))
        assert best.size == widest and best in one.race.choices


@pytest.mark.parametrize(("rows", "few"), [(199, True), (200, False)])
def test_folds_have_axes_of_their_own_below_a_hundred_rows_a_feature(rows, few):
    backend = ProcessBackend(merge_rows(X[:rows, :2], Y[:rows, None], np.ones(rows)))
    start = _start(backend, LocalEGOPRegressor(n_jobs=1)._settings())
    assert Search(backend, start, draw_folds(rows, 0)).few_rows == few


@pytest.mark.parametrize(("labels", "noisy"), [(CLEAN, 0), (Y, 1)], ids=["no noise", "noise"])
def test_kriging_for_noise_competes_where_the_best_of_the_others_is_not_precise(monkeypatch, labels, noisy):
    asked, those = [], trials.noisy_processes
    monkeypatch.setattr(trials, "noisy_processes", lambda *given: asked.append(given) or those(*given))
    assert trial(n_iter=1, labels=labels, final="kriging").opening.choices
    assert len(asked) == noisy
