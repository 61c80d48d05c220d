"""Gradients given to ``fit``: what they do for the error, and what may be given."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from localegop import LocalEGOPRegressor
from localegop._data import archive
from localegop._engine.gradient_kriging import GradientKriging
from localegop._selection import gradient_search

DIRECTIONS = np.array([[1.0, 0.6, 0.3, 0.0, 0.2], [0.0, 0.4, -0.8, 0.5, 0.1]])


def sample(n: int = 70, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and gradients of a function of five features."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 5))
    a, b = DIRECTIONS @ X.T
    y = np.sin(2.0 * a) + 0.5 * b**2
    G = (2.0 * np.cos(2.0 * a))[:, None] * DIRECTIONS[0] + b[:, None] * DIRECTIONS[1]
    return X, y, G


def error_of(model: Any) -> float:
    """Mean squared error at other rows, as a share of the variance."""
    X, y, _ = sample(400, 1)
    return float(np.mean((model.predict(X) - y) ** 2) / y.var())


@pytest.fixture(scope="module")
def fitted() -> LocalEGOPRegressor:
    X, y, G = sample()
    return LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G)


@pytest.fixture(scope="module")
def plain() -> LocalEGOPRegressor:
    X, y, _ = sample()
    return LocalEGOPRegressor(n_jobs=1).fit(X, y)


def test_right_gradients_help_much(fitted: LocalEGOPRegressor, plain: LocalEGOPRegressor) -> None:
    assert isinstance(fitted.choice_.final, GradientKriging)
    assert error_of(fitted) < 0.2 * error_of(plain)


@pytest.mark.parametrize("kind", ["minus", "shuffled", "noise"])
def test_wrong_gradients_do_no_harm(plain: LocalEGOPRegressor, kind: str) -> None:
    X, y, G = sample()
    rng = np.random.default_rng(0)
    wrong = {"minus": -G, "shuffled": rng.permutation(G), "noise": rng.normal(size=G.shape)}[kind]
    assert error_of(LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=wrong)) < 1.1 * error_of(plain)


def test_some_unknown_components_still_help(plain: LocalEGOPRegressor) -> None:
    X, y, G = sample()
    G[np.random.default_rng(0).random(G.shape) < 0.3] = np.nan
    G[:10] = np.nan
    assert error_of(LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G)) < 0.4 * error_of(plain)


def test_all_unknown_is_none(plain: LocalEGOPRegressor) -> None:
    X, y, G = sample()
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=np.full_like(G, np.nan))
    assert np.array_equal(model.predict(X), plain.predict(X))


def test_order_of_rows_and_units_do_not_matter(fitted: LocalEGOPRegressor) -> None:
    X, y, G = sample()
    order, queries = np.random.default_rng(1).permutation(len(X)), sample(20, 2)[0]
    again = LocalEGOPRegressor(n_jobs=1).fit(X[order], y[order], gradients=G[order])
    assert again.predict(queries) == pytest.approx(fitted.predict(queries), rel=1e-9)
    units = np.array([1e3, 1.0, 1e-3, 10.0, 1.0])
    scaled = LocalEGOPRegressor(n_jobs=1, initial_metric="variance").fit(
        X * units, 100.0 * y, gradients=100.0 * G / units
    )
    same = LocalEGOPRegressor(n_jobs=1, initial_metric="variance").fit(X, y, gradients=G)
    assert scaled.predict(queries * units) == pytest.approx(
        100.0 * same.predict(queries), rel=1e-3, abs=1e-2
    )


def test_a_constant_column_and_its_slopes_are_ignored(fitted: LocalEGOPRegressor) -> None:
    X, y, G = sample()
    X, G = np.hstack([X, np.ones((len(X), 1))]), np.hstack([G, np.full((len(X), 1), 7.0)])
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G)
    queries, labels, _ = sample(400, 1)
    queries = np.hstack([queries, np.ones((400, 1))])
    assert np.mean((model.predict(queries) - labels) ** 2) / labels.var() < 2.0 * error_of(fitted)


def test_files_and_pickles_answer_alike(fitted: LocalEGOPRegressor, tmp_path: Path) -> None:
    queries = sample(60, 2)[0]
    fitted.save(tmp_path / "model.legop")
    for other in (LocalEGOPRegressor.load(tmp_path / "model.legop"), pickle.loads(pickle.dumps(fitted))):
        assert other.predict(queries) == pytest.approx(fitted.predict(queries), rel=1e-12)
        assert other.predict_interval(queries) == pytest.approx(fitted.predict_interval(queries))
        assert other.loo_residuals_ == pytest.approx(fitted.loo_residuals_)


def file_without_gradients(model: LocalEGOPRegressor, folder: Path) -> Path:
    """Save a model, and the same without the gradients that it was given."""
    model.save(folder / "whole.legop")
    header, arrays = archive.read(folder / "whole.legop")
    rest = {name: array for name, array in arrays.items() if "given" not in name}
    archive.write(folder / "rest.legop", {k: v for k, v in header.items() if k != "format"}, rest)
    return folder / "rest.legop"


def test_a_file_without_its_gradients_is_refused(fitted: LocalEGOPRegressor, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="array 'given_gradients' is missing"):
        LocalEGOPRegressor.load(file_without_gradients(fitted, tmp_path))


def test_explanations_repeat_the_fit_with_gradients(fitted: LocalEGOPRegressor) -> None:
    X, _, G = sample(30, 3)
    fits = fitted.localize(X)
    assert fits.gradient == pytest.approx(G, abs=0.1)
    assert np.isfinite(fits.gradient_std).all()
    assert fitted.global_importance().sum() == pytest.approx(1.0)
    assert "gradients" in fitted.summary()


@pytest.mark.parametrize("outputs", ["shared", "separate"])
def test_several_outputs(outputs: str) -> None:
    X, y, G = sample(60)
    both, slopes = np.stack([y, X[:, 0] ** 2], axis=1), np.zeros((60, 2, 5))
    slopes[:, 0], slopes[:, 1, 0] = G, 2.0 * X[:, 0]
    model = LocalEGOPRegressor(n_jobs=1, outputs=outputs).fit(X, both, gradients=slopes)
    queries, truth, _ = sample(300, 1)
    found = model.predict(queries)
    assert np.mean((found[:, 0] - truth) ** 2) < 0.02 * truth.var()
    assert np.mean((found[:, 1] - queries[:, 0] ** 2) ** 2) < 0.01


def test_tables_pipelines_and_weights() -> None:
    X, y, G = sample(60)
    names = list("abcde")
    table, slopes = pandas.DataFrame(X, columns=names), pandas.DataFrame(G, columns=names)
    weight = np.ones(60)
    weight[5] = 2.0
    with sklearn.config_context(enable_metadata_routing=True):
        model = LocalEGOPRegressor(n_jobs=1).set_fit_request(gradients=True, sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        pipeline.fit(table, y, gradients=slopes, sample_weight=weight)
    alone = LocalEGOPRegressor(n_jobs=1).fit(
        np.vstack([X, X[5]]), np.append(y, y[5]), gradients=np.vstack([G, G[5]])
    )
    assert pipeline.predict(table) == pytest.approx(alone.predict(X), rel=1e-8)
    assert isinstance(alone.choice_.final, GradientKriging)


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (np.zeros((70, 4)), r"shape \(70, 5\) or \(70, 1, 5\).*got \(70, 4\)"),
        (np.zeros((69, 5)), r"got \(69, 5\)"),
        (np.zeros(70), r"got \(70,\)"),
        (np.full((70, 5), np.inf), "gradients contains infinity"),
        (np.full((70, 5), 1e120), "at most 1e.100"),
        ([["a"] * 5] * 70, "gradients"),
    ],
)
def test_what_cannot_be_gradients_is_refused(gradients: Any, message: str) -> None:
    X, y, _ = sample()
    with pytest.raises(ValueError, match=message):
        LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=gradients)


def rotated_sample(n: int = 70) -> tuple[np.ndarray, ...]:
    """Rows, labels, and slopes along four directions a row, of five features."""
    X, y, G = sample(n)
    directions = np.random.default_rng(5).normal(size=(n, 4, 5))
    return X, y, np.einsum("nd,nmd->nm", G, directions), directions


def test_slopes_along_any_directions_help(plain: LocalEGOPRegressor, tmp_path: Path) -> None:
    X, y, slopes, directions = rotated_sample()
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=slopes, directions=directions)
    assert isinstance(model.choice_.final, GradientKriging)
    assert error_of(model) < 0.3 * error_of(plain)
    queries, _, _ = sample(30, 2)
    model.save(tmp_path / "model.legop")
    loaded = LocalEGOPRegressor.load(tmp_path / "model.legop")
    assert loaded.predict(queries) == pytest.approx(model.predict(queries), rel=1e-12)
    assert np.isfinite(loaded.localize(queries).gradient_std).all()


def test_where_not_all_slopes_can_be_solved_for_a_process_of_few_functions_knows_all(
    plain: LocalEGOPRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradient_search, "MOST_EQUATIONS", 100)
    monkeypatch.setattr(gradient_search, "MOST_WORK", 1e7)
    X, y, G = sample()
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G)
    final = model.choice_.final
    assert isinstance(final, GradientKriging) and 0 < final.n_places < 70
    assert error_of(model) < 0.2 * error_of(plain)
    assert "all directions" in model.summary()
    queries, _, slopes = sample(30, 2)
    found = model.predict_gradient(queries)
    assert found == pytest.approx(slopes, abs=0.3)
    inside = model.localize(queries, errors=False).remoteness < 0.8
    assert inside.sum() > 10
    for a, e in enumerate(1e-3 * np.eye(5)):
        far = model.predict(queries - 2 * e) - model.predict(queries + 2 * e)
        moved = (far + 8 * (model.predict(queries + e) - model.predict(queries - e))) / 0.012
        assert found[inside, a] == pytest.approx(moved[inside], abs=1e-6 * np.abs(slopes).max())
    model.save(tmp_path / "model.legop")
    for other in (LocalEGOPRegressor.load(tmp_path / "model.legop"), pickle.loads(pickle.dumps(model))):
        assert other.predict(queries) == pytest.approx(model.predict(queries), rel=1e-9)
        assert other.predict_interval(queries) == pytest.approx(model.predict_interval(queries), rel=1e-6)
    fits = model.localize(queries)
    assert np.isfinite(fits.gradient_std).all() and np.isfinite(fits.std).all()
    header, arrays = archive.read(tmp_path / "model.legop")
    header["models"][0]["choice"]["final"]["n_places"] = 10**9
    archive.write(tmp_path / "large.legop", {k: v for k, v in header.items() if k != "format"}, arrays)
    with pytest.raises(ValueError, match="n_places"):
        LocalEGOPRegressor.load(tmp_path / "large.legop")


def test_gradients_are_slopes_along_the_features(fitted: LocalEGOPRegressor) -> None:
    X, y, G = sample()
    along = np.broadcast_to(np.eye(5), (70, 5, 5))
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G, directions=along)
    assert model.choice_.final == fitted.choice_.final
    assert model.predict(X + 0.01) == pytest.approx(fitted.predict(X + 0.01), rel=1e-7)


def test_directions_go_through_pipelines_and_outputs() -> None:
    X, y, slopes, directions = rotated_sample(60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LocalEGOPRegressor(n_jobs=1, outputs="separate")
        pipeline = make_pipeline(
            FunctionTransformer(), model.set_fit_request(gradients=True, directions=True)
        )
        both = np.stack([slopes, 3.0 * slopes], axis=1)
        pipeline.fit(X, np.column_stack([y, 3.0 * y]), gradients=both, directions=directions)
    alone = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=slopes, directions=directions)
    expected = np.outer(alone.predict(X), [1.0, 3.0])
    assert pipeline.predict(X) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gradients": None}, "directions were given without gradients"),
        ({"directions": np.ones((70, 4, 6))}, r"shape \(70, m, 5\).*got \(70, 4, 6\)"),
        ({"directions": np.ones((70, 5))}, r"directions must have the shape"),
        ({"directions": np.ones((70, 3, 5))}, r"gradients must have the shape \(70, 3\)"),
        ({"directions": np.full((70, 4, 5), np.nan)}, "directions contains NaN"),
        ({"directions": np.full((70, 4, 5), np.inf)}, "directions contains infinity"),
        ({"directions": np.zeros((70, 4, 5))}, "280 are, such as number 0 of row 0"),
    ],
)
def test_what_cannot_be_directions_is_refused(changed: dict[str, Any], message: str) -> None:
    X, y, slopes, directions = rotated_sample()
    given = {"gradients": slopes, "directions": directions} | changed
    with pytest.raises(ValueError, match=message):
        LocalEGOPRegressor(n_jobs=1).fit(X, y, **given)


def test_directions_may_be_zero_where_slopes_are_unknown() -> None:
    X, y, slopes, directions = rotated_sample(40)
    slopes[:, 3], directions[:, 3] = np.nan, 0.0
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=slopes, directions=directions)
    fewer = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=slopes[:, :3], directions=directions[:, :3])
    assert model.predict(X + 0.01) == pytest.approx(fewer.predict(X + 0.01), rel=1e-9)
    nothing = LocalEGOPRegressor(n_jobs=1).fit(
        X, y, gradients=np.full_like(slopes, np.nan), directions=directions
    )
    assert np.array_equal(nothing.predict(X), LocalEGOPRegressor(n_jobs=1).fit(X, y).predict(X))


def test_the_query_strategy_takes_none() -> None:
    X, y, G = sample(20)
    with pytest.raises(ValueError, match="gradients need strategy='field', got strategy='query'"):
        LocalEGOPRegressor("query").fit(X, y, gradients=G)


def test_a_cluster_takes_none() -> None:
    pytest.importorskip("dask.distributed")
    from localegop.distributed import DaskLocalEGOPRegressor

    X, y, G = sample(20)
    with pytest.raises(ValueError, match="gradients cannot be used on a cluster"):
        DaskLocalEGOPRegressor().fit(X, y, gradients=G)


def test_rows_without_value_are_dropped_with_their_gradients() -> None:
    X, y, G = sample(60)
    y[3], G[7] = np.nan, np.nan
    model = LocalEGOPRegressor(n_jobs=1, missing="drop").fit(X, y, gradients=G)
    keep = np.delete(np.arange(60), 3)
    again = LocalEGOPRegressor(n_jobs=1).fit(X[keep], y[keep], gradients=G[keep])
    assert np.array_equal(model.predict(X), again.predict(X))


def test_few_rows_and_single_features_have_use_for_gradients() -> None:
    X, y, G = sample(20)  # four rows a feature
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=G)
    assert error_of(model) < 0.5 * error_of(LocalEGOPRegressor(n_jobs=1).fit(X, y))
    x = np.linspace(0.0, 10.0, 15)[:, None]
    queries = np.linspace(0.5, 9.5, 50)[:, None]
    errors = [
        np.mean(
            (
                LocalEGOPRegressor(n_jobs=1).fit(x, np.sin(x[:, 0]), gradients=slopes).predict(queries)
                - np.sin(queries[:, 0])
            )
            ** 2
        )
        for slopes in (None, np.cos(x))
    ]
    assert errors[1] < 0.1 * errors[0]
