"""Trees to compare with: a forest by its out-of-bag error, boosting on held-out rows."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import ShuffleSplit, cross_val_score, train_test_split
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localegop.research.peers.kernel_methods import query_rows, some_rows, training_rows, useful_threads
from localegop.research.peers.optional import require

Array = NDArray[np.float64]


class TunedBoosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's gradient boosting, stopped early, with rate and size of trees by validation error.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose; the final fit takes all.
    max_iter : int, default=2000
        Most trees.
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    model_ : HistGradientBoostingRegressor
    """

    def __init__(
        self, *, tuning_rows: int = 2000, max_iter: int = 2000, random_state: int = 0, threads: int = 1
    ) -> None:
        self.tuning_rows = tuning_rows
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads

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

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        with threadpool_limits(1):
            values: Array = self.model_.predict(query_rows(self, X))
        return values


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


class TunedLightGBM(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """LightGBM, stopped early on a fifth of the rows, which also chooses the trees; then fitted to all.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose; the number of trees is then found with all.
    max_iter : int, default=2000
        Most trees.
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    model_ : lightgbm.Booster
    """

    def __init__(
        self, *, tuning_rows: int = 2000, max_iter: int = 2000, random_state: int = 0, threads: int = 1
    ) -> None:
        self.tuning_rows = tuning_rows
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose size of trees and their number, then fit to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        grid = [
            {"num_leaves": leaves, "min_data_in_leaf": least} for leaves, least in product((7, 31), (5, 20))
        ]
        best = min(grid, key=lambda each: self._train_until_stopped(points[rows], labels[rows], each)[0])
        trees = self._train_until_stopped(points, labels, best)[1]
        data = require("lightgbm", "bench", "LightGBM").Dataset(points, labels)
        self.model_ = self._train(data, len(points), trees, best)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(query_rows(self, X)), dtype=np.float64)

    def _train_until_stopped(self, X: Array, y: Array, settings: dict[str, Any]) -> tuple[float, int]:
        """Least error at the held-out rows, and the number of trees that had it."""
        lightgbm = require("lightgbm", "bench", "LightGBM")
        split = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        X_train, X_out, y_train, y_out = split
        data = lightgbm.Dataset(X_train, y_train)
        model = self._train(
            data,
            len(X),
            self.max_iter,
            settings,
            valid_sets=[lightgbm.Dataset(X_out, y_out, reference=data)],
            callbacks=[lightgbm.early_stopping(30, verbose=False)],
        )
        return float(model.best_score["valid_0"]["l2"]), max(1, int(model.best_iteration))

    def _train(self, data: Any, n_rows: int, trees: int, settings: dict[str, Any], **stopping: Any) -> Any:
        fixed = {
            "objective": "regression",
            "learning_rate": 0.05,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "seed": self.random_state,
            "num_threads": useful_threads(n_rows, self.threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }
        lightgbm = require("lightgbm", "bench", "LightGBM")
        return lightgbm.train(fixed | settings, data, num_boost_round=trees, **stopping)
