"""The field strategy against a brute-force version of itself, written with the reference's functions."""

import numpy as np
import pytest

from localegop._engine import gradient_field as strategies
from localegop._engine import local_data as local_regression
from localegop._engine.gradient_field import AGOP_WIDENING, GradientField
from localegop._engine.local_data import Candidates, LocalData
from localegop._engine.recursion import Rules
from localegop._progress import Progress
from localegop.datasets import make_helix
from localegop.kernels import as_kernel
from localegop.reference import (
    KERNELS,
    kernel_weights,
    local_linear,
    scale_for_effective_size,
    squared_distances,
)
from localegop.schedules import EffectiveSampleSize, Geometric

X, Y = make_helix(70, 3, random_state=0)
X, Y, QUERIES = X[:60], (Y[:60] - Y.mean()) / Y.std(), X[60:]
GAUSSIAN = KERNELS["gaussian"]
RIDGE, SILENT = 1e-4, Progress(1.0, "", 0)
ALL = np.arange(60)


def field_of(rules, max_neighbors=None):
    data = LocalData(
        np.ascontiguousarray(X),
        np.ascontiguousarray(Y[:, None]),
        np.ones(60),
        kernel=as_kernel("gaussian"),
        max_neighbors=max_neighbors,
        radius=None,
        threads=2,
        cutoff=1e-16,
    )
    return GradientField(data, rules, (RIDGE,))


def scaled(shape, center, rest, rules, t, widening):
    if not rules.by_size:
        return shape * rules.scale(t, 3)
    size = min(widening * rules.size(t, 60), 30.0)
    return shape * scale_for_effective_size(squared_distances(X[rest], center, shape), size, GAUSSIAN)


def average(center, rest, shape, gradients, rules, t):
    metric = scaled(shape, center, rest, rules, t, AGOP_WIDENING)
    w = kernel_weights(X[rest], center, metric, GAUSSIAN)
    return np.einsum("i,ia,ib->ab", w, gradients[rest], gradients[rest])


def unit(matrix):
    return matrix / np.trace(matrix)


def mixed(rules, t, agop, shape, previous):
    if t == 0:
        return unit(agop)
    other, newest = (shape, unit(agop)) if rules.by_size else (previous, agop)
    return unit(rules.momentum * newest + (1 - rules.momentum) * other)


def brute_force(rules, n_iter, neighbors=60):
    """Gradients of every step, and the shapes of training points and queries after the last."""
    nearest = {
        tuple(c): np.sort(np.argsort(np.sum((X - c) ** 2, axis=1), kind="stable")[:neighbors])
        for c in np.vstack([X, QUERIES])
    }
    rest = [np.setdiff1d(nearest[tuple(X[i])], [i]) for i in ALL]
    shapes, at_queries = np.tile(np.eye(3) / 3, (60, 1, 1)), np.tile(np.eye(3) / 3, (10, 1, 1))
    history, agops, query_agops = [], None, None
    for t in range(n_iter):
        gradients = np.empty((60, 3))
        for i in ALL:
            metric = scaled(shapes[i], X[i], rest[i], rules, t, 1.0)
            gradients[i] = local_linear(X[rest[i]], Y[rest[i]], X[i], metric, GAUSSIAN, RIDGE)[1]
        history.append(gradients)
        newest = [average(X[i], rest[i], shapes[i], gradients, rules, t) for i in ALL]
        lists = [nearest[tuple(q)] for q in QUERIES]
        query_newest = [
            average(q, lists[k], at_queries[k], gradients, rules, t) for k, q in enumerate(QUERIES)
        ]
        shapes = np.array([mixed(rules, t, newest[i], shapes[i], agops and agops[i]) for i in ALL])
        at_queries = np.array(
            [
                mixed(rules, t, query_newest[k], at_queries[k], query_agops and query_agops[k])
                for k in range(10)
            ]
        )
        agops, query_agops = newest, query_newest
    return history, shapes, at_queries


