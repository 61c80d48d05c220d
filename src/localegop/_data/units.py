"""Units: from the user's features and labels to those the recursion works in, and back.

Features become z = (x - center) W, where W W' is the initial metric, so that the recursion always starts
from the identity; labels are centered and divided by their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUNDING = 1e-12  # residuals below this share of the labels' standard deviation are rounding


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
        return rotate(X - self.center, self.transform)

    def rotated(self, axes: Array) -> Units:
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


def rotate(rows: Array, axes: Array) -> Array:
    """Rows in other axes (D, r), each one the same for any number of rows."""
    diagonal = np.diagonal(axes)
    if axes.shape[0] == axes.shape[1] and np.array_equal(axes, np.diag(diagonal)):
        return np.ascontiguousarray(rows * diagonal)
    # einsum without BLAS: a matrix product may round differently for different numbers of rows.
    return np.ascontiguousarray(np.einsum("ia,ab->ib", rows, axes, optimize=False))
