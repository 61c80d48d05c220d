"""Schedules: how the neighborhood shrinks from step to step.

There are two kinds. A *bandwidth* schedule is a callable t -> h_t; the metric of step t has trace 1/h_t,
in the units of the data. An *effective size* schedule has a method ``effective_size(t)``; the metric of
step t is scaled until its weights have that effective sample size, which needs no units. Any object of
either form serves; the ones here are the paper's and ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import check_positive, check_real
from localegop.kernels import Kernel, as_kernel, effective_size


@runtime_checkable
class BandwidthSchedule(Protocol):
    """A callable that returns the bandwidth h_t > 0 of step t."""

    def __call__(self, t: int) -> float:
        """Bandwidth h_t."""
        ...


@runtime_checkable
class EffectiveSizeSchedule(Protocol):
    """An object that returns the effective sample size aimed at in step t."""

    def effective_size(self, t: int) -> float:
        """Target of step t."""
        ...


@dataclass(frozen=True)
class PowerLaw:
    """Bandwidth scale * (1 + t)^-exponent; the defaults are the paper's.

    Examples
    --------
    >>> from localegop.schedules import PowerLaw
    >>> round(PowerLaw()(3), 4)
    0.1895
    """

    exponent: float = 1.2
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)
        check_positive("scale", self.scale)

    def __call__(self, t: int) -> float:
        """Bandwidth h_t."""
        return float(self.scale * (1.0 + t) ** -self.exponent)


@dataclass(frozen=True)
class Geometric:
    """Bandwidth scale * ratio^t, the schedule of the paper's theorems.

    Examples
    --------
    >>> from localegop.schedules import Geometric
    >>> Geometric(scale=2.0, ratio=0.5)(3)
    0.25
    """

    scale: float = 1.0
    ratio: float = 0.9

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_real("ratio", self.ratio, above=0.0, below=1.0, why=", so that bandwidths fall")

    def __call__(self, t: int) -> float:
        """Bandwidth h_t."""
        return float(self.scale * self.ratio**t)


@dataclass(frozen=True)
class EffectiveSampleSize:
    """Effective sample sizes falling geometrically from ``start`` to ``stop`` in ``n_steps`` steps.

    Examples
    --------
    >>> from localegop.schedules import EffectiveSampleSize
    >>> schedule = EffectiveSampleSize(start=400, stop=25, n_steps=3)
    >>> [round(schedule.effective_size(t)) for t in range(3)]
    [400, 100, 25]
    """

    start: float = 300.0
    stop: float = 30.0
    n_steps: int = 12

    def __post_init__(self) -> None:
        start, _ = check_positive("start", self.start), check_positive("n_steps", self.n_steps)
        check_real("stop", self.stop, above=0.0, most=start, why=", the start, so that sizes fall")

    def effective_size(self, t: int) -> float:
        """Target of step t; after the last step it stays at ``stop``."""
        fraction = min(t / max(self.n_steps - 1, 1), 1.0)
        return float(self.start * (self.stop / self.start) ** fraction)


def scale_for_effective_size(
    squared_distances: ArrayLike, target: float, kernel: str | Kernel = "gaussian"
) -> float:
    """Scale s for which the weights k(s u) have the effective sample size ``target``.

    The effective size falls from n (s = 0) towards one (or the number of nearest ties) as s grows; a
    target outside what the kernel can reach gives the nearest end.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.kernels import KERNELS, effective_size
    >>> from localegop.schedules import scale_for_effective_size
    >>> u = np.linspace(0, 1, 1000)
    >>> s = scale_for_effective_size(u, 50.0)
    >>> round(float(effective_size(KERNELS["gaussian"].weights(s * u))), 6)
    50.0
    """
    u = np.asarray(squared_distances, dtype=float)
    check_positive("target", target)
    chosen = as_kernel(kernel)
    typical = float(np.median(u[u > 0.0])) if np.any(u > 0.0) else 1.0
    low, high = -40.0, 40.0
    while high - low > 1e-14 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if effective_size(chosen.weights(math.exp(middle) / typical * u)) > target:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high)) / typical
