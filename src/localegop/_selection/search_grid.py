"""Choosing the step, the size, the degree and the ridge of the final fit by the error at held-out points.

The leave-one-out error of a training point is honest only at the first step: later its neighborhood has
been shaped by gradients that knew its label, and under noise that flatters small neighborhoods. So the
choice is made at points whose labels took no part at all: several folds where data are few, one where
they are many. Among choices that the held-out points cannot tell apart, the one with the least variance
is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Candidates, Lists, LocalData, turned
from localegop._engine.recursion import Rules
from localegop._progress import Progress

Array = NDArray[np.float64]

SIZES = tuple(15.0 * 2**k for k in range(7))  # 15 .. 960
N_FOLDS = 5
HELD_OUT = 1000  # points to choose by: fewer folds are learned where fewer hold as many
MOST_TERMS = 60  # fits with more basis terms than this are not tried
POINTS_PER_TERM = 0.8  # at least, of the effective size
STANDARD_ERRORS = 1.0


@dataclass(frozen=True)
class Choice:
    """The final fit: how it is made and the mean squared error it had at held-out points.

    Parameters
    ----------
    step : int
        Number of steps of the recursion before it.
    size : float or None
        Effective sample size of its neighborhood; None for that of the schedule at that step.
    degree : {0, 1}
        Local mean or local linear fit.
    bends : int
        Number of leading directions with quadratic terms.
    ridge : float
    error : float
        In units of the label variance; NaN if there was nothing to choose.
    length : float or None
        Correlation length of kriging, in units of the width of the neighborhood; None for a polynomial fit.
    trend : bool
        Whether kriging has a linear trend.
    rough : bool
        Whether its covariance is exponential instead of Gaussian.
    """

    step: int
    size: float | None
    degree: int
    bends: int
    ridge: float
    error: float = np.nan
    length: float | None = None
    trend: bool = True
    rough: bool = False


@dataclass(frozen=True)
class Menu:
    """What there is to choose from."""

    steps: tuple[int, ...]
    sizes: tuple[float, ...] | None
    degree: int
    bends: tuple[int, ...]
    ridges: tuple[float, ...]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of steps, sizes, bends and ridges."""
        sizes = 1 if self.sizes is None else len(self.sizes)
        return len(self.steps), sizes, len(self.bends), len(self.ridges)

    @property
    def settled(self) -> bool:
        """Whether there is only one choice."""
        return max(self.counts) == 1

    def at(self, steps: Sequence[int]) -> Menu:
        """Menu with none but these steps."""
        return replace(self, steps=tuple(t for t in self.steps if t in steps))

    def fitting(self, dimension: int) -> Menu:
        """Menu without the sizes that are too small for linear fits in so many dimensions."""
        if self.sizes is None or self.degree == 0:
            return self
        enough = tuple(size for size in self.sizes if size >= POINTS_PER_TERM * dimension)
        return replace(self, sizes=enough or (max(self.sizes),))  # then the ridge must do

    def choice(self, at: tuple[int, ...], error: float) -> Choice:
        """Return the choice at these places of the four lists."""
        t, s, b, r = at
        size = None if self.sizes is None else self.sizes[s]
        return Choice(self.steps[t], size, self.degree, self.bends[b], self.ridges[r], error)

    def only(self) -> Choice:
        """Return the choice where there is nothing to choose by."""
        size = None if self.sizes is None else self.sizes[0]
        return Choice(self.steps[-1], size, self.degree, self.bends[0], self.ridges[-1])


def sizes_for(reachable: int) -> tuple[float, ...]:
    """Effective sizes to try, falling."""
    fitting = [size for size in SIZES if size <= 0.5 * reachable]
    return tuple(fitting[::-1]) or (max(0.5 * reachable, 1.0),)


def bends_for(dimension: int) -> tuple[int, ...]:
    """Numbers of bends to try."""
    return tuple(b for b in range(4) if b == 0 or (b <= dimension and (1 + b) * dimension <= MOST_TERMS))


