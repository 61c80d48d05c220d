"""statsmodels' KernelReg to compare with: local linear regression with one bandwidth per feature."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from localegop.research.peers.kernel_methods import query_rows, some_rows, training_rows
from localegop.research.peers.optional import require

Array = NDArray[np.float64]
_MOST_ROWS = 100  # its search takes minutes for a few hundred rows


class PerFeatureLocalLinear(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """statsmodels' KernelReg, bandwidths by its least-squares cross-validation.

    The search takes a thousand passes over the rows in Python, so it is made on a few of them and its
    bandwidths are carried over to all by the factor n^(-1 / (4 + D)), as its own option ``efficient`` does.

    Parameters
    ----------
    tuning_rows : int, default=2000
        A tenth of it, at most 100 rows and at least 30, is used to choose the bandwidths.
    random_state : int, default=0
        Seed of the choice of these rows.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (D,)
        In standard deviations of the features.
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose bandwidths, then store all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 3)
        self._scaler = StandardScaler().fit(points)
        points = self._scaler.transform(points)
        few = int(np.clip(self.tuning_rows // 10, 30, _MOST_ROWS))
        rows = some_rows(len(points), few, self.random_state)
        found = np.asarray(_kernel_reg(points[rows], labels[rows], "cv_ls").bw)
        self.bandwidths_ = found * (len(points) / len(rows)) ** (-1.0 / (4 + points.shape[1]))
        self._model = _kernel_reg(points, labels, self.bandwidths_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "bandwidths_")
        return np.asarray(self._model.fit(self._scaler.transform(query_rows(self, X)))[0])


def _kernel_reg(points: Array, labels: Array, bandwidths: Any) -> Any:
    module = require("statsmodels.nonparametric.kernel_regression", "bench", "KernelReg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about random numbers; it draws none
        return module.KernelReg(labels, points, "c" * points.shape[1], reg_type="ll", bw=bandwidths)
