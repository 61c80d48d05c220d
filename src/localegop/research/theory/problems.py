"""Problems with exact gradients and Hessians on which the theorems are run.

Each is a function and a point x*: full rank, functions of the nearest point of a circle, helix, sphere,
torus and a random surface in R^8, and a function of a few fixed directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_count
from localegop.datasets.curves import Circle, helix_in
from localegop.datasets.manifolds import Manifold, random_frame
from localegop.datasets.polynomials import MultiIndexFunction, Polynomial, SmoothFunction, make_cubic
from localegop.datasets.projection import nearest_coordinates
from localegop.datasets.surfaces import Sphere, Surface, Torus
from localegop.datasets.tube_function import TubeFunction

from .geometry import Directions, split_directions
from .recursion import Trace, oracle_recursion

_N_WAVES = 3


@dataclass(frozen=True, eq=False)
class WavySurface(Surface):
    """A random smooth surface in R^D: the graph of sums of plane waves over R^2, rotated at random.

    For D >= 4 its second fundamental form is generic, so that the Hessian of a function of the nearest
    point has the largest rank possible, min(4, D).

    Parameters
    ----------
    n_features : int
        Dimension D, at least 3.
    random_state : int, default 0
        Seed of the waves and of the rotation.
    amplitude : float, default 0.5
        Largest amplitude of a wave; three are added per height.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory.problems import WavySurface
    >>> surface = WavySurface(8)
    >>> u = np.array([[0.3, -0.2]])
    >>> bool(np.allclose(surface.project(surface.point(u)), u))
    True
    """

    n_features: int = 8
    random_state: int = 0
    amplitude: float = 0.5
    _waves: tuple[Array, Array, Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        codimension = check_count("n_features", self.n_features, 3) - 2
        rng = np.random.default_rng(self.random_state)
        frequency = rng.uniform(-1.2, 1.2, size=(codimension, _N_WAVES, 2))
        size = rng.uniform(-self.amplitude, self.amplitude, size=(codimension, _N_WAVES))
        phase = rng.uniform(0.0, 2.0 * np.pi, size=(codimension, _N_WAVES))
        frame = random_frame(self.n_features, self.n_features, rng)
        object.__setattr__(self, "_waves", (frequency, size, phase, frame))

    @cached_property
    def reach(self) -> float:
        """Federer's formula over pairs of points of the sampled patch: an estimate from above."""
        side = np.linspace(-1.0, 1.0, 15)
        u = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        points, tangent = self.point(u), self.tangent_basis(u)
        offsets = points[None] - points[:, None]
        squared = np.einsum("pqk,pqk->pq", offsets, offsets)
        along = np.einsum("pqk,pka->pqa", offsets, tangent)
        away = np.sqrt(np.maximum(squared - np.sum(along**2, axis=2), 0.0))
        apart = squared > 0.0
        return float(np.min(squared[apart] / (2.0 * away[apart])))

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Coordinates uniform in the square [-1, 1]^2."""
        return rng.uniform(-1.0, 1.0, size=(n_samples, 2))

    def project(self, X: ArrayLike) -> Array:
        """Coordinates of the nearest points, shape (n, 2), by Newton's method from the foot point."""
        points = np.asarray(X, dtype=np.float64)
        return nearest_coordinates(self, points, (points @ self._waves[3])[:, :2])

    def partial(self, u: Array, orders: tuple[int, int]) -> Array:
        """Return one partial derivative of phi, shape (n, D)."""
        frequency, size, phase, frame = self._waves
        order = sum(orders)
        heights = np.sin(np.einsum("nk,cjk->ncj", u, frequency) + phase + 0.5 * np.pi * order)
        rates = size * frequency[..., 0] ** orders[0] * frequency[..., 1] ** orders[1]
        flat = np.zeros((len(u), 2))
        if order == 0:
            flat = u
        elif order == 1:
            flat[:, orders.index(1)] = 1.0
        partial: Array = np.hstack([flat, np.einsum("cj,ncj->nc", rates, heights)]) @ frame.T
        return partial


@dataclass(frozen=True, eq=False)
class Problem:
    """A function with exact derivatives, a point, and how to run the recursion there.

    Parameters
    ----------
    name : str
        Name for tables.
    function : SmoothFunction
        f, with ``gradient`` and ``hessian``.
    query : array of shape (D,)
        The point x*.
    intrinsic_dimension : int
        Dimension d of the manifold, number of indices, or D.
    options : dict
        Arguments of `oracle_recursion` that suit it.
    """

    name: str
    function: SmoothFunction
    query: Array
    intrinsic_dimension: int
    options: dict[str, Any]

    @property
    def dimension(self) -> int:
        """Dimension D."""
        return len(self.query)

    @property
    def directions(self) -> Directions:
        """The directions that the theorems distinguish at x*."""
        at = self.query[None]
        return split_directions(self.function.gradient(at)[0], self.function.hessian(at)[0])

    @property
    def hessian_rank(self) -> int:
        """Rank of the Hessian at x*."""
        values = np.abs(np.linalg.eigvalsh(self.function.hessian(self.query[None])[0]))
        return int(np.count_nonzero(values > 1e-8 * values.max()))

    def run(self, **changes: Any) -> Trace:
        """Run `oracle_recursion` here, with the problem's options and these changes."""
        return oracle_recursion(self.function.gradient, self.query, **{**self.options, **changes})


