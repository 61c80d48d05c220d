"""Choices that came close, and halves of the rows."""

import numpy as np
import pytest

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._predict.rivals import PAIRS, Rivals, in_half

NUMBERS = np.arange(4000)


def test_without_a_comparison_all_halves_pick_the_one_choice():
    choice = Choice(1, 30.0, Polynomial(1, 0, 0.1))
    alone = Rivals.none(np.eye(2), choice)
    assert [each.choice for each in alone.every] == [choice] and alone.every[0].origin == "initial"
    assert alone.picks == (0,) * 16 and len(alone.picks) == 2 * PAIRS


@pytest.mark.parametrize("pair", range(3))
def test_two_halves_are_all_rows_and_share_none(pair):
    first, second = (in_half(NUMBERS, 2 * pair + k, seed=5) for k in (0, 1))
    assert np.array_equal(first, ~second)
    assert first.mean() == pytest.approx(0.5, abs=0.03)


def test_pairs_seeds_and_numbers_are_independent():
    halves = [in_half(NUMBERS, half, seed) for seed in (0, 1) for half in (0, 2, 4)]
    for k, one in enumerate(halves):
        assert all(np.mean(one == other) == pytest.approx(0.5, abs=0.04) for other in halves[:k])
    assert np.mean(halves[0][1:] == halves[0][:-1]) == pytest.approx(0.5, abs=0.04)


def test_a_number_is_in_the_same_half_whoever_else_is_asked_about():
    some = np.array([3999, 7, 7, 0])
    assert np.array_equal(in_half(some, 3, 1), in_half(NUMBERS, 3, 1)[some])
