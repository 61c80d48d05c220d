"""Two statements about one step: the Poincare bound on the bias, and the log-det problem it leads to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from localegop._arguments import (
    Array,
    check_count,
    check_point,
    check_positive,
    check_positive_definite,
    factor_of,
)

from ._fields import ScalarField, VectorField, evaluate_gradient
from .quadrature import Rule, check_rule


@dataclass(frozen=True)
class PoincareGap:
    """Both sides of the Poincare bound.

    Parameters
    ----------
    bias : float
        Left side, the integral of (P_M f - f)^2 under mu.
    bound : float
        Right side, (1 + density_factor) * form.
    form : float
        W(mu) = tr(L Sigma).
    density_factor : float
        Var p / (E p)^2 under mu.
    """

    bias: float
    bound: float
    form: float
    density_factor: float

    @property
    def gap(self) -> float:
        """Right side less left side; the bound says that it is not negative."""
        return self.bound - self.bias


def poincare_gap(
    function: ScalarField,
    gradient: VectorField,
    density: ScalarField,
    mean: ArrayLike,
    covariance: ArrayLike,
    *,
    rule: Rule | None = None,
) -> PoincareGap:
    """Integrate both sides of the Poincare bound for a kernel smoother.

    With mu = N(mean, Sigma), Sigma = M^{-1}, and a population density p, the smoother is
    P_M f = E[f p] / E[p] under mu, and
    E (P_M f - f)^2 <= (1 + Var p / (E p)^2) W(mu).

    Parameters
    ----------
    function, gradient, density : callable
        f and p map (k, D) points to (k,) values, the gradient of f to (k, D). The density need not be
        normalized.
    mean : array-like of shape (D,)
        Center x*.
    covariance : array-like of shape (D, D)
        Sigma, symmetric positive semi-definite.
    rule : Rule, optional
        The quadrature, as in `egop`.

    Returns
    -------
    PoincareGap
        With ``bias`` (left side), ``bound`` (right side) and ``gap``, their difference.

    Examples
    --------
    A linear function and a flat density: both sides are the variance of f.

    >>> import numpy as np
    >>> from localegop.research.theory import poincare_gap
    >>> flat = lambda X: np.ones(len(X))
    >>> result = poincare_gap(lambda X: 2.0 * X[:, 0], lambda X: np.full_like(X, 2.0), flat, [0.0], [[0.5]])
    >>> round(result.bias, 12), round(result.bound, 12)
    (2.0, 2.0)
    """
    center = check_point("mean", mean)
    factor = factor_of("covariance", covariance, len(center))
    nodes = check_rule(rule, len(center))
    points, weights = center + nodes.points @ factor.T, nodes.weights
    f, p = np.asarray(function(points)), np.asarray(density(points))
    mean_p = float(weights @ p)
    if not mean_p > 0.0 or (p < 0.0).any():
        raise ValueError("density must not be negative, nor vanish all around the mean.")
    smoothed = float(weights @ (f * p)) / mean_p
    bias = float(weights @ (f - smoothed) ** 2)
    density_factor = float(weights @ (p - mean_p) ** 2) / mean_p**2
    form = float(weights @ np.sum((evaluate_gradient(gradient, points) @ factor) ** 2, axis=1))
    return PoincareGap(bias, (1.0 + density_factor) * form, form, density_factor)


@dataclass(frozen=True, eq=False)
class AlternatingMinimum:
    """Solution of: maximize log det Sigma subject to tr(L Sigma) <= h.

    Parameters
    ----------
    covariance : array of shape (D, D)
        The closed form h L^{-1} / D.
    log_det : float
        Its log determinant.
    """

    covariance: Array
    log_det: float


def alternating_minimum(egop: ArrayLike, bandwidth: float) -> AlternatingMinimum:
    """Solve max log det Sigma subject to tr(L Sigma) <= h, Sigma positive semi-definite, in closed form.

    On the boundary tr(L Sigma) = h it is also where the error bound tr(L Sigma) + 1 / (n sqrt(det Sigma))
    is least. One step of the recursion takes this solution, up to the factor 1/D.

    Parameters
    ----------
    egop : array-like of shape (D, D)
        L, symmetric positive definite.
    bandwidth : float
        h, positive.

    Returns
    -------
    AlternatingMinimum
        With ``covariance``, h L^{-1} / D, and ``log_det``.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory import alternating_minimum
    >>> alternating_minimum(np.diag([1.0, 4.0]), bandwidth=2.0).covariance.tolist()
    [[1.0, 0.0], [0.0, 0.25]]
    """
    L, h = check_positive_definite("egop", egop), check_positive("bandwidth", bandwidth)
    covariance = h * np.linalg.inv(L) / len(L)
    covariance = 0.5 * (covariance + covariance.T)
    return AlternatingMinimum(covariance, float(np.linalg.slogdet(covariance)[1]))


def feasible_covariances(
    egop: ArrayLike, bandwidth: float, n_matrices: int, rng: np.random.Generator
) -> Array:
    """Draw random covariances with tr(L Sigma) = h, shape (n, D, D), from far off to near the optimum.

    Scaling any positive definite matrix to the boundary only raises its determinant, so that these are
    the strongest rivals of their shape.
    """
    L, h = check_positive_definite("egop", egop), check_positive("bandwidth", bandwidth)
    n, D = check_count("n_matrices", n_matrices), len(L)
    spread = 10.0 ** rng.uniform(-3.0, 0.5, size=(n, 1, 1))
    noise = rng.standard_normal((n, D, D))
    # Half of them are perturbations of L^{-1}, the other half of the identity.
    base = np.where(np.arange(n)[:, None, None] % 2, np.linalg.cholesky(np.linalg.inv(L)), np.eye(D))
    factors = base @ (np.eye(D) + spread * noise)
    matrices = factors @ np.swapaxes(factors, 1, 2) + 1e-12 * np.eye(D)
    traces = np.einsum("ab,nba->n", L, matrices)
    feasible: Array = matrices * (h / traces)[:, None, None]
    return feasible


def solve_log_det(egop: ArrayLike, bandwidth: float) -> Array:
    """Solve the same problem numerically, knowing nothing of the closed form, shape (D, D).

    The covariance is C C' scaled to the boundary, C lower triangular with a positive diagonal, and the
    logarithm of its determinant is maximized from the identity.
    """
    L, h = check_positive_definite("egop", egop), check_positive("bandwidth", bandwidth)
    rows, columns = np.tril_indices(len(L))
    diagonal = rows == columns

    def covariance(parameters: Array) -> Array:
        C = np.zeros_like(L)
        C[rows, columns] = np.where(diagonal, np.exp(np.minimum(parameters, 50.0)), parameters)
        product = C @ C.T
        scaled: Array = product * (h / np.trace(L @ product))
        return scaled

    def cost(parameters: Array) -> float:
        return -float(np.linalg.slogdet(covariance(parameters))[1])

    start = np.zeros(len(rows))
    result = minimize(cost, start, method="BFGS", options={"gtol": 1e-7})
    return covariance(result.x)
