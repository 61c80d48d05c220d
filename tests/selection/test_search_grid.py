"""Choice of the final fit: folds, the one-standard-error rule, what is allowed."""

import numpy as np
import pytest

from localegop._fit.plan import steps_of_first
from localegop._selection.search_grid import Menu, bends_for, folds, pick, sizes_for

MENU = Menu(steps=(0, 1), sizes=(60.0, 30.0), degree=1, bends=(0, 1), ridges=(1e-4, 1e-2))


def errors_with(best, margin, noise, n=400, seed=0):
    """Squared errors (step, size, bends, ridge, point): one option better than the rest by a margin."""
    rng = np.random.default_rng(seed)
    errors = 1.0 + margin + noise * rng.normal(size=(2, 2, 2, 2, n))
    errors[best] -= margin
    return errors


def test_a_clear_winner_is_taken():
    choice = pick(MENU, errors_with((1, 1, 1, 0), 0.5, 0.1), np.ones(400), dimension=3)
    assert (choice.step, choice.size, choice.bends, choice.ridge) == (1, 30.0, 1, 1e-4)
    assert choice.error == pytest.approx(1.0, abs=0.05)


def test_among_equals_the_least_variance_is_taken():
    errors = np.random.default_rng(0).exponential(size=400) * np.ones((2, 2, 2, 2, 1))
    errors[1, 1, 1, 0, ::2] -= 0.2  # better at half of the points, worse at the other half:
    errors[1, 1, 1, 0, 1::2] += 0.199  # the best on average, but not by a standard error
    choice = pick(MENU, errors, np.ones(400), dimension=3)
    assert (choice.step, choice.size, choice.bends, choice.ridge) == (0, 60.0, 0, 1e-2)


def test_weights_count():
    errors = errors_with((1, 1, 0, 0), 0.0, 0.01)
    errors[..., :200] += 1.0
    errors[1, 1, 0, 0, :200] -= 1.0
    errors[0, 0, 0, 0, 200:] -= 0.5
    share = np.where(np.arange(400) < 200, 1.0, 100.0)
    assert pick(MENU, errors, share, dimension=3).size == 60.0
    assert pick(MENU, errors, share[::-1], dimension=3).size == 30.0


def test_bends_need_a_direction_and_enough_points():
    better_but_without_direction = errors_with((0, 0, 1, 0), 0.5, 0.01)
    assert pick(MENU, better_but_without_direction, np.ones(400), dimension=3).bends == 0
    better_but_too_small = errors_with((1, 1, 1, 0), 0.5, 0.01)
    assert pick(MENU, better_but_too_small, np.ones(400), dimension=25).size == 60.0
    fewer_points_than_terms = pick(MENU, better_but_too_small, np.ones(400), dimension=500)
    assert (fewer_points_than_terms.size, fewer_points_than_terms.bends) == (60.0, 0)


@pytest.mark.parametrize("n", [10, 999, 1000])
def test_few_points_are_each_held_out_once(n):
    parts = folds(n, np.random.default_rng(0))
    assert np.sort(np.concatenate(parts)).tolist() == list(range(n))
    assert len(parts) == 5


@pytest.mark.parametrize(("n", "count"), [(2000, 3), (4000, 2), (5000, 1), (200_000, 1)])
def test_many_points_hold_out_enough(n, count):
    parts = folds(n, np.random.default_rng(0))
    held_out = np.concatenate(parts)
    assert len(parts) == count
    assert len(np.unique(held_out)) == len(held_out) >= 1000
    assert max(len(part) for part in parts) <= min(n // 5, 1000)


def test_menus_fit_the_data():
    assert sizes_for(1000)[0] == 480.0
    assert np.all(np.diff(sizes_for(1000)) < 0)
    assert sizes_for(7) == (3.5,)
    assert bends_for(1) == (0, 1)
    assert bends_for(5) == (0, 1, 2, 3)
    assert bends_for(50) == (0,)


@pytest.mark.parametrize(
    ("n", "steps", "tested"),
    [(4999, (0, 1, 2, 3), (0, 1, 2, 3)), (5000, (0, 1, 2, 3), (0, 2)), (5000, (0, 1), (0, 1))],
)
def test_first_attempt_is_short_where_points_are_many(n, steps, tested):
    assert steps_of_first(n, steps) == tested


@pytest.mark.parametrize(
    ("degree", "dimension", "left"), [(1, 50, (60.0, 40.0)), (1, 90, (60.0,)), (0, 90, (60.0, 40.0, 15.0))]
)
def test_sizes_too_small_for_a_linear_fit_are_not_tried(degree, dimension, left):
    menu = Menu((0, 1), (60.0, 40.0, 15.0), degree, (0,), (1e-3,))
    assert menu.fitting(dimension).sizes == left
