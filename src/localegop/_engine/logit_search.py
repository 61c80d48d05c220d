"""Coefficients of logits by L-BFGS, in coordinates in which second derivatives are about one.

The loss is sum_i w_i log loss_i + ridge / 2 * |theta|^2, of logits that are means plus functions times
theta. Its second derivatives in the coefficients of one class are those of weighted least squares, with
weights that follow from the probabilities. Their factor at the start gives the coordinates. Where classes
are apart, probabilities move far from a start that knows nothing; so after some iterations there are new
coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from localegop._engine.lapack import invert_factor
from localegop._engine.link import softmax

Array = NDArray[np.float64]

FIRST, MOST = 12, 200  # iterations in the coordinates of the start, and in later ones
ROUNDING = 1e-13
KEPT = 10  # pairs of steps and slopes that L-BFGS keeps
FLATTEST = 1e-8  # slope that is none


@dataclass(frozen=True)
class PenalizedLoss:
    """What logits of one-hot labels lose.

    Parameters
    ----------
    functions : ndarray of shape (n, M)
    labels : ndarray of shape (n, K)
    sample_weight : ndarray of shape (n,)
    means : ndarray of shape (K,)
        Logits where all coefficients are 0.
    ridge : float
    """

    functions: Array
    labels: Array
    sample_weight: Array
    means: Array
    ridge: float

    def least(self, enough: float, near: Array | None = None) -> Array:
        """Coefficients (M, K) of the least loss, but for a share ``enough`` of it in each iteration.

        ``near`` are logits (n, K) of a similar problem for the same rows to start from, if there are any.
        """
        if near is not None:
            return self._descend(self._like(near), enough, MOST)[0]
        theta = np.zeros((self.functions.shape[1], len(self.means)))
        theta, done = self._descend(theta, enough, FIRST)
        return theta if done else self._descend(theta, enough, MOST)[0]

    def logits(self, theta: Array) -> Array:
        """Logits (n, K) for coefficients (M, K)."""
        found: Array = self.means + self.functions @ theta
        return found

    def factor(self, curve: Array) -> Array:
        """Lower factor (M, M) of second derivatives, of loss (n,) in each logit, in coefficients."""
        rooted = np.sqrt(curve)[:, None] * self.functions
        return factorize(rooted.T @ rooted, self.ridge)

    def _like(self, logits: Array) -> Array:
        """Coefficients (M, K) of logits that are about as given."""
        factor, weight = self.factor(self.sample_weight), self.sample_weight[:, None]
        right = self.functions.T @ (weight * (logits - self.means))
        half = solve_triangular(factor, right, lower=True, check_finite=False)
        return np.asarray(solve_triangular(factor, half, lower=True, trans="T", check_finite=False))

    def _descend(self, start: Array, enough: float, most: int) -> tuple[Array, bool]:
        """Go down from coefficients (M, K) by at most so many iterations; whether that was enough."""
        back = self._coordinates(softmax(self.logits(start)))

        classes = start.shape[1]

        def turned(flat: Array) -> Array:
            found: Array = start + (flat.reshape(classes, 1, -1) @ back)[:, 0].T
            return found

        def loss(flat: Array) -> tuple[float, Array]:
            value, slope = self._measure(turned(flat))
            return value, (back @ slope.T[:, :, None]).ravel()

        options = {"maxiter": most, "ftol": enough, "gtol": FLATTEST, "maxcor": KEPT}
        found = minimize(loss, np.zeros(start.size), jac=True, method="L-BFGS-B", options=options)
        return turned(found.x), bool(found.nit < most)

    def _coordinates(self, p: Array) -> Array:
        """Inverse factors (K, M, M) where probabilities are (n, K); (1, M, M) if one serves all classes."""
        curves = self.sample_weight * curvatures(p).T
        if len(curves) == 2 or np.ptp(p, axis=0).max() == 0.0:  # alike, or nothing is known yet
            curves = curves.mean(axis=0, keepdims=True)
        return np.stack([inverse_of(self.factor(curve)) for curve in curves])

    def _measure(self, theta: Array) -> tuple[float, Array]:
        """Loss, and its slopes (M, K) in the coefficients."""
        weight, logits = self.sample_weight[:, None], self.logits(theta)
        logits -= logits.max(axis=1, keepdims=True)
        powers = np.exp(logits)
        total = powers.sum(axis=1, keepdims=True)
        of_labels = np.sum(self.labels * logits, axis=1, keepdims=True)
        value = float(np.sum(weight * (np.log(total) - of_labels)))
        slope = self.functions.T @ (weight * (powers / total - self.labels)) + self.ridge * theta
        return value + 0.5 * self.ridge * float(np.sum(theta**2)), slope


def factorize(products: Array, ridge: float) -> Array:
    """Lower factor of sums of products with a ridge, which is raised if rounding asks for it."""
    added = ridge + ROUNDING * float(np.diagonal(products).max())
    return np.asarray(np.linalg.cholesky(products + added * np.eye(len(products))), dtype=float)


def inverse_of(factor: Array) -> Array:
    """Inverse of a lower factor, lower too, in its place."""
    invert_factor(factor)
    return factor


def curvatures(p: Array) -> Array:
    """Second derivatives (n, K) of the log loss as one logit goes up and the others down.

    These go down in proportion to their probabilities, as they do where labels change.
    """
    others = 1.0 - p
    squares = np.sum(p**2, axis=1, keepdims=True) - p**2
    found: Array = p * (others + squares / np.maximum(others, 1e-150))
    return found
