"""``loss="huber"``: wrong labels, from fit to intervals, files and words."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._summary import far_labels

RNG = np.random.default_rng(0)
X, QUERIES = RNG.normal(size=(300, 5)), RNG.normal(size=(1000, 5))
QUICK = {"n_jobs": 1, "n_iter": 1, "final": "polynomial"}
LINES = {"degree": 1, "ridge": 1e-2}  # where it does not matter how well the rest is fitted


def f(z):
    return np.sin(2.0 * z[:, 0]) + z[:, 1] * z[:, 2]


Y = f(X) + 0.05 * RNG.normal(size=300)
WRONG = np.sort(RNG.choice(300, 15, replace=False))
GROSS = Y.copy()
GROSS[WRONG] += 100.0 * Y.std() * RNG.choice([-1.0, 1.0], 15)


def fit(y=GROSS, rows=X, weight=None, **options):
    return LocalEGOPRegressor(**QUICK | {"loss": "huber"} | options).fit(rows, y, sample_weight=weight)


@pytest.fixture(scope="module")
def model():
    return fit()


def lines(model):
    return dict(line.strip().split("  ", 1) for line in model.summary().splitlines()[1:])


@pytest.mark.parametrize("final", ["polynomial", "kriging"])
def test_gross_label_errors_do_hardly_any_harm(final):
    robust = fit(final=final)
    assert robust.score(QUERIES, f(QUERIES)) > (0.85 if final == "polynomial" else 0.95)
    assert fit(loss="squared", final=final, n_iter=0).score(QUERIES, f(QUERIES)) < 0.0


def test_the_wrong_labels_are_found_and_named(model):
    found = np.flatnonzero(model.robustness_weights_ == 0.0)
    assert np.isin(WRONG, found).all() and len(found) <= len(WRONG) + 2
    assert np.nanmax(model.robustness_weights_) == 1.0
    told = lines(model)["outlying labels"].strip()
    first = ", ".join(map(str, found[:5]))
    assert told.startswith(f"{len(found)} rows of 300 count for nothing: {first}, ... (counted from 0); ")
    assert 0.02 < float(lines(model)["noise"].split()[0]) < 0.5
    assert model.choice_.error < 0.2  # of the variance of the labels that count


def test_the_squared_loss_says_that_labels_are_far_out():
    squared = fit(loss="squared", **LINES)
    assert squared.robustness_weights_.tolist() == [1.0] * 300
    assert squared._models[0].robustness is None
    assert far_labels(squared._models[0]).tolist() == WRONG.tolist()
    assert lines(squared)["outlying labels"].strip().endswith("take loss='huber'")
    assert "outlying labels" not in fit(Y, loss="squared", **LINES).summary()


def test_labels_without_errors_are_fitted_as_well(model):
    clean, plain = fit(Y), fit(Y, loss="squared")
    truth = f(QUERIES)
    assert (clean.robustness_weights_ == 0.0).sum() <= 2
    assert clean.score(QUERIES, truth) > plain.score(QUERIES, truth) - 0.02
    assert model.score(QUERIES, truth) > plain.score(QUERIES, truth) - 0.02


def test_heavy_tails():
    y = f(X) + 0.1 * np.random.default_rng(5).standard_cauchy(300)
    robust, squared = fit(y), fit(y, loss="squared")
    assert robust.score(QUERIES, f(QUERIES)) > 0.85 > 0.5 > squared.score(QUERIES, f(QUERIES))


def test_a_jump_is_no_error():
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1.0, 1.0, size=(300, 2))
    y = np.sign(rows[:, 0]) + 0.1 * rows[:, 1] + 0.01 * rng.normal(size=300)
    assert (fit(y, rows).robustness_weights_ == 0.0).mean() < 0.03


def test_intervals_hold_labels_that_are_not_outlying(model):
    rng = np.random.default_rng(2)
    labels = f(QUERIES) + 0.05 * rng.normal(size=1000)
    low, high = model.predict_interval(QUERIES, 0.9).T
    assert np.mean((low <= labels) & (labels <= high)) == pytest.approx(0.9, abs=0.05)
    assert np.median(high - low) < 2.0  # the errors are 100 wide
    value, std = model.predict(QUERIES, return_std=True)
    assert std.max() < 2.0 and np.isfinite(value).all()


def cover(seed, final, wrong, loss):
    """Share of right labels in 90 % intervals of a fit to 100 rows, of which a twentieth is wrong."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(100, 5))
    y = f(rows) + 0.05 * rng.normal(size=100)
    labels = f(QUERIES) + 0.05 * rng.normal(size=1000)
    gross = rng.choice(100, 5, replace=False)
    y[gross] += 100.0 * y.std() * rng.choice([-1.0, 1.0], 5)
    weight = np.ones(100)
    weight[gross] = wrong
    low, high = fit(y, rows, weight, final=final, loss=loss).predict_interval(QUERIES, 0.9).T
    assert np.median(high - low) < 3.0
    return np.mean((low <= labels) & (labels <= high))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
