"""The field strategy against a brute-force version of itself, written with the reference's functions."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from localegop._engine import gradient_field
from localegop._engine.gradient_field import AGOP_WIDENING, GradientField, best_ridge, learn_field
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate
from localegop._progress import SILENT
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
RIDGE = 1e-4
ALL = np.arange(60)


def local_data(max_neighbors=None):
    return LocalData(
        np.ascontiguousarray(X),
        np.ascontiguousarray(Y[:, None]),
        np.ones(60),
        kernel=as_kernel("gaussian"),
        max_neighbors=max_neighbors,
        radius=None,
        threads=2,
        cutoff=1e-16,
    )


def learned(data, update, n_iter=3, **options):
    """Field of all points, and the shapes that the last gradients lead to."""
    centers = data.all_own_centers(data.neighbor_lists(data.rows))
    return learn_field(data, update, (RIDGE,), centers, n_iter, SILENT, **options)


def scaled(shape, center, rest, update, t, widening):
    if not update.by_size:
        return shape / (update.schedule(t) if t > 0 else update.initial_scale / 3)
    size = min(widening * update.schedule.effective_size(t), 30.0)
    return shape * scale_for_effective_size(squared_distances(X[rest], center, shape), size, GAUSSIAN)


def average(center, rest, shape, gradients, update, t):
    metric = scaled(shape, center, rest, update, t, AGOP_WIDENING)
    w = kernel_weights(X[rest], center, metric, GAUSSIAN)
    return np.einsum("i,ia,ib->ab", w, gradients[rest], gradients[rest])


def unit(matrix):
    return matrix / np.trace(matrix)


def mixed(update, t, agop, shape, previous):
    if t == 0:
        return unit(agop)
    other, newest = (shape, unit(agop)) if update.by_size else (previous, agop)
    return unit(update.momentum * newest + (1 - update.momentum) * other)


def brute_force(update, n_iter, neighbors=60):
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
            metric = scaled(shapes[i], X[i], rest[i], update, t, 1.0)
            gradients[i] = local_linear(X[rest[i]], Y[rest[i]], X[i], metric, GAUSSIAN, RIDGE)[1]
        history.append(gradients)
        newest = [average(X[i], rest[i], shapes[i], gradients, update, t) for i in ALL]
        lists = [nearest[tuple(q)] for q in QUERIES]
        query_newest = [
            average(q, lists[k], at_queries[k], gradients, update, t) for k, q in enumerate(QUERIES)
        ]
        shapes = np.array([mixed(update, t, newest[i], shapes[i], agops and agops[i]) for i in ALL])
        at_queries = np.array(
            [
                mixed(update, t, query_newest[k], at_queries[k], query_agops and query_agops[k])
                for k in range(10)
            ]
        )
        agops, query_agops = newest, query_newest
    return history, shapes, at_queries


@pytest.mark.parametrize(
    "schedule", [EffectiveSampleSize(20, 12, 3), Geometric(0.5, 0.7)], ids=["size", "h"]
)
def test_field_equals_brute_force(schedule):
    update = MetricUpdate(schedule, 0.6, 0.2, None)
    history, shapes, at_queries = brute_force(update, 3)
    data = local_data()
    field, found = learned(data, update)
    assert found == pytest.approx(shapes, rel=1e-6, abs=1e-8)
    for ours, theirs in zip(field.gradients, history, strict=True):
        assert ours[:, 0] == pytest.approx(theirs, rel=1e-6, abs=1e-8)
    recursion = field.follow(data.centers(np.ascontiguousarray(QUERIES)))
    for _ in range(3):
        recursion.advance()
    assert recursion.shape == pytest.approx(at_queries, rel=1e-6, abs=1e-8)
    steps = list(field.shapes(data.centers(np.ascontiguousarray(QUERIES)), 3))
    assert len(steps) == 4 and np.array_equal(steps[-1], recursion.shape)


@pytest.mark.parametrize("schedule", [Geometric(), EffectiveSampleSize(12.0, 6.0)])
def test_kept_neighborhoods_change_nothing(monkeypatch, schedule):
    update = MetricUpdate(schedule, 0.6, 0.2, None)
    kept, shapes = learned(local_data(max_neighbors=30), update)
    monkeypatch.setattr(gradient_field, "KEPT_BYTES", 0.0)
    fresh, same = learned(local_data(max_neighbors=30), update)
    assert np.array_equal(shapes, same)
    for ours, theirs in zip(kept.gradients, fresh.gradients, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("schedule", [Geometric(), EffectiveSampleSize(12.0, 6.0)])
def test_the_last_average_is_left_out_where_nobody_goes_on(schedule):
    update = MetricUpdate(schedule, 0.6, 0.2, None)
    whole, _ = learned(local_data(), update)
    field, shapes = learned(local_data(), update, onward=False)
    before = learned(local_data(), update, n_iter=2)[1]
    for ours, theirs in zip(field.gradients, whole.gradients, strict=True):
        assert np.array_equal(ours, theirs)
    assert len(field.loo_errors) == 3 and field.loo_errors[0].shape == (60, 1)
    assert np.array_equal(shapes, before)


def test_the_best_ridge_has_the_least_error_over_all_parts():
    sums = [np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 2.0], [0.0, 0.0]])]
    assert [best_ridge(sums[:1]), best_ridge(sums[1:]), best_ridge(sums)] == [1, 0, 1]


def test_a_field_is_frozen():
    field = GradientField(local_data(), MetricUpdate(Geometric(), 0.6, 0.2, None))
    for name in ("data", "update", "gradients", "loo_errors"):
        with pytest.raises(FrozenInstanceError):
            setattr(field, name, None)
