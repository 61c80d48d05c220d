"""scikit-learn's own checks, with no expected failures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from localegop import LocalEGOPClassifier, LocalEGOPRegressor
from localegop.datasets import make_helix

X, Y = make_helix(150, 3, random_state=0)


@parametrize_with_checks(
    [
        LocalEGOPRegressor(n_jobs=1),
        LocalEGOPRegressor("query", n_iter=3, n_subsamples=20, n_jobs=1),
        LocalEGOPRegressor(loss="huber", n_iter=1, degree=1, n_jobs=1),
        LocalEGOPClassifier(n_iter=1, n_jobs=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_scikit_learn_checks_of_the_default_classifier():
    found = check_estimator(LocalEGOPClassifier(n_jobs=1), on_skip=None, on_fail=None)
    assert [one["check_name"] for one in found if one["status"] not in ("passed", "skipped")] == []


def test_pandas_in_and_names_kept():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LocalEGOPRegressor(n_iter=1).fit(frame, pd.Series(Y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_pipeline_grid_search_and_clone():
    pipeline = make_pipeline(StandardScaler(), LocalEGOPRegressor(n_iter=1))
    search = GridSearchCV(pipeline, {"localegopregressor__degree": [0, 1]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"localegopregressor__degree": 1}
    model = LocalEGOPRegressor(degree=0, kernel="biweight")
    assert clone(model).get_params() == model.get_params()


def test_paper_parameters_are_parameters():
    model = LocalEGOPRegressor(**LocalEGOPRegressor.paper_parameters() | {"n_iter": 2})
    assert np.isfinite(model.fit(X, Y).predict(X[:3])).all()
