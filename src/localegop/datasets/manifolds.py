"""Manifolds in R^D: a parametrization phi(u) with derivatives, and what follows from them.

A concrete manifold (`Circle`, `Helix`, `Sphere`, `Torus`, ...) supplies phi, its derivatives up to
the third, a projection and a sampler. Bases, normal noise and the shape operator are derived here,
once for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_trapezoid

from localegop._arguments import Array, check_points


class Manifold(ABC):
    """A d-dimensional manifold in R^D, given by a parametrization phi.

    A point is named by its coordinates u, a row of an array of shape (n, k). Usually k = d and u are
    the parameters; a manifold without a global chart may name points otherwise (the sphere uses the
    unit vector), as long as the derivatives are those of one smooth chart about the point.

    Examples
    --------
    >>> from localegop.datasets.surfaces import Torus
    >>> torus = Torus(major_radius=2.0, minor_radius=0.5)
    >>> torus.dimension, torus.n_features, torus.reach
    (2, 3, 0.5)
    >>> torus.point(torus.project([[3.0, 0.0, 0.0]]))
    array([[2.5, 0. , 0. ]])
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension d of the manifold."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Dimension D of the surrounding space."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest radius within which the nearest point is unique."""

    @abstractmethod
    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Coordinates of random points, shape (n, k)."""

    @abstractmethod
    def project(self, X: ArrayLike) -> Array:
        """Coordinates, shape (n, k), of the points nearest to X, shape (n, D)."""

    @abstractmethod
    def point(self, u: Array) -> Array:
        """Points phi(u), shape (n, D)."""

    @abstractmethod
    def jacobian(self, u: Array) -> Array:
        """First derivatives of phi, shape (n, D, d)."""

    @abstractmethod
    def hessian(self, u: Array) -> Array:
        """Second derivatives of phi, shape (n, D, d, d)."""

    @abstractmethod
    def third(self, u: Array) -> Array:
        """Third derivatives of phi, shape (n, D, d, d, d)."""

    def tangent_basis(self, u: Array) -> Array:
        """Orthonormal bases of the tangent spaces, shape (n, D, d)."""
        basis: Array = np.linalg.qr(self.jacobian(u))[0]
        return basis

    def normal_basis(self, u: Array) -> Array:
        """Orthonormal bases of the normal spaces, shape (n, D, D - d)."""
        complete: Array = np.linalg.qr(self.jacobian(u), mode="complete")[0]
        return complete[:, :, self.dimension :]

    def normal_noise(self, u: Array, radius: float, rng: np.random.Generator) -> Array:
        """Vectors uniform in the balls of the normal spaces, shape (n, D)."""
        codimension = self.n_features - self.dimension
        if codimension == 0:
            return np.zeros((len(u), self.n_features))
        # The normal part of a Gaussian vector has a uniform direction, and needs no normal basis.
        normal = rng.standard_normal((len(u), self.n_features))
        tangent = self.tangent_basis(u)
        for _ in range(2):  # the second pass removes the rounding left by the first
            normal -= np.einsum("nia,nja,nj->ni", tangent, tangent, normal, optimize="greedy")
        lengths = radius * rng.uniform(size=len(u)) ** (1.0 / codimension)
        scaled: Array = normal * (lengths / np.linalg.norm(normal, axis=1))[:, None]
        return scaled

    def tube_form(self, u: Array, offset: Array) -> Array:
        """Matrices J'J - <offset, d2phi>, shape (n, d, d).

        For a normal offset this is the Gram matrix of phi times I - S_p(offset), and positive
        definite within the reach. It is half the second derivative in u of |x - phi(u)|^2.
        """
        jacobian = self.jacobian(u)
        form: Array = np.swapaxes(jacobian, 1, 2) @ jacobian
        form -= np.einsum("nk,nkab->nab", offset, self.hessian(u))
        return form

    def shape_operator(self, u: Array, normal: Array) -> Array:
        """Shape operators S_p(normal) as matrices on R^D, shape (n, D, D), zero on normals."""
        jacobian = self.jacobian(u)
        # The pseudo-inverse of J, (J'J)^{-1} J', reads tangent vectors off in coordinates.
        reader = np.linalg.pinv(jacobian)
        form = np.einsum("nk,nkab->nab", normal, self.hessian(u))
        operator: Array = np.swapaxes(reader, 1, 2) @ form @ reader
        return operator


@dataclass(frozen=True, eq=False)
class EmbeddedManifold(Manifold):
    """A manifold embedded in R^D by an isometry, phi(u) = frame @ base.phi(u).

    Parameters
    ----------
    base : Manifold
        A manifold in R^m.
    frame : array of shape (D, m)
        Orthonormal columns, D >= m.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets.manifolds import EmbeddedManifold
    >>> from localegop.datasets.surfaces import Torus
    >>> torus = EmbeddedManifold(Torus(), np.eye(20, 3))
    >>> torus.dimension, torus.n_features
    (2, 20)
    """

    base: Manifold
    frame: Array

    @property
    def dimension(self) -> int:
        """Dimension d of the manifold."""
        return self.base.dimension

    @property
    def n_features(self) -> int:
        """Dimension D of the surrounding space."""
        return int(self.frame.shape[0])

    @property
    def reach(self) -> float:
        """Largest radius within which the nearest point is unique; isometries keep it."""
        return self.base.reach

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Coordinates of random points, shape (n, k)."""
        return self.base.sample(n_samples, rng)

    def project(self, X: ArrayLike) -> Array:
        """Coordinates, shape (n, k), of the points nearest to X, shape (n, D)."""
        return self.base.project(check_points("X", X, self.n_features) @ self.frame)

    def point(self, u: Array) -> Array:
        """Points phi(u), shape (n, D)."""
        points: Array = self.base.point(u) @ self.frame.T
        return points

    def jacobian(self, u: Array) -> Array:
        """First derivatives of phi, shape (n, D, d)."""
        return self._embed(self.base.jacobian(u))

    def hessian(self, u: Array) -> Array:
        """Second derivatives of phi, shape (n, D, d, d)."""
        return self._embed(self.base.hessian(u))

    def third(self, u: Array) -> Array:
        """Third derivatives of phi, shape (n, D, d, d, d)."""
        return self._embed(self.base.third(u))

    def _embed(self, derivatives: Array) -> Array:
        """Apply the frame to the component axis."""
        return np.moveaxis(np.tensordot(self.frame, derivatives, axes=(1, 1)), 0, 1)


def random_frame(n_features: int, n_columns: int, rng: np.random.Generator) -> Array:
    """Draw uniformly a matrix of orthonormal columns, shape (n_features, n_columns)."""
    columns, upper = np.linalg.qr(rng.standard_normal((n_features, n_columns)))
    # Fixing the signs makes the distribution invariant under rotations.
    frame: Array = columns * np.sign(np.diag(upper))
    return frame


def quantiles(t: Array, density: Array, levels: Array) -> Array:
    """Quantiles of a density tabulated on a fine grid t, shape of ``levels``."""
    cumulative = cumulative_trapezoid(density, t, initial=0.0)
    inverse: Array = np.interp(levels * cumulative[-1], cumulative, t)
    return inverse
