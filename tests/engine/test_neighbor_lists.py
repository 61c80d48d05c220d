"""Lists of neighbors, and the search that makes them, against sorting all distances."""

import numpy as np
import pytest

from localegop import _core
from localegop._engine import chunks, neighbor_lists
from localegop._engine.local_data import LocalData
from localegop._engine.neighbor_lists import KeptLists, NeighborLists, NeighborSearch
from localegop.datasets import make_helix
from localegop.kernels import as_kernel
from localegop.reference import squared_distances

X, _ = make_helix(70, 3, random_state=0)
X, QUERIES = np.ascontiguousarray(X[:60]), np.ascontiguousarray(X[60:])
GRID = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)


def local_data(rows=X, max_neighbors=None, radius=None):
    options = {"kernel": as_kernel("gaussian"), "radius": radius, "threads": 2}
    n = len(rows)
    return LocalData(rows, np.zeros((n, 1)), np.ones(n), max_neighbors=max_neighbors, **options)


def search(rows, limit=None, radius=None):
    points = _core.Points(rows, np.zeros((len(rows), 1)), np.ones(len(rows)))
    return NeighborSearch(rows, points, limit, radius)


def single(lists):
    return [lists[i : i + 1].indices.tolist() for i in range(len(lists.start) - 1)]


def nearest_by_sorting(rows, center, count):
    order = np.argsort(np.sum((rows - center) ** 2, axis=1), kind="stable")
    return np.sort(order[:count]).tolist()


def within_by_brute_force(rows, center, radius, limit):
    """Points within a radius; of these at most so many, of equally far ones the first."""
    squared = np.sum((rows - center) ** 2, axis=1)
    inside = np.flatnonzero(squared <= radius**2)
    if len(inside) < 2:
        return nearest_by_sorting(rows, center, min(len(rows), rows.shape[1] + 2))
    return np.sort(inside[np.argsort(squared[inside], kind="stable")[:limit]]).tolist()


def test_the_nearest_points_are_listed():
    lists = local_data(max_neighbors=7).neighbor_lists(QUERIES)
    for k, query in enumerate(QUERIES):
        nearest = np.argsort(np.sum((X - query) ** 2, axis=1))[:7]
        assert lists.indices[lists.start[k] : lists.start[k + 1]].tolist() == np.sort(nearest).tolist()
    assert local_data(max_neighbors=60).neighbor_lists(QUERIES) is None


@pytest.mark.parametrize(("limit", "most", "visible"), [(20, 10, 10), (10, 20, 20), (None, 30, 30)])
def test_data_can_see_fewer_or_more_neighbors(limit, most, visible):
    data = local_data(max_neighbors=limit)
    seeing = data.seeing(most)
    assert seeing.max_visible == visible and seeing.n == data.n and data.limit == limit
    lists = seeing.neighbor_lists(QUERIES)
    distances = squared_distances(X, QUERIES[0], np.eye(3))
    assert set(lists.indices[: lists.start[1]]) == set(np.argsort(distances)[:visible])
    everything = data.seeing(None)
    assert everything.limit is None and everything.neighbor_lists(QUERIES) is None


def test_lists_are_put_together_and_picked():
    lists = NeighborLists.of([np.array(each, dtype=np.int32) for each in ([3, 5], [], [1], [0, 2, 4])])
    assert single(lists) == [[3, 5], [], [1], [0, 2, 4]]
    assert single(lists.pick(np.array([3, 1, 3]))) == [[0, 2, 4], [], [0, 2, 4]]
    assert single(lists[1:]) == [[], [1], [0, 2, 4]]
    assert single(lists[:0]) == single(NeighborLists.of([])) == []
    assert single(lists.pick(np.zeros(0, dtype=np.intp))) == []


def test_of_equally_far_points_the_first_are_looked_at():
    for count in (3, 20, 80):
        lists = local_data(GRID, max_neighbors=count).neighbor_lists(GRID)
        for i, center in enumerate(GRID):
            order = np.argsort(np.sum((GRID - center) ** 2, axis=1), kind="stable")
            assert lists[i : i + 1].indices.tolist() == np.sort(order[:count]).tolist()


@pytest.mark.parametrize("rows", [X, GRID], ids=["helix", "ties"])
def test_lists_do_not_depend_on_the_way_they_are_found(monkeypatch, rows):
    centers = np.ascontiguousarray(rows[::3])
    data = local_data(rows, max_neighbors=7)
    by_tree = data.neighbor_lists(centers)
    monkeypatch.setattr(neighbor_lists, "TREE_DIMENSION", 1)
    monkeypatch.setattr(neighbor_lists, "_nearest_in_tree", None)
    by_distances = data.neighbor_lists(centers)
    assert np.array_equal(by_tree.indices, by_distances.indices)


@pytest.mark.parametrize("limit", [None, 4, 11])
@pytest.mark.parametrize("radius", [1.5, 3.0, 100.0])
@pytest.mark.parametrize("rows", [X, GRID], ids=["helix", "ties"])
def test_a_radius_lists_what_brute_force_does(rows, radius, limit):
    centers = np.vstack([rows, rows[:5] + 0.3, np.full((1, rows.shape[1]), 50.0)])
    found = single(search(rows, limit, radius).lists(centers, 2))
    assert found == [within_by_brute_force(rows, center, radius, limit) for center in centers]


def test_a_radius_and_a_limit_hold_at_once_whatever_the_chunks(monkeypatch):
    whole = search(GRID, 4, 2.0).lists(np.tile(GRID, (3, 1)), 1)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1.0)
    parts = search(GRID, 4, 2.0).lists(np.tile(GRID, (3, 1)), 2)
    assert np.array_equal(whole.indices, parts.indices) and np.array_equal(whole.start, parts.start)
    assert np.diff(whole.start).max() == 4


def test_centers_with_nobody_near_are_isolated():
    rows = np.array([[0.0], [1.0], [10.0]])
    centers = np.array([[0.4], [10.0], [5.0], [0.0], [100.0]])
    for radius, expected in ((1.0, [False, True, True, False, True]), (None, [False] * 5)):
        assert search(rows, radius=radius).isolated(centers, 1).tolist() == expected


@pytest.mark.parametrize("options", [{"limit": 7}, {"radius": 0.8}, {"limit": 7, "radius": 0.8}], ids=str)
def test_kept_lists_are_searched_for_once_each(options):
    rng = np.random.default_rng(3)
    rows, centers, asked = rng.normal(size=(60, 2)), rng.normal(size=(20, 2)), []
    searching = search(rows, **options)

    def find(some):
        asked.append(len(some))
        return searching.some_lists(some, 1)

    kept, whole = KeptLists(find, centers), searching.lists(centers, 1)
    for some in (np.arange(5), np.arange(3, 9), np.array([8, 2, 15])):
        found, expected = kept.pick(some), whole.pick(some)
        np.testing.assert_array_equal(found.start, expected.start)
        np.testing.assert_array_equal(found.indices, expected.indices)
    assert asked == [5, 4, 1]
    np.testing.assert_array_equal(kept[:].indices, whole.indices)
