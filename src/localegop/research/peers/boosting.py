"""Boosting of other libraries, most of it stopped on held-out rows: LightGBM, CatBoost, interpret."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from localegop.research.peers.kernel_methods import query_rows, some_rows, training_rows, useful_threads
from localegop.research.peers.optional import require
from localegop.research.peers.trees import Boosting

Array = NDArray[np.float64]


class _StoppedBoosting(Boosting):
    """Boosting that a fifth of the rows stops, which also chooses the trees; then fitted to all.

    Attributes
    ----------
    settings_ : dict
        What was chosen.
    n_trees_ : int
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose size of trees and their number, then fit to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        tried = [(self._stop(points[rows], labels[rows], each)[0], each) for each in self._candidates()]
        self.settings_ = min(tried, key=lambda trial: trial[0])[1]
        self.n_trees_ = self._stop(points, labels, self.settings_)[1]
        self.model_ = self._train(points, labels, self.n_trees_, self.settings_)
        return self

    def _stop(self, X: Array, y: Array, settings: dict[str, Any]) -> tuple[float, int]:
        """Least error at the held-out rows, and the number of trees that had it."""
        split = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        X_train, X_out, y_train, y_out = split
        return self._train_until_stopped(X_train, y_train, X_out, y_out, settings)

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Return the settings to choose among."""

    @abstractmethod
    def _train(self, X: Array, y: Array, trees: int, settings: dict[str, Any]) -> Any:
        """Fit a number of trees."""

    @abstractmethod
    def _train_until_stopped(
        self, X: Array, y: Array, X_out: Array, y_out: Array, settings: dict[str, Any]
    ) -> tuple[float, int]:
        """Least error at the held-out rows, and the number of trees that had it."""


class TunedLightGBM(_StoppedBoosting):
    """LightGBM with constants or, with ``linear``, linear functions in its leaves.

    Parameters
    ----------
    linear : bool, default=False
        Linear functions of the features on the way to a leaf, with a ridge to choose.
    tuning_rows, max_iter, random_state, threads
        See `Boosting`.
    """

    def __init__(
        self,
        *,
        linear: bool = False,
        tuning_rows: int = 2000,
        max_iter: int = 2000,
        random_state: int = 0,
        threads: int = 1,
    ) -> None:
        super().__init__(
            tuning_rows=tuning_rows, max_iter=max_iter, random_state=random_state, threads=threads
        )
        self.linear = linear

    def _candidates(self) -> list[dict[str, Any]]:
        trees = [
            {"num_leaves": leaves, "min_data_in_leaf": least} for leaves, least in product((7, 31), (5, 20))
        ]
        if not self.linear:
            return trees
        linear = [{"linear_tree": True, "linear_lambda": ridge} for ridge in (0.01, 1.0)]
        return [each | ridge for each, ridge in product(trees, linear)]

    def _train(self, X: Array, y: Array, trees: int, settings: dict[str, Any], **held_out: Any) -> Any:
        lightgbm = require("lightgbm", "bench", "LightGBM")
        fixed = {
            "objective": "regression",
            "learning_rate": 0.05,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "seed": self.random_state,
            "num_threads": useful_threads(len(X), self.threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }
        settings = fixed | settings
        data = lightgbm.Dataset(X, y, params=settings)
        if held_out:
            stop = [lightgbm.early_stopping(30, verbose=False)]
            out = lightgbm.Dataset(held_out["X_out"], held_out["y_out"], reference=data, params=settings)
            return lightgbm.train(settings, data, trees, valid_sets=[out], callbacks=stop)
        return lightgbm.train(settings, data, trees)

    def _train_until_stopped(
        self, X: Array, y: Array, X_out: Array, y_out: Array, settings: dict[str, Any]
    ) -> tuple[float, int]:
        model = self._train(X, y, self.max_iter, settings, X_out=X_out, y_out=y_out)
        return float(model.best_score["valid_0"]["l2"]), max(1, int(model.best_iteration))


class TunedCatBoost(_StoppedBoosting):
    """CatBoost, with depth and ridge of its symmetric trees chosen, at a rate of 0.05."""

    def _candidates(self) -> list[dict[str, Any]]:
        return [{"depth": depth, "l2_leaf_reg": ridge} for depth, ridge in product((4, 6, 8), (1.0, 5.0))]

    def _train(self, X: Array, y: Array, trees: int, settings: dict[str, Any], **held_out: Any) -> Any:
        model = require("catboost", "bench", "CatBoost").CatBoostRegressor(
            iterations=trees,
            learning_rate=0.05,
            random_seed=self.random_state,
            thread_count=useful_threads(len(X), self.threads),
            allow_writing_files=False,
            verbose=False,
            **settings,
        )
        return model.fit(X, y, **held_out)

    def _train_until_stopped(
        self, X: Array, y: Array, X_out: Array, y_out: Array, settings: dict[str, Any]
    ) -> tuple[float, int]:
        model = self._train(
            X, y, self.max_iter, settings, eval_set=(X_out, y_out), early_stopping_rounds=50
        )
        return float(model.get_best_score()["validation"]["RMSE"]), int(model.get_best_iteration()) + 1


class AdditiveBoosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Explainable boosting machine of interpret: functions of one and two features, its own defaults.

    Parameters
    ----------
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    model_ : ExplainableBoostingRegressor
    """

    def __init__(self, *, random_state: int = 0, threads: int = 1) -> None:
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        glassbox = require("interpret.glassbox", "bench", "the explainable boosting machine")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns with few values, which it then takes for kinds
            self.model_ = glassbox.ExplainableBoostingRegressor(
                feature_types=["continuous"] * points.shape[1],
                random_state=self.random_state,
                n_jobs=self.threads,
            ).fit(points, labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(query_rows(self, X)), dtype=np.float64)
