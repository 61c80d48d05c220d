"""Units: from the user's features and labels to those the recursion works in, and back.

Features become z = (x - center) W, where W W' is the initial metric, so that the recursion always starts
from the identity; labels are centered and divided by their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FARTHEST = 1e150  # features that the recursion may see: farther ones would overflow in products
MOST_SPREAD = 1e75  # of features in its units: squares of squares are needed
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
        largest = np.abs(self.transform).max(axis=1, initial=0.0)
        farthest = FARTHEST / np.maximum(largest, 1.0 / FARTHEST)
        return rotate(np.clip(X - self.center, -farthest, farthest), self.transform)

    def check_spread(self, std: Array) -> None:
        """Refuse units in which features of these standard deviations (D,) are too large or too small."""
        spread = float(np.max(np.abs(self.transform) * std[:, None], initial=0.0))
        if spread > MOST_SPREAD or 0.0 < spread < 1.0 / MOST_SPREAD:
            raise ValueError(
                f"X has a standard deviation of {spread:g} in the units of initial_metric, which must be "
                f"from {1.0 / MOST_SPREAD:g} to {MOST_SPREAD:g}: give X in other units or another "
                "initial_metric, such as 'variance'"
            )

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
