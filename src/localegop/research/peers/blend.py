"""A weighted mean of field Local EGOP and gradient boosting, the weight from rows left out."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from localegop.regressor import LocalEGOPRegressor
from localegop.research.peers.kernel_methods import query_rows, training_rows
from localegop.research.peers.trees import TunedBoosting
from localegop.results import ExtrapolationWarning

Array = NDArray[np.float64]


class Blend(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of a local and a boosted model; the weight of the latter has the least error in folds.

    Where f jumps along single features boosting gets weight, where it is smooth it gets next to none.

    Parameters
    ----------
    folds : int, default=5
    tuning_rows : int, default=2000
        Most rows used to choose settings of the boosting.
    random_state : int, default=0
    threads : int, default=1

    Attributes
    ----------
    weight_ : float
        Of the boosting, from 0 to 1.
    local_ : LocalEGOPRegressor
    boosted_ : TunedBoosting

    Examples
    --------
    >>> from localegop.datasets import make_helix
    >>> from localegop.research.peers.blend import Blend
    >>> X, y = make_helix(300, 3, random_state=0)
    >>> bool(Blend(folds=2).fit(X, y).weight_ < 0.1)
    True
    """

    def __init__(
        self, *, folds: int = 5, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1
    ) -> None:
        self.folds = folds
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the weight in folds, then fit both models to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        local = LocalEGOPRegressor(random_state=self.random_state, n_jobs=self.threads)
        boosted = TunedBoosting(
            tuning_rows=self.tuning_rows, random_state=self.random_state, threads=self.threads
        )
        left_out = [self._left_out(model, points, labels) for model in (local, boosted)]
        self.weight_ = best_weight(labels, *left_out)
        self.local_, self.boosted_ = (clone(model).fit(points, labels) for model in (local, boosted))
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "weight_")
        points = query_rows(self, X)
        local, boosted = self.local_.predict(points), self.boosted_.predict(points)
        return np.asarray(local + self.weight_ * (boosted - local))

    def _left_out(self, model: Any, points: Array, labels: Array) -> Array:
        """Predictions of each row by models fitted without its fold."""
        values = np.empty(len(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)  # that of `predict` is what matters
            for rest, fold in KFold(self.folds, shuffle=True, random_state=self.random_state).split(points):
                values[fold] = clone(model).fit(points[rest], labels[rest]).predict(points[fold])
        return values


def best_weight(labels: Array, first: Array, second: Array) -> float:
    """Return the weight of the second predictions, from 0 to 1, of least squared error.

    It is 0 where the gain is no larger than twice its standard error: a few rows alone may not decide.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.peers.blend import best_weight
    >>> best_weight(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([4.0, 5.0]))
    0.25
    """
    change = second - first
    length = float(change @ change)
    if length == 0.0:
        return 0.0
    weight = float(np.clip(change @ (labels - first) / length, 0.0, 1.0))
    gain = (labels - first) ** 2 - (labels - first - weight * change) ** 2
    return weight if gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain)) else 0.0
