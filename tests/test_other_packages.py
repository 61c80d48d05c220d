"""The estimator in the hands of other packages: scikit-learn's selection and pipelines, SHAP, skops."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix

QUICK = {"n_iter": 2, "n_jobs": 1, "degree": 1, "ridge": 1e-3}
X, y = make_helix(160, 4, random_state=0)
FRAME = pd.DataFrame(X, columns=["north", "east", "up", "heat"])


@pytest.fixture(scope="module")
def model():
    return LocalEGOPRegressor(**QUICK).fit(FRAME, y)


def test_features_are_selected_by_importance(model):
    np.testing.assert_array_equal(model.feature_importances_, model.global_importance())
    selected = SelectFromModel(LocalEGOPRegressor(**QUICK), max_features=2, threshold=-np.inf).fit(FRAME, y)
    assert set(np.flatnonzero(selected.get_support())) == set(np.argsort(-model.global_importance())[:2])


def test_only_fitted_fields_have_importances():
    assert not hasattr(LocalEGOPRegressor(), "feature_importances_")
    by_query = LocalEGOPRegressor("query", n_iter=1).fit(X, y)
    with pytest.raises(AttributeError, match="average localize"):
        _ = by_query.feature_importances_


def test_global_importance_as_a_table_is_sorted(model):
    table = model.global_importance(as_frame=True)
    assert table.index.name == "feature" and list(table.columns) == ["importance"]
    assert table.importance.is_monotonic_decreasing
    np.testing.assert_array_equal(table.importance[list(FRAME.columns)], model.global_importance())
    nameless = LocalEGOPRegressor(**QUICK).fit(X, y).global_importance(as_frame=True)
    assert sorted(nameless.index) == ["x0", "x1", "x2", "x3"]


def test_intervals_and_errors_through_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), LocalEGOPRegressor(**QUICK)).fit(FRAME, y)
    value, error = pipeline.predict(FRAME[:5], return_std=True)
    interval = pipeline[-1].predict_interval(pipeline[:-1].transform(FRAME[:5]), 0.9)
    assert np.all((interval[:, 0] < value) & (value < interval[:, 1])) and np.all(error > 0.0)


def test_a_copy_whose_names_are_taken_away_predicts_arrays(model):
    nameless = copy.copy(model)
    nameless.feature_names_in_ = None  # what SHAP does
    np.testing.assert_array_equal(nameless.predict(X[:5]), model.predict(FRAME[:5]))
    assert nameless.localize(X[:1]).feature_names == ("x0", "x1", "x2", "x3")


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
def test_shap_explains_models_of_tables(model):
    shap = pytest.importorskip("shap")
    explainer = shap.KernelExplainer(model.predict, FRAME[:20])
    shares = explainer.shap_values(FRAME[30:32], nsamples=100, silent=True)
    together = explainer.expected_value + shares.sum(axis=1)
    np.testing.assert_allclose(together, model.predict(FRAME[30:32]), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"strategy": "query"}, {"kernel": "biweight"}, {"outputs": "separate"}]
)
def test_skops_keeps_predictions(options):
    skops = pytest.importorskip("skops.io")
    labels = np.column_stack([y, X[:, 0]]) if "outputs" in options else y
    model = LocalEGOPRegressor(**QUICK | options).fit(X, labels)
    written = skops.dumps(model)
    names = skops.get_untrusted_types(data=written)
    assert names and all(name.startswith("localegop.") for name in names)
    again = skops.loads(written, trusted=names)
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
    np.testing.assert_array_equal(again.localize(X[:3]).gradient, model.localize(X[:3]).gradient)
