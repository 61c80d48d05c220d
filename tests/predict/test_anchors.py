"""Models with fewer anchors than rows, as they are from 1,000 rows on: answers, residuals, files."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine import settings
from localegop._engine.gradient_field import spread_points
from localegop.datasets import make_helix

N = 1200
X, Y = make_helix(N + 100, 3, noise=0.1, random_state=0)
QUERIES = X[N:]
QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-3, "initial_metric": "variance"}
FIELDS = ("value", "gradient", "metric", "agop", "noise", "loo_error", "variance_factor", "status")


@pytest.fixture(scope="module")
def fitted():
    return LocalEGOPRegressor(**QUICK, n_jobs=1).fit(X[:N], Y[:N])


def same_answers(ours, theirs):
    one, two = (model.localize(QUERIES, trace=True, errors=False) for model in (ours, theirs))
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_array_equal(one.trace.loo_error, two.trace.loo_error)
    np.testing.assert_array_equal(ours.loo_residuals_, theirs.loo_residuals_)
    one, two = (model.global_importance(errors=False) for model in (ours, theirs))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(ours.predict_interval(QUERIES), theirs.predict_interval(QUERIES))


def test_anchors_are_some_of_the_rows(fitted):
    (model,) = fitted._models
    assert model.data.n == N and model.field.anchors.n == 1000 and model.field.n == N
    np.testing.assert_array_equal(model.field.anchors.rows, model.data.rows[spread_points(N, 1000)])
    found = (model.loo.residuals, model.loo.noise, model.loo.gradients, model.loo.gap_share)
    assert all(len(each) == 1000 for each in (*model.field.gradients, *found))


def test_all_rows_have_residuals(fitted):
    residuals = fitted.loo_residuals_
    (model,) = fitted._models
    anchors = np.isin(model.position, spread_points(N, 1000))
    assert residuals.shape == (N,) and np.isfinite(residuals).all() and anchors.sum() == 1000
    known = model.loo.residuals[:, 0] * model.decisions.units.label_scale[0]
    np.testing.assert_array_equal(np.sort(residuals[anchors]), np.sort(known))
    sizes = [np.sqrt(np.mean(residuals[part] ** 2)) for part in (anchors, ~anchors)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.15)


def test_residuals_of_other_rows_leave_them_out():
    """Without a recursion a label moves its own residual and no prediction at its own place."""
    flat = QUICK | {"n_iter": 0}
    (model,) = LocalEGOPRegressor(**flat, n_jobs=1).fit(X[:N], Y[:N])._models
    other = int(np.flatnonzero(~np.isin(np.arange(N), spread_points(N, 1000)))[7])
    labels = model.data.labels.copy()
    labels[other] += 1.0
    moved = replace(model, data=model.data.like(model.data.rows, labels, model.data.sample_weight))
    gap = moved.distinct_residuals[other] - model.distinct_residuals[other]
    assert gap == pytest.approx(1.0, abs=1e-9)


def test_results_do_not_depend_on_threads(fitted):
    same_answers(fitted, LocalEGOPRegressor(**QUICK, n_jobs=2).fit(X[:N], Y[:N]))


def test_files_and_pickles_keep_everything(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = LocalEGOPRegressor.load(tmp_path / "model")
    assert loaded._models[0].field.anchors.n == 1000
    same_answers(loaded, fitted)
    same_answers(pickle.loads(pickle.dumps(fitted)), fitted)


def test_files_keep_what_gradients_were_learned_with_where_final_fits_look_farther(tmp_path, monkeypatch):
    """A slope under much noise: the widest neighborhoods are the best."""
    monkeypatch.setattr(settings, "NEAREST", 60)
    monkeypatch.setattr("localegop._fit.plan.FEW_ANCHORS", 200)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    labels = rows[:, 0] + rng.normal(size=600)
    model = LocalEGOPRegressor(**QUICK, n_jobs=1).fit(rows, labels)
    (inside,) = model._models
    assert model.choice_.size > 30.0 and inside.data.max_visible == 600
    assert inside.field.anchors.n == 200 and inside.field.anchors.max_visible == 60
    model.save(tmp_path / "wide")
    loaded = LocalEGOPRegressor.load(tmp_path / "wide")
    (again,) = loaded._models
    assert again.field.anchors.max_visible == 60 and again.field.largest_size == 30.0
    np.testing.assert_array_equal(loaded.predict(rows[:50]), model.predict(rows[:50]))
    np.testing.assert_array_equal(loaded.loo_residuals_, model.loo_residuals_)
