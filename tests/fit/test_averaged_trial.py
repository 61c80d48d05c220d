"""Trials whose choices are compared by averages of the labels held out."""

from dataclasses import replace

import numpy as np
import pytest
from tests.fit.made_up import X, Y, trial

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._fit import averaged_trial, plan
from localegop._fit.averaged_trial import (
    AveragedTrial,
    average_labels_of,
    can_average,
    is_surely_beaten,
    noise_is_most,
)
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import MOST_WIDE_STEPS, Search, Trial
from localegop._selection.averaged_labels import AVERAGED_LOOKS
from localegop._selection.folds import draw_folds
from localegop._selection.global_search import as_choice
from localegop._selection.race import Race
from localegop.datasets import make_helix
from localegop.schedules import EffectiveSampleSize


def test_choices_meet_averages_of_labels_which_have_less_noise(monkeypatch):
    """The labels of all held-out points tell f at the first of each fold; from then on these count."""
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 4000)
    rows, noisy = make_helix(4000, 3, noise=0.3, random_state=1)
    _, clean = make_helix(4000, 3, random_state=1)
    backend = ProcessBackend(merge_rows(rows, noisy[:, None], np.ones(4000)))
    start = _start(backend, LocalEGOPRegressor(n_jobs=1, n_iter=1)._settings())
    folds = draw_folds(4000, 0)
    one = Trial(Search(backend, start, folds), start)
    assert can_average(one) and one.holdout.count == 4000
    averages = average_labels_of(one)
    assert [len(each) for each in averages] == [averaged_trial.POINTS // 5] * 5
    order = np.lexsort(rows.T[::-1])  # distinct rows are sorted
    truth = start.decisions.units.labels(clean[order][:, None])
    given = start.decisions.units.labels(noisy[order][:, None])
    for fold, own in zip(folds, averages, strict=True):
        first = fold[: len(own)]
        assert np.mean((own - truth[first]) ** 2) < 0.3 * np.mean((given[first] - truth[first]) ** 2)
    choice = Choice(0, 480.0, Polynomial(1, 0, 1e-4))
    before, _, _ = one.holdout.predictions(choice, 60)  # of the first fold
    one.race = Race(one.holdout, [choice])
    one.race.run_to(60)
    after = AveragedTrial(one, averages)
    assert (
        after.race.choices == [choice] and after.race.points == after.looks.second == AVERAGED_LOOKS.second
    )
    assert after.race.errors[:60, 0] == pytest.approx(((before - averages[0][:60]) ** 2)[:, 0])
    assert one.holdout.count == 4000 and one.race.points == 60  # stays as it was


def test_labels_of_few_rows_are_not_averaged(monkeypatch):
    assert not can_average(trial())
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 240)
    monkeypatch.setattr(
        averaged_trial, "LARGEST_RADIUS", (81.0 / 48.0) ** (1 / 3)
    )  # 80 of a fold's 48 rows
    assert can_average(trial())
    monkeypatch.setattr(averaged_trial, "LARGEST_RADIUS", (79.0 / 48.0) ** (1 / 3))
    assert not can_average(trial())


def test_a_fit_by_averages_tells_its_error_by_the_labels_given(monkeypatch):
    """Its choice is made by labels with little noise, but predictions are compared with those of users."""
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 3000)
    asked = []
    monkeypatch.setattr(
        plan, "average_labels_of", lambda one: asked.append(one.origin) or average_labels_of(one)
    )
    rows, noisy = make_helix(3000, 3, noise=0.5, random_state=2)
    model = LocalEGOPRegressor(n_jobs=1, final="polynomial").fit(rows, noisy)
    assert len(asked) == 1
    noise = 0.25 / 1.25  # of the variance of the labels
    assert 0.7 * noise < model.choice_.error < 1.4 * noise


def noisy_trial(monkeypatch, **parameters):
    """A trial that may compare by averages, at all points, by gradients from neighborhoods of 60 rows."""
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 200)
    monkeypatch.setattr(averaged_trial, "WIDE_GRADIENTS", 60.0)
    return trial(max_neighbors=None, **parameters)


def test_by_averages_gradients_come_from_wider_neighborhoods(monkeypatch):
    one = noisy_trial(monkeypatch, n_iter=4)
    first, later = Choice(0, 60.0, Polynomial(1, 0, 1e-4)), Choice(4, 60.0, Polynomial(1, 0, 1e-4))
    one.race = Race(one.holdout, [first, later])
    one.race.run_to(50)
    one = AveragedTrial(one, average_labels_of(one))
    wide = replace(later, step=MOST_WIDE_STEPS, gradient_size=60.0)
    assert one.race.choices == [first, wide]
    found = one.holdout.fold(0).field(60.0)
    assert len(found.gradients) == MOST_WIDE_STEPS
    assert [found.update.schedule.effective_size(t) for t in (0, 3)] == [60.0, 30.0]
    usual = one.holdout.fold(0).field(None)
    assert not np.allclose(found.gradients[0], usual.gradients[0])
    monkeypatch.setattr(averaged_trial, "WIDE_GRADIENTS", 40.0)
    wider = one.next_wider(replace(wide, gradient_size=40.0))
    assert {each.gradient_size for each in wider} == {80.0} and {each.step for each in wider} == {wide.step}
    after_none = one.first_wider(first)
    assert {each.gradient_size for each in after_none if each.step} == {40.0, 80.0}
    assert all(each.gradient_size is None for each in after_none if each.step == 0)


