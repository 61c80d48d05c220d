"""The choice of kriging: its correlation length, ridge, trend and roughness.

A linear fit is right where the neighborhood is small against the bends of f. Where data are few, it is not:
then a process whose covariance falls with the learned distance makes more of the same neighbors. Its
correlation length and ridge are chosen by errors at held-out points, like everything else: all pairs at
some of these points first, the few best at all of them. A linear trend helps where labels are precise, and
costs a coefficient for each dimension; a Gaussian covariance makes f smooth. So where errors are large,
processes without a trend and rough ones, of exponential covariance, compete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers
from localegop._engine.choice import Choice
from localegop._engine.final_fits import MAX_KRIGING_POINTS, Kriging
from localegop._engine.gradient_field import GradientField
from localegop._progress import Progress
from localegop._selection.holdout import Holdout

Array = NDArray[np.float64]
F = TypeVar("F")

SIZE = 60.0  # effective size of the neighborhood whose width is the unit of the lengths
LENGTHS = (1.0, 2.0, 4.0, 8.0)
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # with a trend
NOISY_RIDGES = (1e-2, 1e-1, 1.0)  # without one
ROUGH_LENGTHS = (4.0, 8.0, 16.0)
ROUGH_RIDGES = (1e-3, 1e-2, 1e-1)
PRECISE = 1e-3  # errors up to this share of the label variance leave no doubt about trend and kind
FIRST_POINTS = 64  # held-out points at which all processes are tried
NOISY_POINTS = 256  # and those of other kinds, if any
FINALISTS = 4  # processes that are tried at all of them
DEFAULT = Kriging(2.0, 1e-2)  # where there are too few points to choose by


@dataclass(frozen=True)
class Process:
    """A step of the recursion, and a process after it."""

    step: int
    kriging: Kriging

    @property
    def order(self) -> tuple[int, bool, bool, float, float]:
        """Order in which those that share covariances follow each other."""
        kriging = self.kriging
        return self.step, kriging.trend, kriging.rough, kriging.length, kriging.ridge


def size_for(largest_size: float) -> float:
    """Effective size that sets the unit of lengths, if such sizes can be had."""
    return min(SIZE, largest_size)


def choose_kriging(holdout: Holdout[F], steps: Sequence[int], progress: Progress) -> Choice:
    """Best kriging at these steps, by errors at held-out points."""
    first, second, last = progress.parts(3)
    best, error = _finalists(_processes(steps, LENGTHS, RIDGES), FIRST_POINTS, holdout, first)
    if error > PRECISE:
        best += _processes(steps, LENGTHS, NOISY_RIDGES, trend=False)
        best += _processes(steps, ROUGH_LENGTHS, ROUGH_RIDGES, rough=True)
        best, _ = _finalists(best, NOISY_POINTS, holdout, second)
    processes = ProcessErrors.of(best)
    errors = processes.mean_errors(holdout, last)
    k = int(np.argmin(errors))
    won = processes.each[k]
    return Choice(won.step, size_for(holdout.largest_size), won.kriging, float(errors[k]))


def _processes(
    steps: Sequence[int],
    lengths: Sequence[float],
    ridges: Sequence[float],
    *,
    trend: bool = True,
    rough: bool = False,
) -> list[Process]:
    """Return the processes of all lengths and ridges at these steps."""
    return [
        Process(step, Kriging(length, ridge, trend, rough))
        for step, length, ridge in product(steps, lengths, ridges)
    ]


def _finalists(
    tried: Sequence[Process], points: int, holdout: Holdout[F], progress: Progress
) -> tuple[list[Process], float]:
    """Take the best by their errors at about as many of the points held out; the second is the least."""
    processes = ProcessErrors.of(tried)
    errors = processes.mean_errors(holdout, progress, max(1, holdout.count // points))
    order = np.argsort(errors, kind="stable")[:FINALISTS]
    return [processes.each[k] for k in order], float(errors[order[0]])


def default_kriging(step: int, largest_size: float) -> Choice:
    """Kriging where there are too few points to choose by."""
    return Choice(step, size_for(largest_size), DEFAULT)


def steps_near(step: int, steps: Sequence[int]) -> list[int]:
    """Pick the steps to try, where the polynomial fit does best at ``step``: that one and the first."""
    return [t for t in steps if t in (0, step)]


@dataclass(frozen=True)
class ProcessErrors:
    """Squared errors of several processes; see :class:`localegop._selection.holdout.Measure`."""

    each: tuple[Process, ...]

    @classmethod
    def of(cls, processes: Sequence[Process]) -> ProcessErrors:
        """Sort them, so that those that share covariances follow each other."""
        return cls(tuple(sorted(processes, key=lambda one: one.order)))

    def mean_errors(self, holdout: Holdout[F], progress: Progress, every: int = 1) -> Array:
        """Mean squared errors (process,) over every k-th point of all folds."""
        errors, weight = holdout.evaluate(self, progress, every)
        means: Array = np.einsum("i,ip->p", weight, errors, optimize=False) / weight.sum()
        return means

    def __len__(self) -> int:
        """Count them."""
        return len(self.each)

    @property
    def last_step(self) -> int:
        """Steps of the recursion that they need."""
        return max(process.step for process in self.each)

    def at(self, field: GradientField, centers: Centers, labels: Array) -> Array:
        """Squared errors (point, process), averaged over outputs."""
        data, errors = field.data, []
        for step, shapes in enumerate(field.shapes(centers, self.last_step)):
            here = [process.kriging for process in self.each if process.step == step]
            if here:
                batch = data.krige(
                    centers,
                    shapes,
                    size=size_for(data.largest_size),
                    most=MAX_KRIGING_POINTS,
                    lengths=[one.length for one in here],
                    ridges=[one.ridge for one in here],
                    trends=[one.trend for one in here],
                    rough=[one.rough for one in here],
                )
                errors.append(np.mean((batch.value - labels[:, None]) ** 2, axis=2))
        return np.concatenate(errors, axis=1)
