"""Kriging as final fit: the core against plain linear algebra, and how it is chosen."""

from itertools import product

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.centers import Centers
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.local_data import LocalData
from localegop._fit import trials
from localegop._selection import kriging
from localegop.datasets import make_helix
from localegop.kernels import as_kernel
from localegop.results import Status

TREND = 10.0


def local_data(n=300, dimension=4, threads=1, max_neighbors=250):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, dimension))
    labels = np.column_stack([np.sin(rows[:, 0]) + rows[:, 1] ** 2, rows[:, 2]])
    weight = rng.integers(1, 3, n).astype(float)
    kernel = as_kernel("gaussian")
    return LocalData(
        rows, labels, weight, kernel=kernel, max_neighbors=max_neighbors, radius=None, threads=threads
    )


def metrics(count, dimension=4):
    turn = np.random.default_rng(1).standard_normal((count, dimension, dimension))
    return np.einsum("iab,icb->iac", turn, turn)


def correlation(squared, length, rough):
    return np.exp(-np.sqrt(squared) / length) if rough else np.exp(-squared / (2 * length**2))


def plain(data, center, at, metric, scale, most, length, ridge, trend, rough, left_out=-1):
    """Value at ``at`` and variance factor, from the nearest points of ``center``."""
    weight = data.sample_weight - (np.arange(data.n) == left_out)
    listed = np.sort(np.argsort(np.sum((data.rows - center) ** 2, axis=1))[: data.max_visible])
    listed = listed[weight[listed] > 0]
    away = data.rows[listed] - center
    squared = scale * np.einsum("ia,ab,ib->i", away, metric, away)
    near = listed[np.argsort(squared)[: min(most, np.sum(squared - squared.min() < -np.log(data.cutoff)))]]
    factor = np.linalg.cholesky(scale * metric)
    z, here = (data.rows[near] - center) @ factor, (at - center) @ factor
    gaps = ((z[:, None] - z) ** 2).sum(axis=-1)
    to_here = ((z - here) ** 2).sum(axis=1)
    covariance = correlation(gaps, length, rough) + TREND * (1 + trend * z @ z.T / length**2)
    to_center = correlation(to_here, length, rough) + TREND * (1 + trend * z @ here / length**2)
    smoother = np.linalg.solve(covariance + np.diag(ridge / weight[near]), to_center)
    weights = weight[near] * np.exp(-(z**2).sum(axis=1))
    weights /= weights.sum()
    mean = weights @ data.labels[near]
    value = mean + smoother @ (data.labels[near] - mean)
    smoother = smoother + weights * (1 - smoother.sum())
    return value, np.sum(smoother**2 / weight[near])


@pytest.mark.parametrize("most", [40, 10_000])
def test_the_core_agrees_with_plain_linear_algebra(most):
    data, shapes = local_data(), metrics(3)
    centers, left_out = data.rows[[5, 17, 200]], np.array([5, 17, -1])
    lengths, ridges = (1.0, 1.0, 1.0, 3.0, 3.0, 3.0), (1e-2, 1e-4, 1e-2, 1e-3, 1e-3, 1e-2)
    trends, rough = (True, True, False, False, False, True), (False, False, False, False, True, True)
    found = data.krige(
        Centers(centers, data.neighbor_lists(centers), left_out),
        shapes,
        size=30.0,
        most=most,
        lengths=lengths,
        ridges=ridges,
        trends=trends,
        rough=rough,
        gradients=True,
        variances=True,
    )
    np.testing.assert_allclose(
        found.effective_size, 30.0, rtol=1e-5
    )  # weights below the cutoff are dropped
    for i, center in enumerate(centers):
        given = (center, shapes[i], found.scale[i], most)
        for k, pair in enumerate(zip(lengths, ridges, trends, rough, strict=True)):

            def at(place, given=given, pair=pair, i=i):
                return plain(data, given[0], place, *given[1:], *pair, left_out=left_out[i])

            expected, expected_factor = at(center)
            np.testing.assert_allclose(found.value[i, k], expected, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(found.variance_factor[i, k], expected_factor, rtol=1e-6)
            steps = 1e-5 * np.eye(4)
            slopes = [(at(center + h)[0] - at(center - h)[0]) / 2e-5 for h in steps]
            np.testing.assert_allclose(found.gradient[i, k], np.transpose(slopes), rtol=1e-4, atol=1e-4)


def test_results_do_not_depend_on_threads_or_company():
    one, two, centers = local_data(threads=1), local_data(threads=2), local_data().rows[:20] + 0.01
    fits = {
        "size": 30.0,
        "most": 50,
        "lengths": (1.0, 2.0),
        "ridges": (1e-3, 1e-3),
        "trends": (True, False),
        "rough": (False, True),
    }
    together = two.krige(two.centers(centers), metrics(20), **fits).value
    for i in (0, 7, 19):
        alone = one.krige(one.centers(centers[i : i + 1]), metrics(20)[i : i + 1], **fits).value
        np.testing.assert_array_equal(alone[0], together[i])


def smooth(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 4))
    return X, np.sin(4 * X[:, 0] * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3]