def folds(n: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Draw the sets of points to hold out, one after the other."""
    if n_folds(n) == 1:
        return [np.sort(rng.choice(n, HELD_OUT, replace=False))]  # n may be too large for a permutation
    parts = np.array_split(rng.permutation(n), N_FOLDS)
    return [np.sort(part[:HELD_OUT]) for part in parts[: n_folds(n)]]


def n_folds(n: int) -> int:
    """How many folds hold out enough of n points."""
    return min(N_FOLDS, -(-N_FOLDS * HELD_OUT // n))


def choose(
    data: LocalData,
    rules: Rules,
    menu: Menu,
    gradient_ridges: tuple[float, ...],
    held_out_sets: list[NDArray[np.intp]],
    progress: Progress,
    axes: Sequence[Array] | None = None,
) -> tuple[Choice, list[Tested]]:
    """Best of the menu, by its errors at held-out points, and the fields learned without them.

    With ``axes``, one (D, r) for each set, that fold works in axes of its own.
    """
    if menu.settled or data.n < 2 * N_FOLDS:
        return menu.only(), []
    dimension = data.dimension if axes is None else max(each.shape[1] for each in axes)
    menu = menu.fitting(dimension)
    tested = [
        tested_without(
            data, rules, menu, gradient_ridges, held_out, progress, None if axes is None else axes[k]
        )
        for k, held_out in enumerate(held_out_sets)
    ]
    errors = np.concatenate([one.errors for one in tested], axis=-1)
    share = np.concatenate([one.share for one in tested])
    return pick(menu, errors, share, dimension), tested


@dataclass(frozen=True)
class Tested:
    """A field learned without some points, and what came out at them.

    Parameters
    ----------
    errors : ndarray of shape (step, size, bends, ridge, point)
        Squared errors at the points held out.
    share : ndarray of shape (point,)
        Their weights.
    field : GradientField
    guests : Fold or None
        The points held out; None if the field knows where they are.
    """

    errors: Array
    share: Array
    field: GradientField | Any
    guests: Fold | None


@singledispatch
def tested_without(
    data: LocalData | Any,
    rules: Rules,
    menu: Menu,
    gradient_ridges: tuple[float, ...],
    held_out: NDArray[np.intp],
    progress: Progress,
    axes: Array | None = None,
) -> Tested:
    """Learn a field without some points and see how all of the menu does at them."""
    if axes is None:
        fold = fold_of(data, np.arange(data.n), data.own_candidates(), held_out, data.n - len(held_out))
    else:
        part, centers = data.without(held_out).turned(axes), turned(data.rows[held_out], axes)
        lists, own = part.candidates(centers), part.candidates(part.rows)
        fold = Fold(part, np.arange(part.n), own, centers, data.labels[held_out], lists)
    field = GradientField(fold.data, rules, gradient_ridges)
    field.learn(max(menu.steps), fold.candidates, progress, onward=False)
    errors = held_out_errors(field, fold, menu, progress)
    return Tested(errors, data.share[held_out], field, fold.guests)


@dataclass(frozen=True)
class Fold:
    """Points to learn from, those of them to learn at (``own``), and points held out.

    Both kinds of centers come with lists of the points that they may look at.
    """

    data: LocalData
    own: NDArray[np.intp]
    candidates: Lists | None
    centers: Array
    labels: Array
    center_candidates: Lists | None

    @property
    def guests(self) -> Fold:
        """The points held out alone, without the long lists of the others."""
        return replace(self, own=self.own[:0], candidates=None)

    def some(self, guests: NDArray[np.intp]) -> Fold:
        """Fold with some of the points held out, without lists."""
        some = replace(self.guests, centers=self.centers[guests], labels=self.labels[guests])
        return replace(some, center_candidates=None)


def fold_of(
    data: LocalData,
    mine: NDArray[np.intp],
    candidates: Candidates | None,
    held_out: NDArray[np.intp],
    among: int,
) -> Fold:
    """Leave some of the data out, with centers ``mine`` that have these lists before.

    The lists become a little shorter, but need no second search. The points left are some of ``among``.
    """
    rest = np.setdiff1d(np.arange(data.n), held_out)
    part = data.subset(rest, among)
    out = np.isin(mine, held_out)
    stay, go = np.flatnonzero(~out), np.flatnonzero(out)
    here, there = data.rows[mine[stay]], data.rows[mine[go]]
    return Fold(
        part,
        np.searchsorted(rest, mine[stay]),
        part.filled(here, candidates and candidates.restricted(stay, rest, data.n)),
        there,
        data.labels[mine[go]],
        part.filled(there, candidates and candidates.restricted(go, rest, data.n)),
    )


def cost(n: int, menu: Menu) -> float:
    """Work of :func:`choose` in passes over one point, for a progress bar."""
    if menu.settled or n < 2 * N_FOLDS:
        return 0.0
    held_out = min(n // N_FOLDS, HELD_OUT)
    learning = max(2.0 * max(menu.steps) - 1.0, 0.0) * (n - held_out)
    return n_folds(n) * (learning + 2.0 * len(menu.steps) * held_out)


def held_out_errors(field: GradientField, fold: Fold, menu: Menu, progress: Progress) -> Array:
    """Squared errors (step, size, bends, ridge, point) of a field at the points held out of it."""
    part, candidates = field.data, fold.center_candidates
    columns = [np.zeros((*menu.counts, 0))]
    for rows in part.chunks(len(fold.centers), 8 * part.dimension**2 + 12 * part.reachable):
        lists = None if candidates is None else candidates[rows]
        errors = [
            np.mean((values - fold.labels[rows, None, None, None]) ** 2, axis=-1)
            for values in values_by_step(field, fold.centers[rows], lists, menu)
        ]
        columns.append(np.moveaxis(np.array(errors), 1, -1))
        progress.advance(2.0 * len(menu.steps) * (rows.stop - rows.start))
    return np.concatenate(columns, axis=-1)


def values_by_step(
    field: GradientField, centers: Array, candidates: Candidates | None, menu: Menu
) -> Iterator[Array]:
    """Predictions (center, size, bends, ridge, output) at each step of the menu."""
    data, rules = field.data, field.rules
    for t, shapes in enumerate(field.shapes(centers, candidates, max(menu.steps))):
        if t in menu.steps:
            sizes = scales = None
            if menu.sizes is not None:
                sizes = np.tile(menu.sizes, (len(centers), 1))
            elif rules.by_size:
                sizes = np.full((len(centers), 1), rules.size(t, data.reachable))
            else:
                scales = np.full((len(centers), 1), rules.scale(t, data.dimension))
            yield data.localize(
                centers,
                shapes,
                candidates,
                sizes=sizes,
                scales=scales,
                degree=menu.degree,
                bends=[min(b, data.dimension) for b in menu.bends],  # a fold may have fewer axes
                ridges=menu.ridges,
            ).value


def pick(menu: Menu, errors: Array, share: Array, dimension: int) -> Choice:
    """Choice of least variance among those within a standard error of the best."""
    means, close = close_to_best(errors, share, allowed(menu, dimension), STANDARD_ERRORS)
    candidates = zip(*np.nonzero(close), strict=True)
    best = min(candidates, key=lambda at: _variance_rank(menu, at, dimension))
    return menu.choice(best, float(means[best]))


def close_to_best(
    errors: Array, share: Array, allowed: NDArray[np.bool_], standard_errors: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Mean errors (step, size, bends, ridge), and which are hardly larger than the least allowed."""
    share = share / share.sum()
    means: Array = errors @ share
    means[~allowed] = np.inf
    best = np.unravel_index(np.argmin(means), means.shape)
    gap = errors - errors[best]
    spread = np.sqrt(((gap - (gap @ share)[..., None]) ** 2) @ share / len(share))
    return means, np.isfinite(means) & (means - means[best] <= standard_errors * spread)


def allowed(menu: Menu, dimension: int) -> NDArray[np.bool_]:
    """Which combinations make sense: enough points for the terms, directions only once there are any."""
    sizes = np.full(1, np.inf) if menu.sizes is None else np.array(menu.sizes)
    steps, bends = np.array(menu.steps), np.array(menu.bends)
    terms = (1 + bends) * dimension * (menu.degree > 0)
    enough = sizes[:, None] >= POINTS_PER_TERM * terms
    enough[:, 0] = np.isin(sizes, menu.fitting(dimension).sizes or sizes)
    directed = (steps[:, None] > 0) | (bends == 0) | (steps.max() == 0)
    allowed = enough[None] & directed[:, None]
    return np.repeat(allowed[..., None], len(menu.ridges), axis=-1)


def _variance_rank(menu: Menu, at: tuple[int, ...], dimension: int) -> tuple[float, int, float]:
    t, s, b, r = at
    size = 1.0 if menu.sizes is None else menu.sizes[s]
    return ((1 + (1 + menu.bends[b]) * dimension) / size, menu.steps[t], -menu.ridges[r])
