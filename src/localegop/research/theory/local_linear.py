"""Isotropic local linear regression, the estimator that learning rates are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from localegop._arguments import Array

_N_VALIDATION = 200
_RIDGE = 1e-6


@dataclass
class IsotropicLocalLinear:
    """Local linear regression over the k nearest points with tricube weights, k by leave-one-out error.

    Parameters
    ----------
    n_neighbors : sequence of int, optional
        The numbers k to choose from; by default a geometric grid from 2 (D + 1) to a quarter of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory.local_linear import IsotropicLocalLinear
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> model = IsotropicLocalLinear().fit(X, 1.0 + X @ [2.0, -1.0])
    >>> model.predict([[0.5, 0.5]]).round(4).tolist()
    [1.5]
    """

    n_neighbors: tuple[int, ...] | None = None
    n_neighbors_: int = field(init=False, default=0)

    def fit(self, X: ArrayLike, y: ArrayLike) -> IsotropicLocalLinear:
        """Store the data, shapes (n, D) and (n,), and choose k."""
        self._X, self._y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        self._tree = cKDTree(self._X)
        n, dimension = self._X.shape
        least = min(2 * (dimension + 1), n - 1)
        grid = self.n_neighbors or np.unique(np.geomspace(least, max(n // 4, least), 8).astype(int))
        rows = np.linspace(0, n - 1, min(n, _N_VALIDATION)).astype(int)
        errors = [np.mean((self._local(self._X[rows], k, skip=1) - self._y[rows]) ** 2) for k in grid]
        self.n_neighbors_ = int(grid[int(np.argmin(errors))])
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Values at the points X, shape (k,)."""
        return self._local(np.asarray(X, dtype=np.float64), self.n_neighbors_, skip=0)

    def _local(self, points: Array, k: int, skip: int) -> Array:
        """Local linear values from the k nearest points, the first ``skip`` of them left out."""
        distance, nearest = self._tree.query(points, k=np.arange(1 + skip, k + skip + 1))
        bandwidth = 1.0001 * distance[:, -1:] + np.finfo(float).tiny
        weights = (1.0 - (distance / bandwidth) ** 3) ** 3
        weights /= weights.sum(axis=1, keepdims=True)
        values = np.empty(len(points))
        for row, (w, near) in enumerate(zip(weights, nearest, strict=True)):
            values[row] = _weighted_fit(self._X[near] - points[row], self._y[near], w)
        return values


def _weighted_fit(offsets: Array, y: Array, weights: Array) -> float:
    """Value at the origin of the weighted least squares line, slightly ridged."""
    mean_x, mean_y = weights @ offsets, float(weights @ y)
    deviation = offsets - mean_x
    scatter = deviation.T @ (weights[:, None] * deviation)
    scatter += _RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    slope = np.linalg.solve(scatter, deviation.T @ (weights * (y - mean_y)))
    return mean_y - float(mean_x @ slope)
