"""Functions that are constant along the normals of a manifold, with exact derivatives.

With p = phi(u) the projection of x, eta = x - p its normal part and J the Jacobian of phi, the
condition J'(x - phi(u)) = 0 gives du/dx = A^{-1} J', A = J'J - <eta, d2phi>, hence

    grad f(x) = J A^{-1} J' grad F(p) = (I - S_p(eta))^{-1} grad_M F(p),

the second form in terms of the shape operator S_p and the tangential gradient grad_M.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_points

from .manifolds import Manifold
from .polynomials import SmoothFunction


@dataclass(frozen=True, eq=False)
class TubeFunction:
    """A function of the nearest point of a manifold, f(x) = F(pi(x)), with exact derivatives.

    Parameters
    ----------
    manifold : Manifold
        Where pi projects to.
    function : SmoothFunction
        The function F on R^D, for instance a `Polynomial`.

    Examples
    --------
    >>> from localegop.datasets.tube_function import TubeFunction
    >>> from localegop.datasets.polynomials import Polynomial
    >>> from localegop.datasets.surfaces import Sphere
    >>> height = Polynomial.from_coefficients([0.0, 0.0, 1.0], n_features=2)
    >>> f = TubeFunction(Sphere(1), height)  # the second coordinate of x / |x|
    >>> f([[0.0, 2.0], [2.0, 0.0]])
    array([1., 0.])
    >>> f.gradient([[2.0, 0.0]])
    array([[0. , 0.5]])
    """

    manifold: Manifold
    function: SmoothFunction

    @property
    def n_features(self) -> int:
        """Dimension D of the surrounding space."""
        return self.manifold.n_features

    def __call__(self, X: ArrayLike) -> Array:
        """Values, shape (k,), at the points X, shape (k, D), of the tube."""
        points = check_points("X", X, self.n_features)
        return self.function(self.manifold.point(self.manifold.project(points)))

    def gradient(self, X: ArrayLike) -> Array:
        """Gradients, shape (k, D), at the points X, shape (k, D), of the tube."""
        points = check_points("X", X, self.n_features)
        u = self.manifold.project(points)
        p = self.manifold.point(u)
        jacobian = self.manifold.jacobian(u)
        slopes = np.einsum("nka,nk->na", jacobian, self.function.gradient(p))
        rates = _solve(self.manifold.tube_form(u, points - p), slopes[:, :, None])
        gradients: Array = (jacobian @ rates)[:, :, 0]
        return gradients

    def hessian(self, X: ArrayLike) -> Array:
        """Matrices of second derivatives, shape (k, D, D), at the points X, shape (k, D).

        They follow from differentiating J'(x - phi(u)) = 0 twice.
        """
        points = check_points("X", X, self.n_features)
        u = self.manifold.project(points)
        p = self.manifold.point(u)
        eta = points - p
        jacobian, second = self.manifold.jacobian(u), self.manifold.hessian(u)
        jacobian_t = np.swapaxes(jacobian, 1, 2)
        tube_form = self.manifold.tube_form(u, eta)
        outer_gradient = self.function.gradient(p)

        du_dx = _solve(tube_form, jacobian_t)
        rates = np.einsum("nak,nk->na", du_dx, outer_gradient)
        bend = np.einsum("nkab,na->nkb", second, rates)
        # Second derivative in u of F(phi(u)), less what the curving of u(x) takes away.
        inner: Array = jacobian_t @ self.function.hessian(p) @ jacobian
        normal_part = outer_gradient - np.einsum("nka,na->nk", jacobian, rates)
        inner += np.einsum("nkab,nk->nab", second, normal_part)
        inner += np.einsum("nkabc,na,nk->nbc", self.manifold.third(u), rates, eta)
        inner -= _twice_symmetric_part(jacobian_t @ bend)
        hessians: Array = np.swapaxes(du_dx, 1, 2) @ inner @ du_dx
        return hessians + _twice_symmetric_part(bend @ du_dx)


def _twice_symmetric_part(matrices: Array) -> Array:
    """Add square matrices, shape (n, m, m), and their transposes."""
    total: Array = matrices + np.swapaxes(matrices, 1, 2)
    return total


def _solve(matrices: Array, right: Array) -> Array:
    """Solve with A; it is singular where the nearest point stops being unique."""
    try:
        return np.asarray(np.linalg.solve(matrices, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(
            "X contains a center of curvature of the manifold, where the derivative is undefined: "
            "give points closer to the manifold than its reach."
        ) from None
