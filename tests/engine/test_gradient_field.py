"""The field strategy against a brute-force version of itself, written with the reference's functions."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from localegop._engine import chunks
from localegop._engine.gradient_field import (
    AGOP_WIDENING,
    GradientField,
    best_ridge,
    learn_field,
    spread_points,
)
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate
from localegop._engine.sites import LocalSite
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


def local_data(max_neighbors=None, threads=2):
    return LocalData(
        np.ascontiguousarray(X),
        np.ascontiguousarray(Y[:, None]),
        np.ones(60),
        kernel=as_kernel("gaussian"),
        max_neighbors=max_neighbors,
        radius=None,
        threads=threads,
        cutoff=1e-16,
    )


def learned(data, update, n_iter=3, points=ALL):
    """Field of some of the points."""
    site = LocalSite.own(data, points)
    return learn_field(site, data.subset(points), update, (RIDGE,), n_iter, SILENT)


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
def test_a_field_of_all_points_equals_brute_force(schedule):
    update = MetricUpdate(schedule, 0.6, 0.2, None)
    history, shapes, at_queries = brute_force(update, 3)
    data, queries = local_data(), np.ascontiguousarray(QUERIES)
    field = learned(data, update)
    assert field.shapes_at(data.rows, 3, ALL) == pytest.approx(shapes, rel=1e-6, abs=1e-8)
    for ours, theirs in zip(field.gradients, history, strict=True):
        assert ours[:, 0] == pytest.approx(theirs, rel=1e-6, abs=1e-8)
    recursion = field.follow(queries)
    for _ in range(3):
        recursion.advance()
    assert recursion.shape == pytest.approx(at_queries, rel=1e-6, abs=1e-8)
    steps = list(field.shapes(queries, 3))
    assert len(steps) == 4 and np.array_equal(steps[-1], recursion.shape)
    assert np.array_equal(field.shapes_at(queries, 3), recursion.shape)


SIZES = MetricUpdate(EffectiveSampleSize(20.0, 12.0, 3), 0.5, 0.2, None)


def test_the_own_gradient_of_an_anchor_does_not_count():
    data = local_data()
    field = learned(data, SIZES, n_iter=1)
    gradients = field.gradients[0].copy()
    gradients[7] += 10.0
    other = replace(field, gradients=(gradients,))
    ours, theirs = (each.shapes_at(data.rows, 1, ALL) for each in (field, other))
    assert np.array_equal(ours[7], theirs[7]) and not np.array_equal(ours, theirs)
    ours, theirs = (each.shapes_at(data.rows[7:8], 1) for each in (field, other))
    assert not np.array_equal(ours, theirs)  # a query at the same place counts it


@pytest.mark.parametrize("points", [ALL, np.arange(0, 60, 2)], ids=["all", "half"])
def test_fields_do_not_depend_on_threads_or_chunks(points, monkeypatch):
    one = learned(local_data(max_neighbors=30, threads=1), SIZES, points=points)
    monkeypatch.setattr(chunks, "SMALLEST", 7)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1.0)
    two = learned(local_data(max_neighbors=30, threads=2), SIZES, points=points)
    for ours, theirs in zip(one.gradients + one.loo_errors, two.gradients + two.loo_errors, strict=True):
        assert np.array_equal(ours, theirs)
    queries = np.ascontiguousarray(QUERIES)
    assert np.array_equal(one.shapes_at(queries, 3), two.shapes_at(queries, 3))


def test_every_anchor_looks_at_all_points():
    data, points = local_data(), np.arange(0, 60, 4)
    field = learned(data, SIZES, n_iter=1, points=points)
    whole = learned(data, SIZES, n_iter=1)
    assert field.n == 60 and field.anchors.n == 15 and field.largest_size == data.largest_size
    np.testing.assert_array_equal(field.gradients[0], whole.gradients[0][points])
    np.testing.assert_array_equal(field.loo_errors[0], whole.loo_errors[0][points])


def test_a_quarter_of_the_points_gives_nearly_the_same_shapes():
    bunch = make_helix(700, 3, noise=0.05, random_state=0, return_bunch=True)
    rows, labels = np.ascontiguousarray(bunch.data[:600]), bunch.target[:600, None] / bunch.target.std()
    data = local_data().like(rows, np.ascontiguousarray(labels), np.ones(600))
    update = MetricUpdate(EffectiveSampleSize(100.0, 20.0, 4), 0.5, 0.2, None)
    all_shapes, few_shapes = (
        learned(data, update, 4, spread_points(600, count)).shapes_at(bunch.data[600:], 4)
        for count in (600, 150)
    )
    gaps = np.linalg.norm(all_shapes - few_shapes, axis=(1, 2)) / np.linalg.norm(all_shapes, axis=(1, 2))
    assert np.median(gaps) < 0.1
    leading = [np.linalg.eigh(shapes)[1][:, :, -1] for shapes in (all_shapes, few_shapes)]
    assert np.median(np.abs(np.einsum("ia,ia->i", *leading))) > 0.99


def test_points_are_spread_evenly():
    assert spread_points(7, 7).tolist() == spread_points(7, 100).tolist() == list(range(7))
    assert spread_points(10, 4).tolist() == [0, 2, 5, 7]
    many = spread_points(100_500, 1000)
    assert len(np.unique(many)) == 1000 and many[0] == 0 and set(np.diff(many)) == {100, 101}


def test_the_best_ridge_has_the_least_error():
    sums = (np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert [best_ridge(each) for each in sums] == [1, 0]


def test_a_field_is_frozen():
    field = GradientField(local_data(), 60, 30.0, MetricUpdate(Geometric(), 0.6, 0.2, None))
    for name in ("anchors", "update", "gradients", "loo_errors"):
        with pytest.raises(FrozenInstanceError):
            setattr(field, name, None)
