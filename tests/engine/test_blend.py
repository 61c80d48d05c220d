"""Fits kept at centers, and how they are blended."""

import numpy as np
import pytest

from localegop import _core
from localegop._engine.blend import bytes_each, can_blend
from localegop._engine.centers import Widths
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.local_data import LocalData
from localegop.kernels import KERNELS

RNG = np.random.default_rng(0)
DIMENSION = 3
ROWS = RNG.normal(size=(150, DIMENSION))
CENTERS = ROWS[:40].copy()
SHAPE = np.diag([0.7, 0.2, 0.1])
SHAPES = np.tile(SHAPE, (len(CENTERS), 1, 1))
KRIGING = [
    Kriging(2.0, 1e-3),
    Kriging(4.0, 1e-2, trend=False),
    Kriging(8.0, 1e-1, rough=True),
]
FINAL_FITS = [Polynomial(0, 0, 1e-6), Polynomial(1, 0, 1e-6), Polynomial(2, 2, 1e-6), *KRIGING]


def data_of(labels, sample_weight=None):
    weight = np.ones(len(ROWS)) if sample_weight is None else sample_weight
    options = {"max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(ROWS, labels, weight, kernel=KERNELS["gaussian"], **options)


def kept_at_centers(data, final):
    return final.keep(data, data.centers(CENTERS), SHAPES, Widths.of_sizes((40.0,), len(CENTERS)))


def alone(kept, center, queries):
    """Answers of one center: in a list of two, the farther center has no weight."""
    lists = np.empty((len(queries), 2), dtype=np.int32)
    for i, query in enumerate(queries):
        lists[i] = center, np.argmax(np.sum((CENTERS - query) ** 2, axis=1))
    return kept.blend(queries, lists, 1, 1)[:2]


def taper(squared, farthest):
    """What a center's distance is divided by, given the plain ones of it and of the last in the list."""
    return (1.0 - (squared / farthest) ** 2) ** 2


def labels_of_two_outputs():
    return np.column_stack([np.sin(ROWS[:, 0]) + ROWS[:, 1], ROWS[:, 2] * ROWS[:, 0]])


@pytest.mark.parametrize("final", FINAL_FITS, ids=str)
def test_at_its_center_a_kept_fit_is_the_final_fit(final):
    data = data_of(labels_of_two_outputs(), RNG.uniform(0.5, 2.0, len(ROWS)))
    widths = Widths.of_sizes((40.0,), len(CENTERS))
    fits = final.fit(data, data.centers(CENTERS), SHAPES, widths)
    kept = kept_at_centers(data, final)
    for k in range(len(CENTERS)):
        value, distance = alone(kept, k, CENTERS[k : k + 1])
        np.testing.assert_allclose(value[0], fits.value[k], rtol=1e-9, atol=1e-9)
        assert distance[0] == 0.0


def test_kept_polynomials_reproduce_polynomials_away_from_their_centers():
    linear = ROWS @ [1.0, -2.0, 0.5] + 3.0
    quadratic = ROWS[:, 0] ** 2 + ROWS[:, 0] * ROWS[:, 1] - ROWS[:, 2]
    queries = CENTERS[:1] + RNG.normal(scale=0.2, size=(5, DIMENSION))
    first = alone(kept_at_centers(data_of(linear[:, None]), Polynomial(1, 0, 0.0)), 0, queries)[0]
    np.testing.assert_allclose(first[:, 0], queries @ [1.0, -2.0, 0.5] + 3.0, rtol=1e-9)
    second = alone(kept_at_centers(data_of(quadratic[:, None]), Polynomial(2, 1, 0.0)), 0, queries)[0]
    x, y, z = queries.T
    np.testing.assert_allclose(second[:, 0], x**2 + x * y - z, rtol=1e-8)


@pytest.mark.parametrize("final", KRIGING, ids=str)
def test_kept_kriging_is_that_of_the_points_of_the_center(final):
    data = data_of(labels_of_two_outputs())
    centers, widths = data.centers(CENTERS[:1]), Widths.of_sizes((40.0,), 1)
    batch = data.localize(centers, SHAPES[:1], widths, keep=True)
    indices, weights = batch.neighborhoods.neighbors(0)
    root = np.sqrt(batch.scale[0, 0] * np.diag(SHAPE))

    def covariance(a, b):
        squared = np.sum((a[:, None] - b) ** 2, axis=2)
        if final.rough:
            first = np.exp(-np.sqrt(squared) / final.length)
        else:
            first = np.exp(-0.5 * squared / final.length**2)
        return first + 10.0 * (1.0 + final.trend * (a @ b.T) / final.length**2)

    places = (ROWS[indices] - CENTERS[0]) * root
    mean = weights @ data.labels[indices]
    system = covariance(places, places) + final.ridge * np.eye(len(places))
    dual = np.linalg.solve(system, data.labels[indices] - mean)
    queries = CENTERS[:1] + RNG.normal(scale=0.3, size=(5, DIMENSION))
    expected = mean + covariance((queries - CENTERS[0]) * root, places) @ dual
    found, distance = alone(kept_at_centers(data, final), 0, queries)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    plain = np.sum((CENTERS - queries[:, None]) ** 2, axis=2)
    squared = np.sum(((queries - CENTERS[0]) * root) ** 2, axis=1)
    np.testing.assert_allclose(distance, squared / taper(plain[:, 0], plain.max(axis=1)), rtol=1e-9)


def test_weights_follow_the_distances_in_the_metrics_of_the_centers():
    data = data_of(ROWS[:, :1] ** 3)
    kept = kept_at_centers(data, Polynomial(0, 0, 0.0))
    query = RNG.normal(scale=0.3, size=(1, DIMENSION))
    plain = np.sum((CENTERS - query) ** 2, axis=1)
    lists = np.sort(np.argsort(plain)[:21])[None].astype(np.int32)
    own, squared = np.empty(21), np.empty(21)
    for k, center in enumerate(lists[0]):
        value, distance = alone(kept, center, query)
        own[k], squared[k] = value[0, 0], distance[0] * taper(plain[center], plain.max())
    tapers = taper(plain[lists[0]], plain[lists[0]].max())
    tapered = np.full(21, np.inf)
    tapered[tapers > 0.0] = squared[tapers > 0.0] / tapers[tapers > 0.0]
    share = np.maximum(1.0 - tapered / np.sort(tapered)[6], 0.0) ** 2
    value, distance, _ = kept.blend(query, lists, 6, 1)
    assert value[0, 0] == pytest.approx(share @ own / share.sum(), rel=1e-9)
    assert distance[0] == pytest.approx(tapered.min(), rel=1e-9)


def test_a_small_part_of_the_metric_is_taken_to_be_isotropic():
    data = data_of(ROWS[:, :1])
    shapes = np.tile(np.diag([0.995, 0.003, 0.002]), (len(CENTERS), 1, 1))
    widths = Widths.of_scale(2.0, len(CENTERS))
    kept = Polynomial(1, 0, 0.0).keep(data, data.centers(CENTERS), shapes, widths)
    query = CENTERS[:1] + np.array([[0.1, 0.4, -0.3]])
    _, distance = alone(kept, 0, query)
    plain = np.sum((CENTERS - query) ** 2, axis=1)
    squared = 2.0 * (0.995 * 0.1**2 + 0.005 / 3 * plain[0])
    assert distance[0] == pytest.approx(squared / taper(plain[0], plain.max()), rel=1e-9)


def test_centers_that_are_equally_far_share_alike():
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)] + [[5.0, 0.0]])
    options = {"max_neighbors": None, "radius": None, "threads": 1}
    labels = np.arange(5.0)[:, None]
    data = LocalData(corners, labels, np.ones(5), kernel=KERNELS["gaussian"], **options)
    shapes, widths = np.tile(np.eye(2), (5, 1, 1)), Widths.of_scale(1.0, 5)
    kept = Polynomial(0, 0, 0.0).keep(data, data.centers(corners), shapes, widths)
    lists = np.arange(5, dtype=np.int32)[None]
    value = kept.blend(np.zeros((1, 2)), lists, 2, 1)[0]
    at_corners = [kept.blend(corners[k : k + 1], lists[:, [k, 4]], 1, 1)[0][0, 0] for k in range(4)]
    assert min(at_corners) <= value[0, 0] <= max(at_corners)


