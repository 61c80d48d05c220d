"""The other final fit: kriging, a small Gaussian process in the learned metric.

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

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Candidates
from localegop._progress import Progress
from localegop._selection.holdout import measured
from localegop._selection.search_grid import HELD_OUT, Choice, Fold, Tested

Array = NDArray[np.float64]

SIZE = 60.0  # effective size of the neighborhood whose width is the unit of the lengths
MOST = 200  # points in a process
LENGTHS = (1.0, 2.0, 4.0, 8.0)
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # with a trend
NOISY_RIDGES = (1e-2, 1e-1, 1.0)  # without one
ROUGH_LENGTHS = (4.0, 8.0, 16.0)
ROUGH_RIDGES = (1e-3, 1e-2, 1e-1)
PRECISE = 1e-3  # errors up to this share of the label variance leave no doubt about trend and kind
SOME = 64  # held-out points at which all processes are tried
SOME_NOISY = 256  # and those of other kinds, if any
FINALISTS = 4  # processes that are tried at all of them


@dataclass(frozen=True)
class Process:
    """A step of the recursion, a correlation length, a ridge, and the kind of process."""

    step: int
    length: float
    ridge: float
    trend: bool = True
    rough: bool = False


def size_for(reachable: int) -> float:
    """Effective size that sets the unit of lengths, among as many points."""
    return min(SIZE, max(0.5 * reachable, 1.0))


def chosen(folds: Sequence[Tested], steps: Sequence[int], progress: Progress) -> Choice:
    """Best kriging at these steps, by errors at held-out points."""
    tried = [Process(*each) for each in product(steps, LENGTHS, RIDGES)]
    best, error = _finalists(tried, SOME, folds, progress)
    if error > PRECISE:
        flat = [Process(*each, trend=False) for each in product(steps, LENGTHS, NOISY_RIDGES)]
        rough = [Process(*each, rough=True) for each in product(steps, ROUGH_LENGTHS, ROUGH_RIDGES)]
        best, _ = _finalists(best + flat + rough, SOME_NOISY, folds, progress)
    processes = Processes.of(best)
    errors = processes.mean_errors(folds, progress)
    k = int(np.argmin(errors))
    won, size = processes.each[k], size_for(min(fold.field.data.reachable for fold in folds))
    return Choice(won.step, size, 1, 0, won.ridge, float(errors[k]), won.length, won.trend, won.rough)


def _finalists(
    tried: Sequence[Process], points: int, folds: Sequence[Tested], progress: Progress
) -> tuple[list[Process], float]:
    """Take the best by their errors at about as many of the points held out; the second is the least."""
    processes = Processes.of(tried)
    every = max(1, sum(len(fold.share) for fold in folds) // points)
    errors = processes.mean_errors(folds, progress, every)
    order = np.argsort(errors, kind="stable")[:FINALISTS]
    return [processes.each[k] for k in order], float(errors[order[0]])


def unchosen(step: int, reachable: int) -> Choice:
    """Kriging where there are too few points to choose by."""
    return Choice(step, size_for(reachable), 1, 0, 1e-2, length=2.0)


def steps_near(step: int, steps: Sequence[int]) -> list[int]:
    """Pick the steps to try, where the polynomial fit does best at ``step``: that one and the first."""
    return [t for t in steps if t in (0, step)]


def work(n: int, steps: Sequence[int]) -> float:
    """Cost of :func:`chosen` for n points in passes over one, about."""
    some = SOME * min(2, len(steps)) * len(LENGTHS) * len(RIDGES)
    return 2.0 * (min(n, some) + FINALISTS * min(n, HELD_OUT))


@dataclass(frozen=True)
class Processes:
    """Squared errors of several processes, in order of steps; see :class:`~.holdout.Measure`."""

    each: tuple[Process, ...]

    @classmethod
    def of(cls, processes: Sequence[Process]) -> Processes:
        """Sort them, so that those that share covariances follow each other."""
        return cls(
            tuple(
                sorted(processes, key=lambda one: (one.step, one.trend, one.rough, one.length, one.ridge))
            )
        )

    def mean_errors(self, folds: Sequence[Tested], progress: Progress, every: int = 1) -> Array:
        """Mean squared errors (process,) over every so manieth point of all folds."""
        errors, share = measured(self, folds, progress, every)
        means: Array = np.einsum("i,ip->p", share, errors, optimize=False) / share.sum()
        return means

    def __len__(self) -> int:
        """Count them."""
        return len(self.each)

    @property
    def work(self) -> float:
        """Cost at one point in passes over one, about."""
        return 2.0 * len(self)

    @property
    def last_step(self) -> int:
        """Steps of the recursion that they need."""
        return max(process.step for process in self.each)

    def at(self, field: GradientField, guests: Fold, candidates: Candidates | None) -> Array:
        """Squared errors (point, process), averaged over outputs."""
        data, errors = field.data, []
        for step, shapes in enumerate(field.shapes(guests.centers, candidates, self.last_step)):
            here = [process for process in self.each if process.step == step]
            if here:
                _, _, values, _, _ = data.krige(
                    guests.centers,
                    shapes,
                    candidates,
                    size=size_for(data.reachable),
                    most=MOST,
                    lengths=[process.length for process in here],
                    ridges=[process.ridge for process in here],
                    trends=[process.trend for process in here],
                    rough=[process.rough for process in here],
                )
                errors.append(np.mean((values - guests.labels[:, None]) ** 2, axis=2))
        return np.concatenate(errors, axis=1)
