"""Random cubic polynomials, the regression functions of the synthetic data.

A polynomial of degree three in D variables has (D+1)(D+2)(D+3)/6 monomials, 23,426 for D = 50.
Holding them as symmetric tensors turns values and derivatives into matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from math import comb, factorial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._arguments import Array, RandomStateLike, as_generator, check_count, check_points, check_real

MAX_DEGREE = 3
_CHUNK_ENTRIES = 2**21  # entries of the largest temporary: 16 MB


class SmoothFunction(Protocol):
    """What a generator needs from a regression function on R^D."""

    @property
    def n_features(self) -> int:
        """Number D of variables."""
        ...

    def __call__(self, X: ArrayLike) -> Array:
        """Values, shape (k,), at the points X, shape (k, D)."""
        ...

    def gradient(self, X: ArrayLike) -> Array:
        """Gradients, shape (k, D)."""
        ...

    def hessian(self, X: ArrayLike) -> Array:
        """Matrices of second derivatives, shape (k, D, D)."""
        ...


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Polynomial of degree at most three, p(x) = c + b'x + x'Ax + sum T_ijk x_i x_j x_k.

    Parameters
    ----------
    constant : float
        The value c at the origin.
    linear : array of shape (D,)
        The vector b.
    quadratic : array of shape (D, D)
        The matrix A, symmetric.
    cubic : array of shape (D, D, D)
        The tensor T, symmetric under every permutation of its axes.

    See Also
    --------
    make_cubic : a polynomial with random coefficients.

    Examples
    --------
    >>> from localegop.datasets.polynomials import Polynomial
    >>> p = Polynomial.from_coefficients([1, 0, 0, 2, 0, 0], n_features=2)  # 1 + 2 x_0^2
    >>> p([[3.0, 5.0]]), p.gradient([[3.0, 5.0]])
    (array([19.]), array([[12.,  0.]]))
    """

    constant: float
    linear: Array
    quadratic: Array
    cubic: Array

    @classmethod
    def from_coefficients(cls, coefficients: ArrayLike, *, n_features: int) -> Polynomial:
        """Build a polynomial from one coefficient per monomial.

        Parameters
        ----------
        coefficients : array of shape (n_monomials,)
            Coefficients of all monomials up to some degree <= 3, in the order of `exponents`.
        n_features : int
            Number D of variables.
        """
        n_features = check_count("n_features", n_features, 1)
        values = np.asarray(coefficients, dtype=np.float64)
        sizes = np.cumsum([_count_monomials(n_features, k) for k in range(MAX_DEGREE + 1)])
        if values.ndim != 1 or values.size not in sizes:
            raise ValueError(
                f"coefficients has shape {values.shape}: for n_features={n_features} give one "
                f"dimension of {', '.join(map(str, sizes))} entries (degree 0, 1, 2, 3)."
            )
        padded = np.zeros(sizes[-1])
        padded[: values.size] = values
        blocks = np.split(padded, sizes[:-1])
        tensors = [_symmetric_tensor(block, n_features, k) for k, block in enumerate(blocks)]
        return cls(float(tensors[0]), tensors[1], tensors[2], tensors[3])

    @property
    def n_features(self) -> int:
        """Number D of variables."""
        return int(self.linear.shape[0])

    @property
    def exponents(self) -> NDArray[np.int64]:
        """Exponents of all monomials of degree <= 3, shape (n_monomials, D), low degree first."""
        rows = []
        for order in range(MAX_DEGREE + 1):
            indices = _monomials(self.n_features, order)
            block = np.zeros((len(indices), self.n_features), dtype=np.int64)
            np.add.at(block, (np.arange(len(indices))[:, None], indices), 1)
            rows.append(block)
        return np.concatenate(rows)

    @property
    def coefficients(self) -> Array:
        """Coefficients of all monomials of degree <= 3, in the order of `exponents`."""
        blocks = [np.array([self.constant])]
        for order, tensor in enumerate((self.linear, self.quadratic, self.cubic), start=1):
            indices = _monomials(self.n_features, order)
            # A coefficient is spread evenly over the distinct orders of its sorted indices; up to
            # degree three these contain at most one run of equal ones.
            run = 1 + (indices[:, 1:] == indices[:, :-1]).sum(axis=1)
            spread = factorial(order) / np.array([1, 1, 2, 6])[run]
            blocks.append(tensor[tuple(indices.T)] * spread)
        return np.concatenate(blocks)

    def __call__(self, X: ArrayLike) -> Array:
        """Values, shape (k,), at the points X, shape (k, D)."""
        points = check_points("X", X, self.n_features)
        values = np.empty(len(points))
        for rows in _row_chunks(points):
            x = points[rows]
            slopes = self.linear + _apply(self.quadratic + self._cubic_along(x), x)
            values[rows] = self.constant + np.einsum("ni,ni->n", slopes, x)
        return values

    def gradient(self, X: ArrayLike) -> Array:
        """Gradients, shape (k, D), at the points X, shape (k, D)."""
        points = check_points("X", X, self.n_features)
        gradients = np.empty_like(points)
        for rows in _row_chunks(points):
            x = points[rows]
            along = 2.0 * self.quadratic + 3.0 * self._cubic_along(x)
            gradients[rows] = self.linear + _apply(along, x)
        return gradients

    def hessian(self, X: ArrayLike) -> Array:
        """Matrices of second derivatives, shape (k, D, D), at the points X, shape (k, D)."""
        points = check_points("X", X, self.n_features)
        return 2.0 * self.quadratic + 6.0 * self._cubic_along(points)

    def _cubic_along(self, x: Array) -> Array:
        """Matrices sum_k T_ijk x_k, shape (n, D, D)."""
        size = self.n_features
        product: Array = x @ self.cubic.reshape(size, size * size)
        return product.reshape(-1, size, size)


