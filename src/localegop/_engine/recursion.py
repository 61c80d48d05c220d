"""The loop: neighborhood -> gradients -> AGOP -> next metric. One loop for every strategy.

A *shape* is a metric with trace one; the schedule gives it its size. Where gradients come from is the
business of a strategy, which turns the shapes of step t into AGOPs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._engine.metric import cap_covariance
from localegop.schedules import EffectiveSizeSchedule

Array = NDArray[np.float64]
BLOCK = 1024  # centers whose metrics are mixed at a time


@dataclass(frozen=True)
class Step:
    """What a strategy found at step t, for a batch of centers.

    ``value``, ``gradient`` and ``loo_error`` are None where the strategy makes no fits at the centers.
    """

    shape: Array
    scale: Array
    effective_size: Array
    agop: Array
    loo_error: Array | None = None
    value: Array | None = None
    gradient: Array | None = None


class Strategy(Protocol):
    """Where gradients come from."""

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """AGOPs of neighborhoods of these shapes, of effective sizes ``size`` or as scaled."""
        ...

    def match(self, shape: Array, size: Array) -> Array:
        """Scales at which neighborhoods of these shapes have these effective sizes."""
        ...


@dataclass(frozen=True)
class Rules:
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

    def size(self, t: int, reachable: int) -> float:
        """Effective size of step t, at most half of what a center can look at."""
        target = float(self.schedule.effective_size(t))
        if not (np.isfinite(target) and target > 0.0):
            raise ValueError(f"schedule must return positive effective sizes, but step {t} has {target}")
        return min(target, max(0.5 * reachable, 1.0))

    def scale(self, t: int, dimension: int) -> float:
        """Factor that turns the shape of step t into its metric, for a bandwidth schedule."""
        if t == 0:
            return dimension / self.initial_scale
        h = float(self.schedule(t))
        if not (np.isfinite(h) and h > 0.0):
            raise ValueError(f"schedule must return positive finite bandwidths, but step {t} has {h}")
        return 1.0 / h

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
            if t == 0:
                shapes[rows] = unit_trace(step.agop[rows])
                continue
            if previous_agop is None:
                newest, other = unit_trace(step.agop[rows]), step.shape[rows]
            else:
                newest, other = step.agop[rows], previous_agop[rows]
            shapes[rows] = unit_trace(self.momentum * newest + (1.0 - self.momentum) * other)
        return shapes


def unit_trace(matrices: Array) -> Array:
    """Matrices divided by their trace; zero ones, where nothing has a slope, become isotropic."""
    dimension = matrices.shape[-1]
    trace = np.zeros(len(matrices))
    for a in range(dimension):  # in fixed order: sums must not depend on how many matrices come at once
        trace += matrices[:, a, a]
    flat = ~(trace > np.finfo(float).tiny)
    shapes = matrices / np.where(flat, 1.0, trace)[:, None, None]
    shapes[flat] = np.eye(dimension) / dimension
    return shapes


def isotropic(count: int, dimension: int) -> Array:
    """Shapes of the first step."""
    return np.tile(np.eye(dimension) / dimension, (count, 1, 1))


@dataclass(frozen=True)
class Stage:
    """How far a recursion has come: shapes of step t, and with bandwidths the AGOPs of the step before."""

    t: int
    shape: Array
    previous_agop: Array | None = None

    def __sizeof__(self) -> int:
        return self.shape.nbytes * (1 if self.previous_agop is None else 2)


class Recursion:
    """The loop for a batch of centers; ``shape`` is that of step ``t``, which :meth:`advance` takes.

    Parameters
    ----------
    strategy : Strategy
    rules : Rules
    count, dimension : int
        Number of centers, number of features.
    reachable : int
        How many points a center can look at.
    stage : Stage or None
        Where to go on; None for the beginning.
    """

    def __init__(
        self,
        strategy: Strategy,
        rules: Rules,
        count: int,
        dimension: int,
        reachable: int,
        stage: Stage | None = None,
    ) -> None:
        self.strategy, self.rules, self.reachable = strategy, rules, reachable
        self.stage = stage or Stage(0, isotropic(count, dimension))

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

    def setting(self) -> tuple[Array, Array | None, Array | None]:
        """Shapes to work in at this step, and their effective sizes or their scales."""
        return _setting(self.strategy, self.rules, self.t, self.shape, self.reachable)

    def move(self, step: Step, *, reuse: bool = False) -> None:
        """Move on to the next shape; with ``reuse``, the memory of the AGOP may be taken for it."""
        by_size = self.rules.by_size
        out = step.agop if reuse and by_size else None
        shape = self.rules.next_shape(self.t, step, self.stage.previous_agop, out)
        self.stage = Stage(self.t + 1, shape, None if by_size else step.agop)


def _setting(
    strategy: Strategy, rules: Rules, t: int, shape: Array, reachable: int
) -> tuple[Array, Array | None, Array | None]:
    count, dimension = shape.shape[:2]
    size = np.full(count, rules.size(t, reachable)) if rules.by_size else None
    scale = None if rules.by_size else np.full(count, rules.scale(t, dimension))
    if rules.covariance_cap is None or t == 0:  # M_0 is not capped
        return shape, size, scale
    if size is not None:
        scale = strategy.match(shape, size)
    assert scale is not None
    return cap_covariance(scale[:, None, None] * shape, rules.covariance_cap), None, np.ones(count)
