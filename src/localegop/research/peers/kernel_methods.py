"""Kernel methods to compare with, tuned by leave-one-out error: Nadaraya-Watson and kernel ridge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from localegop._arguments import check_choice

Array = NDArray[np.float64]
_ROWS_AT_ONCE = 1000
_MANY_ROWS = 2000
_RIDGE_ROWS = 2000
_RIDGES = 10.0 ** np.arange(-10, 1)
_LENGTHS = np.geomspace(0.1, 30.0, 8)  # in units of the median distance


class NadarayaWatson(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Weighted mean of labels, Gaussian weights, one bandwidth for all points by leave-one-out error.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows that are left out, one at a time, to choose the bandwidth and whether to standardize.
    random_state : int, default=0
        Seed of the choice of these rows.
    threads : int, default=1
        Of the linear algebra.

    Attributes
    ----------
    bandwidth_ : float
        h of the weights exp(-|x - x_i|^2 / (2 h^2)), in units of the (perhaps standardized) features.
    scale_ : ndarray of shape (D,)
        What features are divided by.
    loo_error_ : float
        Mean squared leave-one-out error.

    Examples
    --------
    >>> from localegop.datasets import make_helix
    >>> from localegop.research.peers.kernel_methods import NadarayaWatson
    >>> X, y = make_helix(600, 3, random_state=0)
    >>> bool(NadarayaWatson().fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.95)
    True
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Store points (n, D) and labels (n,), and choose the bandwidth."""
        points, self._y = training_rows(self, X, y, 3)
        left_out = some_rows(len(points), self.tuning_rows, self.random_state)
        self.loo_error_ = np.inf
        for scale in scales(points):
            scaled = points / scale
            with threadpool_limits(useful_threads(len(points), self.threads)):
                squared = squared_distances(scaled[left_out], scaled)
                squared[np.arange(len(left_out)), left_out] = np.inf
                bandwidth, error = self._best_bandwidth(squared, self._y[left_out])
            if error < self.loo_error_:
                self.bandwidth_, self.loo_error_ = bandwidth, error
                self.scale_, self._points = scale, scaled
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "bandwidth_")
        blocks = _blocks(query_rows(self, X) / self.scale_)
        parts = (squared_distances(each, self._points) for each in blocks)
        with threadpool_limits(useful_threads(len(self._y), self.threads)):
            return np.concatenate([_weighted_means(each, self._y, self.bandwidth_) for each in parts])

    def _best_bandwidth(self, squared: Array, labels: Array) -> tuple[float, float]:
        def error(log_bandwidth: float) -> float:
            means = _weighted_means(squared, self._y, float(np.exp(log_bandwidth)))
            return float(np.mean((means - labels) ** 2))

        nearest = np.sqrt(np.median(squared.min(axis=1)))
        widest = np.sqrt(np.max(squared[np.isfinite(squared)]))
        lowest = max(0.1 * nearest, 1e-9 * widest, np.finfo(float).tiny)
        grid = np.linspace(np.log(lowest), np.log(max(widest, 2.0 * lowest)), 12)
        best = int(np.argmin([error(u) for u in grid]))
        bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
        found = minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 0.01})
        return float(np.exp(found.x)), float(found.fun)


class TunedKernelRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression; length, ridge and standardization by leave-one-out error.

    Parameters
    ----------
    kernel : {"rbf", "laplace"}, default="rbf"
        exp(-d^2 / (2 l^2)) or exp(-d / l) of the Euclidean distance d.
    tuning_rows : int, default=1500
        Most rows used to choose length l and units, each left out once. The ridge, whose best value
        depends on the number of rows, is then chosen with up to 2,000; the final fit takes all.
    random_state : int, default=0
        Seed of the choice of these rows.
    threads : int, default=1
        Of the linear algebra.

    Attributes
    ----------
    length_, ridge_ : float
        What was chosen; labels are standardized.
    scale_ : ndarray of shape (D,)
        What features are divided by.
    loo_error_ : float
        Mean squared leave-one-out error at the tuning rows, as a fraction of the label variance.

    Examples
    --------
    >>> from localegop.datasets import make_helix
    >>> from localegop.research.peers.kernel_methods import TunedKernelRidge
    >>> X, y = make_helix(400, 3, random_state=0)
    >>> bool(TunedKernelRidge().fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.99)
    True
    """

    def __init__(
        self, kernel: str = "rbf", *, tuning_rows: int = 1500, random_state: int = 0, threads: int = 1
    ) -> None:
        self.kernel = kernel
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose length and ridge, then fit to all points (n, D) and labels (n,)."""
        check_choice("kernel", self.kernel, ("rbf", "laplace"))
        points, labels = training_rows(self, X, y, 3)
        self._mean, self._spread = float(labels.mean()), float(labels.std()) or 1.0
        labels = (labels - self._mean) / self._spread
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        self.loo_error_ = np.inf
        with threadpool_limits(useful_threads(len(rows), self.threads)):
            for scale in scales(points):
                self._tune(points[rows] / scale, labels[rows], scale)
        more = some_rows(len(points), max(self.tuning_rows, _RIDGE_ROWS), self.random_state)
        if len(more) > len(rows):
            self._choose_ridge(points[more] / self.scale_, labels[more])
        self._points = points / self.scale_
        with threadpool_limits(useful_threads(len(points), self.threads)):
            self._coefficients = self._solve(labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "length_")
        blocks = _blocks(query_rows(self, X) / self.scale_)
        grams = (self._gram(squared_distances(each, self._points), self.length_) for each in blocks)
        with threadpool_limits(useful_threads(len(self._points), self.threads)):
            values: Array = np.concatenate([gram @ self._coefficients for gram in grams])
        return self._mean + self._spread * values

    def _tune(self, points: Array, labels: Array, scale: Array) -> None:
        """Try a grid of lengths, then the gaps beside the best; keep what beats the best so far."""
        squared = squared_distances(points, points)
        unit = np.sqrt(np.median(squared)) or 1.0
        errors = {length: self._loo(squared, labels, length, scale) for length in unit * _LENGTHS}
        best = min(errors, key=errors.__getitem__)
        step = (_LENGTHS[1] / _LENGTHS[0]) ** 0.5
        for length in (best / step, best * step):
            self._loo(squared, labels, length, scale)

    def _choose_ridge(self, points: Array, labels: Array) -> None:
        """Choose the ridge again, for the length found, from more rows."""
        self.loo_error_ = np.inf
        with threadpool_limits(useful_threads(len(points), self.threads)):
            self._loo(squared_distances(points, points), labels, self.length_, self.scale_)

    def _loo(self, squared: Array, labels: Array, length: float, scale: Array) -> float:
        """Least leave-one-out error over all ridges, from one eigendecomposition."""
        gram = self._gram(squared.copy(), length)
        values, vectors = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + _RIDGES)
        # Leaving row i out makes its residual (G^-1 y)_i / (G^-1)_ii with G = K + ridge I.
        residuals = (vectors @ (inverse * (vectors.T @ labels)[:, None])) / (vectors**2 @ inverse)
        errors = np.mean(residuals**2, axis=0)
        best = int(np.argmin(errors))
        if errors[best] < self.loo_error_:
            self.loo_error_, self.length_, self.ridge_ = float(errors[best]), length, float(_RIDGES[best])
            self.scale_ = scale
        return float(errors[best])

    def _solve(self, labels: Array) -> Array:
        ridge = self.ridge_
        while True:
            gram = self._gram(squared_distances(self._points, self._points), self.length_)
            gram.flat[:: len(gram) + 1] += ridge
            try:
                factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
                solution: Array = cho_solve(factor, labels)
                return solution
            except np.linalg.LinAlgError:  # more rows than in tuning: rounding now exceeds the ridge
                ridge *= 10.0

    def _gram(self, squared: Array, length: float) -> Array:
        """Kernel values, in the memory of the squared distances."""
        if self.kernel == "rbf":
            squared /= -2.0 * length**2
        else:
            np.sqrt(squared, out=squared)
            squared /= -length
        return np.exp(squared, out=squared)


def useful_threads(n_rows: int, threads: int) -> int:
    """One thread for few rows, where several would wait for each other longer than they work."""
    return threads if n_rows >= _MANY_ROWS else 1


def training_rows(model: Any, X: ArrayLike, y: ArrayLike, at_least: int) -> tuple[Array, Array]:
    """Points (n, D) and labels (n,), checked."""
    X, y = validate_data(model, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=at_least)
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def query_rows(model: Any, X: ArrayLike) -> Array:
    """Points (q, D), checked against those of the fit."""
    return np.asarray(validate_data(model, X, dtype=np.float64, reset=False), dtype=np.float64)


def some_rows(n: int, at_most: int, random_state: int) -> NDArray[np.int64]:
    """Row numbers, all or as many as allowed, drawn at random and sorted."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, at_most, replace=False))


def scales(X: Array) -> list[Array]:
    """Return what features may be divided by: nothing, or their standard deviations."""
    return [np.ones(X.shape[1]), spreads(X)]


def spreads(X: Array) -> Array:
    """Return standard deviations of columns, 1 where only rounding tells one from a constant."""
    spread: Array = X.std(axis=0)
    rounding = 1e-12 * np.abs(X).max(axis=0)
    return np.where(spread > rounding, spread, 1.0)


def squared_distances(A: Array, B: Array) -> Array:
    """Squared Euclidean distances (a, b)."""
    center = B.mean(axis=0)  # differences of large numbers would lose digits
    A, B = A - center, B - center
    squared: Array = A @ (-2.0 * B.T)
    squared += np.sum(A**2, axis=1)[:, None]
    squared += np.sum(B**2, axis=1)
    return np.maximum(squared, 0.0, out=squared)


def _blocks(X: Array) -> Iterator[Array]:
    return (X[start : start + _ROWS_AT_ONCE] for start in range(0, len(X), _ROWS_AT_ONCE))


def _weighted_means(squared: Array, labels: Array, bandwidth: float) -> Array:
    exponent = squared.min(axis=1, keepdims=True) - squared  # the nearest point has weight 1: no 0 / 0
    exponent /= 2.0 * bandwidth**2
    weights = np.exp(exponent, out=exponent)
    means: Array = (weights @ labels) / weights.sum(axis=1)
    return means
