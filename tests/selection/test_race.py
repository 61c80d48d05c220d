"""Races: choices, errors and points stay together, and what is expected from them."""

import numpy as np
import pytest
from tests.selection.made_up import MadeUpHoldout, choices

from localegop._engine.final_fits import Polynomial
from localegop._selection import race as races
from localegop._selection.race import Looks, Race, differences, expected_errors

RNG = np.random.default_rng(0)
TABLE = RNG.exponential(size=(50, 8)) + 0.1 * np.arange(8)
ONES = np.ones(100)


def holdout():
    return MadeUpHoldout(TABLE, 0.01 * np.arange(8), 1.0 + np.arange(50) % 3)


def expected(errors, sample_weight, variances):
    """Return what is expected of polynomials."""
    return expected_errors(errors, sample_weight, variances, np.zeros(len(variances), dtype=bool))


def numbers(race):
    return [one.step for one in race.choices]


def aligned(race, made_up):
    """Whether every column and row is that of its choice and point."""
    at = numbers(race)
    np.testing.assert_array_equal(race.errors, made_up.table[: race.points][:, at])
    np.testing.assert_array_equal(race.variances, made_up.factors[at])
    np.testing.assert_array_equal(race.weight, made_up.weight[: race.points])


def test_columns_and_points_stay_aligned():
    made_up = holdout()
    race = Race(made_up, choices(5))
    assert race.points == 0 and race.errors.shape == (0, 5)
    race.run_to(10)
    aligned(race, made_up)
    race.keep_only(np.array([1, 2, 4]))
    aligned(race, made_up)
    race.join(choices(8)[6:])
    aligned(race, made_up)
    race.run_to(35)
    aligned(race, made_up)
    race.keep(2)
    aligned(race, made_up)
    assert len(race.choices) == 2 and race.points == 35
    race.run_to(1000)
    assert race.points == 50
    aligned(race, made_up)


def test_little_by_little_is_the_same_as_at_once():
    slow, fast = Race(holdout(), choices(3)), Race(holdout(), choices(8))
    slow.run_to(7)
    slow.join(choices(6))
    slow.run_to(20)
    slow.join(choices(8))
    slow.run_to(50)
    fast.run_to(50)
    for name in ("errors", "variances", "weight", "means"):
        np.testing.assert_array_equal(getattr(slow, name), getattr(fast, name))
    assert slow.choices == fast.choices and slow.best == fast.best


def test_nothing_is_measured_twice():
    made_up = holdout()
    race = Race(made_up, choices(3))
    race.run_to(20)
    race.run_to(10)
    race.join(choices(4))
    race.run_to(30)
    race.join(choices(4))
    assert made_up.asked == [(0, 0, 3), (0, 20, 3), (0, 20, 1), (20, 30, 4)]


def test_the_best_are_kept_in_their_order():
    table = np.tile([3.0, 1.0, 4.0, 2.0, 5.0], (20, 1))
    table[:, [0, 2, 3, 4]] += np.tile([8.0, -8.0], 10)[:, None]  # not clearly worse: it may be chance
    made_up = MadeUpHoldout(table)
    race = Race(made_up, choices(5))
    race.run_to(20)
    assert race.best.step == 1
    race.keep(3)
    assert numbers(race) == [0, 1, 3]
    race.keep(100)
    assert numbers(race) == [0, 1, 3]
    race.keep(0)
    assert race.choices == [] and race.errors.shape == (20, 0)
    race.join(choices(5)[4:])
    assert numbers(race) == [4] and race.means.tolist() == [5.0]


def test_weights_count_in_means():
    race = Race(MadeUpHoldout([[1.0], [2.0]], weight=[3.0, 1.0]), choices(1))
    race.run_to(2)
    assert race.means.tolist() == [1.25]


def test_a_closer_look_finds_variances_at_more_points(monkeypatch):
    made_up, asked = holdout(), []
    monkeypatch.setattr(
        made_up, "variances", lambda some, stop: asked.append(stop) or np.full(len(some), 1.0 * stop)
    )
    race = Race(made_up, choices(2))
    race.look_closer()
    assert asked == [races.FEW_VARIANCES, races.MANY_VARIANCES] and race.variances.tolist() == [64.0, 64.0]


def test_a_certain_difference_counts_in_full():
    first = RNG.exponential(size=100)
    found = expected(np.column_stack([first, first + 0.5]), ONES, np.zeros(2))
    assert found == pytest.approx([0.0, 0.5])


def test_chance_does_not_count():
    """The mean differs by 0.001, but by 1 up or down at every single point."""
    first = np.full(100, 2.0)
    second = first + 0.001 + np.tile([1.0, -1.0], 50)
    seen, doubt = differences(np.column_stack([first, second]), ONES)
    assert seen == pytest.approx([0.0, 0.001]) and doubt == pytest.approx([0.0, 0.1])
    found = expected(np.column_stack([first, second]), ONES, np.zeros(2))
    assert found == pytest.approx([0.0, 0.001**2 / 0.101])


def test_a_difference_of_one_standard_error_counts_by_half():
    second = 0.1 + np.tile([1.0, -1.0], 50)
    found = expected(np.column_stack([np.zeros(100), second]), ONES, np.zeros(2))
    assert found == pytest.approx([0.0, 0.05])


