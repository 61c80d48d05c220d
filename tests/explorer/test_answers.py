"""What the page is told is what Python says."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.explorer.examples import NAMES, QUICK, make_rows, near

from localegop import LocalEGOPRegressor
from localegop._data.curves import Curves
from localegop._explorer import page
from localegop._explorer.answers import MOST_NEIGHBORS, training_labels, training_rows


def test_answers_are_those_of_the_estimator(model, rows):
    X, _ = rows
    scene = model.explore(X).scene
    answer = json.loads(page.to_json(scene.answerer.answer(X.to_numpy()[:4])))
    fits, interval = model.localize(X[:4], trace=True), model.predict_interval(X[:4], 0.9)
    for i, told in enumerate(answer["fits"]):
        (one,) = told["outputs"]
        near(told["query"], fits.query[i])
        for name in ("value", "std", "noise", "gradient", "importance", "effective_size", "loo_error"):
            near(one[name], getattr(fits, name)[i])
        near(one["interval"], interval[i])
        near(one["remoteness"], fits.remoteness[i])
        neighbors = fits.neighbors(i)
        assert one["neighbors"]["count"] == len(neighbors)
        assert one["neighbors"]["index"] == neighbors.index[:MOST_NEIGHBORS].tolist()
        near(one["neighbors"]["weight"], neighbors.weight[:MOST_NEIGHBORS])
        near([step["value"] for step in one["steps"]], fits.trace.value[:, i])
        near([step["effective_size"] for step in one["steps"]], fits.trace.effective_size[:, i])
        assert one["status"] == "ok"


def test_profiles_are_predictions(model, rows):
    X = rows[0].to_numpy()[:2]
    profile = model.explore(rows[0][:2]).scene.answerer.answer(X)["fits"][1]["profiles"]
    for k, j in enumerate(profile["features"]):
        moved = np.repeat(X[1:2], len(profile["places"][k]), axis=0)
        moved[:, j] = profile["places"][k]
        near(profile["values"][0][k], model.predict(pd.DataFrame(moved, columns=NAMES), exact=True))


def test_ellipses_are_the_metric_in_two_axes(model, rows):
    X = rows[0].to_numpy()[:1]
    told = model.explore(rows[0][:1]).scene.answerer.answer(X)["fits"][0]["outputs"][0]["covariance"]
    fits = model.localize(rows[0][:1])
    held = fits.metric[0] + np.diag(1.0 / (3.0 * fits.feature_scale[0]) ** 2)
    expected = np.linalg.inv(held)[:2, :2]
    np.testing.assert_allclose([told[0], told[1], told[2]], expected[np.tril_indices(2)], rtol=1e-4)


def test_training_rows_come_back_as_they_were_given():
    X, y = make_rows(80, 3)
    X.iloc[4] = X.iloc[5]
    X.iloc[7, 0] = np.nan
    model = LocalEGOPRegressor(**QUICK, initial_metric="variance", missing="drop").fit(X, y)
    rows, labels = training_rows(model), training_labels(model)
    kept = np.arange(80) != 7
    np.testing.assert_allclose(rows[kept], X[kept], rtol=1e-9, atol=1e-12)
    assert np.isnan(rows[7]).all() and np.isnan(labels[7]).all()
    np.testing.assert_allclose(labels[kept, 0], y[kept])
    assert len(model.explore().scene.X) == 79


def test_curves_have_an_inverse():
    curves = Curves(
        np.array([1.0, 0.0, 5.0]),
        np.array([2.0, 1.0, 0.0]),
        np.array([2.0, -0.7, 0.0]),
        np.array([1.0, 1.0, 0.0]),
    )
    X = np.column_stack(
        [np.exp(np.linspace(-3, 6, 50)), np.linspace(-9, 1.2, 50), np.linspace(-50, 50, 50)]
    )
    np.testing.assert_allclose(curves.inverse(curves(X)), X, rtol=1e-8, atol=1e-8)


def test_several_outputs_and_the_query_strategy(rows):
    X, y = make_rows(120, 2)
    both = pd.DataFrame({"p": y, "q": X["width"] ** 2})
    for options in ({}, {"outputs": "separate"}, {"strategy": "query"}):
        model = LocalEGOPRegressor(**QUICK | options).fit(X, both)
        scene = model.explore(X[:3], both[:3]).scene
        told = json.loads(page.to_json(scene.answerer.answer(X.to_numpy()[:1])))["fits"][0]
        fits = model.localize(X[:1])
        near([one["value"] for one in told["outputs"]], fits.value[0])
        near([one["std"] for one in told["outputs"]], fits.std[0])
        assert (told["profiles"] is None) == (model.strategy == "query")
        start = json.loads(page.to_json(scene.start()))
        near(start["values"], model.predict(X[:3], exact=True))
        assert (start["importance"] is None) == (model.strategy == "query")


def test_standard_errors_are_told_where_there_are_any(model, rows):
    scene, fits = model.explore(rows[0]).scene, model.localize(rows[0][:1])
    told = scene.answerer.answer(rows[0].to_numpy()[:1])["fits"][0]["outputs"][0]
    near(told["gradient_std"], fits.gradient_std[0])
    near(told["importance_std"], fits.importance_std[0])
    near(scene.start()["importance_std"], model.global_importance(return_std=True)[1])
    few = LocalEGOPRegressor(**QUICK).fit(rows[0][:15], np.arange(15.0)).explore(rows[0][:3]).scene
    assert few.start()["importance_std"] is None
    assert "gradient_std" not in few.answerer.answer(rows[0].to_numpy()[:1])["fits"][0]["outputs"][0]


def test_many_rows_and_features_are_thinned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    model = LocalEGOPRegressor(**QUICK, initial_metric="variance").fit(X, y)
    scene = type(model.explore(X).scene).of(model, X, most=7)
    assert scene.numbers.tolist() == np.linspace(0, 59, 7).astype(int).tolist()
    assert len(scene.answerer.axes.names) == 26  # 24 features and two directions
    assert len(scene.answerer.answer(X[:1])["fits"][0]["profiles"]["features"]) == 24


def test_what_is_refused(model, rows):
    with pytest.raises(ValueError, match="view must be one of"):
        model.explore(rows[0], view="globe")
    with pytest.raises(ValueError, match="y must have 30 rows and 1 columns"):
        model.explore(rows[0], rows[1][:3])
    with pytest.raises(ValueError, match="coverage"):
        model.explore(rows[0], coverage=90)


def test_the_widget_answers_messages(model, rows):
    pytest.importorskip("anywidget", reason="anywidget is not installed: pip install 'localegop[notebook]'")
    explorer = model.explore(*rows)
    assert "application/vnd.jupyter.widget-view+json" in str(explorer._repr_mimebundle_())
    widget = explorer.widget()
    sent = []
    widget.send = sent.append
    widget._handle_custom_msg({"number": 5, "queries": rows[0].to_numpy()[:1].tolist()}, [])
    widget._handle_custom_msg({"number": 6, "queries": "nonsense"}, [])
    assert [message["number"] for message in sent] == [5, 6]
    near(sent[0]["answer"]["fits"][0]["outputs"][0]["value"], model.predict(rows[0][:1], exact=True)[0])
    assert "ValueError" in sent[1]["error"]


def test_a_notebook_without_anywidget_shows_a_frame(model, rows, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    bundle = model.explore(rows[0][:3])._repr_mimebundle_()
    assert bundle["text/plain"] == "Explorer(rows=3, features=3, outputs=<b>price</b>)"
    assert bundle["text/html"].startswith('<iframe sandbox="allow-scripts"')
    assert "<script" not in bundle["text/html"]
