"""Sphere, torus, band over a curve, and flat space."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_points

from .curves import Curve
from .manifolds import Manifold, quantiles


@dataclass(frozen=True)
class Sphere(Manifold):
    """The unit sphere S^d in R^(d+1); a point's coordinates are the point itself.

    Parameters
    ----------
    intrinsic_dimension : int
        The dimension d.

    Examples
    --------
    >>> from localegop.datasets.surfaces import Sphere
    >>> Sphere(2).project([[0.0, 0.0, 3.0]])
    array([[0., 0., 1.]])
    """

    intrinsic_dimension: int

    @property
    def dimension(self) -> int:
        """Dimension d of the sphere."""
        return self.intrinsic_dimension

    @property
    def n_features(self) -> int:
        """Dimension d + 1 of the surrounding space."""
        return self.intrinsic_dimension + 1

    @property
    def reach(self) -> float:
        """The radius of the sphere."""
        return 1.0

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Points uniform on the sphere, shape (n, d + 1)."""
        return self.project(rng.standard_normal((n_samples, self.n_features)))

    def project(self, X: ArrayLike) -> Array:
        """Points x / |x|, shape (n, d + 1)."""
        points = check_points("X", X, self.n_features)
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        if (norms == 0).any():
            raise ValueError("X contains the center of the sphere, which has no nearest point.")
        unit: Array = points / norms
        return unit

    def point(self, u: Array) -> Array:
        """Return the points themselves."""
        return u

    def jacobian(self, u: Array) -> Array:
        """Orthonormal tangent vectors E, those of the chart v -> (p + Ev) / |p + Ev| at v = 0."""
        basis: Array = np.linalg.qr(u[:, :, None], mode="complete")[0]
        return basis[:, :, 1:]

    def hessian(self, u: Array) -> Array:
        """Second derivatives of that chart, -p on the diagonal, shape (n, d + 1, d, d)."""
        return -u[:, :, None, None] * np.eye(self.dimension)

    def third(self, u: Array) -> Array:
        """Third derivatives of that chart, shape (n, d + 1, d, d, d)."""
        product = np.einsum("nka,bc->nkabc", self.jacobian(u), np.eye(self.dimension))
        symmetric: Array = product + product.transpose(0, 1, 3, 2, 4) + product.transpose(0, 1, 3, 4, 2)
        return -symmetric


class Surface(Manifold):
    """A surface given by its partial derivatives."""

    @abstractmethod
    def partial(self, u: Array, orders: tuple[int, int]) -> Array:
        """Return one partial derivative of phi, shape (n, D), of these orders in u_0 and u_1."""

    @property
    def dimension(self) -> int:
        """Dimension of the surface, two."""
        return 2

    def point(self, u: Array) -> Array:
        """Points phi(u), shape (n, D)."""
        return self.partial(u, (0, 0))

    def jacobian(self, u: Array) -> Array:
        """First derivatives, shape (n, D, 2)."""
        return self._derivatives(u, 1)

    def hessian(self, u: Array) -> Array:
        """Second derivatives, shape (n, D, 2, 2)."""
        return self._derivatives(u, 2)

    def third(self, u: Array) -> Array:
        """Third derivatives, shape (n, D, 2, 2, 2)."""
        return self._derivatives(u, 3)

    def _derivatives(self, u: Array, order: int) -> Array:
        """All partial derivatives of one order."""
        orders = [(i.count(0), i.count(1)) for i in product(range(2), repeat=order)]
        stacked = np.stack([self.partial(u, pair) for pair in orders], axis=-1)
        return stacked.reshape(len(u), self.n_features, *(2,) * order)