def test_steps_are_tried_again_by_gradients_as_wide_as_a_fit_that_was_better_without(monkeypatch):
    """Gradients of small neighborhoods are mostly noise; that must not keep all wider ones out."""
    one = noisy_trial(monkeypatch, n_iter=4)
    monkeypatch.setattr(averaged_trial, "WIDE_GRADIENTS", 20.0)
    one.race = Race(one.holdout, [Choice(0, 40.0, Polynomial(1, 0, 1e-4))])
    one.race.run_to(50)
    one = AveragedTrial(one, average_labels_of(one))
    monkeypatch.setattr(AveragedTrial, "largest_size", 40.0)
    monkeypatch.setattr(AveragedTrial, "widest", 1000.0)
    wider = one.next_wider(one.race.choices[0])
    assert {each.size for each in wider} == {80.0}
    assert {(each.step, each.gradient_size) for each in wider} == {(0, None), (1, 40.0)}
    monkeypatch.setattr(averaged_trial, "WIDEST_GRADIENTS", 30.0)
    again = one.next_wider(one.race.choices[0])
    assert {each.gradient_size for each in again if each.step} == {30.0}
    further = one.next_wider(replace(again[-1], gradient_size=30.0))
    assert {(each.size, each.gradient_size) for each in further} == {(160.0, 30.0)}


def test_by_averages_variances_count_with_the_noise_of_the_labels_as_given(monkeypatch):
    one = noisy_trial(monkeypatch)
    one.race = Race(one.holdout, [Choice(0, 60.0, Polynomial(1, 0, 1e-4))])
    one.race.run_to(50)
    by_averages = AveragedTrial(one, average_labels_of(one))
    assert one.holdout.noise is None
    assert by_averages.holdout.noise == pytest.approx(one.race.means.min())


@pytest.mark.parametrize(
    "parameters", [{"schedule": EffectiveSampleSize(80, 40, 2)}, {"covariance_cap": 1.0}]
)
def test_gradients_stay_as_asked_for_where_parameters_say_how(monkeypatch, parameters):
    one = noisy_trial(monkeypatch, **parameters)
    later = Choice(1, 60.0, Polynomial(1, 0, 1e-4))
    one.race = Race(one.holdout, [later])
    one.race.run_to(50)
    one = AveragedTrial(one, average_labels_of(one))
    assert one.race.choices == [later]


def test_points_are_the_rows_at_which_choices_are_compared(monkeypatch):
    one = noisy_trial(monkeypatch)
    assert np.array_equal(one.points, np.concatenate(one.search.folds))
    one.race = Race(one.holdout, [Choice(0, 60.0, Polynomial(1, 0, 1e-4))])
    one.race.run_to(50)
    averages = [one.start.data.labels[fold] for fold in one.search.folds]
    one = AveragedTrial(one, averages)
    _, labels, _ = one.holdout.predictions(one.race.choices[0], 240)
    assert sorted(one.points) == list(range(240))
    assert np.array_equal(labels, one.start.data.labels[one.points])


def test_noise_is_most_where_wide_polynomials_are_about_the_best():
    one, wide = trial(), Choice(0, 120.0, Polynomial(1, 0, 1e-4))
    one.race = Race(one.holdout, [wide])
    one.race.run_to(50)
    assert one.race.variances[0] < 0.05 and noise_is_most(one)
    narrow = replace(wide, size=12.0)
    one.race = Race(one.holdout, [narrow])
    one.race.run_to(50)
    assert one.race.variances[0] > 0.05 and not noise_is_most(one)
    one.race = Race(one.holdout, [as_choice(GlobalKriging(2.0, 1e-2))])
    one.race.run_to(50)
    assert not noise_is_most(one)


def test_labels_are_not_averaged_where_another_choice_is_surely_better():
    """f has details that wide neighborhoods average away, which the labels as given show."""
    one = trial(labels=np.sin(8.0 * X[:, 0]) + 0.1 * Y)
    wide, narrow = Choice(0, 120.0, Polynomial(1, 0, 1e-4)), Choice(0, 30.0, Polynomial(1, 0, 1e-4))
    one.race = Race(one.holdout, [wide])
    one.race.run_to(50)
    assert noise_is_most(one) and not is_surely_beaten(one, wide, one)
    one.race.join([narrow])
    assert one.race.means[1] < 0.5 * one.race.means[0]
    assert is_surely_beaten(one, wide, one) and not is_surely_beaten(one, narrow, one)


@pytest.mark.parametrize("beaten", [False, True])
def test_what_averages_lead_to_is_taken_unless_labels_speak_against_it(monkeypatch, beaten):
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 1000)
    monkeypatch.setattr(averaged_trial, "SMALL_VARIANCE", 1.0)
    monkeypatch.setattr(plan, "is_surely_beaten", lambda *given: beaten)
    rows, noisy = make_helix(1000, 3, noise=0.5, random_state=2)
    parameters = {"n_jobs": 1, "final": "polynomial", "random_state": 0}
    found = LocalEGOPRegressor(**parameters).fit(rows, noisy).choice_
    monkeypatch.setattr(averaged_trial, "FEWEST_LABELS", 1001)
    by_labels = LocalEGOPRegressor(**parameters).fit(rows, noisy).choice_
    assert (found == by_labels) is beaten
