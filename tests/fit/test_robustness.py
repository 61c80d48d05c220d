"""Robustness weights: local medians, spreads, Huber's weights, and labels that only look wrong."""

from dataclasses import replace

import numpy as np
import pytest

from localegop._data.rows import SMALLEST_WEIGHT, merge_rows
from localegop._engine.centers import Widths
from localegop._engine.gradient_field import learn_field, spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.sites import LocalSite
from localegop._fit import robustness
from localegop._fit.leave_one_out import leave_one_out_fits
from localegop._fit.process import ProcessBackend
from localegop._fit.robustness import (
    AROUND,
    FULL_WEIGHT,
    NEIGHBORS,
    OUTLYING,
    FinalSquares,
    LocalMedians,
    Spread,
    first_weights,
    huber_weights,
)
from localegop._predict.decisions import FORGOTTEN, weights_before
from localegop._progress import SILENT
from localegop.kernels import as_kernel
from localegop.regressor import LocalEGOPRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(300, 2))
Y = np.sin(3.0 * X[:, 0]) + X[:, 1]
WRONG = np.array([3, 50, 51, 200])
SETTINGS = LocalEGOPRegressor(n_jobs=1, loss="huber")._settings()


def with_errors(size=30.0):
    y = Y + 0.05 * np.random.default_rng(1).normal(size=len(Y))
    y[WRONG] += size
    return y


def backend_of(y, X=X, weight=None):
    y = y.reshape(len(y), -1)
    return ProcessBackend(merge_rows(X, y, np.ones(len(X)) if weight is None else weight))


def data_of(rows, labels, **options):
    known = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(rows, labels, np.ones(len(rows)), **known | options)


def test_weights_fall_like_one_over_the_distance_and_vanish_far_out():
    distance = np.array([0.0, FULL_WEIGHT, 2.0 * FULL_WEIGHT, OUTLYING, 1.001 * OUTLYING, np.inf])
    wanted = [1.0, 1.0, 0.5, FULL_WEIGHT / OUTLYING, FORGOTTEN, FORGOTTEN]
    assert huber_weights(distance) == pytest.approx(wanted)


def test_medians_are_those_of_the_nearest_others():
    labels = RNG.normal(size=(300, 2))
    labels[7] = 1e9
    data = data_of(X, labels)
    site = LocalSite.own(data, np.array([7, 90]))
    (found,) = site.run(LocalMedians(), np.zeros((2, 0, 0)), Widths.of_scale(1.0, 2))
    for point, median in zip((7, 90), found, strict=True):
        others = np.argsort(np.sum((X - X[point]) ** 2, axis=1))[1 : NEIGHBORS + 1]
        assert median == pytest.approx(np.median(labels[others], axis=0))


def test_spreads_are_local_and_no_outlier_moves_them():
    noise = np.where(X[:, 0] < 0.0, 1.0, 5.0)
    sizes = np.abs(noise * np.random.default_rng(2).normal(size=300))[:, None]
    sizes[::10] = 1e6
    found = Spread(data_of(X, sizes), sizes).at(np.array([[-0.6, 0.0], [0.6, 0.0]]))
    assert found[:, 0] == pytest.approx([1.0, 5.0], rel=0.5)
    assert (found[1] > 3.0 * found[0]).all()


def test_nothing_is_divided_by_zero_where_residuals_vanish():
    sizes = np.zeros((60, 1))
    found = Spread(data_of(X[:60], sizes), sizes)
    assert (found.at(X[:5]) > 0.0).all()
    assert found.distances(X[:5], sizes[:5]).tolist() == [0.0] * 5


def test_first_weights_forget_the_wrong_labels_only():
    weights = first_weights(backend_of(with_errors()), SETTINGS)
    wrong = np.flatnonzero(weights == FORGOTTEN)
    rows = merge_rows(X, with_errors()[:, None], np.ones(300))
    assert sorted(wrong.tolist()) == sorted(rows.position[WRONG].tolist())
    assert weights.max() == 1.0 and np.mean(weights == 1.0) > 0.6