def test_variance_breaks_ties():
    """The noise is at most the smallest error."""
    errors = np.full((100, 3), 1.2)
    found = expected(errors, ONES, np.array([0.2, 0.5, 0.1]))
    assert found == pytest.approx(1.2 * np.array([0.2, 0.5, 0.1]))


def test_a_small_difference_is_outweighed_by_variance_but_a_large_one_is_not():
    swing = np.tile([1.0, -1.0], 50)
    variances = np.array([0.5, 0.1])
    for gap, best in ((0.05, 1), (2.0, 0)):
        errors = np.column_stack([np.full(100, 2.0), 2.0 + gap + swing])
        assert np.argmin(expected(errors, ONES, variances)) == best


def test_without_errors_nothing_is_expected():
    assert expected(np.zeros((5, 2)), np.ones(5), np.array([0.3, 0.1])).tolist() == [0.0, 0.0]


def test_kriging_has_to_be_better_than_the_best_polynomial_by_more_than_chance():
    swing = np.tile([1.0, -1.0], 50)  # a standard error of 0.1
    for gain, wins in ((-0.01, False), (0.01, False), (0.2, True)):
        errors = np.column_stack([np.full(100, 9.0), 9.0 - gain + swing, np.full(100, 10.0)])
        found = expected_errors(errors, ONES, np.array([0.1, 7.0, 0.1]), np.array([False, True, False]))
        assert (np.argmin(found) == 1) == wins


def test_kriging_alone_is_compared_by_errors():
    errors = np.column_stack([np.full(100, 2.0), np.full(100, 3.0)])
    found = expected_errors(errors, ONES, np.array([5.0, 0.0]), np.ones(2, dtype=bool))
    assert found == pytest.approx([0.0, 1.0])


def test_clearly_worse_choices_leave_at_once():
    table = np.column_stack([np.ones(50), np.full(50, 1.5), 1.0 + np.tile([0.5, -0.4], 25)])
    race = Race(MadeUpHoldout(table), choices(3))
    race.run_to(50)
    race.keep(3)
    assert numbers(race) == [0, 2]


def test_points_of_no_weight_do_not_count():
    errors = np.column_stack([np.array([1.0, 1.0, 100.0]), np.array([2.0, 2.0, 0.0])])
    seen, doubt = differences(errors, np.array([1.0, 1.0, 0.0]))
    assert seen.tolist() == [0.0, 1.0] and doubt.tolist() == [0.0, 0.0]


def test_differences_from_another_choice_than_the_best():
    errors = np.tile([1.0, 3.0], (10, 1))
    assert differences(errors, np.ones(10), 1)[0] == pytest.approx([-2.0, 0.0])


def test_the_best_is_kept_even_if_another_was_clearly_better_at_the_points_seen():
    """Little variance may count for more than errors do."""
    table = np.column_stack([1.0 + 1e-3 * np.arange(50) % 0.01, 1.1 + 1e-3 * np.arange(50) % 0.02])
    race = Race(MadeUpHoldout(table, np.array([2.0, 0.01]), np.ones(50)), choices(2))
    race.run_to(50)
    seen, doubt = differences(race.errors, race.weight)
    assert seen[1] > races.CLEARLY * doubt[1]
    race.keep(1)
    assert numbers(race) == [1]


def test_more_rows_are_seen_at_more_points():
    few, some, many, more = (Looks.for_rows(n) for n in (500, races.FEW_ROWS, 2 * races.FEW_ROWS, 10**7))
    assert few == some == Looks()
    assert [Looks.for_rows(n).first for n in (10, 300, 499)] == [races.FEWEST_SEEN, 60, 99]
    assert many == Looks(2 * few.first, 2 * few.second, 2 * few.third, 2 * few.last)
    assert more.last == races.MORE_POINTS * few.last
    for looks in (few, many, more):
        assert 0 < looks.first < looks.second < looks.last
        assert all(isinstance(points, int) for points in vars(looks).values())


def test_choices_can_be_ranked_and_all_of_them_dropped():
    race = Race(MadeUpHoldout(np.tile([3.0, 1.0, 2.0], (20, 1))), choices(3))
    race.run_to(20)
    assert [one.step for one in race.ranked] == [1, 2, 0]
    race.keep(0)
    race.keep(2)
    assert race.choices == [] and race.errors.shape == (20, 0)


def test_half_as_much_again_is_clear_sooner():
    """A difference of many standard errors ends a race; one of half the error does with fewer of them."""
    points = np.arange(400)
    best = np.where(points % 2, 0.5, 1.5)  # of mean one
    much = best + 0.6 + np.where(points % 40 < 20, 5.0, -5.0) * 0.9  # standard error 0.225
    little = best + 0.2 + np.where(points % 40 < 20, 1.0, -1.0) * 1.3  # standard error 0.065
    kinds, weight = [Polynomial] * 3, np.ones(400)
    errors = np.column_stack([best, much, little])
    assert races.choose_best(errors.mean(axis=0), errors, weight, kinds, 3, 0).tolist() == [0, 2]
    sooner = best + 0.6 + np.where(points % 40 < 20, 5.0, -5.0) * 1.3  # standard error 0.325
    errors = np.column_stack([best, sooner])
    assert races.choose_best(errors.mean(axis=0), errors, weight, kinds[:2], 2, 0).tolist() == [0, 1]
