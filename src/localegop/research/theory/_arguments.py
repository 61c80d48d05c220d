"""Checks of the arguments of the theory: covariances, gradients, schedules, momentum."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.schedules import BandwidthSchedule

Array: TypeAlias = NDArray[np.float64]
VectorField: TypeAlias = Callable[[Array], Array]  # (k, D) points -> (k, D) gradients
ScalarField: TypeAlias = Callable[[Array], Array]  # (k, D) points -> (k,) values

_ROUNDING = 1e-10  # relative size below which a number is taken for the rounding of zero


def check_point(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as a finite vector, shape (D,)."""
    point = np.asarray(value, dtype=np.float64)
    if point.ndim != 1 or point.size == 0:
        raise ValueError(f"{name} has shape {point.shape}: give one point of shape (D,).")
    if not np.isfinite(point).all():
        raise ValueError(f"{name}={point} is not allowed: give finite coordinates.")
    return point


def check_symmetric(name: str, value: ArrayLike, dimension: int | None = None) -> Array:
    """Return ``value`` as a finite symmetric matrix, shape (D, D), of the given dimension."""
    matrix = np.asarray(value, dtype=np.float64)
    wanted = "(D, D)" if dimension is None else f"({dimension}, {dimension})"
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size > 0
    if not is_square or (dimension is not None and len(matrix) != dimension):
        raise ValueError(f"{name} has shape {matrix.shape}: give a symmetric matrix of shape {wanted}.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} contains NaN or infinite values: give a finite matrix.")
    lopsided = float(np.abs(matrix - matrix.T).max())
    if lopsided > _ROUNDING * np.abs(matrix).max():
        raise ValueError(
            f"{name} is not symmetric, entries differ from their mirror image by {lopsided:.3g}: "
            "give a symmetric positive semi-definite matrix."
        )
    return 0.5 * (matrix + matrix.T)


def factor_of(name: str, value: ArrayLike, dimension: int | None = None) -> Array:
    """Return a matrix F with F F' = ``value``, which must be positive semi-definite."""
    values, vectors = np.linalg.eigh(check_symmetric(name, value, dimension))
    if values[0] < -_ROUNDING * max(values[-1], 0.0) or values[-1] < 0.0:
        raise ValueError(
            f"{name} is not positive semi-definite, its smallest eigenvalue is {values[0]:.6g}: "
            "give a covariance matrix, all of whose eigenvalues are at least 0."
        )
    factor: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return factor


def check_positive_definite(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as a symmetric matrix whose eigenvalues are all positive."""
    matrix = check_symmetric(name, value)
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if not smallest > 0.0:
        raise ValueError(
            f"{name} is not positive definite, its smallest eigenvalue is {smallest:.6g}: "
            "give a matrix all of whose eigenvalues are positive."
        )
    return matrix


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a positive finite float."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_real and value > 0.0 and math.isfinite(value)):
        raise ValueError(f"{name}={value!r} is not allowed: give a positive finite number.")
    return float(value)


def check_optional_positive(name: str, value: Any) -> float | None:
    """Return ``value`` as a positive finite float, or None."""
    return None if value is None else check_positive(name, value)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} is not allowed: give a whole number of at least {least}.")
    return int(value)


def check_momentum(value: Any) -> float:
    """Return the momentum beta as a float in (0, 1]."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_real and 0.0 < value <= 1.0):
        raise ValueError(
            f"momentum={value!r} is not allowed: give the weight beta of the newest EGOP, in (0, 1]."
        )
    return float(value)


def falling_bandwidths(schedule: BandwidthSchedule, n_iter: int) -> Array:
    """Return h_0 .. h_{n_iter - 1}, which must be positive and fall strictly."""
    if not callable(schedule):
        raise ValueError(f"schedule={schedule!r} is not allowed: give a callable t -> h_t.")
    h = np.array([float(schedule(t)) for t in range(n_iter)])
    bad = ~(np.isfinite(h) & (h > 0.0))
    if bad.any():
        t = int(bad.argmax())
        raise ValueError(f"schedule({t}) is {h[t]}: bandwidths must be positive and finite.")
    rising = np.flatnonzero(np.diff(h) >= 0.0)
    if len(rising):
        t = int(rising[0])
        raise ValueError(
            f"schedule does not fall: schedule({t}) is {h[t]:.6g} and schedule({t + 1}) is "
            f"{h[t + 1]:.6g}. Give bandwidths that fall strictly, such as Geometric(ratio=0.8)."
        )
    return h


def evaluate_gradient(gradient: VectorField, points: Array) -> Array:
    """Return gradients of shape (k, D) at points of shape (k, D), which must be finite."""
    values = np.asarray(gradient(points), dtype=np.float64)
    if values.shape != points.shape:
        raise ValueError(
            f"gradient returned shape {values.shape} for points of shape {points.shape}: it must map "
            "(k, D) points to (k, D) gradients."
        )
    if not np.isfinite(values).all():
        raise ValueError("gradient returned NaN or infinite values: keep the points in its domain.")
    return values


def check_nonzero_gradient(gradient: VectorField, x0: Array, typical: float) -> Array:
    """Return the gradient at x0; the theory assumes that it is not zero.

    Parameters
    ----------
    gradient : callable
        The vector field.
    x0 : array of shape (D,)
        The point.
    typical : float
        Root mean squared length of gradients around x0, against which zero is judged.
    """
    g: Array = evaluate_gradient(gradient, x0[None])[0]
    length = float(np.linalg.norm(g))
    if length <= _ROUNDING * typical:
        raise ValueError(
            f"gradient vanishes at x0={x0}, its length is {length:.3g}: the theory assumes a gradient "
            "that is not zero; give another point x0."
        )
    return g