def test_a_fifth_of_the_labels_may_be_wrong():
    y, wrong = with_errors(0.0), np.random.default_rng(3).random(300) < 0.2
    y[wrong] += 1e4
    weights = first_weights(backend_of(y), SETTINGS)
    position = merge_rows(X, y[:, None], np.ones(300)).position
    assert (weights[position[wrong]] == FORGOTTEN).mean() > 0.95
    assert (weights[position[~wrong]] == FORGOTTEN).mean() < 0.05


def test_a_label_of_one_output_decides_for_the_row():
    both = np.column_stack([Y, with_errors()])
    weights = first_weights(backend_of(both), SETTINGS)
    position = merge_rows(X, both, np.ones(300)).position
    assert (weights[position[WRONG]] == FORGOTTEN).all()


def test_rows_in_blocks_have_the_weights_of_rows_at_once(monkeypatch):
    backend = backend_of(with_errors())
    at_once = first_weights(backend, SETTINGS)
    monkeypatch.setattr(robustness, "MOST_COMPARED", 299)
    monkeypatch.setattr(robustness, "BLOCK", 70)
    assert len(spread_points(300, 299)) == 299
    in_blocks = first_weights(backend, SETTINGS)
    assert in_blocks == pytest.approx(at_once, abs=0.1)
    assert np.array_equal(in_blocks == FORGOTTEN, at_once == FORGOTTEN)


def test_few_rows_are_all_believed():
    few = first_weights(backend_of(np.array([0.0, 1.0, 2.0, 1e9, 4.0]), X[:5]), SETTINGS)
    assert few.tolist() == [1.0] * 5


def test_weights_replace_those_before_and_stay_representable():
    given = RNG.uniform(0.5, 2.0, 300)
    given[0] = SMALLEST_WEIGHT
    backend = backend_of(Y, weight=given)
    rows = backend.rows.sample_weight
    half = backend.reweighted(np.full(300, 0.5))
    assert half.rows.sample_weight == pytest.approx(np.maximum(0.5 * rows, SMALLEST_WEIGHT))
    again = half.reweighted(np.full(300, 0.25))
    assert again.rows.sample_weight == pytest.approx(np.maximum(0.25 * rows, SMALLEST_WEIGHT))
    assert again.rows.labels.mean == pytest.approx(backend.rows.labels.mean)
    forgotten = backend.reweighted(np.where(np.arange(300) < 150, FORGOTTEN, 1.0))
    assert forgotten.rows.labels.mean[0] == pytest.approx(
        np.average(backend.rows.y[150:, 0], weights=rows[150:])
    )
    assert forgotten.rows.sample_weight.min() == SMALLEST_WEIGHT


def test_weights_before_are_those_of_the_user_but_for_outliers():
    factors = np.array([1.0, 0.5, FORGOTTEN])
    assert weights_before(np.array([2.0, 1.0, FORGOTTEN]), factors).tolist() == [2.0, 2.0, FORGOTTEN]
    assert weights_before(factors, None) is factors


def test_as_many_residuals_as_there_are_tell_the_spread():
    sizes = np.ones((AROUND // 2, 1))
    assert Spread(data_of(X[: AROUND // 2], sizes), sizes).at(X[:3])[:, 0] == pytest.approx(1.4826)


def test_squares_of_final_fits_are_those_of_points_left_out():
    """At every anchor, the last one too: none knows its own label, or its own gradient."""
    model = LocalEGOPRegressor(n_jobs=1, n_iter=1, final="polynomial", degree=1).fit(X, Y)._models[0]
    choice, points = replace(model.decisions.choice, step=1), np.arange(300)
    site, last = (LocalSite.own(model.data, some) for some in (points, points[298:]))
    field = learn_field(site, model.data, model.decisions.update, (1e-2,), 1, SILENT)
    found = FinalSquares(field, choice, points, gather=None)(site, points)
    loo, _ = leave_one_out_fits(site, field, choice, np.inf)
    np.testing.assert_allclose(found, loo.noise, rtol=1e-12)
    # as if the last row were no anchor: it has no gradient of its own to leave out
    others = FinalSquares(field, choice, points[:299], gather=None)(last, points[298:])
    assert others[0] == pytest.approx(loo.noise[298], rel=1e-12) and others[1] != loo.noise[299]
