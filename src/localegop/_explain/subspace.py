"""The active subspace: the directions along which f varies most over all training points.

Eigenvectors of the averaged outer product of the gradients at the training points, with features compared
per standard deviation. How certain its eigenvalues are is seen by drawing the training points again, with
replacement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._predict.model import Model

Array = NDArray[np.float64]

DRAWS = 200  # of the training points


@dataclass(frozen=True)
class ActiveSubspace:
    """Directions along which f varies most; see :meth:`LocalEGOPRegressor.active_subspace`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (D,)
        Mean squared slopes along all directions, the largest first: squared units of y, for a step of one
        standard deviation.
    interval : ndarray of shape (D, 2)
        In which nine tenths of the eigenvalues lie that other draws of the training points have.
    directions : ndarray of shape (D, k)
        The leading directions, of length one where features are counted in standard deviations.
    directions_std : ndarray of shape (k,)
        Sine of the angle by which each direction turns with other draws, in the quadratic mean.
    center, scale : ndarrays of shape (D,)
        Means and standard deviations of the features.
    feature_names : tuple of str

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_engineering
    >>> X, y, gradients = make_engineering("otl_circuit", 60, random_state=0)
    >>> subspace = LocalEGOPRegressor().fit(X, y, gradients=gradients).active_subspace(1)
    >>> bool(subspace.shares[0] > 0.9), subspace.transform(X).shape
    (True, (60, 1))
    """

    eigenvalues: Array
    interval: Array
    directions: Array
    directions_std: Array
    center: Array
    scale: Array
    feature_names: tuple[str, ...]

    @property
    def shares(self) -> Array:
        """Shares (D,) of all squared slopes; zero if f is flat."""
        total = float(self.eigenvalues.sum())
        return self.eigenvalues / total if total > 0.0 else np.zeros_like(self.eigenvalues)

    @property
    def weights(self) -> Array:
        """Directions (D, k) in the units of the features: what :meth:`transform` multiplies them with."""
        per_unit = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0.0)
        found: Array = self.directions * per_unit[:, None]
        return found

    def transform(self, X: ArrayLike) -> Array:
        """Active variables (q, k) of rows (q, D)."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.scale):
            raise ValueError(
                f"X must have {len(self.scale)} columns, as the rows that the model was fitted to, got an "
                f"array of shape {rows.shape}"
            )
        found: Array = (rows - self.center) @ self.weights
        return found


def find_subspace(model: Model, count: int, names: tuple[str, ...], seed: int) -> ActiveSubspace:
    """Find the leading directions of a model, by its gradients at the anchors."""
    assert model.loo is not None and model.field is not None and model.features is not None
    units, anchors = model.decisions.units, model.field.anchors
    points = np.arange(anchors.n) * model.data.n // anchors.n
    X, weight = model.features[points], anchors.sample_weight
    scale = _spread(model)
    slopes = units.gradients(model.loo.gradients, X) * scale
    values, vectors = _leading(slopes, weight)
    rng = np.random.default_rng(seed)
    draws = [rng.integers(len(points), size=len(points)) for _ in range(DRAWS)]
    others = [_leading(slopes[draw], weight[draw]) for draw in draws]
    found = np.stack([each[0] for each in others])
    cosines = np.stack([np.sum(each[1] * vectors, axis=0) for each in others])
    turned = np.sqrt(np.mean(np.maximum(1.0 - cosines**2, 0.0), axis=0))
    return ActiveSubspace(
        values,
        np.quantile(found, (0.05, 0.95), axis=0).T,
        vectors[:, :count],
        turned[:count],
        np.average(model.features, axis=0, weights=model.data.sample_weight),
        scale,
        names,
    )


def _spread(model: Model) -> Array:
    """Measure the standard deviations (D,) of the features as given."""
    features, weight = model.features, model.data.sample_weight
    assert features is not None
    mean = np.average(features, axis=0, weights=weight)
    spread: Array = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weight))
    return spread


def _leading(slopes: Array, weight: Array) -> tuple[Array, Array]:
    """Eigenvalues (D,) and eigenvectors (D, D) of averaged outer products, the largest first.

    The largest entry of each eigenvector is positive.
    """
    part = weight / weight.sum()
    values, vectors = np.linalg.eigh(np.einsum("n,nka,nkb->ab", part, slopes, slopes, optimize=False))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))]
    return values, vectors * np.where(largest < 0.0, -1.0, 1.0)
