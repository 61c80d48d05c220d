"""Kernels: radial profiles k(u) of the squared distance u, and the weights they give.

A kernel knows nothing of the metric that measured the distances; see :mod:`localegop._engine.metric`.

For a kernel of your own, pass its profile or a :class:`Kernel` to the regressor; it is evaluated in
Python, on one thread. To add one that has a name and runs in the compiled core, add a line to the table
in ``src/core/kernels.hpp``, from which everything else follows, ``KERNELS`` too, and its profile to
``KERNELS`` of :mod:`localegop.reference`, which stands alone so that a test can compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop import _core

Array = NDArray[np.float64]

PROBES = np.array([0.0, 0.1, 1.0, 10.0])  # squared distances at which a new kernel is looked at
LARGEST = (
    1e100  # weights are squared and added up; the first one may be as far from 1 in the other direction
)


@dataclass(frozen=True)
class Kernel:
    """A radial kernel.

    Parameters
    ----------
    name : str
        Name for messages.
    profile : callable
        k(u), non-negative and non-increasing in the squared distance u >= 0; takes and returns arrays.
        What it returns is checked on every call.
    support : float
        k(u) = 0 for u >= support; infinite for kernels with tails. Points beyond are not looked at.
    shift_invariant : bool
        True if k(u + c) is proportional to k(u), as for the Gaussian. The smallest squared distance is
        then subtracted first, so that far queries do not underflow.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.kernels import Kernel
    >>> cosine = Kernel("cosine", lambda u: np.where(u < 1.0, np.cos(np.pi / 2 * u), 0.0), support=1.0)
    >>> cosine([0.0, 2.0]).tolist()
    [1.0, 0.0]
    """

    name: str
    profile: Callable[[Array], Array]
    support: float = math.inf
    shift_invariant: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.support, Real) and self.support > 0.0):
            raise ValueError(f"support of the kernel {self.name!r} must be positive, got {self.support!r}")
        _check_profile(self)
        if math.isfinite(self.support):
            _check_support(self)
        if self.shift_invariant:
            _check_shift_invariance(self)

    @property
    def built_in(self) -> bool:
        """Whether this is a kernel of the compiled core."""
        return KERNELS.get(self.name) == self

    def spec(self, cutoff: float, tolerance: float) -> _core.KernelSpec:
        """Tell the compiled core about this kernel.

        Parameters
        ----------
        cutoff : float
            Weights below this part of the largest are dropped.
        tolerance : float
            Part of a metric's trace that its factor may leave out.
        """
        if self.built_in:
            return _core.KernelSpec.named(self.name, cutoff, tolerance)
        return _core.KernelSpec.custom(self, self.support, self.shift_invariant, cutoff, tolerance)

    def __call__(self, squared_distances: ArrayLike) -> Array:
        """Profile k(u), or an error if that is not as many finite numbers >= 0 as there are distances."""
        u = np.asarray(squared_distances, dtype=float)
        return _check_weights(self.name, u, self.profile(u))

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


def _check_weights(name: str, u: Array, found: Any) -> Array:
    """Weights that a profile returned, as an array of numbers; cheap, as it is done on every call."""
    if not isinstance(found, np.ndarray | np.generic):
        raise _wrong_weights(name, f"{found!r:.200}, which is no array")
    if found.shape != u.shape:
        raise _wrong_weights(name, f"an array of shape {found.shape} for distances of shape {u.shape}")
    if found.dtype.kind not in "fiub":
        raise _wrong_weights(name, f"an array of {found.dtype}: {_beginning(np.asarray(found))}")
    with np.errstate(over="ignore"):  # of longer floats: to infinity, which is refused
        k = np.asarray(found, dtype=float)
    if k.size and not (k.min() >= 0.0 and k.max() <= LARGEST):
        wrong = np.flatnonzero(~((k >= 0.0) & (k <= LARGEST)).ravel())[0]
        raise _wrong_weights(name, f"{k.ravel()[wrong]!s} at {u.ravel()[wrong]!s}")
    return k


def _wrong_weights(name: str, what: str) -> ValueError:
    return ValueError(
        "kernel must map an array of squared distances to an array with one weight per distance, a finite "
        f"number from 0 to {LARGEST:g}, but the kernel {name!r} gave {what}"
    )


def _beginning(values: NDArray[Any]) -> str:
    return f"{values.ravel()[:4].tolist()!r:.200}"


def _check_profile(kernel: Kernel) -> None:
    k = kernel(PROBES.copy())
    at = f"but the squared distances {PROBES.tolist()} gave {k.tolist()} for the kernel {kernel.name!r}"
    if not k[0] >= 1.0 / LARGEST:
        raise ValueError(f"kernel must be positive at 0, at least {1.0 / LARGEST:g}, {at}")
    if np.any(np.diff(k) > 0):
        raise ValueError(f"kernel must not grow with distance, {at}")


def _check_support(kernel: Kernel) -> None:
    u = kernel.support * np.array([1.0, 1.001, 2.0, 100.0])
    k = kernel(u)
    if np.any(k != 0.0):
        raise ValueError(
            f"the kernel {kernel.name!r} must be 0 from its support {kernel.support!r} on, "
            f"but the distances {u.tolist()} gave {k.tolist()}: give a larger support"
        )


def _check_shift_invariance(kernel: Kernel) -> None:
    u = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    k = kernel(u)
    ratios = k[1:] / k[:-1] if np.all(k > 0.0) else np.zeros(1)
    if not (0.0 < ratios[0] < 1.0 and np.allclose(ratios, ratios[0], rtol=1e-6)):
        raise ValueError(
            f"the kernel {kernel.name!r} is said to be shift invariant, so it must be exp(-c u), neither 0 "
            f"nor 1 at u = 1, but the distances {u.tolist()} gave {k.tolist()}: "
            "rescale it, or leave shift_invariant at False"
        )


@dataclass(frozen=True)
class _CoreProfile:
    """Profile of a kernel of the compiled core; equal ones compare equal, and it can be pickled."""

    name: str

    def __call__(self, u: Array) -> Array:
        return _core.kernel_profile(self.name, np.ascontiguousarray(u).ravel()).reshape(u.shape)


KERNELS: dict[str, Kernel] = {}
for _name, _support, _shift_invariant in _core.kernels:
    KERNELS[_name] = Kernel(_name, _CoreProfile(_name), _support, _shift_invariant)


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
        return Kernel(str(getattr(kernel, "__name__", type(kernel).__name__)), kernel)
    raise ValueError(
        f"kernel must be one of {sorted(KERNELS)}, a Kernel or a callable of the squared distance, "
        f"got {kernel!r}"
    )


def effective_size(weights: ArrayLike) -> Array | np.float64:
    """Effective sample size (sum w)^2 / sum w^2 along the last axis.

    Examples
    --------
    >>> from localegop.kernels import effective_size
    >>> effective_size([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]]).tolist()
    [4.0, 1.0]
    """
    w = np.asarray(weights, dtype=float)
    size: Array | np.float64 = w.sum(axis=-1) ** 2 / np.sum(w**2, axis=-1)
    return size