@pytest.mark.slow
def test_kriging_wins_where_few_points_meet_a_smooth_function():
    (X, y), (queries, truth) = smooth(200), smooth(200, seed=1)
    auto = LocalEGOPRegressor().fit(X, y)
    polynomial = LocalEGOPRegressor(final="polynomial").fit(X, y)
    assert isinstance(polynomial.choice_.final, Polynomial)
    assert not isinstance(auto.choice_.final, Polynomial)  # kriging of neighbors, or of all rows
    assert auto.choice_.error < polynomial.choice_.error
    errors = [np.mean((model.predict(queries) - truth) ** 2) for model in (auto, polynomial)]
    assert errors[0] < 0.5 * errors[1]


def test_only_kriging_is_left_where_it_is_asked_for():
    assert isinstance(
        LocalEGOPRegressor(final="kriging", n_iter=1).fit(*smooth(150)).choice_.final, Kriging
    )


def test_a_degree_asks_for_polynomials():
    assert isinstance(LocalEGOPRegressor(degree=1).fit(*smooth(150)).choice_.final, Polynomial)


def noisy(n, seed=0):
    X, y = smooth(n, seed)
    return X, y + np.random.default_rng(seed + 10).normal(0.0, 0.5, n)


@pytest.mark.slow
def test_noise_is_met_without_a_trend_which_costs_a_slope_for_each_feature(monkeypatch):
    X, truth = make_helix(1000, 20, random_state=0)
    y = truth + np.random.default_rng(0).normal(0.0, 0.2 * truth.std(), 1000)
    model = LocalEGOPRegressor(final="kriging", n_iter=1)
    held_out = []
    for precise in (trials.PRECISE, np.inf):
        monkeypatch.setattr(trials, "PRECISE", precise)
        model.fit(X[:700], y[:700])
        assert model.choice_.final.trend == (precise == np.inf)
        held_out.append(model.choice_.error)
    assert held_out[0] < 0.98 * held_out[1]  # 0.956 when written, of which most is noise


def test_precise_labels_of_a_smooth_function_have_a_trend_and_a_smooth_process():
    choice = LocalEGOPRegressor(final="kriging").fit(*smooth(300)).choice_
    assert choice.final.trend and not choice.final.rough
    assert choice.degree == 1 and choice.ridge == choice.final.ridge


@pytest.mark.slow
def test_jumps_are_met_by_rough_processes(monkeypatch, tmp_path):
    X = np.random.default_rng(0).uniform(size=(800, 3))
    y = np.floor(4 * X[:, 0]) + np.floor(3 * X[:, 1])
    errors = []
    for lengths in (kriging.ROUGH_LENGTHS, ()):
        monkeypatch.setattr(kriging, "ROUGH_LENGTHS", lengths)
        model = LocalEGOPRegressor(final="kriging", n_iter=1).fit(X[:400], y[:400])
        assert model.choice_.final.rough == bool(lengths)
        errors.append(np.mean((model.predict(X[400:]) - y[400:]) ** 2))
        model.save(tmp_path / "model.npz")
        assert LocalEGOPRegressor.load(tmp_path / "model.npz").choice_ == model.choice_
    assert errors[0] < errors[1]


