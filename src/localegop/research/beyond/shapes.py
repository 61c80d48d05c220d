"""Neighborhoods of least predicted error for a linear fit, from the Hessian.

Around x* with Gaussian weights of covariance S, the value of a linear fit is off by half tr(H S), and its
variance is that of the labels around the fit, noise + half tr(H S H S), over the number of points that
count, which grows like sqrt(det S). The AGOP instead asks that tr(H S H S) be small, so it contracts every
direction in which the gradient turns. Around a manifold the gradient turns along normals, while H has no
normal-normal part: there a linear fit has no bias, and only the variance term, divided by the number of
points, objects to a long neighborhood.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from localegop._arguments import Array

_STEPS = 200


def hessian_from_gradients(X: Array, gradients: Array, center: Array, weights: Array) -> Array:
    """Slope of the gradients by a weighted linear fit, made symmetric, shape (D, D).

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.beyond.shapes import hessian_from_gradients
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> H = np.array([[1.0, 0.5], [0.5, -2.0]])
    >>> hessian_from_gradients(X, X @ H, np.zeros(2), np.ones(50)).round(4).tolist()
    [[1.0, 0.5], [0.5, -2.0]]
    """
    share = weights / weights.sum()
    offset = X - center
    deviation = offset - share @ offset
    scatter = deviation.T @ (share[:, None] * deviation)
    scatter += 1e-6 * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    slope: Array = np.linalg.solve(scatter, deviation.T @ (share[:, None] * gradients))
    return 0.5 * (slope + slope.T)


def predicted_error(covariance: Array, hessian: Array, noise: float, scarcity: float) -> float:
    """Squared bias plus variance of a linear fit, to second order.

    Parameters
    ----------
    covariance : array of shape (D, D)
        S, of the weights around x*.
    hessian : array of shape (D, D)
        Of f at x*.
    noise : float
        Variance of the labels.
    scarcity : float
        What the variance is divided by is sqrt(det S) / scarcity: the number of points that count.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.beyond.shapes import predicted_error
    >>> predicted_error(np.eye(2), np.diag([1.0, -1.0]), 0.0, 0.1)
    0.1
    """
    turned = hessian @ covariance
    bias = 0.5 * float(np.trace(turned))
    spread = noise + 0.5 * float(np.sum(turned * turned.T))
    return bias**2 + spread * scarcity / float(np.sqrt(np.linalg.det(covariance)))


def least_error_metric(
    hessian: Array, noise: float, scarcity: float, cap: float, start: Array | None = None
) -> Array:
    """Inverse of the covariance S of least `predicted_error`, no direction longer than sqrt(cap).

    Parameters
    ----------
    hessian, noise, scarcity
        As in `predicted_error`.
    cap : float
        Largest variance of a direction.
    start : array of shape (D, D), optional
        A metric to start from; by default one that follows the sizes of the curvatures.

    Returns
    -------
    metric : array of shape (D, D)
        Symmetric, all eigenvalues at least 1 / cap.

    Examples
    --------
    A function that is curved along the first axis and whose gradient turns along the second: the
    neighborhood stays long along the second, and is tilted so that the bias, half tr(H S), vanishes.

    >>> import numpy as np
    >>> from localegop.research.beyond.shapes import least_error_metric
    >>> H = np.array([[1.0, 0.5], [0.5, 0.0]])
    >>> S = np.linalg.inv(least_error_metric(H, noise=1.0, scarcity=1e-6, cap=1.0))
    >>> S.round(2).tolist(), bool(abs(np.trace(H @ S)) < 1e-3)
    ([[0.29, -0.29], [-0.29, 0.88]], True)
    """
    dimension = len(hessian)
    floor = np.eye(dimension) / cap
    metric = _by_size_of_curvature(hessian, noise, scarcity, floor) if start is None else start
    root = np.linalg.cholesky(metric + 1e-9 * np.trace(metric) / dimension * np.eye(dimension))

    def objective(flat: Array) -> tuple[float, Array]:
        factor = flat.reshape(dimension, dimension)
        value, slope = _log_error(factor @ factor.T + floor, hessian, noise, scarcity)
        return value, (2.0 * slope @ factor).ravel()

    found = minimize(objective, root.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    factor = found.x.reshape(dimension, dimension)
    least: Array = factor @ factor.T + floor
    return least


def _by_size_of_curvature(hessian: Array, noise: float, scarcity: float, floor: Array) -> Array:
    """Metric |H| of the best size among a few."""
    values, vectors = np.linalg.eigh(hessian)
    sizes = np.maximum(np.abs(values), 1e-3 * np.abs(values).max() + np.finfo(float).tiny)
    shape = (vectors * sizes) @ vectors.T
    candidates = [floor + scale * shape / sizes.max() for scale in np.geomspace(1e-2, 1e6, 30)]
    errors = [predicted_error(np.linalg.inv(each), hessian, noise, scarcity) for each in candidates]
    best: Array = candidates[int(np.argmin(errors))]
    return best


def _log_error(metric: Array, hessian: Array, noise: float, scarcity: float) -> tuple[float, Array]:
    """Logarithm of `predicted_error` and its derivative in the metric."""
    covariance = np.linalg.inv(metric)
    turned = hessian @ covariance
    trace = float(np.trace(turned))
    spread = noise + 0.5 * float(np.sum(turned * turned.T))
    rarity = scarcity * np.exp(0.5 * float(np.linalg.slogdet(metric)[1]))
    error = 0.25 * trace**2 + spread * rarity
    by_covariance = 0.5 * trace * hessian + rarity * (turned @ hessian - 0.5 * spread * metric)
    slope = -covariance @ by_covariance @ covariance / error
    return float(np.log(error)), 0.5 * (slope + slope.T)
