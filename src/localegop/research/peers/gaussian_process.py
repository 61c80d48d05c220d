"""Gaussian process to compare with: one length per feature (ARD), all parameters by marginal likelihood."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localegop.research.peers.kernel_methods import query_rows, some_rows, training_rows

Array = NDArray[np.float64]
_FIRST_NOISE = (1e-2, 0.3)  # from one of them alone the search may end in noise only, or miss it


class GaussianAnswers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What all have in common whose labels at a query are Gaussian: `moments` says with which moments."""

    @abstractmethod
    def moments(self, points: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (q,) of new labels at points (q, D)."""

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        return self.moments(query_rows(self, X))[0]

    def predict_interval(self, X: ArrayLike, coverage: ArrayLike = 0.9) -> Array:
        """Intervals (q, 2) that hold a new label with this probability; (q, levels, 2) for several."""
        mean, std = self.moments(query_rows(self, X))
        half = np.multiply.outer(std, norm.ppf(0.5 + 0.5 * np.asarray(coverage)))
        middle = mean.reshape(-1, *[1] * (half.ndim - 1))
        return np.stack([middle - half, middle + half], axis=-1)


class ArdGaussianProcess(GaussianAnswers):
    """scikit-learn's Gaussian process: Gaussian kernel with a length per feature, and noise.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows whose marginal likelihood chooses lengths and noise; the final process knows all.
    random_state : int, default=0
        Seed of the choice of these rows.
    threads : int, default=1
        Of the linear algebra.

    Attributes
    ----------
    model_ : GaussianProcessRegressor
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose lengths and noise, then condition on all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 3)
        self._scaler = StandardScaler().fit(points)
        points = self._scaler.transform(points)
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        with threadpool_limits(self.threads), warnings.catch_warnings():
            # a length at its bound is an answer: the feature does not matter
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried = [
                GaussianProcessRegressor(_kernel(points.shape[1], noise), normalize_y=True).fit(
                    points[rows], labels[rows]
                )
                for noise in _FIRST_NOISE
            ]
            self.model_ = max(tried, key=lambda model: model.log_marginal_likelihood_value_)
            if len(rows) < len(points):
                self.model_ = GaussianProcessRegressor(
                    self.model_.kernel_, optimizer=None, normalize_y=True
                ).fit(points, labels)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        with threadpool_limits(self.threads):
            values: Array = self.model_.predict(self._scaler.transform(query_rows(self, X)))
        return values

    def moments(self, points: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (q,) of new labels at points (q, D)."""
        check_is_fitted(self, "model_")
        with threadpool_limits(self.threads):
            mean, std = self.model_.predict(self._scaler.transform(points), return_std=True)
        return mean, std


def _kernel(dimension: int, noise: float) -> Any:
    lengths = np.full(dimension, dimension**0.5)
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4))
    return kernel + WhiteKernel(noise, (1e-10, 1e1))
