"""Metrics: from averaged gradient outer products to the shape of the next neighborhood.

A metric is a symmetric positive semi-definite matrix M; the localization it stands for has covariance
M^-1 (up to the kernel). Every function takes a single matrix or a stack of them (leading axes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def momentum_average(current: ArrayLike, previous: ArrayLike | None, momentum: float) -> Array:
    """Mix momentum * current + (1 - momentum) * previous; without a previous one, the current.

    Examples
    --------
    >>> from localegop._engine.metric import momentum_average
    >>> momentum_average([[2.0]], [[0.0]], 0.75).tolist()
    [[1.5]]
    """
    if not 0.0 < momentum <= 1.0:
        raise ValueError(f"momentum must lie in (0, 1], got {momentum!r}")
    current = _square(current)
    if previous is None:
        return current
    mixed: Array = momentum * current + (1.0 - momentum) * _square(previous)
    return mixed


def unit_trace(metric: ArrayLike) -> Array:
    """Divide by the trace; a zero matrix, for which no direction counts, becomes isotropic.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._engine.metric import unit_trace
    >>> unit_trace(np.diag([3.0, 1.0])).diagonal().tolist()
    [0.75, 0.25]
    """
    metric = _square(metric)
    dimension = metric.shape[-1]
    trace = np.zeros(metric.shape[:-2])
    for a in range(dimension):  # in fixed order: sums must not depend on how many matrices come at once
        trace = trace + metric[..., a, a]
    flat = ~(trace > np.finfo(float).tiny)
    shapes: Array = metric / np.where(flat, 1.0, trace)[..., None, None]
    shapes[flat] = isotropic_shape(dimension)
    return shapes


def isotropic_shape(dimension: int) -> Array:
    """Metric of trace one for which all directions count alike."""
    return np.eye(dimension) / dimension


def cap_covariance(metric: ArrayLike, cap: float | None) -> Array:
    """Raise eigenvalues below 1 / cap to 1 / cap, so that no variance of M^-1 exceeds ``cap``.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._engine.metric import cap_covariance
    >>> cap_covariance(np.diag([4.0, 0.1]), cap=2.0).diagonal().round(12).tolist()
    [4.0, 0.5]
    """
    metric = _square(metric)
    if cap is None:
        return metric
    if not cap > 0.0:
        raise ValueError(f"cap must be positive or None, got {cap!r}")
    values, vectors = np.linalg.eigh(metric)
    return _assemble(np.maximum(values, 1.0 / cap), vectors)


def spectrum(metric: ArrayLike) -> tuple[Array, Array]:
    """Eigenvalues, largest first and never negative, and eigenvectors as columns.

    The sign of a vector is fixed by making its entry of largest size positive.
    """
    values, vectors = np.linalg.eigh(_square(metric))
    values, vectors = np.maximum(values[..., ::-1], 0.0), vectors[..., ::-1]
    position = np.abs(vectors).argmax(axis=-2, keepdims=True)
    vectors = vectors * np.where(np.take_along_axis(vectors, position, axis=-2) < 0.0, -1.0, 1.0)
    return values, vectors


def factor(metric: ArrayLike) -> Array:
    """Matrix F with F'F = M, its rows sorted by importance: distances in M are Euclidean after F.

    Rows of tiny eigenvalues may be left out by the caller; what is lost in a squared distance is at most
    their eigenvalue times the squared Euclidean distance.
    """
    values, vectors = spectrum(metric)
    rows: Array = np.sqrt(values)[..., :, None] * np.swapaxes(vectors, -1, -2)
    return rows


def participation_ratio(metric: ArrayLike) -> Array | np.float64:
    """Effective number of directions (sum v)^2 / sum v^2 of the eigenvalues v: between 1 and D.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._engine.metric import participation_ratio
    >>> float(participation_ratio(np.diag([1.0, 1.0, 0.0])))
    2.0
    """
    metric = _square(metric)
    # Dividing by the largest entry first keeps matrices of size 1e-300 or 1e300 from under- or overflow.
    largest = np.abs(metric).max(axis=(-2, -1), keepdims=True)
    with np.errstate(over="ignore"):  # old versions of NumPy warn for subnormal numbers, and divide well
        scaled = metric / np.where(largest > 0.0, largest, 1.0)
    trace = np.trace(scaled, axis1=-2, axis2=-1)[..., None, None]
    shape = np.where(
        trace > 0.0, scaled / np.where(trace > 0.0, trace, 1.0), isotropic_shape(metric.shape[-1])
    )
    ratio: Array | np.float64 = 1.0 / np.sum(shape**2, axis=(-2, -1))
    return ratio


def _assemble(values: Array, vectors: Array) -> Array:
    whole: Array = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return whole


def _square(metric: ArrayLike) -> Array:
    array = np.asarray(metric, dtype=float)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"a metric must be a square matrix or a stack of them, got shape {array.shape}")
    return array
