"""The grid of polynomial fits: what is tried first, around the best, and in a last look."""

from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial, SlopePolynomial
from localegop._engine.local_data import LocalData
from localegop._selection.search_grid import SearchGrid, grid_for, quadratic_directions_for, sizes_for
from localegop.kernels import as_kernel

GRID = SearchGrid(
    steps=(0, 1), sizes=(60.0, 30.0), linear=True, quadratic_directions=(0, 1), ridges=(1e-4, 1e-2)
)


def local_data(n, dimension=2):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(np.zeros((n, dimension)), np.zeros((n, 1)), np.ones(n), **options)


def constants(choice):
    return choice.step, choice.size, choice.final.n_quadratic_directions, choice.ridge


def test_the_choices_are_all_that_make_sense():
    """Two steps, sizes, numbers of directions and ridges, without directions at step 0."""
    found = [constants(choice) for choice in GRID.choices(3)]
    assert len(found) == len(set(found)) == 12
    assert {each[:3] for each in found} == {
        (0, 60.0, 0),
        (0, 30.0, 0),
        (1, 60.0, 0),
        (1, 30.0, 0),
        (1, 60.0, 1),
        (1, 30.0, 1),
    }


def test_quadratic_terms_need_enough_points():
    quadratic = {c.size for c in GRID.choices(25) if c.final.n_quadratic_directions}
    assert quadratic == {60.0}  # 50 terms need 40 points
    fewer_points_than_terms = [constants(c)[1:3] for c in GRID.choices(500)]
    assert set(fewer_points_than_terms) == {(60.0, 0)}


def test_where_no_steps_are_taken_directions_are_those_of_the_units():
    grid = SearchGrid((0,), (60.0,), True, (1,), (1e-4,))
    assert [constants(c) for c in grid.choices(2)] == [(0, 60.0, 1, 1e-4)]


LARGE = SearchGrid(tuple(range(5)), (120.0, 60.0, 30.0, 15.0), True, (0, 1, 2, 3), (1e-6, 1e-4, 1e-2, 0.1))


def test_a_coarse_grid_has_every_other_step_and_ridge():
    coarse = LARGE.coarse()
    assert coarse.steps == (0, 2, 4) and coarse.sizes == LARGE.sizes
    assert coarse.quadratic_directions == (0, 1, 3) and coarse.ridges == (1e-4, 0.1)
    assert {*coarse.choices(2)} < {*LARGE.choices(2)}
    assert GRID.coarse().steps == (0, 1)
    assert replace(LARGE, steps=tuple(range(151))).coarse().steps == (0, 30, 60, 90, 120, 150)
    assert replace(LARGE, ridges=(0.1,)).coarse().ridges == (0.1,)


@pytest.mark.parametrize(
    ("step", "steps", "directions"),
    [(0, (0, 1), (0, 1, 2, 3)), (2, (1, 2, 3), (0, 1, 2, 3)), (4, (3, 4), (0, 1, 2, 3))],
)
def test_around_the_best_of_a_coarse_grid_everything_is_tried(step, steps, directions):
    choice = Choice(step, 60.0, Polynomial(1, 0, 1e-4))
    around = LARGE.around(choice)
    assert around.steps == steps and around.sizes == (120.0, 60.0, 30.0)
    assert around.quadratic_directions == directions and around.ridges == LARGE.ridges
    assert choice in around.choices(2)


def test_step_0_has_no_directions():
    first = Choice(0, 60.0, Polynomial(1, 0, 1e-4))
    short = replace(LARGE, steps=(0, 1))
    for grid in (short.around(first), LARGE.finer(first, 500.0), LARGE.at_size(960.0, [0])):
        assert grid.steps == (0,) and grid.quadratic_directions == (0,)
        assert all(c.degree == 1 for c in grid.choices(2))
    only = replace(LARGE, steps=(0,), quadratic_directions=(1, 2))
    assert only.at_size(960.0, [0]).quadratic_directions == (1, 2)


