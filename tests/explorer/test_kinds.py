"""The page of models that predict classes, and of those with given gradients."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.explorer.examples import NAMES, near
from tests.explorer.test_page import embedded

from localegop import LocalEGOPClassifier, LocalEGOPRegressor
from localegop._explorer import page
from localegop.cli import main


def told_of(scene, X):
    return json.loads(page.to_json(scene.answerer.answer(np.asarray(X, dtype=float))))["fits"]


def test_answers_about_classes_are_those_of_the_estimator(class_model, class_rows):
    X, y = class_rows
    told = told_of(class_model.explore(X, y, coverage=0.8).scene, X[:3])
    p, std = class_model.predict_proba(X[:3], return_std=True)
    sets, fits = class_model.predict_set(X[:3], 0.8), class_model.localize(X[:3])
    for i, fit in enumerate(told):
        for k, one in enumerate(fit["outputs"]):
            near(one["value"], p[i, k])
            near(one["std"], std[i, k])
            near(one["gradient"], fits.gradient[i, k])
            near(one["gradient_std"], fits.gradient_std[i, k])
            assert one["in_set"] == sets[i, k] and "interval" not in one
        places, values = fit["profiles"]["places"], fit["profiles"]["values"]
        moved = np.repeat(X[i : i + 1].to_numpy(), len(places[1]), axis=0)
        moved[:, 1] = places[1]
        expected = class_model.predict_proba(pd.DataFrame(moved, columns=NAMES), exact=True)
        near(np.array([curves[1] for curves in values]).T, expected)


def test_what_a_page_of_classes_starts_from(class_model, class_rows):
    X, y = class_rows
    given = y.copy()
    given.iloc[2] = "a dragonfly, unknown to the model"
    start = json.loads(page.to_json(class_model.explore(X, given).scene.start()))
    assert start["classes"] and start["target"] == "<b>species</b>"
    assert start["outputs"] == class_model.classes_.tolist()
    near(start["values"], class_model.predict_proba(X, exact=True))
    assert start["labels"][2] == [None] * 3
    known = [label for i, label in enumerate(start["labels"]) if i != 2]
    assert class_model.classes_[np.argmax(known, axis=1)].tolist() == y.drop(index=2).tolist()
    training = class_model.explore().scene.start()
    assert np.sum(training["labels"], axis=1).tolist() == [1.0] * 150
    with pytest.raises(ValueError, match="y must have 12 rows, as X, and one column"):
        class_model.explore(X, y[:5])


def test_classes_that_are_numbers_are_found_whatever_their_type():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0.0, 7, 3)
    model = LocalEGOPClassifier(n_iter=1, n_jobs=1, final="polynomial").fit(X, y)
    for given in (y, y.astype(float), y.astype(str), [int(one) for one in y]):
        near(model.explore(X, given).scene.y, np.eye(2)[(y == 7).astype(int)])
    assert np.isnan(model.explore(X, np.full(60, np.nan)).scene.y).all()


def test_the_command_writes_a_page_of_classes(class_model, class_rows, tmp_path, capsys):
    class_model.save(tmp_path / "m.model")
    X, y = class_rows
    X.assign(**{y.name: y}).to_csv(tmp_path / "t.csv", index=False)
    target = tmp_path / "p.html"
    assert (
        main(["explore", f"{tmp_path}/m.model", f"{tmp_path}/t.csv", "-o", str(target), "--rows", "4"]) == 0
    )
    text = target.read_text(encoding="utf-8")
    scene = embedded(text)
    assert "<i>ant</i>" not in text
    near([[one["value"] for one in fit["outputs"]] for fit in scene["fits"]], scene["values"])
    shown = np.array(scene["numbers"]) - 1
    found = [class_model.classes_[np.argmax(label)] for label in scene["labels"]]
    assert found == y.iloc[shown].tolist()
    X.to_csv(tmp_path / "t.csv", index=False)
    assert (
        main(["explore", f"{tmp_path}/m.model", f"{tmp_path}/t.csv", "-o", str(target), "--rows", "1"]) == 0
    )
    assert embedded(target.read_text(encoding="utf-8"))["labels"] is None
    capsys.readouterr()


def test_a_model_with_given_gradients_has_a_page():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(60, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2
    gradients = np.column_stack([3.0 * np.cos(3.0 * X[:, 0]), 2.0 * X[:, 1]])
    model = LocalEGOPRegressor(n_jobs=1, random_state=0).fit(X, y, gradients=gradients)
    assert model.choice_.final.__class__.__name__ != "Polynomial"  # the slopes are equations of a process
    scene = model.explore(X, y).scene
    fits, interval = model.localize(X[:3]), model.predict_interval(X[:3], 0.9)
    for i, fit in enumerate(told_of(scene, X[:3])):
        (one,) = fit["outputs"]
        near(one["value"], fits.value[i])
        near(one["gradient"], fits.gradient[i])
        near(one["interval"], interval[i])
        assert one["neighbors"]["count"] == len(fits.neighbors(i))
        assert len(fit["profiles"]["features"]) == 2
    assert "<!doctype html>" in model.explore(X[:2]).to_html()
