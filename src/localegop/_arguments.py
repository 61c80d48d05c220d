"""Checks of arguments: numbers, choices, points, matrices and random states.

Each check returns the argument in its working form or raises a ValueError that says what was given and what
is allowed: "name=value is not allowed: give ...", and for arrays "name has shape ...: give ...".
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
RandomStateLike: TypeAlias = int | np.random.Generator | np.random.RandomState | None

ROUNDING = 1e-10  # relative size below which a number is taken for the rounding of zero


def refusal(name: str, value: Any, allowed: str) -> ValueError:
    """Return the error of an argument that is not allowed."""
    return ValueError(f"{name}={value!r} is not allowed: give {allowed}.")


def check_count(name: str, value: Any, least: int = 1, most: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int from ``least`` to ``most``; ``why`` is added to the error."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        allowed = f">= {least}" if most is None else f"from {least} to {most}"
        raise refusal(name, value, f"an integer {allowed}{why}")
    return int(value)


def check_real(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    why: str = "",
) -> float:
    """Return ``value`` as a finite float within the bounds, of which ``above`` and ``below`` are strict.

    Parameters
    ----------
    name : str
        Of the argument.
    value : object
        What was given.
    least, above, most, below : float or None
        value >= least, value > above, value <= most, value < below.
    why : str
        Added to the error, such as ", so that bandwidths fall".

    Examples
    --------
    >>> from localegop._arguments import check_real
    >>> check_real("momentum", 1, above=0, most=1)
    1.0
    >>> check_real("momentum", 0, above=0, most=1)
    Traceback (most recent call last):
    ...
    ValueError: momentum=0 is not allowed: give a finite number > 0 and <= 1.
    """
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_real else np.nan
    bounds = {
        ">=": (least, np.greater_equal),
        ">": (above, np.greater),
        "<=": (most, np.less_equal),
        "<": (below, np.less),
    }
    given = {sign: (bound, holds) for sign, (bound, holds) in bounds.items() if bound is not None}
    if not (np.isfinite(number) and all(holds(number, bound) for bound, holds in given.values())):
        limits = " and ".join(f"{sign} {bound:g}" for sign, (bound, _) in given.items())
        raise refusal(name, value, f"a finite number {limits}".rstrip() + why)
    return number


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a positive finite float."""
    return check_real(name, value, above=0.0)


def check_optional_positive(name: str, value: Any) -> float | None:
    """Return ``value`` as a positive finite float, or None."""
    return None if value is None else check_positive(name, value)


def check_interval(name: str, value: Any, *, above: float | None = None) -> tuple[float, float]:
    """Return ``value`` as a pair (low, high) of finite floats with low <= high."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise refusal(name, value, "a pair (low, high)") from None
    low = check_real(f"{name}[0]", low, above=above)
    high = check_real(f"{name}[1]", high, above=above)
    if low > high:
        raise refusal(name, value, "(low, high) with low <= high")
    return low, high


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return ``value``, which must be one of the choices."""
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise refusal(name, value, f"one of {', '.join(map(repr, names))}")
    return value


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
    kinds = "None, an integer >= 0, a numpy.random.Generator or a numpy.random.RandomState"
    raise refusal("random_state", random_state, kinds)


def as_finite(name: str, value: ArrayLike, wanted: str) -> Array:
    """Return ``value`` as an array of finite floats; ``wanted`` says in an error what to give."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers ({error}): give {wanted}.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinite values: give {wanted}, all finite.")
    return array


def wrong_shape(name: str, array: NDArray[Any], wanted: str) -> ValueError:
    """Return the error of an array that has another shape than wanted."""
    return ValueError(f"{name} has shape {array.shape}: give {wanted}.")


def check_points(name: str, value: ArrayLike, n_features: int | None = None) -> Array:
    """Return ``value`` as a finite float array of shape (k, n_features)."""
    wanted = f"points of shape (k, {'D' if n_features is None else n_features})"
    points = as_finite(name, value, wanted)
    if points.ndim != 2 or (n_features is not None and points.shape[1] != n_features):
        raise wrong_shape(name, points, wanted)
    return points


def check_point(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as a finite vector, shape (D,)."""
    wanted = "one point of shape (D,)"
    point = as_finite(name, value, wanted)
    if point.ndim != 1 or point.size == 0:
        raise wrong_shape(name, point, wanted)
    return point


def check_symmetric(name: str, value: ArrayLike, dimension: int | None = None) -> Array:
    """Return ``value`` as a finite symmetric matrix, shape (D, D), of the given dimension."""
    side = "D" if dimension is None else dimension
    wanted = f"a symmetric matrix of shape ({side}, {side})"
    matrix = as_finite(name, value, wanted)
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size > 0
    if not is_square or (dimension is not None and len(matrix) != dimension):
        raise wrong_shape(name, matrix, wanted)
    difference = float(np.abs(matrix - matrix.T).max())
    if difference > ROUNDING * np.abs(matrix).max():
        raise ValueError(
            f"{name} is not symmetric, entries differ from their mirror image by {difference:.3g}: "
            f"give {wanted}."
        )
    return 0.5 * (matrix + matrix.T)


def factor_of(name: str, value: ArrayLike, dimension: int | None = None) -> Array:
    """Return a matrix F with F F' = ``value``, which must be positive semi-definite."""
    values, vectors = np.linalg.eigh(check_symmetric(name, value, dimension))
    if values[0] < -ROUNDING * max(values[-1], 0.0) or values[-1] < 0.0:
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
