"""One Gaussian process of all rows as final fit, from fit to file."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from tests.predict.hostile_files import Parts, sealed

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop._data import archive
from localegop._engine import settings
from localegop._engine.global_kriging import GlobalKriging
from localegop.datasets import make_multi_index
from localegop.results import Status


def sample(n=260, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    return X, np.sin(2.0 * X[:, 0] + X[:, 1]) + X[:, 2] ** 2 + noise * rng.normal(size=n)


def model_of(X, y, **parameters):
    return LocalEGOPRegressor(final="global", n_jobs=1, **parameters).fit(X, y)


@pytest.fixture(scope="module")
def split():
    X, y = sample()
    return X[:160], y[:160], X[160:], y[160:]


@pytest.fixture(scope="module")
def model(split):
    return model_of(*split[:2])


def test_it_is_what_was_asked_for(model, split):
    choice = model.choice_
    assert isinstance(choice.final, GlobalKriging) and choice.size is None and choice.step == 0
    assert 0.0 < choice.error < 0.1
    _, _, queries, truth = split
    assert np.mean((model.predict(queries) - truth) ** 2) < 0.1 * truth.var()
    assert "global" in repr(choice.final).lower() and "all rows" in model.summary()


def test_threads_that_ask_a_fresh_model_for_intervals_get_the_same_bits(split):
    """Residuals, inverse and calibration are made when first asked for: here by both threads at once."""
    X, y, queries, _ = split
    expected = model_of(X, y).predict_interval(queries, [0.5, 0.9])
    fresh = model_of(X, y)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(fresh.predict_interval, queries, [0.5, 0.9]) for _ in range(4)]
        for found in asked:
            np.testing.assert_array_equal(found.result(), expected)


def test_predictions_are_those_of_the_process(model, split):
    """Covariances in the learned metric, solved anew with all rows."""
    X, y, queries, _ = split
    fitted = model._models[0]
    process, units = model.choice_.final, fitted.decisions.units
    rows, asked, labels = units.features(X), units.features(queries[:20]), units.labels(y[:, None])

    def covariances(some):
        squared = ((some[:, None] - rows) ** 2).sum(axis=2) / process.length**2
        near = np.exp(-np.sqrt(squared)) if process.rough else np.exp(-squared / 2.0)
        return near + 10.0 * (1.0 + some @ rows.T / process.length**2)

    dual = np.linalg.solve(covariances(rows) + process.ridge * np.eye(len(rows)), labels)
    fits = model.localize(queries[:20])
    inside = fits.remoteness <= 1.0
    assert inside.sum() > 10
    expected = units.values(covariances(asked) @ dual)[:, 0]
    np.testing.assert_allclose(fits.value[inside], expected[inside], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(queries), model.predict(queries, exact=True))


def test_gradients_are_those_of_predictions(model, split):
    queries = split[2]
    fits, step = model.localize(queries), 1e-4
    inside = fits.remoteness < 0.9
    for a, move in enumerate(step * np.eye(3)):
        slope = (model.predict(queries + move) - model.predict(queries - move)) / (2 * step)
        np.testing.assert_allclose(fits.gradient[inside, a], slope[inside], rtol=1e-3, atol=1e-4)


def test_residuals_are_those_of_fits_without_the_row(model, split):
    y, residuals, fitted = split[1], model.loo_residuals_, model._models[0]
    assert residuals.shape == (160,) and np.isfinite(residuals).all()
    anchors = fitted.field.anchors
    for i in (0, 57, 100):
        row = fitted.position[i]
        rest = anchors.without(np.array([row]))
        value = rest.solved(model.choice_.final).at(anchors.rows[[row]]).value
        expected = y[i] - fitted.decisions.units.values(value)[0, 0]
        # but for the mean of the labels, which is that of all rows
        assert residuals[i] == pytest.approx(expected, rel=0.02, abs=1e-3)


def test_uncertainty_and_status(model, split):
    _, _, queries, truth = split
    fits = model.localize(queries)
    assert np.mean(fits.status == Status.OK) > 0.8
    value, std = model.predict(queries, return_std=True)
    np.testing.assert_array_equal(value, fits.value)
    assert (std > 0.0).all() and np.isfinite(std).all()
    low, high = np.moveaxis(model.predict_interval(queries, coverage=0.9), -1, 0)
    assert 0.75 < np.mean((low <= truth) & (truth <= high)) <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        far = model.localize(queries + 50.0)
        assert (far.status == Status.EXTRAPOLATED).all() and np.isfinite(far.value).all()
        assert (model.predict_interval(queries + 50.0)[:, 1] > model.predict_interval(queries)[:, 1]).all()


def test_neighbors_are_rows_with_much_covariance(model, split):
    X, _, queries, _ = split
    fits = model.localize(queries[:3])
    near = fits.neighbors(0)
    assert near.weight.sum() == pytest.approx(1.0, rel=1e-9) and (np.diff(near.weight) <= 0.0).all()
    units, final = model._models[0].decisions.units, model.choice_.final
    squared = ((units.features(X) - units.features(queries[:1])) ** 2).sum(axis=1)
    assert near.index[0] == np.argmin(squared)
    assert fits.effective_size[0] <= 160.0 and final.length > 0.0


def test_the_trace_has_no_steps(model, split):
    trace = model.localize(split[2][:4], trace=True).trace
    assert all(len(part) == 0 for part in vars(trace).values())


@pytest.mark.parametrize("final", ["global", pytest.param("auto", marks=pytest.mark.slow)])
def test_order_chunks_and_threads_change_no_bit(split, final, monkeypatch):
    X, y, queries, _ = split
    X, y = X[:100], y[:100]
    model = LocalEGOPRegressor(final=final, n_jobs=1, n_iter=1).fit(X, y)
    value, std = model.predict(queries, return_std=True)
    order = np.random.default_rng(0).permutation(len(queries))
    again = model.predict(queries[order], return_std=True)
    np.testing.assert_array_equal(again[0], value[order])
    np.testing.assert_array_equal(again[1], std[order])
    rows = np.random.default_rng(1).permutation(100)
    other = LocalEGOPRegressor(final=final, n_jobs=2, n_iter=1).fit(X[rows], y[rows])
    assert other.choice_ == model.choice_
    np.testing.assert_array_equal(other.predict(queries), model.predict(queries))
    monkeypatch.setattr("localegop._engine.chunks.CHUNK_BYTES", 1.0)
    some = model.predict(queries, return_std=True)
    np.testing.assert_array_equal(some[0], value)
    np.testing.assert_array_equal(some[1], std)


def test_weights_count_as_repeated_rows(split):
    X, y, queries, _ = split
    X, y = X[:80], y[:80]
    twice = model_of(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = LocalEGOPRegressor(final="global", n_jobs=1).fit(X, y, sample_weight=np.full(80, 2.0))
    np.testing.assert_array_equal(twice.predict(queries), weighted.predict(queries))
    np.testing.assert_array_equal(twice.loo_residuals_[:80], weighted.loo_residuals_)


def test_a_copy_and_a_file_give_the_same_answers(model, split, tmp_path):
    queries = split[2]
    model.save(tmp_path / "a.model")
    for again in (pickle.loads(pickle.dumps(model)), LocalEGOPRegressor.load(tmp_path / "a.model")):
        assert again.choice_ == model.choice_
        for name in ("predict", "predict_interval"):
            np.testing.assert_array_equal(getattr(again, name)(queries), getattr(model, name)(queries))
        ours, theirs = model.localize(queries), again.localize(queries)
        for name in ("value", "gradient", "noise", "variance_factor", "status", "effective_size", "agop"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
        np.testing.assert_array_equal(again.loo_residuals_, model.loo_residuals_)
    assert clone(model).final == "global"


def change_final(**changed):
    return lambda header, arrays: header["models"][0]["choice"]["final"].update(changed)


def change_choice(**changed):
    return lambda header, arrays: header["models"][0]["choice"].update(changed)


def fewer_anchors(header, arrays):
    for name in ("loo_residuals", "loo_noise", "loo_gradients", "scores", "weight_below"):
        arrays[f"0_{name}"] = arrays[f"0_{name}"][:100]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (change_final(length=0.0), "length"),
        (change_final(length=float("nan")), "NaN"),
        (change_final(length=1e-300), "length"),
        (change_final(length="2"), "length"),
        (change_final(ridge=0.0), "ridge"),
        (change_final(ridge=-1.0), "ridge"),
        (change_final(rough=1), "rough"),
        (change_final(trend=True), "trend"),
        (change_choice(size=60.0), "size or steps"),
        (change_choice(step=1), "step"),
        (change_choice(final={"kind": "global"}), "length"),
        (lambda header, arrays: header["models"][0].update(blend_near=1.0), "cannot blend"),
        (fewer_anchors, "100 anchors and 160 rows"),
    ],
    ids=[
        *("no length", "length NaN", "tiny length", "length a text", "no ridge", "negative ridge"),
        *("roughness a number", "a trend", "a size", "a step", "nothing but a kind", "a blend"),
        "few anchors",
    ],
)
def test_hostile_files_are_refused(model, tmp_path, change, told):
    path = tmp_path / "a.model"
    model.save(path)
    header, arrays = archive.read(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(header, arrays)
    path.write_bytes(sealed(Parts(header, arrays)))
    with pytest.raises(ValueError, match=told):
        LocalEGOPRegressor.load(path)


def test_too_many_rows_in_a_file_are_refused(model, tmp_path, monkeypatch):
    model.save(tmp_path / "a.model")
    monkeypatch.setattr("localegop._predict.file_rules.MOST_GLOBAL_ROWS", 100)
    with pytest.raises(ValueError, match="160 rows"):
        LocalEGOPRegressor.load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"exclusion_radius": 1.0}, "no exclusion_radius"),
        ({"covariance_cap": 1.0}, "covariance_cap"),
        ({"schedule": "power"}, "bandwidth schedule"),
        ({"max_neighbors": 50}, "max_neighbors=50"),
        ({"degree": 1}, "degree=1 is that of a polynomial, but final='global' is none"),
        ({"strategy": "query"}, "final='global' needs strategy='field'"),
    ],
    ids=str,
)
def test_what_a_global_process_cannot_go_with(parameters, told):
    with pytest.raises(ValueError, match=told):
        model_of(*sample(60), **parameters)


def test_too_many_rows(monkeypatch):
    monkeypatch.setattr(settings, "MOST_ROWS", 50)
    monkeypatch.setattr(settings, "MOST_FUNCTION_ROWS", 50)
    with pytest.raises(ValueError, match=r"at most 50 distinct rows.*got 60 rows.*take final='auto'"):
        model_of(*sample(60))
    X, y = sample(60)
    LocalEGOPRegressor(n_jobs=1).fit(X, y)  # with "auto" nothing is lost
    model_of(np.vstack([X[:40]] * 2), np.concatenate([y[:40]] * 2))  # distinct rows count


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_few_rows(n):
    X, y = sample(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_of(X, y)
        assert isinstance(model.choice_.final, GlobalKriging) and np.isnan(model.choice_.error)
        fits = model.localize(sample(5, seed=1)[0])
    assert np.isfinite(fits.value).all() and np.isfinite(fits.std).all()


@pytest.mark.parametrize("outputs", ["shared", "separate"])
def test_several_outputs(outputs, tmp_path):
    X, y = sample(90)
    model = model_of(X, np.column_stack([y, X[:, 0]]), outputs=outputs)
    assert model.predict(X[:7]).shape == (7, 2) and model.localize(X[:7]).gradient.shape == (7, 2, 3)
    model.save(tmp_path / "a.model")
    again = LocalEGOPRegressor.load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((30, 2)), np.arange(30.0)),
        (np.random.default_rng(0).normal(size=(30, 2)), np.ones(30)),
        (np.repeat(np.random.default_rng(0).normal(size=(15, 2)), 2, axis=0), np.arange(30.0)),
        (np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float), np.arange(60.0)),
        (np.vstack([sample(40)[0], np.full((1, 3), 1e9)]), np.arange(41.0)),
        (np.append(np.linspace(0.0, 1.0, 40), 1e9)[:, None], np.append(sample(40)[1], 0.0)),
        (1e-30 * sample(40)[0], 1e30 * sample(40)[1]),
    ],
    ids=[
        "one place",
        "flat labels",
        "two labels a place",
        "few places",
        "an outlier",
        "an outlier of one feature",
        "odd units",
    ],
)
@pytest.mark.parametrize("final", ["global", "auto"])
def test_hostile_inputs(X, y, final, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalEGOPRegressor(final=final, n_jobs=1, n_iter=1).fit(X, y)
        fits = model.localize(X[:10])
        for name in ("value", "gradient", "noise", "variance_factor", "effective_size", "metric", "agop"):
            assert np.isfinite(getattr(fits, name)).all(), name
        assert np.isfinite(model.predict_interval(X[:10])).all() and np.isfinite(model.loo_residuals_).all()
        model.save(tmp_path / "a.model")
        again = LocalEGOPRegressor.load(tmp_path / "a.model").predict(X)
        np.testing.assert_array_equal(again, model.predict(X))


@pytest.mark.slow
def test_it_wins_where_few_rows_meet_a_smooth_function():
    X, y = make_multi_index(900, 8, random_state=0)
    auto = LocalEGOPRegressor(n_jobs=1).fit(X[:300], y[:300])
    local = LocalEGOPRegressor(final="kriging", n_jobs=1).fit(X[:300], y[:300])
    assert isinstance(auto.choice_.final, GlobalKriging)
    errors = [np.mean((one.predict(X[300:]) - y[300:]) ** 2) for one in (auto, local)]
    assert errors[0] < 0.8 * errors[1]
