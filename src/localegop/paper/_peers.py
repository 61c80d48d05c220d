"""Other regression methods, each tuned on its training rows the way its users would.

`PEERS` names them; `make_peer` makes a fresh estimator with ``fit`` and ``predict``. To add a method, add
an entry.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import ShuffleSplit, cross_val_score, train_test_split
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localegop.paper._kernel_methods import (
    NadarayaWatson,
    TunedKernelRidge,
    query_rows,
    scales,
    some_rows,
    training_rows,
    useful_threads,
)
from localegop.paper._torch import require, torch_threads
from localegop.regressor import LocalEGOPRegressor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Peer:
    """A method to compare with.

    Parameters
    ----------
    label : str
        For tables and legends.
    tuning : str
        What is chosen, and how.
    make : callable
        (tuning_rows, random_state, threads) -> estimator.
    module, extra : str
        Optional module that it needs, and the extra of localegop that brings it; empty if there is none.
    """

    label: str
    tuning: str
    make: Callable[[int, int, int], Any]
    module: str = ""
    extra: str = ""

    @property
    def available(self) -> bool:
        """Whether its module is installed."""
        return not self.module or find_spec(self.module) is not None


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


class TunedRecursiveFeatureMachine(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """xRFM with bandwidth, ridge and standardization by validation error.

    xRFM needs validation rows also to stop: a fifth of the rows, at random, is set aside for it.

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
        with _own_random_numbers():
            trials = [
                (self._fitted(points[rows] / scale, labels[rows], bandwidth, ridge)[1], i, bandwidth, ridge)
                for i, scale in enumerate(scales(points))
                for bandwidth, ridge in product((2.0, 10.0, 50.0), (1e-6, 1e-4, 1e-2))
            ]
            _, best, self.bandwidth_, self.ridge_ = min(trials)
            self.scale_ = scales(points)[best]
            self._model, _ = self._fitted(points / self.scale_, labels, self.bandwidth_, self.ridge_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "scale_")
        points = query_rows(self, X) / self.scale_
        with torch_threads(useful_threads(len(points), self.threads)):
            return self._mean + self._spread * _values(self._model, points)

    def _fitted(self, X: Array, y: Array, bandwidth: float, ridge: float) -> tuple[Any, float]:
        """Return a model, and its error at the rows set aside."""
        split = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        X_train, X_validation, y_train, y_validation = (np.asarray(part, np.float32) for part in split)
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
        model = require("xrfm", "paper", "xRFM").xRFM(
            rfm_params=settings,
            device="cpu",
            tuning_metric="mse",
            random_state=self.random_state,
            n_threads=useful_threads(len(X), self.threads),
            verbose=False,
        )
        model.fit(X_train, y_train, X_validation, y_validation)
        return model, float(np.mean((_values(model, X_validation) - y_validation) ** 2))


def _values(model: Any, points: NDArray[np.floating[Any]]) -> Array:
    return np.asarray(model.predict(points.astype(np.float32)), dtype=np.float64).reshape(len(points))


@contextmanager
def _own_random_numbers() -> Iterator[None]:
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


PEERS = {
    "nadaraya_watson": Peer(
        "Nadaraya-Watson",
        "one Gaussian bandwidth, leave-one-out",
        lambda rows, seed, threads: NadarayaWatson(tuning_rows=rows, random_state=seed, threads=threads),
    ),
    "local_linear": Peer(
        "local linear, isotropic",
        "effective neighborhood size and ridge, leave-one-out (Local EGOP without its recursion)",
        lambda rows, seed, threads: LocalEGOPRegressor(
            n_iter=0, degree=1, random_state=seed, n_jobs=threads
        ),
    ),
    "kernel_ridge": Peer(
        "kernel ridge, Gaussian",
        "length and ridge, leave-one-out",
        lambda rows, seed, threads: TunedKernelRidge(
            "rbf", tuning_rows=rows, random_state=seed, threads=threads
        ),
    ),
    "kernel_ridge_laplace": Peer(
        "kernel ridge, Laplace",
        "length and ridge, leave-one-out",
        lambda rows, seed, threads: TunedKernelRidge(
            "laplace", tuning_rows=rows, random_state=seed, threads=threads
        ),
    ),
    "boosting": Peer(
        "gradient boosting",
        "rate, leaves and leaf size on a fifth set aside, early stopping",
        lambda rows, seed, threads: TunedBoosting(tuning_rows=rows, random_state=seed, threads=threads),
    ),
    "xrfm": Peer(
        "xRFM",
        "bandwidth, ridge and iteration on a fifth set aside",
        lambda rows, seed, threads: TunedRecursiveFeatureMachine(
            tuning_rows=rows, random_state=seed, threads=threads
        ),
        module="xrfm",
        extra="paper",
    ),
}


def make_peer(name: str, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> Any:
    """Return a fresh estimator of this method.

    Parameters
    ----------
    name : str
        A key of `PEERS`.
    tuning_rows : int, default=2000
        Most rows, drawn at random from the training rows, on which it is tuned; the final fit takes all.
    random_state : int, default=0
        Seed of everything random.
    threads : int, default=1
        Threads to use.

    Examples
    --------
    >>> from localegop.datasets import make_helix
    >>> from localegop.paper._peers import make_peer
    >>> X, y = make_helix(300, 3, random_state=0)
    >>> model = make_peer("nadaraya_watson").fit(X[:250], y[:250])
    >>> model.predict(X[250:]).shape
    (50,)
    """
    if name not in PEERS:
        raise ValueError(f"no method is called {name!r}; there are {', '.join(PEERS)}")
    peer = PEERS[name]
    if not peer.available:
        raise ImportError(f"{peer.label} needs {peer.module}: pip install 'localegop[{peer.extra}]'")
    return peer.make(tuning_rows, random_state, threads)
