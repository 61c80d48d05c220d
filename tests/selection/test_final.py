"""The final: finalists meet more points, but only as long as it matters which of them is taken."""

import numpy as np
import pytest
from tests.selection.made_up import MadeUpHoldout, choices

from localegop._engine.choice import Choice
from localegop._engine.gradient_kriging import GradientKriging
from localegop._fit.trials import _keep_one_with_slopes
from localegop._selection import final
from localegop._selection.final import LAST_FINALISTS, Final
from localegop._selection.race import Looks, Race

RNG = np.random.default_rng(0)


def race_of(errors, variances=None, points=100, weight=None):
    race = Race(MadeUpHoldout(errors, variances, weight), choices(np.shape(errors)[1]))
    race.run_to(points)
    return race


def swinging(gap, swing, n=1600):
    """Errors of two choices that differ by a gap, up or down by a swing at every point."""
    return np.column_stack([np.ones(n), 1.0 + gap + swing * np.tile([1.0, -1.0], n // 2)])


def noisy(means, n=200):
    """Errors of choices with such means at the first hundred points, and at the next ones."""
    noise = RNG.normal(size=(n, len(means)))
    for first in range(0, n, 50):
        noise[first : first + 50] -= noise[first : first + 50].mean(axis=0)
    return 2.0 + np.asarray(means) + noise


def test_a_clear_winner_needs_no_more_points():
    race = race_of(swinging(0.5, 0.1), [0.1, 0.1])
    final = Final([race])
    final.decide()
    assert final.points == race.points == 100 and final.best[1].step == 0


def test_what_does_not_matter_is_not_decided():
    """The difference is within its error, but both are small against the error expected."""
    race = race_of(swinging(0.0, 0.05), [0.1, 0.1])
    Final([race]).decide()
    assert race.points == 100


def test_what_matters_is_decided_by_more_points():
    """Standard errors fall from 0.1 at 100 points to 0.025 at all, and the difference becomes certain."""
    race = race_of(swinging(0.12, 1.0), [0.1, 0.1])
    final = Final([race])
    final.decide()
    assert race.points == 400 and final.best[1].step == 0


def test_it_ends_with_the_last_point():
    race = race_of(swinging(0.0, 1.0, n=300), [0.1, 0.1])
    Final([race]).decide()
    assert race.points == 300


@pytest.mark.parametrize(("first_fold", "points"), [(50, 200), (250, 400)])
@pytest.mark.parametrize(("scale", "limit"), [(1.0, "MOST_NOISY_POINTS"), (1e-4, "MOST_POINTS")])
def test_it_ends_after_some_thousand_points_or_the_first_fold(
    monkeypatch, first_fold, points, scale, limit
):
    monkeypatch.setattr(final, limit, 150)  # the other limit is beyond all points
    race = race_of(scale * swinging(0.0, 1.0, n=600), [0.1, 0.1])
    race.holdout.first_count = first_fold
    Final([race]).decide()
    assert race.points == points  # from 100 on they are doubled


def test_two_finalists_of_all_races_meet_more_points():
    one, two = race_of(noisy(0.1 * np.arange(5))), race_of(noisy(0.05 + 0.1 * np.arange(5)))
    Final([one, two]).decide()
    kept = [[each.step for each in race.choices] for race in (one, two)]
    assert kept == [[0], [0]] and sum(map(len, kept)) == LAST_FINALISTS
    assert one.points == two.points == 200


def test_eight_meet_the_third_look_and_half_of_them_the_last():
    one, two = race_of(noisy(0.02 * np.arange(7))), race_of(noisy(0.01 + 0.02 * np.arange(7)))
    Final([one, two]).find_finalists(Looks(50, 100, 150, 180))
    asked = [(each[:2], each[2]) for race in (one, two) for each in race.holdout.asked]
    assert [count for span, count in asked if span == (100, 150)] == [4, 4]
    assert [count for span, count in asked if span == (150, 180)] == [2, 2]
    assert [[each.step for each in race.choices] for race in (one, two)] == [[0, 1], [0, 1]]


def test_choices_that_are_clearly_worse_do_not_reach_the_final():
    race = race_of(noisy([0.0, 0.2, 5.0]))
    Final([race]).find_finalists(Looks(50, 100, 150, 180))
    assert [each.step for each in race.choices] == [0, 1]


def test_the_points_met_are_those_of_the_race_that_is_farthest():
    errors = np.ones((400, 1))
    assert Final([race_of(errors, points=200), race_of(errors, points=100)]).points == 200


def test_a_race_without_finalists_is_left_out():
    errors = swinging(0.12, 1.0)
    one, two = race_of(np.hstack([errors, errors + 0.01]), 4 * [0.1]), race_of(errors + 5.0, 2 * [0.1])
    final = Final([two, one])
    final.decide()
    assert two.choices == [] and two.points == 100 and one.points > 100
    assert final.best[0] == 1 and final.points == one.points


def test_the_error_told_is_the_mean_of_the_choice_at_all_points_met():
    errors = swinging(0.12, 1.0) + RNG.exponential(size=(1600, 1))
    weight = 1.0 + np.arange(1600) % 2
    race = race_of(errors, [0.1, 0.05], weight=weight)
    final = Final([race])
    final.decide()
    number, choice = final.best
    met = race.points
    expected = np.average(errors[:met, choice.step], weights=weight[:met])
    assert number == 0 and choice.error == pytest.approx(expected, rel=1e-12)


def test_it_is_not_the_smallest_error_if_that_is_chance():
    race = race_of(swinging(0.01, 1.0), [0.5, 0.1])
    _, choice = Final([race]).best
    assert choice.step == 1 and choice.error == pytest.approx(1.01) and race.means.min() == 1.0


def test_the_smaller_variance_wins_between_races_of_equal_errors():
    errors = np.ones((200, 1))
    final = Final([race_of(errors, [0.5]), race_of(errors, [0.1])])
    final.decide()
    assert final.best[0] == 1 and final.best[1].error == 1.0


@pytest.mark.parametrize("alone", [True, False])
def test_a_process_with_slopes_meets_more_points_only_beside_others(alone):
    slow = Choice(0, None, GradientKriging(1.0, 1e-3))
    race = Race(MadeUpHoldout(swinging(0.1, 0.05)), [slow, *choices(2)[1:]][: 1 if alone else 2])
    race.run_to(100)
    final = Final([race])
    final._run_to(600)
    assert race.points == (100 if alone else 600) and final.best[1].final == slow.final


def test_the_best_of_the_processes_with_slopes_goes_on():
    processes = [Choice(k, None, GradientKriging(1.0 + k, 1e-3)) for k in range(2)]
    table = np.tile([2.0, 1.0, 3.0], (100, 1))
    race = Race(MadeUpHoldout(table), [*processes, *choices(3)[2:]])
    race.run_to(50)
    _keep_one_with_slopes(race)
    assert race.choices == [processes[1], choices(3)[2]]
    _keep_one_with_slopes(race)
    assert len(race.choices) == 2 and race.errors.shape == (50, 2)


def test_a_race_that_has_met_fewer_points_meets_those_of_the_others():
    early, late = race_of(noisy([0.0, 0.5]), points=60), race_of(noisy([0.1, 0.6]), points=100)
    final = Final([early, late])
    final.find_finalists(Looks(60, 100, 100, 100))
    assert early.points == late.points == 100