def full_rank(dimension: int = 4, *, definite: bool = False, random_state: int = 0) -> Problem:
    """Quadratic plus cubic terms, with a Hessian whose eigenvalues have sizes 1 to 2.

    Their signs alternate, or all are positive (``definite``).

    Examples
    --------
    >>> from localegop.research.theory.problems import full_rank
    >>> full_rank(4).hessian_rank
    4
    """
    rng = np.random.default_rng(random_state)
    axes = random_frame(dimension, dimension, rng)
    values = rng.uniform(1.0, 2.0, size=dimension)
    if not definite:
        values *= np.where(np.arange(dimension) % 2, -1.0, 1.0)
    linear = random_frame(dimension, 1, rng)[:, 0]
    cubic = make_cubic(dimension, low=-0.3, high=0.3, random_state=rng).cubic
    function = Polynomial(0.0, linear, 0.5 * (axes * values) @ axes.T, cubic)
    options = {"initial_scale": 0.02, "n_iter": 90}
    return Problem(f"full rank, D = {dimension}", function, np.zeros(dimension), dimension, options)


def circle(*, random_state: int = 0) -> Problem:
    """Take a function of the nearest point of the unit circle in the plane; x* lies 0.1 outside."""
    options = {"initial_scale": 0.01, "covariance_cap": 0.02, "n_iter": 90}
    angle = np.array([[0.7]])
    return _tube("circle in R^2", Circle(1.0), angle, 0.1, options, random_state)


def helix(dimension: int = 3, *, random_state: int = 0) -> Problem:
    """Take a function of the nearest point of the paper's helix in R^D; x* lies 0.1 off the curve."""
    options = {"initial_scale": 0.01, "covariance_cap": 0.02, "n_iter": 90}
    t = np.array([[2.0]])
    return _tube(f"helix in R^{dimension}", helix_in(dimension), t, 0.1, options, random_state)


def sphere(*, random_state: int = 0) -> Problem:
    """Take a function of the nearest point of the unit sphere in R^3, with the covariance cap 0.05.

    The cap allows deviations of 0.22 at a reach of 1, so the localization is trimmed at 0.6.
    """
    options = {
        "initial_scale": 0.05,
        "covariance_cap": 0.05,
        "exclusion_radius": 0.6,
        "n_iter": 150,
    }
    point = np.array([[0.5, -0.6, 0.7]]) / np.sqrt(1.1)
    return _tube("sphere in R^3", Sphere(2), point, 0.0, options, random_state)


def torus(*, random_state: int = 1) -> Problem:
    """Take a function of the nearest point of a torus in R^3; x* lies 0.05 off the surface."""
    options = {"initial_scale": 0.01, "covariance_cap": 0.005, "n_iter": 90}
    angles = np.array([[0.4, 1.1]])
    return _tube("torus in R^3", Torus(), angles, 0.05, options, random_state)


def random_surface(dimension: int = 8, *, random_state: int = 0) -> Problem:
    """Take a function of the nearest point of a random smooth surface in R^D; x* lies 0.05 off it."""
    options = {"initial_scale": 0.01, "covariance_cap": 0.01, "n_iter": 80}
    surface = WavySurface(dimension, random_state=random_state)
    name = f"random surface in R^{dimension}"
    return _tube(name, surface, np.array([[0.2, -0.1]]), 0.05, options, random_state, low=-1.0, high=1.0)


def flat(dimension: int = 4, n_indices: int = 2, *, random_state: int = 0) -> Problem:
    """Cubic function of a few fixed directions (multi-index), the flat manifold."""
    rng = np.random.default_rng(random_state)
    frame = random_frame(dimension, n_indices, rng)
    function = MultiIndexFunction(full_rank(n_indices, random_state=random_state).function, frame)
    options = {"initial_scale": 0.02, "covariance_cap": 0.05, "n_iter": 90}
    name = f"{n_indices} indices in R^{dimension}"
    return Problem(name, function, np.zeros(dimension), n_indices, options)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "full_rank": full_rank,
    "circle": circle,
    "helix": helix,
    "sphere": sphere,
    "torus": torus,
    "random_surface": random_surface,
    "flat": flat,
}


def _tube(
    name: str,
    manifold: Manifold,
    u: Array,
    offset: float,
    options: dict[str, Any],
    random_state: int,
    *,
    low: float = -3.0,
    high: float = 3.0,
) -> Problem:
    """Random cubic of the nearest point, at a point ``offset`` off the manifold."""
    function = make_cubic(manifold.n_features, low=low, high=high, random_state=random_state)
    away = manifold.normal_basis(u)[0].sum(axis=1)
    query = manifold.point(u)[0] + offset * away / np.linalg.norm(away)
    return Problem(name, TubeFunction(manifold, function), query, manifold.dimension, options)
