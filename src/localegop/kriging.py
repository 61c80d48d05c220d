"""The other final fit: kriging, a small Gaussian process with a linear trend in the learned metric.

A linear fit is right where the neighborhood is small against the bends of f. Where data are few, it is not:
then a process whose covariance falls with the learned distance makes more of the same neighbors. Its
correlation length and ridge are chosen by errors at held-out points, like everything else: all pairs at
some of these points first, the few best at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import Candidates
from localegop.progress import Progress
from localegop.selection import HELD_OUT, Choice, Fold, Tested
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
class Pair:
    """A step of the recursion with a length and a ridge."""

    step: int
    length: float
    ridge: float


def size_for(reachable: int) -> float:
    """Effective size that sets the unit of lengths, among as many points."""
    return min(SIZE, max(0.5 * reachable, 1.0))


def chosen(folds: Sequence[Tested], steps: Sequence[int], rival: Choice, progress: Progress) -> Choice:
    """Best kriging at these steps by its error at held-out points; the rival if that is hardly worse."""
    pairs = [Pair(*each) for each in product(sorted(steps), LENGTHS, RIDGES)]
    count = sum(len(fold.share) for fold in folds)
    order = np.argsort(_errors(folds, max(1, count // SOME), pairs, progress), kind="stable")
    finalists = sorted((pairs[k] for k in order[:FINALISTS]), key=lambda pair: (pair.step, pair.length))
    errors = _errors(folds, 1, finalists, progress)
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


def _errors(folds: Sequence[Tested], every: int, pairs: Sequence[Pair], progress: Progress) -> Array:
    """Mean squared errors (pair,) over every so manieth point of all folds."""
    total, weight = np.zeros(len(pairs)), 0.0
    for fold in folds:
        share = fold.share[::every]
        squares = errors_at_guests(fold.field, fold.guests, every, pairs)
        total += np.einsum("i,ip->p", share, squares, optimize=False)
        weight += share.sum()
        progress.advance(2.0 * squares.size)
    return total / weight


@singledispatch
def errors_at_guests(
    field: GradientField | Any, guests: Fold | None, every: int, pairs: Sequence[Pair]
) -> Array:
    """Squared errors (point, pair) at every so manieth point that the field does not know."""
    assert guests is not None
    return squared_errors(field, guests, np.arange(0, len(guests.centers), every), pairs)


def squared_errors(
    field: GradientField, guests: Fold, some: NDArray[np.intp], pairs: Sequence[Pair]
) -> Array:
    """Squared errors (point, pair), averaged over outputs, at some of the points held out."""
    data, lists = field.data, guests.center_candidates
    listed = None if lists is None else lists[: len(guests.centers)]
    errors = [np.zeros((0, len(pairs)))]
    for rows in data.chunks(len(some), 8 * data.dimension**2 + 12 * data.reachable):
        here = some[rows]
        candidates = None if listed is None else listed.some(here)
        values = _values(field, guests.centers[here], candidates, pairs)
        errors.append(np.mean((values - guests.labels[here, None]) ** 2, axis=2))
    return np.concatenate(errors)


def _values(
    field: GradientField, centers: Array, candidates: Candidates | None, pairs: Sequence[Pair]
) -> Array:
    """Predictions (center, pair, output); pairs come in the order of their steps."""
    data, last = field.data, max(pair.step for pair in pairs)
    recursion, values = field.follow(centers, candidates), []
    for step in range(last + 1):
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
        if step < last:
            recursion.advance()
    return np.concatenate(values, axis=1)