def test_no_center_with_a_weight_gives_an_infinite_distance():
    kept = kept_at_centers(data_of(ROWS[:, :1]), Polynomial(1, 0, 0.0))
    value, distance, _ = kept.blend(np.zeros((1, DIMENSION)), np.zeros((1, 1), dtype=np.int32), 1, 1)
    assert distance[0] == np.inf and value[0, 0] == 0.0


def test_wrong_arguments_of_the_core_are_refused():
    kept = kept_at_centers(data_of(ROWS[:, :1]), Polynomial(1, 0, 0.0))
    query, lists = np.zeros((1, DIMENSION)), np.zeros((1, 2), dtype=np.int32)
    for queries, wrong, active, message in [
        (np.zeros((1, 2)), lists, 1, "width"),
        (query, np.zeros((2, 2), dtype=np.int32), 1, "one list"),
        (query, np.full((1, 2), len(CENTERS), dtype=np.int32), 1, "centers that there are not"),
        (query, lists, 0, "active"),
    ]:
        with pytest.raises(ValueError, match=message):
            kept.blend(queries, wrong, active, 1)
    assert isinstance(kept, _core.KeptFits) and kept.nbytes > 0


def sized(n, dimension=3, outputs=1, radius=None):
    rows = np.random.default_rng(1).normal(size=(n, dimension))
    options = {"max_neighbors": 20, "radius": radius, "threads": 1}
    return LocalData(rows, np.zeros((n, outputs)), np.ones(n), kernel=KERNELS["gaussian"], **options)


