"""Nearest neighbors to compare with: k by leave-one-out error, in scaled features or a learned metric."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from localegop.research.peers.kernel_methods import query_rows, scales, some_rows, training_rows
from localegop.research.peers.optional import require

Array = NDArray[np.float64]
_MOST_NEIGHBORS = 60
_WEIGHTS = ("uniform", "distance")
_RANKS = (2, 5)  # dimensions that a learned map may lead to, besides as many as there are


class TunedNeighbors(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's k nearest neighbors with k, weights and standardization by leave-one-out error.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows that are left out, one at a time, to choose.
    random_state : int, default=0
        Seed of the choice of these rows.
    threads : int, default=1
        Of the search.

    Attributes
    ----------
    n_neighbors_ : int
    weights_ : {"uniform", "distance"}
    scale_ : ndarray of shape (D,)
        What features are divided by.
    loo_error_ : float
        Mean squared leave-one-out error.
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose k, weights and units for points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 3)
        left_out = some_rows(len(points), self.tuning_rows, self.random_state)
        self.loo_error_ = np.inf
        for scale in scales(points):
            self._tune(points / scale, labels, left_out, scale)
        self.model_ = KNeighborsRegressor(self.n_neighbors_, weights=self.weights_, n_jobs=self.threads)
        self.model_.fit(points / self.scale_, labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        values: Array = self.model_.predict(query_rows(self, X) / self.scale_)
        return values

    def _tune(self, points: Array, labels: Array, left_out: NDArray[np.int64], scale: Array) -> None:
        """Errors for all k from one search; keep what beats the best so far."""
        most = min(_MOST_NEIGHBORS, len(points) - 1)
        search = NearestNeighbors(n_neighbors=most + 1, n_jobs=self.threads).fit(points)
        distance, index = search.kneighbors(points[left_out])
        distance, index = _drop_self(distance, index, left_out)
        for weights in _WEIGHTS:
            weight = np.ones_like(distance)
            if weights == "distance":
                weight = 1.0 / np.maximum(distance, 1e-12 * (distance.max() or 1.0))
            means = np.cumsum(weight * labels[index], axis=1) / np.cumsum(weight, axis=1)
            errors = np.mean((means - labels[left_out, None]) ** 2, axis=0)
            k = int(np.argmin(errors))
            if errors[k] < self.loo_error_:
                self.n_neighbors_, self.weights_, self.scale_ = k + 1, weights, scale
                self.loo_error_ = float(errors[k])


class MetricNeighbors(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """metric-learn's MLKR, one linear map for all data, then k nearest neighbors there.

    The number of dimensions that the map leads to is chosen on a fifth of the rows, held out.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows that the map is learned from.
    max_iter : int, default=100
        Most steps of the descent.
    random_state : int, default=0
    threads : int, default=1
        Of the search.

    Attributes
    ----------
    metric_ : metric_learn.MLKR
    neighbors_ : TunedNeighbors
    """

    def __init__(
        self, *, tuning_rows: int = 2000, max_iter: int = 100, random_state: int = 0, threads: int = 1
    ) -> None:
        self.tuning_rows = tuning_rows
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map and k for points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 10)
        self._scaler = StandardScaler().fit(points)
        points = self._scaler.transform(points)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        train, out = train_test_split(rows, test_size=0.2, random_state=self.random_state)

        def error(rank: int) -> float:
            metric, neighbors = self._fit_one(points[train], labels[train], rank)
            values = neighbors.predict(points[out] @ metric.components_.T)
            return float(np.mean((values - labels[out]) ** 2))

        rank = min(sorted({min(r, points.shape[1]) for r in (*_RANKS, points.shape[1])}), key=error)
        self.metric_, self.neighbors_ = self._fit_one(points[rows], labels[rows], rank)
        if len(rows) < len(points):
            self.neighbors_ = self._neighbors().fit(points @ self.metric_.components_.T, labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "neighbors_")
        points = self._scaler.transform(query_rows(self, X))
        return self.neighbors_.predict(points @ self.metric_.components_.T)

    def _fit_one(self, points: Array, labels: Array, rank: int) -> tuple[Any, TunedNeighbors]:
        kind = require("metric_learn", "bench", "MLKR").MLKR
        scaled = (labels - labels.mean()) / (labels.std() or 1.0)
        with _accept_old_keyword():
            metric = kind(rank, init="pca", max_iter=self.max_iter, random_state=self.random_state)
            metric.fit(points, scaled)
        return metric, self._neighbors().fit(points @ metric.components_.T, labels)

    def _neighbors(self) -> TunedNeighbors:
        return TunedNeighbors(
            tuning_rows=self.tuning_rows, random_state=self.random_state, threads=self.threads
        )


def _drop_self(
    distance: Array, index: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Neighbors (m, k) without the point itself, or, where doubles hide it, without the last one."""
    keep = index != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(index), index.shape[1] - 1)
    return distance[keep].reshape(shape), index[keep].reshape(shape)


@contextmanager
def _accept_old_keyword() -> Iterator[None]:
    """Let metric-learn 0.7 call scikit-learn 1.8 and later, which renamed ``force_all_finite``."""
    module: Any = import_module("metric_learn._util")
    before = {name: getattr(module, name) for name in ("check_X_y", "check_array")}

    def renamed(check: Any) -> Any:
        if "force_all_finite" in signature(check).parameters:
            return check
        return lambda *given, force_all_finite=True, **named: check(
            *given, ensure_all_finite=force_all_finite, **named
        )

    try:
        for name, check in before.items():
            setattr(module, name, renamed(check))
        yield
    finally:
        for name, check in before.items():
            setattr(module, name, check)
