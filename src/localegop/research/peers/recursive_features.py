"""xRFM, recursive feature machines, tuned on held-out rows. Needs torch and xrfm, imported when used."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from localegop.research.peers.kernel_methods import (
    query_rows,
    scales,
    some_rows,
    training_rows,
    useful_threads,
)
from localegop.research.peers.optional import require, torch_threads

Array = NDArray[np.float64]
GRID = (2.0, 10.0, 50.0), (1e-6, 1e-4, 1e-2)  # bandwidths and ridges


class TunedRecursiveFeatureMachine(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """xRFM with bandwidth, ridge and standardization by validation error.

    xRFM needs validation rows also to stop: a fifth of the rows, at random, is held out for it.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose; the final fit takes all.
    random_state : int, default=0
    threads : int, default=1
        Of PyTorch.

    Attributes
    ----------
    bandwidth_, ridge_ : float
        What was chosen.
    scale_ : ndarray of shape (D,)
        What features are divided by.
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose bandwidth and ridge, then fit to all points (n, D) and labels (n,)."""
        require("xrfm", "paper", "xRFM")
        points, labels = training_rows(self, X, y, 20)
        self._mean, self._spread = float(labels.mean()), float(labels.std()) or 1.0
        labels = (labels - self._mean) / self._spread
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        with _keep_random_state():
            trials = [
                (
                    self._fit_one(points[rows] / scale, labels[rows], bandwidth, ridge)[1],
                    i,
                    bandwidth,
                    ridge,
                )
                for i, scale in enumerate(scales(points))
                for bandwidth, ridge in product(*GRID)
            ]
            _, best, self.bandwidth_, self.ridge_ = min(trials)
            self.scale_ = scales(points)[best]
            self._model, _ = self._fit_one(points / self.scale_, labels, self.bandwidth_, self.ridge_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "scale_")
        points = query_rows(self, X) / self.scale_
        with torch_threads(useful_threads(len(points), self.threads)):
            return self._mean + self._spread * _values(self._model, points)

    def _fit_one(self, X: Array, y: Array, bandwidth: float, ridge: float) -> tuple[Any, float]:
        """Return a model, and its error at the held-out rows."""
        split = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        X_train, X_validation, y_train, y_validation = (np.asarray(part, np.float32) for part in split)
        threads = useful_threads(len(X), self.threads)
        model = _machine(bandwidth, ridge, "mse", self.random_state, threads)
        model.fit(X_train, y_train, X_validation, y_validation)
        return model, float(np.mean((_values(model, X_validation) - y_validation) ** 2))


class TunedRecursiveFeatureClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """xRFM for classes, with bandwidth, ridge and standardization by the log loss of validation rows.

    xRFM needs validation rows also to stop: a fifth of the rows, at random, is held out for it.

    Parameters
    ----------
    random_state : int, default=0
    threads : int, default=1
        Of PyTorch.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    bandwidth_, ridge_ : float
        What was chosen.
    scale_ : ndarray of shape (D,)
        What features are divided by.
    """

    def __init__(self, *, random_state: int = 0, threads: int = 1) -> None:
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose bandwidth, ridge and scale by fits to four fifths of points (n, D) and labels (n,)."""
        require("xrfm", "paper", "xRFM")
        points = np.asarray(X, dtype=np.float64)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        split = train_test_split(
            points, labels, test_size=0.2, stratify=labels, random_state=self.random_state
        )
        best = np.inf
        with _keep_random_state():
            for scale, bandwidth, ridge in product(scales(points), *GRID):
                model, loss = self._fit_one(split, scale, bandwidth, ridge)
                if loss < best or not np.isfinite(best):
                    best, self._model = loss, model
                    self.scale_, self.bandwidth_, self.ridge_ = scale, bandwidth, ridge
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of classes at q points, shape (q, K)."""
        check_is_fitted(self, "scale_")
        points = np.asarray(X, dtype=np.float64) / self.scale_
        with torch_threads(useful_threads(len(points), self.threads)):
            return _probabilities(self._model, points)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable classes at q points, shape (q,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _fit_one(self, split: Any, scale: Array, bandwidth: float, ridge: float) -> tuple[Any, float]:
        """Return a model, and its log loss at the held-out rows."""
        X, X_validation, y, y_validation = split
        threads = useful_threads(len(X), self.threads)
        model = _machine(bandwidth, ridge, "logloss", self.random_state, threads)
        points, others = (np.asarray(part / scale, np.float32) for part in (X, X_validation))
        model.fit(points, y.astype(np.int64), others, y_validation.astype(np.int64))
        own = _probabilities(model, others)[np.arange(len(others)), y_validation]
        return model, float(-np.mean(np.log(own)))


def _probabilities(model: Any, points: NDArray[np.floating[Any]]) -> Array:
    """Probabilities (q, K), held above 1e-6, which log losses need."""
    found = np.asarray(model.predict_proba(points.astype(np.float32)), dtype=np.float64)
    found = np.clip(found, 1e-6, None)
    probabilities: Array = found / found.sum(axis=1, keepdims=True)
    return probabilities


def _machine(bandwidth: float, ridge: float, metric: str, random_state: int, threads: int) -> Any:
    """Return an xRFM that chooses its iteration by a metric at its validation rows."""
    settings = {
        "model": {
            "kernel": "l2",
            "bandwidth": bandwidth,
            "exponent": 1.0,
            "diag": False,
            "bandwidth_mode": "constant",
        },
        "fit": {"reg": ridge, "iters": 5, "verbose": False, "early_stop_rfm": False},
    }
    return require("xrfm", "paper", "xRFM").xRFM(
        rfm_params=settings,
        device="cpu",
        tuning_metric=metric,
        random_state=random_state,
        n_threads=threads,
        verbose=False,
    )


def _values(model: Any, points: NDArray[np.floating[Any]]) -> Array:
    return np.asarray(model.predict(points.astype(np.float32)), dtype=np.float64).reshape(len(points))


@contextmanager
def _keep_random_state() -> Iterator[None]:
    """Keep the random numbers of others as they are: xRFM seeds all generators there are."""
    torch = require("torch", "paper", "xRFM")
    python, pytorch = random.getstate(), torch.get_rng_state()
    numpy = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(pytorch)
