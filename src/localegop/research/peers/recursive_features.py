"""xRFM, recursive feature machines, tuned on held-out rows. Needs torch and xrfm, imported when used."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    spreads,
    training_rows,
    useful_threads,
)
from localegop.research.peers.optional import require, torch_threads

Array = NDArray[np.float64]
GRID = (2.0, 10.0, 50.0), (1e-6, 1e-4, 1e-2)  # bandwidths and ridges
_BATCH_NUMBERS = 2e7


@dataclass(frozen=True)
class Settings:
    """What one xRFM is fitted with; ``norm`` is the p of the kernel "lpq", whose q is the exponent."""

    bandwidth: float
    ridge: float
    kernel: str = "l2"
    exponent: float = 1.0
    norm: float = 2.0
    diagonal: bool = False


def draw_settings(count: int, random_state: int) -> list[Settings]:
    """Draw from the space that xRFM's authors search.

    Four of five kernels are "lpq", exponents lie between 0.7 and 1.4, p between the exponent and 2,
    bandwidths between 0.5 and 200, ridges between 1e-6 and 10, half of the matrices are diagonal.
    """
    rng = np.random.default_rng(random_state)

    def draw() -> Settings:
        exponent = rng.uniform(0.7, 1.4)
        return Settings(
            bandwidth=float(np.exp(rng.uniform(np.log(0.5), np.log(200.0)))),
            ridge=float(np.exp(rng.uniform(np.log(1e-6), np.log(10.0)))),
            kernel="lpq" if rng.random() < 0.8 else "l2",
            exponent=exponent,
            norm=exponent + (2.0 - exponent) * rng.uniform(0.0, 0.8),
            diagonal=bool(rng.random() < 0.5),
        )

    return [draw() for _ in range(count)]


class TunedRecursiveFeatureMachine(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """xRFM with bandwidth, ridge and standardization, or all of its settings, by validation error.

    xRFM needs validation rows also to stop: a fifth of the rows, at random, is held out for it.

    Parameters
    ----------
    draws : int, default=0
        How many settings to draw from the space of `draw_settings`, with standardized features; 0 tries
        a grid of bandwidths and ridges, with and without standardization.
    tuning_rows : int, default=2000
        Most rows used to choose; the final fit takes all.
    random_state : int, default=0
    threads : int, default=1
        Of PyTorch.

    Attributes
    ----------
    settings_ : Settings
        What was chosen.
    scale_ : ndarray of shape (D,)
        What features are divided by.
    """

    def __init__(
        self, *, draws: int = 0, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1
    ) -> None:
        self.draws = draws
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose among settings, then fit to all points (n, D) and labels (n,)."""
        require("xrfm", "paper", "xRFM")
        points, labels = training_rows(self, X, y, 20)
        self._mean, self._spread = float(labels.mean()), float(labels.std()) or 1.0
        labels = (labels - self._mean) / self._spread
        self._middle = points.mean(axis=0)
        points = points - self._middle  # single precision would lose the digits behind a large offset
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        best = np.inf
        with keep_random_state():
            for scale, settings in self._candidates(points):
                error = self._fit_one(points[rows] / scale, labels[rows], settings)[1]
                if error < best or not np.isfinite(best):
                    best, self.scale_, self.settings_ = error, scale, settings
            self._model, _ = self._fit_one(points / self.scale_, labels, self.settings_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "scale_")
        points = (query_rows(self, X) - self._middle) / self.scale_
        with torch_threads(useful_threads(len(points), self.threads)):
            return self._mean + self._spread * _values(self._model, points)

    def _candidates(self, points: Array) -> list[tuple[Array, Settings]]:
        if self.draws:
            scale = spreads(points)
            return [(scale, settings) for settings in draw_settings(self.draws, self.random_state)]
        return [(scale, Settings(*pair)) for scale in scales(points) for pair in product(*GRID)]

    def _fit_one(self, X: Array, y: Array, settings: Settings) -> tuple[Any, float]:
        """Return a model, and its error at the held-out rows."""
        split = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        X_train, X_validation, y_train, y_validation = (np.asarray(part, np.float32) for part in split)
        threads = useful_threads(len(X), self.threads)
        model = _machine(settings, "mse", X_train.shape, self.random_state, threads)
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
        self._middle = points.mean(axis=0)
        points = points - self._middle
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        split = train_test_split(
            points, labels, test_size=0.2, stratify=labels, random_state=self.random_state
        )
        best = np.inf
        with keep_random_state():
            for scale, bandwidth, ridge in product(scales(points), *GRID):
                model, loss = self._fit_one(split, scale, bandwidth, ridge)
                if loss < best or not np.isfinite(best):
                    best, self._model = loss, model
                    self.scale_, self.bandwidth_, self.ridge_ = scale, bandwidth, ridge
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of classes at q points, shape (q, K)."""
        check_is_fitted(self, "scale_")
        points = (np.asarray(X, dtype=np.float64) - self._middle) / self.scale_
        with torch_threads(useful_threads(len(points), self.threads)):
            return _probabilities(self._model, points)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable classes at q points, shape (q,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _fit_one(self, split: Any, scale: Array, bandwidth: float, ridge: float) -> tuple[Any, float]:
        """Return a model, and its log loss at the held-out rows."""
        X, X_validation, y, y_validation = split
        threads = useful_threads(len(X), self.threads)
        points, others = (np.asarray(part / scale, np.float32) for part in (X, X_validation))
        settings = Settings(bandwidth, ridge)
        model = _machine(settings, "logloss", points.shape, self.random_state, threads)
        model.fit(points, y.astype(np.int64), others, y_validation.astype(np.int64))
        own = _probabilities(model, others)[np.arange(len(others)), y_validation]
        return model, float(-np.mean(np.log(own)))


def _probabilities(model: Any, points: NDArray[np.floating[Any]]) -> Array:
    """Probabilities (q, K), held above 1e-6, which log losses need."""
    found = np.asarray(model.predict_proba(points.astype(np.float32)), dtype=np.float64)
    found = np.clip(found, 1e-6, None)
    probabilities: Array = found / found.sum(axis=1, keepdims=True)
    return probabilities


def _machine(
    settings: Settings, metric: str, shape: tuple[int, ...], random_state: int, threads: int
) -> Any:
    """Return an xRFM for rows of such a shape that chooses its iteration by a metric at validation rows."""
    model = {
        "kernel": settings.kernel,
        "bandwidth": settings.bandwidth,
        "exponent": settings.exponent,
        "norm_p": settings.norm,
        "diag": settings.diagonal,
        "bandwidth_mode": "constant",
    }
    fit = {"reg": settings.ridge, "iters": 5, "verbose": False, "early_stop_rfm": False}
    if settings.kernel != "l2":  # its gradients at a batch are an array (batch, n, D), several times
        fit["M_batch_size"] = max(1, int(_BATCH_NUMBERS / np.prod(shape)))
    return require("xrfm", "paper", "xRFM").xRFM(
        rfm_params={"model": model, "fit": fit},
        device="cpu",
        tuning_metric=metric,
        random_state=random_state,
        n_threads=threads,
        verbose=False,
    )


def _values(model: Any, points: NDArray[np.floating[Any]]) -> Array:
    return np.asarray(model.predict(points.astype(np.float32)), dtype=np.float64).reshape(len(points))


@contextmanager
def keep_random_state() -> Iterator[None]:
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
