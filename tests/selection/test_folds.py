"""Points to hold out: how many, and which ones."""

import numpy as np
import pytest

from localegop._selection.folds import (
    FEWEST_POINTS,
    MOST_HELD_OUT,
    N_FOLDS,
    ONE_FOLD,
    draw_folds,
)


@pytest.mark.parametrize("n", [FEWEST_POINTS, 999, 5000, ONE_FOLD - 1])
def test_every_point_is_held_out_once(n):
    folds = draw_folds(n, 0)
    assert len(folds) == N_FOLDS
    assert np.sort(np.concatenate(folds)).tolist() == list(range(n))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


@pytest.mark.parametrize(("n", "count"), [(ONE_FOLD, ONE_FOLD // N_FOLDS), (10**6, MOST_HELD_OUT)])
def test_of_very_many_points_one_set_is_enough(n, count):
    (fold,) = draw_folds(n, 0)
    assert len(np.unique(fold)) == len(fold) == count
    assert fold.min() >= 0 and fold.max() < n


@pytest.mark.parametrize("n", [1000, ONE_FOLD])
def test_the_first_points_of_a_fold_are_a_fair_sample(n):
    """Races begin with few points, which therefore must not come in the order of the rows."""
    for fold in draw_folds(n, 0):
        assert np.any(np.diff(fold) < 0)
        assert 0.4 * n < fold[:100].mean() < 0.6 * n


@pytest.mark.parametrize("n", [30, ONE_FOLD])
def test_folds_depend_on_the_seed_and_on_nothing_else(n):
    same, again, other = draw_folds(n, 7), draw_folds(n, 7), draw_folds(n, 8)
    assert all(np.array_equal(a, b) for a, b in zip(same, again, strict=True))
    assert not np.array_equal(same[0], other[0])
