"""The geometry of functions of the nearest point: gradients, and the directions in the theorems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_point, check_symmetric
from localegop.datasets.manifolds import Manifold
from localegop.datasets.polynomials import SmoothFunction

from ._fields import ScalarField

_RANK_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Directions:
    """R^D split by the gradient g and the Hessian H at a point, orthonormal columns throughout.

    Parameters
    ----------
    gradient : array of shape (D, 1)
        The direction of g.
    curved : array of shape (D, r)
        Range of the Hessian restricted to the complement of g.
    straight : array of shape (D, s)
        Directions across g in which the restricted Hessian vanishes, though H itself does not.
    null : array of shape (D, k)
        Null space of H; for a tube function of full rank 2d the paper's Null, of dimension D - 2d.
    """

    gradient: Array
    curved: Array
    straight: Array
    null: Array

    @property
    def null_complement(self) -> Array:
        """The paper's Null-perp across g: ``curved`` and ``straight`` together."""
        return np.hstack([self.curved, self.straight])


def split_directions(gradient: ArrayLike, hessian: ArrayLike) -> Directions:
    """Split R^D into the directions that the theorems distinguish.

    Parameters
    ----------
    gradient : array-like of shape (D,)
        g, not zero.
    hessian : array-like of shape (D, D)
        H, symmetric.

    Returns
    -------
    Directions
        With ``gradient``, ``curved``, ``straight`` and ``null``.

    Examples
    --------
    Around the unit circle f = sin(angle) has at (1, 0) the gradient (0, 1) and the Hessian of rank two
    below, which across the gradient vanishes.

    >>> from localegop.research.theory.geometry import split_directions
    >>> split = split_directions([0.0, 1.0], [[0.0, -1.0], [-1.0, 0.0]])
    >>> split.curved.shape[1], split.straight.shape[1], split.null.shape[1]
    (0, 1, 0)
    """
    g = check_point("gradient", gradient)
    H = check_symmetric("hessian", hessian, len(g))
    if not np.linalg.norm(g) > 0.0:
        raise ValueError("gradient vanishes: the theory assumes a gradient that is not zero.")
    u = g / np.linalg.norm(g)
    across = np.eye(len(g)) - np.outer(u, u)
    scale = float(np.abs(np.linalg.eigvalsh(H)).max())
    curved = _range_of(across @ H @ across, scale)
    # Null vectors are taken across g as well, so that the four parts are orthogonal.
    outside = np.linalg.svd(np.vstack([H / (scale or 1.0), u]))
    null = outside[2][np.count_nonzero(outside[1] > _RANK_TOLERANCE) :].T
    rest = across - curved @ curved.T - null @ null.T
    return Directions(u[:, None], curved, _range_of(rest, 1.0), null)


def tube_gradient(manifold: Manifold, function: SmoothFunction, u: Array, normal: Array) -> Array:
    """Gradient of f = F(pi(x)) at p + eta by the formula (I - S_p(eta))^{-1} grad_M F(p), shape (n, D).

    Parameters
    ----------
    manifold : Manifold
        Where pi projects to.
    function : SmoothFunction
        F on R^D.
    u : array of shape (n, k)
        Coordinates of the points p.
    normal : array of shape (n, D)
        Normal vectors eta, shorter than the reach.
    """
    tangent = manifold.tangent_basis(u)
    outer = function.gradient(manifold.point(u))
    along = np.einsum("nka,nja,nj->nk", tangent, tangent, outer)
    operator = np.eye(manifold.n_features) - manifold.shape_operator(u, normal)
    gradients: Array = np.linalg.solve(operator, along[:, :, None])[:, :, 0]
    return gradients


def finite_difference_gradient(function: ScalarField, points: Array, step: float = 1e-3) -> Array:
    """Gradients by central differences of fourth order, shape (n, D)."""
    gradients = np.empty_like(points)
    for k, e in enumerate(step * np.eye(points.shape[1])):
        near = function(points + e) - function(points - e)
        far = function(points + 2.0 * e) - function(points - 2.0 * e)
        gradients[:, k] = (8.0 * near - far) / (12.0 * step)
    return gradients


def _range_of(matrix: Array, scale: float) -> Array:
    """Orthonormal columns spanning the range of a symmetric matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    columns: Array = vectors[:, np.abs(values) > _RANK_TOLERANCE * scale]
    return columns