@pytest.mark.parametrize("final", ["kriging", "polynomial", "auto"])
@pytest.mark.parametrize(("wrong", "loss"), [(1.0, "huber"), (1e-9, "squared")])
def test_intervals_of_few_rows_cover_on_average(final, wrong, loss):
    """One sample of 100 rows says little: between samples coverage differs by 0.05."""
    covered = [cover(seed, final, wrong, loss) for seed in range(30, 38)]
    assert np.mean(covered) == pytest.approx(0.9, abs=0.05)


def test_heavy_tails_count_in_full_in_intervals():
    rng = np.random.default_rng(3)
    noise = [0.3 * rng.standard_t(2, n) for n in (300, 1000)]
    low, high = fit(f(X) + noise[0]).predict_interval(QUERIES, 0.8).T
    labels = f(QUERIES) + noise[1]
    assert np.mean((low <= labels) & (labels <= high)) == pytest.approx(0.8, abs=0.06)


def test_several_outputs():
    both = np.column_stack([GROSS, X[:, 3]])
    shared, separate = fit(both), fit(both, outputs="separate")
    assert (shared.robustness_weights_[WRONG] == 0.0).all()
    assert separate.robustness_weights_.shape == (300, 2)
    assert (separate.robustness_weights_[WRONG, 0] == 0.0).all()
    assert (separate.robustness_weights_[:, 1] > 0.0).all()
    truth = np.column_stack([f(QUERIES), QUERIES[:, 3]])
    for model in (shared, separate):
        assert model.score(QUERIES, truth) > 0.9
        assert " rows of 300 count for nothing" in lines(model)["outlying labels"]


def test_weights_are_repeated_rows_here_too():
    weight = RNG.integers(0, 3, 300)
    weighted = fit(weight=weight.astype(float), **LINES)
    repeated = fit(np.repeat(GROSS, weight), np.repeat(X, weight, axis=0), **LINES)
    assert np.array_equal(weighted.predict(QUERIES[:50]), repeated.predict(QUERIES[:50]))
    given = weighted.robustness_weights_
    assert np.array_equal(np.isnan(given), weight == 0)
    assert np.array_equal(np.repeat(given, weight), repeated.robustness_weights_)
    assert (given[WRONG[weight[WRONG] == 1]] == 0.0).all()  # a label given twice may be right


def test_the_query_strategy_is_robust_too():
    model = fit(strategy="query", final="auto", n_subsamples=30)
    assert np.isin(WRONG, np.flatnonzero(model.robustness_weights_ == 0.0)).all()
    squared = fit(strategy="query", final="auto", n_subsamples=30, loss="squared")
    truth = f(QUERIES[:100])
    errors = [np.mean((each.predict(QUERIES[:100]) - truth) ** 2) for each in (model, squared)]
    assert errors[0] < 0.1 * errors[1]
    low, high = model.predict_interval(QUERIES[:100], 0.9).T
    assert np.mean((low <= truth) & (truth <= high)) > 0.8


def test_neither_threads_nor_order_of_rows_matter(model):
    order = RNG.permutation(300)
    other = fit(GROSS[order], X[order], n_jobs=2)
    assert np.array_equal(other.predict(QUERIES[:50]), model.predict(QUERIES[:50]))
    assert np.array_equal(other.robustness_weights_, model.robustness_weights_[order])


def test_few_rows_and_constant_labels():
    with pytest.warns(UserWarning, match="only 3 distinct rows"):
        few = fit([0.0, 1.0, 1e9], X[:3])
    assert few.robustness_weights_.tolist() == [1.0] * 3
    flat = fit(np.zeros(60), X[:60])
    assert flat.predict(X[:3]).tolist() == [0.0] * 3 and (flat.robustness_weights_ == 1.0).all()
    mostly = np.zeros(60)
    mostly[5] = 1.0
    assert fit(mostly, X[:60]).robustness_weights_[5] == 0.0


def test_a_file_keeps_the_weights(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = LocalEGOPRegressor.load(tmp_path / "model")
    assert loaded.loss == "huber" and loaded.summary() == model.summary()
    assert np.array_equal(loaded.robustness_weights_, model.robustness_weights_)
    assert np.array_equal(loaded.predict(QUERIES[:50]), model.predict(QUERIES[:50]))
    assert np.array_equal(
        loaded.predict_interval(QUERIES[:50], [0.5, 0.9]), model.predict_interval(QUERIES[:50], [0.5, 0.9])
    )


def test_a_loss_that_is_unknown_is_refused():
    with pytest.raises(ValueError, match="'loss' parameter of LocalEGOPRegressor must be"):
        fit(loss="absolute")