@dataclass(frozen=True, eq=False)
class MultiIndexFunction:
    """A function of a few linear combinations of the variables, f(x) = link(V'x).

    Parameters
    ----------
    link : SmoothFunction
        Function of k variables.
    directions : array of shape (D, k)
        The matrix V.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets.polynomials import MultiIndexFunction, make_cubic
    >>> f = MultiIndexFunction(make_cubic(2, random_state=0), np.eye(10, 2))
    >>> f.gradient(np.ones((4, 10))).shape
    (4, 10)
    """

    link: SmoothFunction
    directions: Array

    @property
    def n_features(self) -> int:
        """Number D of variables."""
        return int(self.directions.shape[0])

    def __call__(self, X: ArrayLike) -> Array:
        """Values, shape (k,), at the points X, shape (k, D)."""
        return self.link(check_points("X", X, self.n_features) @ self.directions)

    def gradient(self, X: ArrayLike) -> Array:
        """Gradients, shape (k, D)."""
        points = check_points("X", X, self.n_features)
        gradients: Array = self.link.gradient(points @ self.directions) @ self.directions.T
        return gradients

    def hessian(self, X: ArrayLike) -> Array:
        """Matrices of second derivatives, shape (k, D, D)."""
        points = check_points("X", X, self.n_features)
        inner = self.link.hessian(points @ self.directions)
        hessians: Array = self.directions @ inner @ self.directions.T
        return hessians


def make_cubic(
    n_features: int,
    *,
    low: float = -3.0,
    high: float = 3.0,
    degree: int = 3,
    random_state: RandomStateLike = None,
) -> Polynomial:
    """Draw a random polynomial: all monomials up to a degree, coefficients uniform.

    Parameters
    ----------
    n_features : int
        Number D of variables.
    low, high : float, default -3.0 and 3.0
        The coefficients are uniform on [low, high].
    degree : {1, 2, 3}, default 3
        Monomials up to this degree take part.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same polynomial in every call.

    Returns
    -------
    Polynomial
        A callable with ``gradient`` and ``hessian``.

    Examples
    --------
    >>> from localegop.datasets.polynomials import make_cubic
    >>> polynomial = make_cubic(5, random_state=0)
    >>> polynomial.coefficients.shape
    (56,)
    >>> polynomial.gradient([[0.0, 0.0, 0.0, 0.0, 0.0]]).shape
    (1, 5)
    """
    n_features = check_count("n_features", n_features, 1)
    degree = check_count("degree", degree, 1, MAX_DEGREE)
    low = check_real("low", low)
    high = check_real("high", high, least=low)
    n_monomials = sum(_count_monomials(n_features, order) for order in range(degree + 1))
    coefficients = as_generator(random_state).uniform(low, high, size=n_monomials)
    return Polynomial.from_coefficients(coefficients, n_features=n_features)


def _count_monomials(n_features: int, order: int) -> int:
    """Count the monomials of exactly this degree."""
    return comb(n_features + order - 1, order)


def _monomials(n_features: int, order: int) -> NDArray[np.int64]:
    """Sorted variable indices of all monomials of one degree, shape (count, order)."""
    rows = list(combinations_with_replacement(range(n_features), order))
    return np.array(rows, dtype=np.int64).reshape(len(rows), order)


def _symmetric_tensor(coefficients: Array, n_features: int, order: int) -> Array:
    """Symmetric tensor of the form sum over monomials, read-only."""
    tensor = np.zeros((n_features,) * order)
    tensor[tuple(_monomials(n_features, order).T)] = coefficients if order else coefficients[0]
    orders = list(permutations(range(order)))
    symmetric = np.zeros_like(tensor)
    for axes in orders:
        symmetric += tensor.transpose(axes) / len(orders)
    symmetric.setflags(write=False)
    return symmetric


def _apply(matrices: Array, vectors: Array) -> Array:
    """Products of matrices (n, i, j) with vectors (n, j), shape (n, i)."""
    product: Array = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


def _row_chunks(points: Array) -> Iterator[slice]:
    """Slices of rows that keep one D x D matrix per row within the memory budget."""
    size = max(1, _CHUNK_ENTRIES // max(1, points.shape[1] ** 2))
    return (slice(start, start + size) for start in range(0, len(points), size))
