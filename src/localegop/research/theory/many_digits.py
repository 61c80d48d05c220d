"""The sphere's recursion in sixty digits, and once more with matrices formed in double precision.

Around the sphere the EGOP's entry in the normal direction is of the size of h, at h = 1e-20 below the
rounding of the other entries. Double precision cannot answer whether that direction contracts: here is an
independent implementation with decimal numbers. The same recursion with L formed as a
matrix of doubles shows what rounding makes of it.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._arguments import Array, refusal
from localegop.datasets.polynomials import Polynomial
from localegop.datasets.surfaces import Sphere
from localegop.datasets.tube_function import TubeFunction

from ._fields import VectorField
from .problems import Problem
from .quadrature import Rule, gauss_hermite
from .recursion import DEFAULT_RATIO

Numbers = NDArray[Any]  # object arrays of Decimal

N_DIGITS = 60
ORDER = 5  # nodes per axis; those of five have a closed form
_N_SWEEPS = 8


def decimal_sphere_variances(
    problem: Problem, basis: Array, *, momentum: float = 0.7, n_iter: int | None = None
) -> Array:
    """Natural logarithms of v'Sigma_t v around the unit sphere in R^3, computed with sixty digits.

    Parameters
    ----------
    problem : Problem
        The problem ``sphere()`` or one like it: a polynomial of the nearest point of the sphere.
    basis : array of shape (3, k)
        The directions v. Each is made exactly orthogonal to the point x* if it is so up to rounding.
    momentum : float, default 0.7
        beta.
    n_iter : int, optional
        Number of steps, if not the problem's.

    Returns
    -------
    array of shape (T, k)
        Logarithms, as the variances themselves may be below the range of interest of a double.
    """
    polynomial = _polynomial_of(problem)
    with localcontext() as context:
        context.prec = N_DIGITS
        query = _unit(_exact(problem.query))
        columns = [_direction(_exact(v), query) for v in basis.T]
        beta, nodes = Decimal(momentum), _nodes()
        factor = Decimal(problem.options["initial_scale"]).sqrt() * _exact(np.eye(3))
        h = Decimal(problem.options["initial_scale"]) ** 2
        cap, radius = (
            Decimal(problem.options["covariance_cap"]),
            Decimal(problem.options["exclusion_radius"]),
        )
        previous, rows = None, []
        for _ in range(n_iter or problem.options["n_iter"]):
            rows.append([float(np.sum((factor.T @ v) ** 2).ln()) for v in columns])
            current = _egop(polynomial, query, factor, nodes, radius)
            mixed = current if previous is None else beta * current + (1 - beta) * previous
            previous, h = current, h * Decimal(DEFAULT_RATIO)
            values, vectors = _eigen(mixed)
            factor = vectors * np.array([min(h / value, cap).sqrt() for value in values], dtype=object)
    return np.array(rows)


def rounded_matrix_variances(problem: Problem, basis: Array, *, momentum: float = 0.7) -> Array:
    """Compute the same logarithms, shape (T, k), with L formed and inverted as a matrix of doubles.

    It is how one would write the recursion at first, and wrong once h falls below 1e-15 or so.
    """
    options, nodes = problem.options, gauss_hermite(problem.dimension, ORDER)
    h, previous = options["initial_scale"] ** 2, None
    factor, rows = np.sqrt(options["initial_scale"]) * np.eye(problem.dimension), []
    for _ in range(options["n_iter"]):
        rows.append(np.log(np.sum((factor.T @ basis) ** 2, axis=0)))
        radius = options["exclusion_radius"]
        current = _rounded_egop(problem.function.gradient, problem.query, factor, nodes, radius)
        mixed = current if previous is None else momentum * current + (1.0 - momentum) * previous
        previous, h = current, h * DEFAULT_RATIO
        values, vectors = np.linalg.eigh(mixed)
        ceiling = options["covariance_cap"]
        factor = vectors * np.sqrt(np.minimum(h / np.maximum(values, h / ceiling), ceiling))
    return np.array(rows)


def _rounded_egop(gradient: VectorField, query: Array, factor: Array, nodes: Rule, radius: float) -> Array:
    offsets = nodes.points @ factor.T
    weights = nodes.weights * (np.linalg.norm(offsets, axis=1) <= radius)
    values = gradient(query + offsets)
    matrix: Array = values.T @ (weights[:, None] / weights.sum() * values)
    return matrix


def _polynomial_of(problem: Problem) -> Polynomial:
    function = problem.function
    if isinstance(function, TubeFunction) and isinstance(function.manifold, Sphere):
        polynomial = function.function
        if isinstance(polynomial, Polynomial) and problem.dimension == 3:
            return polynomial
    raise refusal("problem", problem.name, "a polynomial on the sphere in R^3")


def _exact(array: Array) -> Numbers:
    """Turn doubles into decimal numbers, digit by digit."""
    numbers: Numbers = np.vectorize(Decimal, otypes=[object])(array)
    return numbers


def _unit(vector: Numbers) -> Numbers:
    unit: Numbers = vector / np.sum(vector**2).sqrt()
    return unit


def _direction(vector: Numbers, normal: Numbers) -> Numbers:
    """Make a unit vector, without the rounding in its angle to the normal, which would hide 1e-32."""
    vector = _unit(vector)
    along: Any = vector @ normal
    if abs(along) < Decimal("1e-12"):
        vector = vector - along * normal
    elif abs(abs(along) - 1) < Decimal("1e-12"):
        vector = normal
    return _unit(vector)


def _nodes() -> tuple[Numbers, Numbers]:
    """Tensor Gauss-Hermite rule of five nodes per axis: points (125, 3) and weights (125,)."""
    inner, outer = ((5 + sign * Decimal(10).sqrt()).sqrt() for sign in (-1, 1))
    nodes = [-outer, -inner, Decimal(0), inner, outer]
    # Weights 4! / (5 He_4(x)^2), with He_4(x) = x^4 - 6 x^2 + 3.
    weights = [Decimal(24) / (5 * (x**4 - 6 * x**2 + 3) ** 2) for x in nodes]
    points = [[x, y, z] for x in nodes for y in nodes for z in nodes]
    products = [u * v * w for u in weights for v in weights for w in weights]
    return np.array(points, dtype=object), np.array(products, dtype=object)


def _egop(
    polynomial: Polynomial, query: Numbers, factor: Numbers, nodes: tuple[Numbers, Numbers], radius: Decimal
) -> Numbers:
    """EGOP of F(x / |x|), trimmed at the radius."""
    offsets = nodes[0] @ factor.T
    inside = np.sum(offsets**2, axis=1) <= radius**2
    points, weights = query + offsets[inside], nodes[1][inside]
    lengths = np.array([value.sqrt() for value in np.sum(points**2, axis=1)], dtype=object)[:, None]
    p = points / lengths
    quadratic, cubic = _exact(polynomial.quadratic), _exact(polynomial.cubic)
    bent = np.einsum("ijk,nj,nk->ni", cubic, p, p)
    outer = _exact(polynomial.linear) + 2 * (p @ quadratic) + 3 * bent
    tangential = (outer - np.sum(outer * p, axis=1)[:, None] * p) / lengths
    matrix: Numbers = tangential.T @ (weights[:, None] / weights.sum() * tangential)
    return matrix


def _eigen(matrix: Numbers) -> tuple[list[Decimal], Numbers]:
    """Eigenvalues and eigenvectors by Jacobi rotations."""
    a, vectors = matrix.copy(), _exact(np.eye(len(matrix)))
    for _ in range(_N_SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if a[p, q] == 0:
                continue
            theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
            t = (1 if theta >= 0 else -1) / (abs(theta) + (theta**2 + 1).sqrt())
            c = 1 / (t**2 + 1).sqrt()
            rotation = _exact(np.eye(len(a)))
            rotation[p, p] = rotation[q, q] = c
            rotation[p, q], rotation[q, p] = t * c, -t * c
            a, vectors = rotation.T @ a @ rotation, vectors @ rotation
    return [a[k, k] for k in range(len(a))], vectors
