"""Checks of the arguments shared by all generators: counts, numbers, points, random states."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
XyOrBunch: TypeAlias = Any  # (X, y), or a Bunch: only the value of return_bunch tells which
RandomStateLike: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Turn ``random_state`` into a generator.

    An int gives the same numbers in every call, None fresh ones. A Generator or a RandomState is
    used (and advanced), so that two calls with the same object differ.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if random_state is None or (is_seed and int(random_state) >= 0):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state={random_state!r} is not allowed: give None, an integer >= 0, a "
        "numpy.random.Generator or a numpy.random.RandomState."
    )


def check_count(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int in [minimum, maximum], or raise a ValueError."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < minimum or (maximum is not None and value > maximum):
        allowed = f">= {minimum}" if maximum is None else f"in {minimum}..{maximum}"
        raise ValueError(f"{name}={value!r} is not allowed: give an integer {allowed}.")
    return int(value)


def check_real(name: str, value: Any, *, above: float | None = None, least: float = -np.inf) -> float:
    """Return ``value`` as a finite float, at least ``least`` or strictly above ``above``."""
    is_real = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not is_real or value < least or (above is not None and value <= above):
        bound = f" > {above:g}" if above is not None else f" >= {least:g}"
        allowed = "" if above is None and least == -np.inf else bound
        raise ValueError(f"{name}={value!r} is not allowed: give a finite number{allowed}.")
    return float(value)


def check_interval(name: str, value: Any, *, above: float | None = None) -> tuple[float, float]:
    """Return ``value`` as a pair (low, high) of finite floats with low <= high."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} is not allowed: give a pair (low, high).") from None
    low = check_real(f"{name}[0]", low, above=above)
    high = check_real(f"{name}[1]", high, above=above)
    if low > high:
        raise ValueError(f"{name}={value!r} is not allowed: give (low, high) with low <= high.")
    return low, high


def check_points(name: str, value: ArrayLike, n_features: int) -> Array:
    """Return ``value`` as a finite float array of shape (k, n_features)."""
    points = np.asarray(value, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != n_features:
        raise ValueError(f"{name} has shape {points.shape}: give points of shape (k, {n_features}).")
    if not np.isfinite(points).all():
        raise ValueError(f"{name} contains NaN or infinite values: give finite points.")
    return points
