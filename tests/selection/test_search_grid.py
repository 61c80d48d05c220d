"""Choice of the final fit: the grid, the one-standard-error rule, what is allowed."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.local_data import LocalData
from localegop._selection.search_grid import (
    SearchGrid,
    grid_for,
    pick_choice,
    quadratic_directions_for,
    sizes_for,
)
from localegop.kernels import as_kernel

GRID = SearchGrid(
    steps=(0, 1), sizes=(60.0, 30.0), linear=True, quadratic_directions=(0, 1), ridges=(1e-4, 1e-2)
)


def local_data(n, dimension=2):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(np.zeros((n, dimension)), np.zeros((n, 1)), np.ones(n), **options)


def constants(choice):
    return choice.step, choice.size, choice.final.n_quadratic_directions, choice.ridge


def errors_with(best, margin, noise, n=400, seed=0):
    """Squared errors (step, size, directions, ridge, point): one option better by a margin."""
    rng = np.random.default_rng(seed)
    errors = 1.0 + margin + noise * rng.normal(size=(2, 2, 2, 2, n))
    errors[best] -= margin
    return errors


def test_a_clear_winner_is_taken():
    choice = pick_choice(GRID, errors_with((1, 1, 1, 0), 0.5, 0.1), np.ones(400), dimension=3)
    assert constants(choice) == (1, 30.0, 1, 1e-4) and choice.degree == 2
    assert choice.error == pytest.approx(1.0, abs=0.05)


def test_among_equals_the_least_variance_is_taken():
    errors = np.random.default_rng(0).exponential(size=400) * np.ones((2, 2, 2, 2, 1))
    errors[1, 1, 1, 0, ::2] -= 0.2  # better at half of the points, worse at the other half:
    errors[1, 1, 1, 0, 1::2] += 0.199  # the best on average, but not by a standard error
    choice = pick_choice(GRID, errors, np.ones(400), dimension=3)
    assert constants(choice) == (0, 60.0, 0, 1e-2) and choice.degree == 1


def test_weights_count():
    errors = errors_with((1, 1, 0, 0), 0.0, 0.01)
    errors[..., :200] += 1.0
    errors[1, 1, 0, 0, :200] -= 1.0
    errors[0, 0, 0, 0, 200:] -= 0.5
    weight = np.where(np.arange(400) < 200, 1.0, 100.0)
    assert pick_choice(GRID, errors, weight, dimension=3).size == 60.0
    assert pick_choice(GRID, errors, weight[::-1], dimension=3).size == 30.0


def test_quadratic_terms_need_a_direction_and_enough_points():
    better_but_without_direction = errors_with((0, 0, 1, 0), 0.5, 0.01)
    choice = pick_choice(GRID, better_but_without_direction, np.ones(400), dimension=3)
    assert choice.final.n_quadratic_directions == 0
    better_but_too_small = errors_with((1, 1, 1, 0), 0.5, 0.01)
    assert pick_choice(GRID, better_but_too_small, np.ones(400), dimension=25).size == 60.0
    fewer_points_than_terms = pick_choice(GRID, better_but_too_small, np.ones(400), dimension=500)
    assert constants(fewer_points_than_terms)[1:3] == (60.0, 0)


def test_grids_fit_the_data():
    assert sizes_for(local_data(1000))[0] == 480.0
    assert np.all(np.diff(sizes_for(local_data(1000))) < 0)
    assert sizes_for(local_data(7)) == (3.5,)
    assert quadratic_directions_for(1) == (0, 1)
    assert quadratic_directions_for(5) == (0, 1, 2, 3)
    assert quadratic_directions_for(50) == (0,)


@pytest.mark.parametrize(
    ("degree", "dimension", "linear", "directions"),
    [
        ("auto", 3, True, (0, 1, 2, 3)),
        (0, 3, False, (0,)),
        (1, 3, True, (0,)),
        (2, 3, True, (1, 2, 3)),
        (2, 50, True, (1,)),  # more terms than are tried otherwise, but asked for
    ],
)
def test_the_grid_has_the_degree_asked_for(degree, dimension, linear, directions):
    settings = LocalEGOPRegressor(degree=degree, n_iter=2)._settings()
    grid = grid_for(settings, local_data(100, dimension))
    assert (grid.linear, grid.quadratic_directions) == (linear, directions)
    assert grid.steps == (0, 1, 2) and grid.ridges == settings.ridges and grid.sizes == (30.0, 15.0)
    by_bandwidth = LocalEGOPRegressor(degree=degree, n_iter=2, schedule="power")._settings()
    assert grid_for(by_bandwidth, local_data(100, dimension)).sizes is None


def test_without_points_to_choose_by_the_default_is_taken():
    choice = GRID.default()
    assert constants(choice) == (1, 60.0, 0, 1e-2) and np.isnan(choice.error)
    assert choice.sizes == (60.0,)
    scheduled = SearchGrid((0, 3), None, True, (2,), (1e-3,)).default()
    assert constants(scheduled) == (3, None, 2, 1e-3) and scheduled.degree == 2
    assert scheduled.sizes is None


def test_a_grid_with_one_choice_is_settled():
    assert not GRID.settled and GRID.counts == (2, 2, 2, 2)
    assert SearchGrid((1,), None, False, (0,), (0.1,)).settled
    assert GRID.at_steps((1, 7)).steps == (1,)


@pytest.mark.parametrize(
    ("degree", "dimension", "left"), [(1, 50, (60.0, 40.0)), (1, 90, (60.0,)), (0, 90, (60.0, 40.0, 15.0))]
)
def test_sizes_too_small_for_a_linear_fit_are_not_tried(degree, dimension, left):
    grid = SearchGrid((0, 1), (60.0, 40.0, 15.0), degree > 0, (0,), (1e-3,))
    assert grid.wide_enough(dimension).sizes == left