def test_a_blend_needs_centers_and_room():
    linear = Choice(0, 30.0, Polynomial(1, 0, 1e-3))
    assert [can_blend(sized(n), linear) for n in (146, 147)] == [False, True]
    assert not can_blend(sized(200, radius=1.0), linear)
    assert not can_blend(sized(200), Choice(0, None, GlobalKriging(1.0, 1e-3)))
    # 250 of 1,000 centers must fit into 64 MB: 256 kB each, which is 177 features
    assert [can_blend(sized(1000, d), linear) for d in (177, 178)] == [True, False]
    assert can_blend(sized(400, 200), linear)  # here 100 centers are enough


def test_memory_of_a_kept_fit():
    """Place and metric, 3 + 9 numbers; 2 outputs with 3 slopes each, 8; and what the kind adds."""
    data = sized(10, outputs=2)
    assert bytes_each(data, Choice(0, 30.0, Polynomial(1, 0, 1e-3))) == 8 * 20
    assert bytes_each(data, Choice(0, 30.0, Polynomial(2, 2, 1e-3))) == 8 * (20 + 3 * 3 * 2)
    assert bytes_each(data, Choice(0, 30.0, Kriging(2.0, 1e-3))) == 8 * (20 + 5 * 200)


@pytest.mark.parametrize("final", FINAL_FITS, ids=str)
def test_gradients_of_a_blend_are_its_derivatives(final):
    kept = kept_at_centers(data_of(labels_of_two_outputs()), final)
    queries = np.random.default_rng(5).normal(scale=0.7, size=(50, DIMENSION))
    order = np.argsort(((queries[:, None] - CENTERS) ** 2).sum(axis=2), axis=1)
    lists = np.ascontiguousarray(order[:, :21], dtype=np.int32)
    gradient = kept.blend(queries, lists, 6, 1, gradients=True)[2]
    moved, step = np.empty_like(gradient), 1e-5
    for a, e in enumerate(step * np.eye(DIMENSION)):
        moved[:, :, a] = (
            kept.blend(queries + e, lists, 6, 1)[0] - kept.blend(queries - e, lists, 6, 1)[0]
        ) / (2 * step)
    errors = np.abs(gradient - moved).max(axis=(1, 2))
    assert np.quantile(errors, 0.9) < 1e-7  # differences may straddle a kink, where another center joins
    assert kept.blend(queries, lists, 6, 1)[2].size == 0
