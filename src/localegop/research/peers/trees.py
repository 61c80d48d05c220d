"""Trees to compare with: a forest by its out-of-bag error, boosting on held-out rows."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localegop.research.peers.kernel_methods import query_rows, some_rows, training_rows, useful_threads

Array = NDArray[np.float64]


class Boosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What boosting of several libraries has in common.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose settings; all rows are then fitted.
    max_iter : int, default=2000
        Most trees.
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    model_ : object
        Model of the library.
    """

    def __init__(
        self, *, tuning_rows: int = 2000, max_iter: int = 2000, random_state: int = 0, threads: int = 1
    ) -> None:
        self.tuning_rows = tuning_rows
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        with threadpool_limits(1):
            return np.asarray(self.model_.predict(query_rows(self, X)), dtype=np.float64)


class TunedBoosting(Boosting):
    """scikit-learn's gradient boosting, stopped early, with rate and size of trees by validation error."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose rate and size of trees, then fit to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        split = ShuffleSplit(n_splits=1, test_size=0.2, random_state=self.random_state)
        candidates = [
            HistGradientBoostingRegressor(
                learning_rate=rate,
                max_leaf_nodes=leaves,
                min_samples_leaf=least,
                max_iter=self.max_iter,
                early_stopping=True,
                n_iter_no_change=20,
                random_state=self.random_state,
            )
            for rate, leaves, least in product((0.05, 0.1), (15, 31), (5, 20))
        ]
        with threadpool_limits(useful_threads(len(rows), self.threads)):
            scores = [
                cross_val_score(each, points[rows], labels[rows], cv=split, scoring="r2")
                for each in candidates
            ]
        with threadpool_limits(useful_threads(len(points), self.threads)):
            self.model_ = candidates[int(np.argmax(scores))].fit(points, labels)
        return self


class TunedForest(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's random forest, with features per split and leaf size by out-of-bag error.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose; the final fit takes all.
    n_estimators : int, default=500
        Trees of the final forest; the choice is made with 100.
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    model_ : RandomForestRegressor
    """

    def __init__(
        self, *, tuning_rows: int = 2000, n_estimators: int = 500, random_state: int = 0, threads: int = 1
    ) -> None:
        self.tuning_rows = tuning_rows
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose, then fit to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 10)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        trials = []
        for share, leaf in product((1.0, 0.5, 0.33), (1, 4)):
            settings = {"max_features": share, "min_samples_leaf": leaf}
            trial = self._forest(100, **settings, oob_score=True).fit(points[rows], labels[rows])
            trials.append((trial.oob_score_, settings))
        best = max(trials, key=lambda trial: trial[0])[1]
        self.model_ = self._forest(self.n_estimators, **best).fit(points, labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        values: Array = self.model_.predict(query_rows(self, X))
        return values

    def _forest(self, trees: int, **settings: Any) -> RandomForestRegressor:
        return RandomForestRegressor(trees, random_state=self.random_state, n_jobs=self.threads, **settings)
