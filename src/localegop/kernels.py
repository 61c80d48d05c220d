"""Kernels: radial profiles k(u) of the squared distance u, and the weights they give.

A kernel knows nothing of the metric that measured the distances; see :mod:`localegop._engine.metric`.
To add one, make a :class:`Kernel` and, if it should have a name, put it in ``KERNELS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """A radial kernel.

    Parameters
    ----------
    name : str
        Name for messages and for the compiled core.
    profile : callable
        k(u), non-negative and non-increasing in the squared distance u >= 0; takes and returns arrays.
    support : float
        k(u) = 0 for u >= support; infinite for kernels with tails.
    shift_invariant : bool
        True if k(u + c) is proportional to k(u), as for the Gaussian. The smallest squared distance may
        then be subtracted first, so that far queries do not underflow.
    """

    name: str
    profile: Callable[[Array], Array]
    support: float = math.inf
    shift_invariant: bool = False

    def __call__(self, squared_distances: ArrayLike) -> Array:
        """Profile k(u)."""
        return np.asarray(self.profile(np.asarray(squared_distances, dtype=float)), dtype=float)

    def weights(self, squared_distances: ArrayLike) -> Array:
        """Weights along the last axis, summing to one.

        If no point has a positive weight, the nearest ones share it: the limit of a widening kernel.
        """
        u = np.asarray(squared_distances, dtype=float)
        nearest = u.min(axis=-1, keepdims=True)
        raw = self(u - nearest) if self.shift_invariant else self(u)
        lost = ~(raw.sum(axis=-1, keepdims=True) > 0.0)
        raw = np.where(lost, (u == nearest).astype(float), raw)
        normalized: Array = raw / raw.sum(axis=-1, keepdims=True)
        return normalized


def _power_of_epanechnikov(power: int) -> Callable[[Array], Array]:
    def profile(u: Array) -> Array:
        return np.maximum(1.0 - u, 0.0) ** power

    return profile


KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel("gaussian", lambda u: np.exp(-u), shift_invariant=True),
        Kernel("epanechnikov", _power_of_epanechnikov(1), support=1.0),
        Kernel("biweight", _power_of_epanechnikov(2), support=1.0),
        Kernel("triweight", _power_of_epanechnikov(3), support=1.0),
        Kernel("laplace", lambda u: np.exp(-np.sqrt(u))),
        Kernel("student", lambda u: (1.0 + u) ** -2.0),
    )
}


def as_kernel(kernel: str | Kernel | Callable[[Array], Array]) -> Kernel:
    """Kernel of that name, the kernel itself, or one made of a profile k(u).

    Examples
    --------
    >>> from localegop.kernels import as_kernel
    >>> as_kernel("epanechnikov")([0.0, 0.5, 2.0]).tolist()
    [1.0, 0.5, 0.0]
    >>> as_kernel(lambda u: 1.0 / (1.0 + u)).weights([0.0, 1.0]).round(3).tolist()
    [0.667, 0.333]
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel in KERNELS:
            return KERNELS[kernel]
    elif callable(kernel):
        return Kernel(getattr(_checked(kernel), "__name__", "custom"), kernel)
    raise ValueError(
        f"kernel must be one of {sorted(KERNELS)}, a Kernel or a callable of the squared distance, "
        f"got {kernel!r}"
    )


def _checked(profile: Callable[[Array], Array]) -> Callable[[Array], Array]:
    u = np.array([0.0, 0.1, 1.0, 10.0])
    k = np.asarray(profile(u.copy()), dtype=float)
    if k.shape != u.shape or not (np.isfinite(k).all() and (k >= 0).all() and k[0] > 0):
        raise ValueError(
            "kernel must map an array of squared distances to as many finite weights >= 0, positive at 0, "
            f"but the distances {u.tolist()} gave {k.tolist()}"
        )
    if np.any(np.diff(k) > 0):
        raise ValueError(f"kernel must not grow with distance, but {u.tolist()} gave {k.tolist()}")
    return profile


def effective_size(weights: ArrayLike) -> Array | np.float64:
    """Effective sample size (sum w)^2 / sum w^2 along the last axis."""
    w = np.asarray(weights, dtype=float)
    size: Array | np.float64 = w.sum(axis=-1) ** 2 / np.sum(w**2, axis=-1)
    return size