def test_a_last_look_has_finer_sizes_and_larger_ridges():
    choice = Choice(2, 60.0, Polynomial(2, 1, 1e-4))
    finer = LARGE.finer(choice, 500.0)
    assert finer.steps == (2,) and finer.sizes == pytest.approx((60.0 * 2**0.5, 60.0, 60.0 / 2**0.5))
    assert finer.ridges == (*LARGE.ridges, 0.3, 1.0) and finer.quadratic_directions == (0, 1, 2, 3)
    assert LARGE.finer(choice, 70.0).sizes == pytest.approx((60.0, 60.0 / 2**0.5))


def test_what_was_asked_for_stays_in_a_last_look():
    given = SearchGrid((0, 1), (100.0,), True, (0, 1), (0.01,))
    finer = given.finer(Choice(1, 100.0, Polynomial(1, 0, 0.01)), 1000.0)
    assert finer.sizes == (100.0,) and finer.ridges == (0.01,)
    scheduled = replace(given, sizes=None).finer(Choice(1, None, Polynomial(1, 0, 0.01)), 1000.0)
    assert scheduled.sizes is None and scheduled.quadratic_directions == (0, 1)


def test_a_last_look_where_no_size_fits_and_where_two_ridges_compete():
    choice = Choice(2, 60.0, Polynomial(2, 1, 1e-4))
    assert LARGE.finer(choice, 30.0).sizes == (60.0,)
    two = replace(LARGE, ridges=(1e-4, 1e-2), sizes=(60.0, 30.0)).finer(choice, 500.0)
    assert two.ridges == (1e-4, 1e-2, 0.3, 1.0) and len(two.sizes) == 3


def test_a_wider_look_has_one_size_some_steps_and_few_directions():
    wider = LARGE.at_size(960.0, [0, 3])
    assert wider.steps == (0, 3) and wider.sizes == (960.0,)
    assert wider.quadratic_directions == (0, 1, 2) and wider.ridges == (*LARGE.ridges, 0.3, 1.0)
    seen = {step: set() for step in wider.steps}
    for choice in wider.choices(2):
        seen[choice.step].add(choice.final.n_quadratic_directions)
    assert seen == {0: {0}, 3: {0, 1, 2}}
    of_gradients = LARGE.at_size(960.0, [0, 3], 480.0).choices(2)
    assert {(one.step, one.gradient_size) for one in of_gradients} == {(0, None), (3, 480.0)}
    best = next(one for one in of_gradients if one.step == 3)
    assert {one.gradient_size for one in LARGE.finer(best, 2000.0).choices(2)} == {480.0}


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


@pytest.mark.parametrize(
    ("degree", "dimension", "left"), [(1, 50, (60.0, 40.0)), (1, 90, (60.0,)), (0, 90, (60.0, 40.0, 15.0))]
)
def test_sizes_too_small_for_a_linear_fit_are_not_tried(degree, dimension, left):
    grid = SearchGrid((0, 1), (60.0, 40.0, 15.0), degree > 0, (0,), (1e-3,))
    assert grid.wide_enough(dimension).sizes == left


def test_fits_to_slopes_may_be_to_fewer_rows():
    """Each row brings one equation for its label, and one for each feature."""
    informed = GRID.informed(2.0)
    assert informed.sizes == (60.0, 30.0, 7.5, 3.75)
    found = informed.choices(4)
    assert {type(one.final) for one in found} == {SlopePolynomial}
    assert {one.final.slope_weight for one in found} == {2.0}
    assert {one.size for one in found} == {60.0, 30.0, 7.5, 3.75}
    assert {one.size for one in informed.choices(30)} == {60.0, 30.0, 7.5, 3.75}
    assert {one.size for one in GRID.choices(30)} == {60.0, 30.0}
    narrow = replace(informed, sizes=(3.75, 2.0))
    assert {one.size for one in narrow.choices(4)} == {3.75}  # a fit is made to three rows at least
    assert replace(GRID, sizes=None).informed(1.0).sizes is None
    assert replace(GRID, sizes=(20.0,)).informed(1.0).sizes == (20.0,)
