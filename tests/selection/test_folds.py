"""Points to hold out: how many, which ones, and what the others see."""

import numpy as np
import pytest

from localegop._engine.local_data import LocalData
from localegop._selection.folds import (
    FoldResult,
    count_folds,
    draw_folds,
    hold_out,
    hold_out_in_axes,
    many_points,
)
from localegop.kernels import as_kernel

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 3))
HELD_OUT = np.array([3, 10, 11, 40, 59])
REST = np.setdiff1d(np.arange(60), HELD_OUT)


def local_data(max_neighbors=None, radius=None):
    options = {"kernel": as_kernel("gaussian"), "radius": radius, "threads": 1}
    labels = np.arange(60.0)[:, None]
    return LocalData(ROWS, labels, 1.0 + np.arange(60.0), max_neighbors=max_neighbors, **options)


def single(lists):
    return [lists[i : i + 1].indices.tolist() for i in range(len(lists.start) - 1)]


def fold_of(data):
    everybody = np.arange(60)
    return hold_out(data, everybody, data.neighbor_lists(data.rows), HELD_OUT, 60 - len(HELD_OUT))


@pytest.mark.parametrize("n", [10, 999, 1000])
def test_few_points_are_each_held_out_once(n):
    parts = draw_folds(n, 0)
    assert np.sort(np.concatenate(parts)).tolist() == list(range(n))
    assert len(parts) == 5


@pytest.mark.parametrize(("n", "count"), [(2000, 3), (4000, 2), (5000, 1), (200_000, 1)])
def test_many_points_hold_out_enough(n, count):
    parts = draw_folds(n, 0)
    held_out = np.concatenate(parts)
    assert len(parts) == count
    assert len(np.unique(held_out)) == len(held_out) >= 1000
    assert max(len(part) for part in parts) <= min(n // 5, 1000)


def test_folds_depend_on_the_seed_and_on_nothing_else():
    for n in (30, 20_000):
        same, again, other = draw_folds(n, 7), draw_folds(n, 7), draw_folds(n, 8)
        assert all(np.array_equal(a, b) for a, b in zip(same, again, strict=True))
        assert not np.array_equal(same[0], other[0])
        assert all(np.all(np.diff(part) > 0) for part in same)


def test_points_are_many_where_one_fold_is_enough():
    assert [count_folds(n) for n in (10, 1000, 1001, 4999, 5000)] == [5, 5, 5, 2, 1]
    assert [many_points(n) for n in (4999, 5000)] == [False, True]


def test_points_held_out_are_seen_by_nobody():
    fold = fold_of(local_data(max_neighbors=12))
    assert np.array_equal(fold.data.rows, ROWS[REST])
    assert np.array_equal(fold.data.sample_weight, 1.0 + REST)
    assert np.array_equal(fold.targets.rows, ROWS[REST])
    assert np.array_equal(fold.targets.left_out, np.arange(55))
    assert np.array_equal(fold.held_out.rows, ROWS[HELD_OUT]) and fold.held_out.left_out is None
    assert fold.labels[:, 0].tolist() == HELD_OUT.tolist()


def test_lists_of_a_fold_are_the_lists_before_without_the_points_held_out():
    data = local_data(max_neighbors=12)
    fold, before = fold_of(data), single(data.neighbor_lists(ROWS))
    for centers, points in ((fold.targets, REST), (fold.held_out, HELD_OUT)):
        found = [REST[each].tolist() for each in single(centers.lists)]
        assert found == [[j for j in before[i] if j not in HELD_OUT] for i in points]


def test_lists_that_become_too_short_are_filled():
    data = local_data(max_neighbors=2)
    fold = fold_of(data)
    lengths = np.diff(fold.held_out.lists.start)
    assert lengths.tolist() == [5] * 5  # each of them had itself and one more
    nearest = np.argsort(np.sum((ROWS[REST] - ROWS[3]) ** 2, axis=1))[:5]
    assert single(fold.held_out.lists)[0] == np.sort(nearest).tolist()


def test_without_a_limit_there_are_no_lists():
    fold = fold_of(local_data())
    assert fold.targets.lists is None and fold.held_out.lists is None


def test_some_of_the_points_can_be_learned_at():
    data, points = local_data(max_neighbors=12), np.array([2, 3, 5, 40])
    lists = data.neighbor_lists(data.rows[points])
    fold = hold_out(data, points, lists, HELD_OUT, 500)
    assert np.array_equal(fold.targets.rows, ROWS[[2, 5]])
    assert REST[fold.targets.left_out].tolist() == [2, 5]
    assert np.array_equal(fold.held_out.rows, ROWS[[3, 40]])
    assert fold.data.n_total == 500 and fold.labels[:, 0].tolist() == [3.0, 40.0]


def test_a_fold_in_other_axes_searches_its_neighbors_there():
    axes = RNG.normal(size=(3, 2))
    fold = hold_out_in_axes(local_data(max_neighbors=12), HELD_OUT, axes)
    rows = ROWS @ axes
    assert fold.data.rows == pytest.approx(rows[REST]) and fold.data.dimension == 2
    assert fold.held_out.rows == pytest.approx(rows[HELD_OUT])
    for centers, points in ((fold.targets, REST), (fold.held_out, HELD_OUT)):
        for listed, i in zip(single(centers.lists), points, strict=True):
            nearest = np.argsort(np.sum((rows[REST] - rows[i]) ** 2, axis=1))[:12]
            assert listed == np.sort(nearest).tolist()


def test_the_largest_size_is_half_of_what_a_center_sees():
    sizes = [FoldResult(np.zeros(0), np.zeros(0), 3, 100, n, None).largest_size for n in (100, 40, 1)]
    assert sizes == [50.0, 20.0, 1.0]
