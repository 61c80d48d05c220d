"""Curves: what is common to all of them, and the circle and the helix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from localegop._arguments import Array, check_points

from .manifolds import EmbeddedManifold, Manifold, quantiles
from .projection import nearest_coordinates

_TURN = 2.0 * np.pi
_MAX_REACH_POINTS = 400


class Curve(Manifold):
    """A curve t -> phi(t) in R^m, given by its derivatives of order 0 to 3.

    Projection starts at the nearest of the points phi(grid) and refines by Newton's method; the
    reach is computed from the same points.
    """

    @abstractmethod
    def derivative(self, t: Array, order: int) -> Array:
        """Return the derivatives of one order, shape (n, m), at t, shape (n,)."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The interval of t from which points are sampled."""

    @property
    @abstractmethod
    def grid(self) -> Array:
        """Parameters, shape (g,), dense enough to find the nearest piece of the curve.

        For an open curve they go beyond the span, so that its ends are not special.
        """

    @property
    def dimension(self) -> int:
        """Dimension of the curve, one."""
        return 1

    @cached_property
    def reach(self) -> float:
        """Largest radius within which the nearest point is unique.

        Federer's formula: the smallest |q - p|^2 / (2 dist(q - p, T_p)) over pairs of points, whose
        limit for q -> p is the radius of curvature.
        """
        every = self.grid[:: 1 + len(self.grid) // _MAX_REACH_POINTS]
        points, velocity = self.derivative(every, 0), self.derivative(every, 1)
        tangent = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
        offsets = points[None] - points[:, None]
        squared = np.einsum("pqk,pqk->pq", offsets, offsets)
        along = np.einsum("pqk,pk->pq", offsets, tangent)
        away = np.sqrt(np.maximum(squared - along**2, 0.0))
        # Close pairs are lost in rounding; the curvature stands in for them.
        is_apart = squared > 1e-6 * squared.max()
        tightest = np.max(2.0 * away[is_apart] / squared[is_apart])
        return float(1.0 / max(tightest, self._curvature(self.grid).max()))

    def _curvature(self, t: Array) -> Array:
        """Curvatures, shape (n,)."""
        velocity, acceleration = self.derivative(t, 1), self.derivative(t, 2)
        squared_speed = (velocity**2).sum(axis=1, keepdims=True)
        along = (acceleration * velocity).sum(axis=1, keepdims=True) / squared_speed
        curvature: Array = np.linalg.norm((acceleration - along * velocity) / squared_speed, axis=1)
        return curvature

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Parameters of points uniform by arc length, shape (n, 1)."""
        t = np.linspace(*self.span, 4097)
        speed = np.linalg.norm(self.derivative(t, 1), axis=1)
        return quantiles(t, speed, rng.uniform(size=n_samples))[:, None]

    def project(self, X: ArrayLike) -> Array:
        """Parameters, shape (n, 1), of the points nearest to X, shape (n, m)."""
        points = check_points("X", X, self.n_features)
        nearest = self._tree.query(points)[1]
        return nearest_coordinates(self, points, self.grid[nearest][:, None])

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.derivative(self.grid, 0))

    def point(self, u: Array) -> Array:
        """Points phi(u), shape (n, m)."""
        return self.derivative(u[:, 0], 0)

    def jacobian(self, u: Array) -> Array:
        """First derivatives, shape (n, m, 1)."""
        return self.derivative(u[:, 0], 1)[:, :, None]

    def hessian(self, u: Array) -> Array:
        """Second derivatives, shape (n, m, 1, 1)."""
        return self.derivative(u[:, 0], 2)[:, :, None, None]

    def third(self, u: Array) -> Array:
        """Third derivatives, shape (n, m, 1, 1, 1)."""
        return self.derivative(u[:, 0], 3)[:, :, None, None, None]


@dataclass(frozen=True)
class Circle(Curve):
    """One turn t -> radius (sin t, cos t) in the plane.

    Parameters
    ----------
    radius : float
        Radius of the circle.

    Examples
    --------
    >>> from localegop.datasets.curves import Circle
    >>> Circle(2.0).project([[3.0, 0.0]])  # pi / 2
    array([[1.57079633]])
    """

    radius: float

    @property
    def n_features(self) -> int:
        """Dimension of the plane."""
        return 2

    @property
    def span(self) -> tuple[float, float]:
        """One turn."""
        return 0.0, _TURN

    @property
    def grid(self) -> Array:
        """Parameters of one turn."""
        return np.linspace(0.0, _TURN, 360, endpoint=False)

    def derivative(self, t: Array, order: int) -> Array:
        """Return the derivatives of one order, shape (n, 2)."""
        phase = t + order * np.pi / 2.0
        return self.radius * np.column_stack([np.sin(phase), np.cos(phase)])

    @cached_property
    def reach(self) -> float:
        """The radius."""
        return self.radius

    def project(self, X: ArrayLike) -> Array:
        """Angles in [0, 2 pi)."""
        points = check_points("X", X, 2)
        return np.arctan2(points[:, :1], points[:, 1:]) % _TURN


@dataclass(frozen=True)
class Helix(Curve):
    """The helix t -> (radius sin t, radius cos t, slope t) in R^3, sampled over one turn.

    The curve goes on beyond the turn, so that its ends are not special.

    Parameters
    ----------
    radius : float
        Radius of the cylinder around which it winds.
    slope : float
        Rise per unit of t.

    Examples
    --------
    >>> from localegop.datasets.curves import Helix
    >>> round(Helix(0.8, 0.8).reach, 6)  # the radius of curvature
    1.6
    """

    radius: float
    slope: float

    @property
    def n_features(self) -> int:
        """Dimension of space."""
        return 3

    @property
    def span(self) -> tuple[float, float]:
        """One turn."""
        return 0.0, _TURN

    @property
    def grid(self) -> Array:
        """Parameters of the turn and half a turn on either side."""
        return np.linspace(-0.5 * _TURN, 1.5 * _TURN, 721)

    def derivative(self, t: Array, order: int) -> Array:
        """Return the derivatives of one order, shape (n, 3)."""
        phase = t + order * np.pi / 2.0
        height = {0: self.slope * t, 1: np.full_like(t, self.slope)}.get(order, np.zeros_like(t))
        return np.column_stack([self.radius * np.sin(phase), self.radius * np.cos(phase), height])


def helix_in(n_features: int, scale: float = 0.8) -> EmbeddedManifold:
    """Return the paper's helix in R^D: a circle for even D, a helix of R^3 for odd D, embedded.

    By sin(t + w) = sin t cos w + cos t sin w the curve
    ``scale (sin(t + w_1), cos(t + w_1), sin(t + w_2), cos(t + w_2), ...)`` turns in one plane, with
    radius ``scale sqrt(k)`` for k pairs.

    Parameters
    ----------
    n_features : int
        Dimension D.
    scale : float, default 0.8
        Factor on all coordinates.

    Examples
    --------
    >>> from localegop.datasets.curves import helix_in
    >>> helix_in(8).reach
    1.6
    """
    n_pairs, is_odd = divmod(n_features, 2)
    w = np.linspace(0.0, _TURN, n_pairs, endpoint=False)
    frame = np.zeros((n_features, 3 if is_odd else 2))
    frame[0 : 2 * n_pairs : 2, :2] = np.column_stack([np.cos(w), np.sin(w)]) / np.sqrt(n_pairs)
    frame[1 : 2 * n_pairs : 2, :2] = np.column_stack([-np.sin(w), np.cos(w)]) / np.sqrt(n_pairs)
    radius = scale * float(np.sqrt(n_pairs))
    if not is_odd:
        return EmbeddedManifold(Circle(radius), frame)
    frame[-1, 2] = 1.0
    return EmbeddedManifold(Helix(radius, scale), frame)
