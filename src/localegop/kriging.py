"""The other final fit: kriging, a small Gaussian process with a linear trend in the learned metric.

A linear fit is right where the neighborhood is small against the bends of f. Where data are few, it is not:
then a process whose covariance falls with the learned distance makes more of the same neighbors. Its
correlation length and ridge are chosen by errors at held-out points, like everything else: all pairs at
some of these points first, the few best at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from localegop.progress import Progress
from localegop.selection import HELD_OUT, Choice
from localegop.strategies import GradientField

Array = NDArray[np.float64]

SIZE = 60.0  # effective size of the neighborhood whose width is the unit of the lengths
MOST = 200  # points in a process
LENGTHS = (1.0, 2.0, 4.0, 8.0)
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
SOME = 64  # held-out points at which all pairs are tried
FINALISTS = 4  # pairs that are tried at all of them
GAIN = 0.98  # kriging must lower the error of the polynomial fit to this share to replace it


@dataclass(frozen=True)
class HeldOut:
    """Points (m, D) with labels (m, K) and weights (m,) that a field does not know, in its axes."""

    field: GradientField
    centers: Array
    labels: Array
    share: Array

    def __len__(self) -> int:
        return len(self.centers)

    def thinned(self, every: int) -> HeldOut:
        """Take every so manieth."""
        return HeldOut(self.field, self.centers[::every], self.labels[::every], self.share[::every])

    def squares(self, pairs: Sequence[Pair], progress: Progress) -> Array:
        """Squared errors (m, pair), averaged over outputs."""
        data, found = self.field.data, np.empty((len(self), len(pairs)))
        for rows in data.chunks(len(self), 8 * data.dimension**2 + 12 * data.reachable):
            residuals = _values(self, rows, pairs) - self.labels[rows, None]
            found[rows] = np.mean(residuals**2, axis=2)
            progress.advance(2.0 * len(pairs) * (rows.stop - rows.start))
        return found


@dataclass(frozen=True)
class Pair:
    """A step of the recursion with a length and a ridge."""

    step: int
    length: float
    ridge: float


def size_for(reachable: int) -> float:
    """Effective size that sets the unit of lengths, among as many points."""
    return min(SIZE, max(0.5 * reachable, 1.0))


def chosen(folds: Sequence[HeldOut], steps: Sequence[int], rival: Choice, progress: Progress) -> Choice:
    """Best kriging at these steps by its error at held-out points; the rival if that is hardly worse."""
    pairs = [Pair(*each) for each in product(sorted(steps), LENGTHS, RIDGES)]
    count = sum(len(fold) for fold in folds)
    some = [fold.thinned(max(1, count // SOME)) for fold in folds]
    order = np.argsort(_errors(some, pairs, progress), kind="stable")
    finalists = sorted((pairs[k] for k in order[:FINALISTS]), key=lambda pair: (pair.step, pair.length))
    errors = _errors(folds, finalists, progress)
    best = int(np.argmin(errors))
    if errors[best] > GAIN * rival.error:
        return rival
    pair = finalists[best]
    size = size_for(min(fold.field.data.reachable for fold in folds))
    return Choice(pair.step, size, 1, 0, pair.ridge, float(errors[best]), pair.length)


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


def _errors(folds: Sequence[HeldOut], pairs: Sequence[Pair], progress: Progress) -> Array:
    """Mean squared errors (pair,) over the points of all folds."""
    squares = np.concatenate([fold.squares(pairs, progress) for fold in folds])
    share = np.concatenate([fold.share for fold in folds])
    mean: Array = np.einsum("i,ip->p", share / share.sum(), squares, optimize=False)
    return mean


def _values(fold: HeldOut, rows: slice, pairs: Sequence[Pair]) -> Array:
    """Predictions (center, pair, output)."""
    data, centers = fold.field.data, fold.centers[rows]
    candidates = data.candidates(centers)
    recursion, values = fold.field.follow(centers, candidates), []
    for step in range(max(pair.step for pair in pairs) + 1):
        here = [pair for pair in pairs if pair.step == step]
        if here:
            found = data.krige(
                centers,
                recursion.shape,
                candidates,
                size=size_for(data.reachable),
                most=MOST,
                lengths=[pair.length for pair in here],
                ridges=[pair.ridge for pair in here],
            )
            values.append(found[2])
        if step < max(pair.step for pair in pairs):
            recursion.advance()
    return np.concatenate(values, axis=1)
