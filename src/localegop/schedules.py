"""Schedules: how the neighborhood shrinks from step to step.

There are two kinds. A *bandwidth* schedule is a callable t -> h_t; the metric of step t has trace 1/h_t,
in the units of the data. An *effective size* schedule has a method ``effective_size(t)``; the metric of
step t is scaled until its weights have that effective sample size, which needs no units. Any object of
either form serves; the ones here are the paper's and ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from localegop._arguments import check_positive, check_real


@runtime_checkable
class BandwidthSchedule(Protocol):
    """A callable that returns the bandwidth h_t > 0 of step t.

    Examples
    --------
    >>> from localegop.schedules import BandwidthSchedule
    >>> isinstance(lambda t: 0.5**t, BandwidthSchedule)
    True
    """

    def __call__(self, t: int) -> float:
        """Bandwidth h_t."""
        ...


@runtime_checkable
class EffectiveSizeSchedule(Protocol):
    """An object that returns the effective sample size aimed at in step t.

    Examples
    --------
    >>> from localegop.schedules import EffectiveSampleSize, EffectiveSizeSchedule
    >>> isinstance(EffectiveSampleSize(), EffectiveSizeSchedule)
    True
    """

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
