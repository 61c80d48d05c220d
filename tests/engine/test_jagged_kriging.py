"""Processes of partly jagged functions: what is theirs alone; the rest is in test_global_kriging."""

import numpy as np
import pytest

from localegop import _core
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.jagged_kriging import WINDOW, JaggedKriging
from localegop._engine.sparse_kriging import solve_process

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(50, 3))


def solved(process, labels, rows=ROWS):
    return solve_process(process, rows, labels[:, None], np.ones(len(rows)), None)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [1, 7, 50])
def test_city_block_covariances(count, threads):
    centers, found = ROWS[:count] + 0.1, np.full((count, 50), np.nan)
    _core.city_block(ROWS, np.ascontiguousarray(centers), found, False, threads)
    expected = np.exp(-np.abs(centers[:, None] - ROWS).sum(axis=2))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_only_the_lower_triangle_is_filled_if_asked():
    found = np.full((50, 50), 7.0)
    _core.city_block(ROWS, ROWS, found, True, 1)
    expected = np.exp(-np.abs(ROWS[:, None] - ROWS).sum(axis=2))
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-13)
    assert (found[np.triu_indices(50, 1)] == 7.0).all()


def test_distances_are_summed_along_each_feature():
    matrix, found = RNG.normal(size=(50, 50)), np.zeros(3)
    matrix += matrix.T
    _core.weighted_distances(ROWS, matrix, found)
    expected = np.einsum("ik,ikr->r", matrix, np.abs(ROWS[:, None] - ROWS))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_without_a_jagged_part_it_is_a_gaussian_one():
    labels, asked = np.sin(ROWS[:, 0]), RNG.normal(size=(9, 3))
    process = JaggedKriging(1.3, 1e-3, jagged=0.0, inverse_lengths=(1.0, 2.0, 3.0))
    one, other = (
        solved(each, labels).at(asked, gradients=True) for each in (process, GlobalKriging(1.3, 1e-3))
    )
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.effective_size, other.effective_size, rtol=1e-12)


def test_at_the_value_of_a_row_the_slope_is_the_mean_of_both_sides():
    labels = (ROWS[:, 1] > 0.0).astype(float)
    process = solved(JaggedKriging(1.5, 1e-4, jagged=2.0, inverse_lengths=(0.0, 3.0, 0.0)), labels)
    here = RNG.normal(size=(1, 3))
    here[0, 1] = ROWS[7, 1]
    move = np.array([0.0, 1e-6, 0.0])
    ahead, value, behind = (process.at(here + sign * move).value[0, 0] for sign in (1.0, 0.0, -1.0))
    sides = (ahead - value) / 1e-6, (value - behind) / 1e-6
    assert abs(sides[0] - sides[1]) > 0.1  # it does bend there
    assert process.at(here, gradients=True).gradient[0, 0, 1] == pytest.approx(np.mean(sides), abs=1e-4)


def test_slopes_at_rows_are_those_over_a_window():
    labels, process = (
        np.sin(2.0 * ROWS[:, 0]),
        JaggedKriging(2.0, 1e-2, jagged=1.0, inverse_lengths=(0.5, 0.3, 0.0)),
    )
    found = solved(process, labels).without_own(np.arange(50)).gradient[:, 0]
    exact = solved(process, labels).gradients_without_own()[:, 0]
    assert np.array_equal(found, exact)
    for i in (3, 20, 31):
        kept = np.arange(50) != i
        system = solve_process(process, ROWS, labels[:, None], np.where(kept, 1.0, 1e-12), None)
        for r in range(2):
            wide = np.zeros((1, 3))
            wide[0, r] = WINDOW * ROWS[:, r].std()
            ahead, behind = (system.at(ROWS[[i]] + sign * wide).value[0, 0] for sign in (1.0, -1.0))
            assert found[i, r] == pytest.approx((ahead - behind) / (2.0 * wide[0, r]), abs=0.05)


def test_a_jump_is_followed_where_a_gaussian_process_swings():
    rows = RNG.uniform(-1.0, 1.0, size=(200, 2))
    labels, asked = np.sign(rows[:, 0]) + rows[:, 1], RNG.uniform(-1.0, 1.0, size=(400, 2))
    truth = np.sign(asked[:, 0]) + asked[:, 1]

    def error(process):
        return float(np.mean((solved(process, labels, rows).at(asked).value[:, 0] - truth) ** 2))

    smooth = min(error(GlobalKriging(length, 1e-4)) for length in (0.1, 0.2, 0.4, 0.8))
    assert error(JaggedKriging(1.0, 1e-4, jagged=1.0, inverse_lengths=(3.0, 0.0))) < 0.7 * smooth
