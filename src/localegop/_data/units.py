"""Units: from the user's features and labels to those the recursion works in, and back.

Features become z = (x - center) W, where W W' is the initial metric, so that the recursion always starts
from the identity; labels are centered and divided by their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._engine.local_data import turned
from localegop._engine.metric import factor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """Affine maps of features and labels.

    Parameters
    ----------
    center : ndarray of shape (D,)
    transform : ndarray of shape (D, r)
        W above; r < D if directions are left out.
    label_mean, label_scale : ndarray of shape (K,)
    """

    center: Array
    transform: Array
    label_mean: Array
    label_scale: Array

    @property
    def label_unit(self) -> float:
        """Variance of the labels, averaged over outputs."""
        return float(np.mean(self.label_scale**2))

    def features(self, X: Array) -> Array:
        """Features in the units of the recursion, row by row the same for any number of rows."""
        return turned(X - self.center, self.transform)

    def turned(self, axes: Array) -> Units:
        """Units whose features are these ones in other axes (D, r)."""
        return replace(self, transform=np.einsum("ab,bc->ac", self.transform, axes))

    def labels(self, y: Array) -> Array:
        """Labels in the units of the recursion."""
        return np.ascontiguousarray((y - self.label_mean) / self.label_scale)

    def values(self, values: Array) -> Array:
        """Predictions, with outputs along the last axis, in the user's units."""
        restored: Array = values * self.label_scale + self.label_mean
        return restored

    def gradients(self, gradients: Array) -> Array:
        """Gradients (..., K, D) in the user's units."""
        restored: Array = np.einsum("ab,...kb->...ka", self.transform, gradients)
        return restored * self.label_scale[:, None]

    def metrics(self, metrics: Array) -> Array:
        """Metrics, or outer products of gradients, (..., D, D) in the user's feature units."""
        restored: Array = np.einsum("ab,...bc,dc->...ad", self.transform, metrics, self.transform)
        return restored


def feature_units(found: Extent, initial_metric: str | Array) -> tuple[Array, Array]:
    """Center and transform for an initial metric: "identity", "variance", a vector or a matrix."""
    center, spread, constant = found.mean, found.spread, found.constant
    dimension = len(center)
    if isinstance(initial_metric, str):
        if initial_metric == "identity":
            scale = np.where(constant, 0.0, spread).max()
            return center, np.eye(dimension) / (scale if scale > 0.0 else 1.0)
        return center, np.diag(np.where(constant, 0.0, 1.0 / spread))
    given = np.asarray(initial_metric, dtype=float)
    if given.shape not in ((dimension,), (dimension, dimension)) or not np.isfinite(given).all():
        raise ValueError(
            "initial_metric must be 'auto', 'identity', 'variance', a vector of "
            f"{dimension} or a matrix of {dimension} x {dimension} finite numbers, "
            f"got an array of shape {given.shape}"
        )
    matrix = np.diag(given) if given.ndim == 1 else 0.5 * (given + given.T)
    if np.linalg.eigvalsh(matrix)[0] < -1e-10 * np.abs(matrix).max():
        raise ValueError("initial_metric must be positive semi-definite, but has a negative eigenvalue")
    return center, np.ascontiguousarray(factor(matrix).T)
