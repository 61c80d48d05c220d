"""Standard errors, prediction intervals and their calibration."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._predict.uncertainty import (
    Calibration,
    check_coverage,
    correct_noise,
    expect_deviation,
)
from localegop.datasets import make_helix

X, Y = make_helix(700, 4, noise=0.3, random_state=0)
TRAIN, TEST = slice(0, 400), slice(400, None)


@pytest.fixture(scope="module")
def model():
    return LocalEGOPRegressor(n_iter=2).fit(X[TRAIN], Y[TRAIN])


def test_multipliers_are_quantiles_of_one_score_more():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(99, 1))
    calibration = Calibration.without_blocks(residuals, np.full((99, 1), 2.0), np.ones(99))
    scores = np.sort(np.abs(residuals[:, 0]) / 2.0)
    found = calibration.multipliers(np.array([0.5, 0.9, 0.99, 0.995]))[0, :, 0]
    assert found.tolist() == [scores[49], scores[89], scores[98], np.inf]


def test_weights_count_like_repeated_rows():
    rng = np.random.default_rng(1)
    residuals, expected = rng.normal(size=(30, 2)), rng.uniform(1.0, 2.0, size=(30, 2))
    times = rng.integers(1, 4, size=30)
    repeated = Calibration.without_blocks(
        np.repeat(residuals, times, axis=0), np.repeat(expected, times, axis=0), np.ones(times.sum())
    )
    weighted = Calibration.without_blocks(residuals, expected, times.astype(float))
    levels = np.linspace(0.05, 0.95, 19)
    assert np.array_equal(weighted.multipliers(levels), repeated.multipliers(levels))


def test_residuals_are_corrected_for_the_variance_of_the_fit():
    assert correct_noise(np.array([[2.0]]), np.array([1.0])).tolist() == [[2.0]]
    assert expect_deviation(np.array([[3.0]]), np.array([3.0])).tolist() == [[6.0]]


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, [], [[0.5]], np.nan, [0.5, 2.0]])
def test_impossible_coverages_are_refused(coverage):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        check_coverage(coverage)


def test_intervals_cover_and_have_the_promised_shapes(model):
    one = model.predict_interval(X[TEST])
    several = model.predict_interval(X[TEST], [0.5, 0.9])
    assert one.shape == (300, 2) and several.shape == (300, 2, 2)
    assert np.array_equal(one, several[:, 1])
    inside = (several[..., 0] <= Y[TEST, None]) & (Y[TEST, None] <= several[..., 1])
    assert inside.mean(axis=0) == pytest.approx([0.5, 0.9], abs=0.09)
    center = model.predict(X[TEST], exact=True)
    assert one.mean(axis=1) == pytest.approx(center, rel=1e-9)


@pytest.mark.slow
def test_standard_errors_shrink_with_more_data_and_are_below_the_noise(model):
    value, error = model.predict(X[TEST], return_std=True)
    fits = model.localize(X[TEST])
    assert np.array_equal(value, fits.value) and np.array_equal(error, fits.std)
    assert error == pytest.approx(fits.noise * np.sqrt(fits.variance_factor), rel=1e-12)
    assert np.median(fits.noise) == pytest.approx(0.3 * Y.std() / np.sqrt(1.09), rel=0.2)
    more = LocalEGOPRegressor(n_iter=2).fit(X[:600], Y[:600])
    assert np.median(more.predict(X[600:], return_std=True)[1]) < 0.5 * 0.3 * Y.std()


def test_a_coverage_beyond_the_data_is_infinite_and_says_so(model):
    with pytest.warns(UserWarning, match="more than 400 training rows can tell"):
        interval = model.predict_interval(X[TEST][:3], 0.999)
    assert np.isinf(interval).all()


def test_exact_data_have_narrow_finite_intervals():
    y = X @ np.array([1.0, -2.0, 0.5, 3.0])
    linear = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], y[TRAIN])
    interval = linear.predict_interval(X[TEST], 0.9)
    assert np.isfinite(interval).all() and np.all(interval[:, 1] - interval[:, 0] < 1e-3)


@pytest.mark.slow
def test_weight_two_is_a_row_given_twice_also_in_intervals():
    x, y = X[:120], Y[:120]
    times = np.random.default_rng(2).integers(1, 3, size=120)
    weighted = LocalEGOPRegressor(n_iter=1).fit(x, y, sample_weight=times)
    repeated = LocalEGOPRegressor(n_iter=1).fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    for name in ("predict", "predict_interval"):
        assert np.array_equal(getattr(weighted, name)(X[TEST]), getattr(repeated, name)(X[TEST])), name
    assert np.array_equal(weighted.predict(X[TEST], True)[1], repeated.predict(X[TEST], True)[1])
    assert np.array_equal(weighted.global_importance(), repeated.global_importance())


def test_the_query_strategy_has_intervals_too():
    query = LocalEGOPRegressor("query", n_iter=3, n_subsamples=60).fit(X[TRAIN], Y[TRAIN])
    interval = query.predict_interval(X[TEST], 0.8)
    assert np.mean((interval[:, 0] <= Y[TEST]) & (Y[TEST] <= interval[:, 1])) == pytest.approx(
        0.8, abs=0.12
    )
    assert np.array_equal(interval, query.predict_interval(X[TEST], 0.8))
    with pytest.raises(ValueError, match="average localize"):
        query.global_importance()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")  # one query is just beyond the data
@pytest.mark.parametrize("outputs", ["shared", "separate"])
def test_several_outputs_have_noise_of_their_own(outputs):
    both = np.column_stack([Y, 100.0 * X[:, 0]])
    several = LocalEGOPRegressor(n_iter=1, outputs=outputs).fit(X[TRAIN], both[TRAIN])
    interval = several.predict_interval(X[TEST], [0.5, 0.9])
    assert interval.shape == (300, 2, 2, 2)
    assert several.predict_interval(X[TEST]).shape == (300, 2, 2)
    width = np.median(interval[:, :, 1, 1] - interval[:, :, 1, 0], axis=0)
    assert width[0] > 0.5 * Y.std() and width[1] < 10.0
    if outputs == "separate":
        alone = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], Y[TRAIN])
        assert np.array_equal(interval[:, 0], alone.predict_interval(X[TEST], [0.5, 0.9]))
