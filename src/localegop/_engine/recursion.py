"""The loop: neighborhood -> gradients -> AGOP -> next metric. One loop for every strategy.

A *shape* is a metric with trace one; the schedule says how wide its neighborhood is. Where gradients
come from is the business of a strategy, which turns the shapes of step t into AGOPs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.metric import cap_covariance, isotropic_shape, momentum_average, unit_trace
from localegop.schedules import EffectiveSizeSchedule

Array = NDArray[np.float64]
BLOCK = 1024  # centers whose metrics are mixed at a time


@dataclass(frozen=True)
class Step:
    """What a strategy found at step t, for a batch of centers.

    Attributes
    ----------
    shape : ndarray of shape (q, D, D)
    widths : Widths
        Of the neighborhoods in which gradients were fitted, or would be.
    scale, effective_size : ndarray of shape (q,)
        Of the neighborhoods that gradients were averaged over.
    agop : ndarray of shape (q, D, D)
    loo_error : ndarray of shape (q,) or None
        None where the strategy makes no fits at the centers.
    total_weight : ndarray of shape (q,) or None
        What the weights of AGOP and error sum to, where that is not one.
    """

    shape: Array
    widths: Widths
    scale: Array
    effective_size: Array
    agop: Array
    loo_error: Array | None = None
    total_weight: Array | None = None


class Sized(Protocol):
    """What the widths of neighborhoods depend on."""

    @property
    def dimension(self) -> int:
        """Number of features."""

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood."""


class Strategy(Protocol):
    """Where gradients come from."""

    def step(self, t: int, shape: Array, widths: Widths) -> Step:
        """AGOPs of neighborhoods of these shapes and widths."""
        ...

    def match(self, shape: Array, widths: Widths) -> Array:
        """Scales at which neighborhoods of these shapes have the effective sizes asked for."""
        ...


def _positive(found: Any, what: str, t: int) -> float:
    """Return what a schedule gave for step t as a number."""
    try:
        number = float(found)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"schedule must return {what}, but step {t} has {found!r:.200}")
    return number


@dataclass(frozen=True)
class MetricUpdate:
    """How the metric moves from step to step.

    Parameters
    ----------
    schedule : callable or object with ``effective_size``
        See :mod:`localegop.schedules`.
    momentum : float
        Weight of the newest AGOP.
    initial_scale : float
        alpha of the paper: with a bandwidth schedule the first metric is the identity divided by it.
    covariance_cap : float or None
        Largest variance of a localization in any direction, in units of the recursion.
    """

    schedule: Any
    momentum: float
    initial_scale: float
    covariance_cap: float | None

    @property
    def by_size(self) -> bool:
        """Whether the schedule speaks of effective sizes rather than of bandwidths."""
        return isinstance(self.schedule, EffectiveSizeSchedule)

    def widths(self, t: int, count: int, data: Sized, sizes: Sequence[float] | None = None) -> Widths:
        """Widths of step t for so many centers: these effective sizes, or what the schedule says."""
        if sizes is not None:
            return Widths.of_sizes(sizes, count)
        if self.by_size:
            return Widths.of_sizes((self._size(t, data.largest_size),), count)
        return Widths.of_scale(self._scale(t, data.dimension), count)

    def _size(self, t: int, largest: float) -> float:
        target = _positive(self.schedule.effective_size(t), "positive effective sizes", t)
        return min(target, largest)

    def _scale(self, t: int, dimension: int) -> float:
        """Factor that turns the shape of step t into its metric, for a bandwidth schedule."""
        if t == 0:
            return dimension / self.initial_scale
        return 1.0 / _positive(self.schedule(t), "positive finite bandwidths", t)

    def next_shape(
        self, t: int, step: Step, previous_agop: Array | None, out: Array | None = None
    ) -> Array:
        """Shape of the step after step t, put into ``out``, which may be the AGOP itself.

        With bandwidths it is the paper's: the newest AGOP mixed with the one before. With effective sizes,
        which shrink little between steps, that mixture would swing with period two or three; there the
        newest AGOP is mixed with the metric that found it, which has the swing's fixed point in its middle
        (as in the Babylonian square root). The first AGOP is taken alone.
        """
        shapes = np.empty_like(step.shape) if out is None else out
        for first in range(0, len(shapes), BLOCK):  # in blocks, to need no further arrays of this size
            rows = slice(first, first + BLOCK)
            newest, other = step.agop[rows], None if previous_agop is None else previous_agop[rows]
            if self.by_size and t > 0:
                newest, other = unit_trace(newest), step.shape[rows]
            shapes[rows] = unit_trace(momentum_average(newest, other, self.momentum))
        return shapes


def isotropic_shapes(count: int, dimension: int) -> Array:
    """Shapes of the first step."""
    return np.tile(isotropic_shape(dimension), (count, 1, 1))


@dataclass(frozen=True)
class Stage:
    """How far a recursion has come: shapes of step t, and with bandwidths the AGOPs of the step before."""

    t: int
    shape: Array
    previous_agop: Array | None = None

    @classmethod
    def first(cls, count: int, dimension: int) -> Stage:
        """Return the beginning, for so many centers."""
        return cls(0, isotropic_shapes(count, dimension))


S = TypeVar("S", bound=Strategy)


class Recursion(Generic[S]):
    """The loop for a batch of centers; ``shape`` is that of step ``t``, which :meth:`advance` takes.

    Parameters
    ----------
    strategy : Strategy
    update : MetricUpdate
    data : Sized
    stage : Stage
        Where to go on; :meth:`Stage.first` for the beginning.
    """

    def __init__(self, strategy: S, update: MetricUpdate, data: Sized, stage: Stage) -> None:
        self.strategy, self.update, self.data, self.stage = strategy, update, data, stage

    @property
    def t(self) -> int:
        """Number of the step that comes next."""
        return self.stage.t

    @property
    def shape(self) -> Array:
        """Shapes of that step."""
        return self.stage.shape

    def advance(self) -> Step:
        """Take one step and move on to the next shape."""
        step = self.step()
        self.move(step)
        return step

    def step(self) -> Step:
        """Take one step."""
        return self.strategy.step(self.t, *self.setting())

    def setting(self) -> tuple[Array, Widths]:
        """Shapes to work in at this step, and their widths."""
        update, t, shape = self.update, self.t, self.shape
        widths = update.widths(t, len(shape), self.data)
        if update.covariance_cap is None or t == 0:  # M_0 is not capped
            return shape, widths
        scale = widths.scales[:, 0] if widths.scales is not None else self.strategy.match(shape, widths)
        capped = cap_covariance(scale[:, None, None] * shape, update.covariance_cap)
        return capped, Widths.of_scale(1.0, len(shape))

    def move(self, step: Step, *, reuse: bool = False) -> None:
        """Move on to the next shape; with ``reuse``, the memory of the AGOP may be taken for it."""
        by_size = self.update.by_size
        out = step.agop if reuse and by_size else None
        shape = self.update.next_shape(self.t, step, self.stage.previous_agop, out)
        self.stage = Stage(self.t + 1, shape, None if by_size else step.agop)
