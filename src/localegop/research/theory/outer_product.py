"""The expected gradient outer product (EGOP) of a Gaussian localization, and the form W.

Throughout, a covariance is carried as a factor F with F F' = Sigma and an EGOP as a root R with
R'R = L. Late in the recursion Sigma has eigenvalues from 1 down to 1e-20; in the matrix itself the
small ones would be rounding errors, in the factors they keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_optional_positive, check_point, check_points, factor_of

from ._fields import ScalarField, VectorField, evaluate_gradient
from .quadrature import Rule, check_rule


@dataclass(frozen=True, eq=False)
class ExpectedOuterProduct:
    """An EGOP, L = E[grad f grad f'], with its numerical error.

    Parameters
    ----------
    root : array of shape (D, D)
        Upper triangular R with R'R = L; keeps the digits of small eigenvalues.
    error : float
        Estimated error of ``matrix`` in the spectral norm.
    n_points : int
        Number of gradients evaluated.
    rule : str
        Name of the quadrature.
    """

    root: Array
    error: float
    n_points: int
    rule: str

    @property
    def matrix(self) -> Array:
        """The matrix L, shape (D, D)."""
        product: Array = self.root.T @ self.root
        return product

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix, dtype=dtype)


def egop(
    gradient: VectorField,
    mean: ArrayLike,
    covariance: ArrayLike,
    *,
    exclusion_radius: float | None = None,
    rule: Rule | None = None,
) -> ExpectedOuterProduct:
    """Compute the expected gradient outer product L(mu) = E[grad f grad f'] for mu = N(mean, covariance).

    Parameters
    ----------
    gradient : callable
        Maps (k, D) points to (k, D) gradients.
    mean : array-like of shape (D,)
        Center of the localization, x*.
    covariance : array-like of shape (D, D)
        Its covariance, symmetric positive semi-definite.
    exclusion_radius : float, optional
        Condition mu on this Euclidean distance from the mean ("sample trimming" of the paper).
    rule : Rule, optional
        The quadrature: by default Gauss-Hermite up to D = 4, scrambled Sobol points above.

    Returns
    -------
    ExpectedOuterProduct
        With ``matrix``, ``root``, and ``error``, the estimated error in the spectral norm.

    Examples
    --------
    For f = x'Ax/2 the gradient is Ax and L = A (mean mean' + covariance) A.

    >>> import numpy as np
    >>> from localegop.research.theory import egop
    >>> A = np.diag([1.0, 3.0])
    >>> L = egop(lambda X: X @ A, mean=[1.0, 0.0], covariance=0.5 * np.eye(2))
    >>> L.matrix.diagonal().round(12).tolist(), L.error < 1e-12
    ([1.5, 4.5], True)
    """
    center = check_point("mean", mean)
    factor = factor_of("covariance", covariance, len(center))
    radius = check_optional_positive("exclusion_radius", exclusion_radius)
    return outer_product_at(gradient, center, factor, check_rule(rule, len(center)), radius)


def egop_form(
    gradient: VectorField,
    mean: ArrayLike,
    covariance: ArrayLike,
    *,
    exclusion_radius: float | None = None,
    rule: Rule | None = None,
) -> float:
    """Compute the EGOP form W(mu) = E[grad f' Sigma grad f] = tr(L Sigma), which controls the bias.

    Parameters are those of `egop`.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory import egop_form
    >>> A = np.diag([1.0, 3.0])
    >>> round(egop_form(lambda X: X @ A, mean=[1.0, 0.0], covariance=0.5 * np.eye(2)), 12)
    3.0
    """
    center = check_point("mean", mean)
    factor = factor_of("covariance", covariance, len(center))
    product = egop(gradient, center, covariance, exclusion_radius=exclusion_radius, rule=rule)
    return form_of(product.root, factor)


def smoothed_gradient(
    gradient: VectorField, points: ArrayLike, covariance: ArrayLike, *, rule: Rule | None = None
) -> Array:
    """Average the gradient over N(x, Sigma) at each point x: the slope of a local linear fit there.

    By Stein's identity it equals Sigma^{-1} Cov(X, f(X)), the slope of the least squares line of f
    under N(x, Sigma).

    Parameters
    ----------
    gradient : callable
        Maps (k, D) points to (k, D) gradients.
    points : array-like of shape (k, D)
        The points x.
    covariance : array-like of shape (D, D)
        The covariance Sigma.
    rule : Rule, optional
        The quadrature, as in `egop`.

    Returns
    -------
    array of shape (k, D)
        The smoothed gradients.

    Examples
    --------
    The gradient 3 x^2 of x^3 becomes 3 (x^2 + variance).

    >>> from localegop.research.theory import smoothed_gradient
    >>> smoothed_gradient(lambda X: 3.0 * X**2, [[0.0], [1.0]], [[0.5]]).round(12).tolist()
    [[1.5], [4.5]]
    """
    centers = check_points("points", points)
    dimension = centers.shape[1]
    factor = factor_of("covariance", covariance, dimension)
    return smoothed_at(gradient, centers, factor, check_rule(rule, dimension))


def least_squares_gradient(
    function: ScalarField, point: ArrayLike, covariance: ArrayLike, *, rule: Rule | None = None
) -> Array:
    """Slope Sigma^{-1} Cov(X, f(X)) of the least squares line of f under N(point, Sigma), shape (D,)."""
    center = check_point("point", point)
    factor = factor_of("covariance", covariance, len(center))
    nodes = check_rule(rule, len(center))
    values = function(center + nodes.points @ factor.T)
    # With X = x + F z: Sigma^{-1} Cov(X, f) = F^{-T} Cov(z, f).
    correlation = nodes.points.T @ (nodes.weights * values)
    return np.asarray(np.linalg.solve(factor.T, correlation), dtype=np.float64)


def outer_product_at(
    gradient: VectorField,
    center: Array,
    factor: Array,
    rule: Rule,
    radius: float | None = None,
    *,
    smoothed: bool = False,
) -> ExpectedOuterProduct:
    """EGOP of N(center, factor factor'); with ``smoothed`` of the gradient smoothed by the same."""
    offsets = rule.points @ factor.T
    if radius is not None:
        inside = np.linalg.norm(offsets, axis=1) <= radius
        rule, offsets = rule.restrict(inside), offsets[inside]
    points = center + offsets
    values = (
        smoothed_at(gradient, points, factor, rule) if smoothed else evaluate_gradient(gradient, points)
    )
    # The QR of the weighted gradients keeps digits that forming L would lose.
    root = np.zeros((len(center), len(center)))
    triangle = np.asarray(np.linalg.qr(np.sqrt(rule.weights)[:, None] * values, mode="r"))
    root[: len(triangle)] = triangle

    def product(weights: Array) -> Array:
        matrix: Array = values.T @ (weights[:, None] * values)
        return matrix

    n_points = len(points) ** 2 if smoothed else len(points)
    return ExpectedOuterProduct(root, rule.error(product), n_points, rule.name)


def smoothed_at(gradient: VectorField, centers: Array, factor: Array, rule: Rule) -> Array:
    """Average the gradients over the nodes around each center, shape (k, D)."""
    active = rule.weights > 0.0
    offsets, weights = rule.points[active] @ factor.T, rule.weights[active]
    total = np.zeros_like(centers)
    for offset, weight in zip(offsets, weights, strict=True):
        total += weight * evaluate_gradient(gradient, centers + offset)
    return total


def form_of(root: Array, factor: Array) -> float:
    """Return tr(L Sigma) = |R F|^2 from the root of L and the factor of Sigma."""
    return float(np.sum((root @ factor) ** 2))