def test_processes_to_choose_from():
    smooth_ones = kriging.smooth_processes([0, 3], 500.0)
    assert len(smooth_ones) == len(set(smooth_ones)) == 2 * len(kriging.LENGTHS) * len(kriging.RIDGES)
    assert {one.step for one in smooth_ones} == {0, 3} and {one.size for one in smooth_ones} == {60.0}
    assert all(one.final.trend and not one.final.rough for one in smooth_ones)
    assert {(one.final.length, one.ridge) for one in smooth_ones} == set(
        product(kriging.LENGTHS, kriging.RIDGES)
    )


def test_noisy_processes_to_choose_from():
    noisy_ones = kriging.noisy_processes([2], 500.0)
    flat = [one.final for one in noisy_ones if not one.final.trend]
    rough = [one.final for one in noisy_ones if one.final.rough]
    assert len(flat) + len(rough) == len(set(noisy_ones)) == len(noisy_ones)
    assert {(f.length, f.ridge) for f in flat} == set(product(kriging.LENGTHS, kriging.NOISY_RIDGES))
    assert {(f.length, f.ridge) for f in rough} == set(product(kriging.ROUGH_LENGTHS, kriging.ROUGH_RIDGES))
    assert all(f.trend for f in rough) and not any(f.rough for f in flat)


def test_few_points_have_smaller_neighborhoods():
    assert {one.size for one in kriging.smooth_processes([0], 20.0)} == {20.0}
    assert kriging.default_kriging(3, 20.0) == Choice(3, 20.0, kriging.DEFAULT)


def test_few_rows_are_kriged_if_asked_for():
    X, y = smooth(8)
    model = LocalEGOPRegressor(final="kriging").fit(X, y)
    assert model.choice_.final.length == 2.0 and np.isnan(model.choice_.error)
    assert np.isfinite(model.predict(X)).all()


def test_gradients_intervals_and_status():
    X, y = make_helix(400, 3, random_state=0)
    model = LocalEGOPRegressor(final="kriging").fit(X[:300], y[:300])
    fits = model.localize(X[300:])
    step = 1e-5
    for a, move in enumerate(step * np.eye(3)):
        ahead, behind = model.predict(X[300:] + move), model.predict(X[300:] - move)
        # the metric moves with the query as well, so the two differ a little
        gap = np.abs((ahead - behind) / (2 * step) - fits.gradient[:, a])
        assert np.median(gap) < 0.05 * np.abs(fits.gradient).max()
    assert np.mean(fits.status == Status.OK) > 0.8
    assert (model.localize(X[300:] + 30.0).status == Status.EXTRAPOLATED).all()
    low, high = np.moveaxis(model.predict_interval(X[300:], coverage=0.9), -1, 0)
    assert 0.75 < np.mean((low <= y[300:]) & (y[300:] <= high)) <= 1.0


def test_repeated_rows_count_like_weights():
    X, y = smooth(120)
    twice = LocalEGOPRegressor(final="kriging").fit(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = LocalEGOPRegressor(final="kriging").fit(X, y, sample_weight=np.full(120, 2.0))
    np.testing.assert_array_equal(twice.predict(X[:20]), weighted.predict(X[:20]))


def test_the_query_strategy_has_no_kriging():
    with pytest.raises(ValueError, match="needs strategy='field'"):
        LocalEGOPRegressor("query", final="kriging").fit(*smooth(50))


@pytest.mark.parametrize("sample", [smooth, noisy])
def test_kriging_is_saved(tmp_path, sample):
    X, y = sample(150)
    model = LocalEGOPRegressor(final="kriging").fit(X, y)
    model.save(tmp_path / "model.npz")
    again = LocalEGOPRegressor.load(tmp_path / "model.npz")
    assert again.choice_ == model.choice_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