@pytest.mark.parametrize(
    "schedule", [EffectiveSampleSize(20, 12, 3), Geometric(0.5, 0.7)], ids=["size", "h"]
)
def test_field_equals_brute_force(schedule):
    rules = Rules(schedule, 0.6, 0.2, None)
    history, shapes, at_queries = brute_force(rules, 3)
    field = field_of(rules)
    assert field.learn(3, None, SILENT) == pytest.approx(shapes, rel=1e-6, abs=1e-8)
    for ours, theirs in zip(field.gradients, history, strict=True):
        assert ours[:, 0] == pytest.approx(theirs, rel=1e-6, abs=1e-8)
    recursion = field.follow(np.ascontiguousarray(QUERIES), None)
    for _ in range(3):
        recursion.advance()
    assert recursion.shape == pytest.approx(at_queries, rel=1e-6, abs=1e-8)


def test_candidates_are_the_nearest_points():
    data = field_of(Rules(Geometric(), 0.6, 0.2, None), max_neighbors=7).data
    lists = data.candidates(np.ascontiguousarray(QUERIES))
    for k, query in enumerate(QUERIES):
        nearest = np.argsort(np.sum((X - query) ** 2, axis=1))[:7]
        assert lists.indices[lists.start[k] : lists.start[k + 1]].tolist() == np.sort(nearest).tolist()
    assert field_of(Rules(Geometric(), 0.6, 0.2, None), max_neighbors=60).data.candidates(QUERIES) is None


@pytest.mark.parametrize(("limit", "most", "reachable"), [(20, 10, 10), (10, 20, 10), (None, 30, 30)])
def test_narrowed_data_look_at_the_nearest_few(limit, most, reachable):
    data = field_of(Rules(Geometric(), 0.6, 0.2, None), limit).data
    narrow = data.narrowed(most)
    assert narrow.reachable == reachable and narrow.n == data.n
    lists = narrow.candidates(np.ascontiguousarray(QUERIES))
    distances = squared_distances(X, QUERIES[0], np.eye(3))
    assert set(lists.indices[: lists.start[1]]) == set(np.argsort(distances)[:reachable])


def test_restricted_lists_leave_out_and_renumber():
    lists = Candidates(np.array([0, 3, 5]), np.array([0, 2, 4, 1, 4], dtype=np.int32))
    fewer = lists.restricted(np.array([0, 1]), np.array([0, 3, 4]), 5)
    assert fewer.start.tolist() == [0, 2, 3]
    assert fewer.indices.tolist() == [0, 2, 2]
    part = lists[1:2]
    assert (part.start.tolist(), part.indices.tolist()) == ([0, 2], [1, 4])


def test_of_equally_far_points_the_first_are_looked_at():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    settings = {"kernel": as_kernel("gaussian"), "radius": None, "threads": 2}
    for count in (3, 20, 80):
        data = LocalData(grid, np.zeros((81, 1)), np.ones(81), max_neighbors=count, **settings)
        lists = data.candidates(grid)
        for i, center in enumerate(grid):
            order = np.argsort(np.sum((grid - center) ** 2, axis=1), kind="stable")
            assert lists[i : i + 1].indices.tolist() == np.sort(order[:count]).tolist()


def test_candidates_do_not_depend_on_the_way_they_are_found(monkeypatch):
    data = field_of(Rules(Geometric(), 0.6, 0.2, None), max_neighbors=7).data
    by_tree = data.candidates(np.ascontiguousarray(QUERIES))
    monkeypatch.setattr(local_regression, "TREE_DIMENSION", 2)
    by_distances = data.candidates(np.ascontiguousarray(QUERIES))
    assert np.array_equal(by_tree.indices, by_distances.indices)


@pytest.mark.parametrize("schedule", [Geometric(), EffectiveSampleSize(12.0, 6.0)])
def test_kept_neighborhoods_change_nothing(monkeypatch, schedule):
    def learned():
        field = field_of(Rules(schedule, 0.6, 0.2, None), max_neighbors=30)
        return field, field.learn(3, field.data.own_candidates(), SILENT)

    kept, shapes = learned()
    monkeypatch.setattr(strategies, "KEPT_BYTES", 0.0)
    fresh, same = learned()
    assert np.array_equal(shapes, same)
    for ours, theirs in zip(kept.gradients, fresh.gradients, strict=True):
        assert np.array_equal(ours, theirs)