@dataclass(frozen=True)
class Torus(Surface):
    """The torus of revolution in R^3; coordinates are the angles around the axis and the tube.

    Parameters
    ----------
    major_radius : float, default 1.5
        Radius of the circle in the middle of the tube.
    minor_radius : float, default 0.75
        Radius of the tube.

    Examples
    --------
    >>> from localegop.datasets.surfaces import Torus
    >>> Torus().reach
    0.75
    """

    major_radius: float = 1.5
    minor_radius: float = 0.75

    @property
    def n_features(self) -> int:
        """Dimension of space."""
        return 3

    @property
    def reach(self) -> float:
        """Distance to the middle circle or to the axis, whichever is less."""
        return min(self.minor_radius, self.major_radius - self.minor_radius)

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Angles of points uniform by area, shape (n, 2)."""
        angle = np.linspace(0.0, 2.0 * np.pi, 4097)
        outward = self.major_radius + self.minor_radius * np.cos(angle)
        levels = rng.uniform(size=(n_samples, 2))
        around = 2.0 * np.pi * levels[:, 0]
        return np.column_stack([around, quantiles(angle, outward, levels[:, 1])])

    def project(self, X: ArrayLike) -> Array:
        """Angles of the nearest points, shape (n, 2)."""
        x, y, z = check_points("X", X, 3).T
        outward = np.hypot(x, y) - self.major_radius
        return np.column_stack([np.arctan2(y, x), np.arctan2(z, outward)])

    def partial(self, u: Array, orders: tuple[int, int]) -> Array:
        """Return one partial derivative of phi, shape (n, 3)."""
        around, tube = (u + 0.5 * np.pi * np.array(orders)).T  # derivatives of sin and cos
        distance = self.minor_radius * np.cos(tube)
        if orders[1] == 0:
            distance += self.major_radius
        height = self.minor_radius * np.sin(tube) if orders[0] == 0 else np.zeros(len(u))
        return np.column_stack([distance * np.cos(around), distance * np.sin(around), height])


@dataclass(frozen=True)
class Band(Surface):
    """The product of a curve in R^m and a segment, in R^(m+1); the curve and line go on beyond.

    Parameters
    ----------
    curve : Curve
        The curve.
    width : float
        Length of the segment, centered at 0.

    Examples
    --------
    >>> from localegop.datasets.curves import Circle
    >>> from localegop.datasets.surfaces import Band
    >>> Band(Circle(2.0), width=1.0).project([[0.0, 3.0, 0.25]])
    array([[0.  , 0.25]])
    """

    curve: Curve
    width: float

    @property
    def n_features(self) -> int:
        """Dimension m + 1 of the surrounding space."""
        return self.curve.n_features + 1

    @property
    def reach(self) -> float:
        """The reach of the curve."""
        return self.curve.reach

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Coordinates of points uniform by area, shape (n, 2)."""
        along = self.curve.sample(n_samples, rng)
        across = rng.uniform(-0.5 * self.width, 0.5 * self.width, size=(n_samples, 1))
        return np.hstack([along, across])

    def project(self, X: ArrayLike) -> Array:
        """Coordinates of the nearest points, shape (n, 2)."""
        points = check_points("X", X, self.n_features)
        return np.hstack([self.curve.project(points[:, :-1]), points[:, -1:]])

    def partial(self, u: Array, orders: tuple[int, int]) -> Array:
        """Return one partial derivative of phi, shape (n, m + 1)."""
        derivative = np.zeros((len(u), self.n_features))
        if orders[1] == 0:
            derivative[:, :-1] = self.curve.derivative(u[:, 0], orders[0])
        if orders[0] == 0 and orders[1] < 2:
            derivative[:, -1] = 1.0 if orders[1] else u[:, 1]
        return derivative


@dataclass(frozen=True)
class FlatSpace(Manifold):
    """The space R^d itself; embedded in R^D it is a linear subspace.

    Parameters
    ----------
    intrinsic_dimension : int
        The dimension d.

    Examples
    --------
    >>> from localegop.datasets.surfaces import FlatSpace
    >>> FlatSpace(2).reach
    inf
    """

    intrinsic_dimension: int

    @property
    def dimension(self) -> int:
        """Dimension d."""
        return self.intrinsic_dimension

    @property
    def n_features(self) -> int:
        """Dimension d of the surrounding space."""
        return self.intrinsic_dimension

    @property
    def reach(self) -> float:
        """Infinite."""
        return np.inf

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Points uniform in the cube [-1, 1]^d."""
        return rng.uniform(-1.0, 1.0, size=(n_samples, self.dimension))

    def project(self, X: ArrayLike) -> Array:
        """Return the points themselves."""
        return check_points("X", X, self.dimension)

    def point(self, u: Array) -> Array:
        """Return the points themselves."""
        return u

    def jacobian(self, u: Array) -> Array:
        """Identity matrices, shape (n, d, d)."""
        return np.tile(np.eye(self.dimension), (len(u), 1, 1))

    def hessian(self, u: Array) -> Array:
        """Zeros, shape (n, d, d, d)."""
        return np.zeros((len(u),) + (self.dimension,) * 3)

    def third(self, u: Array) -> Array:
        """Zeros, shape (n, d, d, d, d)."""
        return np.zeros((len(u),) + (self.dimension,) * 4)
