"""Units: from the user's features and labels to those the recursion works in, and back.

Features become z = (c(x) - center) W, where c are the curves of skewed features, if there are any, and W W'
is the initial metric, so that the recursion always starts from the identity; labels are centered and
divided by their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.curves import Curves
from localegop._data.slopes import GivenSlopes

Array = NDArray[np.float64]
FARTHEST = 1e150  # features that the recursion may see: farther ones would overflow in products
MOST_SPREAD = 1e75  # of features in its units: squares of squares are needed
ROUNDING = 1e-12  # residuals below this share of the labels' standard deviation are rounding


@dataclass(frozen=True)
class Units:
    """Maps of features and labels: affine ones, after the curves of single features.

    Parameters
    ----------
    center : ndarray of shape (D,)
    transform : ndarray of shape (D, r)
        W above; r < D if directions are left out.
    label_mean, label_scale : ndarray of shape (K,)
    curves : Curves or None
        None if all features are taken as they are.
    """

    center: Array
    transform: Array
    label_mean: Array
    label_scale: Array
    curves: Curves | None = None

    @property
    def label_unit(self) -> float:
        """Variance of the labels, averaged over outputs."""
        return float(np.mean(self.label_scale**2))

    def features(self, X: Array) -> Array:
        """Features in the units of the recursion, row by row the same for any number of rows."""
        largest = np.abs(self.transform).max(axis=1, initial=0.0)
        farthest = FARTHEST / np.maximum(largest, 1.0 / FARTHEST)
        curved = X if self.curves is None else self.curves(X)
        return rotate(np.clip(curved - self.center, -farthest, farthest), self.transform)

    def feature_scale(self, std: Array) -> Array:
        """Return the standard deviations (D,) of features after their curves, from those before."""
        return std if self.curves is None else np.where(self.curves.curved, 1.0, std)

    def scale_at(self, feature_scale: Array, X: Array) -> Array:
        """Return the changes (q, D) of features at queries X that are a standard deviation (D,) there."""
        everywhere = np.repeat(feature_scale[None], len(X), axis=0)
        return everywhere if self.curves is None else everywhere / self.curves.slopes(X)

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

    def slopes(
        self, gradients: Array | None, X: Array, directions: Array | None = None
    ) -> GivenSlopes | None:
        """Given slopes (n, K, m) at rows X (n, D), in the units of the recursion; None if none are.

        They are along directions (n, m, D), or None for those of the features.
        """
        if gradients is None:
            return None
        scaled = gradients / self.label_scale[:, None]
        if self.curves is not None and directions is None:
            scaled = scaled / self.curves.slopes(X)[:, None]
        elif self.curves is not None and directions is not None:
            directions = directions * self.curves.slopes(X)[:, None]
        return GivenSlopes(scaled, self.transform, directions)

    def values(self, values: Array) -> Array:
        """Predictions, with outputs along the last axis, in the user's units."""
        restored: Array = values * self.label_scale + self.label_mean
        return restored

    def gradients(self, gradients: Array, X: Array) -> Array:
        """Gradients (q, K, r) at queries X (q, D), in the user's units."""
        restored: Array = np.einsum("ab,...kb->...ka", self.transform, gradients)
        restored = restored * self.label_scale[:, None]
        return restored if self.curves is None else restored * self.curves.slopes(X)[:, None]

    def metrics(self, metrics: Array, X: Array) -> Array:
        """Metrics, or outer products of gradients, (q, r, r) at queries X (q, D), in the user's units.

        With curves they hold near the query, where the curves are their tangents.
        """
        restored: Array = np.einsum("ab,...bc,dc->...ad", self.transform, metrics, self.transform)
        if self.curves is None:
            return restored
        slopes = self.curves.slopes(X)
        return restored * slopes[:, :, None] * slopes[:, None]


def rotate(rows: Array, axes: Array) -> Array:
    """Rows in other axes (D, r), each one the same for any number of rows."""
    diagonal = np.diagonal(axes)
    if axes.shape[0] == axes.shape[1] and np.array_equal(axes, np.diag(diagonal)):
        return np.ascontiguousarray(rows * diagonal)
    # einsum without BLAS: a matrix product may round differently for different numbers of rows.
    return np.ascontiguousarray(np.einsum("ia,ab->ib", rows, axes, optimize=False))
