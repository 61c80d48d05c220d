"""Attempts at a fit, each in other axes: what is chosen there, and with which error at held-out points.

Whatever is chosen is chosen by errors at held-out points, which took part in nothing: each fold also finds
the axes it works in without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._engine.choice import Choice
from localegop._engine.settings import Settings
from localegop._fit.backend import Backend, D, F, M_co
from localegop._fit.initial_axes import axes_from, find_first_axes, global_agop
from localegop._fit.pilot_fits import every_kth_point, with_fewer_neighbors
from localegop._predict.decisions import Decisions
from localegop._progress import Progress
from localegop._selection.folds import FEWEST_POINTS, FoldResult, many_points
from localegop._selection.holdout import Holdout
from localegop._selection.kriging import choose_kriging, default_kriging, steps_near
from localegop._selection.refinement import clearly_better, refine_choice
from localegop._selection.search_grid import SearchGrid, grid_for, pick_choice

Array = NDArray[np.float64]

CLEAR_GAIN = 0.98  # kriging with this share of the error of a polynomial fit needs no second look
SHORT = 2  # steps of the first attempt where points are many: good axes are found by then


@dataclass(frozen=True)
class Attempt(Generic[D]):
    """What was decided in some axes, and the data in them."""

    decisions: Decisions
    data: D

    @property
    def error(self) -> float:
        """Mean squared error at held-out points; NaN if nothing was held out."""
        return self.decisions.choice.error

    def in_axes(self, axes: Array) -> Attempt[D]:
        """Return the same in other axes (D, r), with nothing chosen yet."""
        return Attempt(self.decisions.in_axes(axes), self.data.rotated(axes))


@dataclass(frozen=True)
class Search(Generic[D, F, M_co]):
    """A search for the best attempt: who does the work, where it starts, and the points held out."""

    backend: Backend[D, F, M_co]
    start: Attempt[D]
    folds: list[NDArray[np.intp]]

    @property
    def settings(self) -> Settings:
        """Parameters of the fit."""
        return self.start.decisions.settings


@dataclass(frozen=True)
class Slopes:
    """Slopes over all data: for each fold the extent of its rows and the AGOP (D, D)."""

    extents: list[Extent]
    agops: list[Array]


def attempt_in_initial_axes(search: Search[D, F, M_co], progress: Progress) -> Attempt[D]:
    """Attempt in the initial units, as they are."""
    start = search.start
    attempt, _ = _attempt(search, start, start.data, grid_for(search.settings, start.data), None, progress)
    return attempt


def attempt_from_pilot_slopes(search: Search[D, F, M_co], progress: Progress) -> tuple[Attempt[D], Slopes]:
    """Attempt in axes from the slopes of pilot fits; the second are the slopes of what was chosen there.

    Where points are many, it looks at few neighbors and takes few steps.
    """
    backend, start, ridges = search.backend, search.start, search.settings.ridges
    finding, trying = progress.stages(("first axes", 1.0), (progress.title, 4.0))
    look = replace(start, data=with_fewer_neighbors(start.data))
    parts = [look.data.without(held_out) for held_out in search.folds]
    extents = [backend.extent(part) for part in parts]
    finding.expect(len(parts))
    axes = []
    for part in parts:
        axes.append(find_first_axes(backend, part, ridges))
        finding.advance()
    whole = axes[0] if len(axes) == 1 else find_first_axes(backend, look.data, ridges)
    there = look.in_axes(whole)
    grid = grid_for(search.settings, there.data)
    grid = grid.at_steps(steps_of_first_attempt(start.data.n, grid.steps))
    attempt, folds = _attempt(search, there, look.data, grid, axes, trying)
    agops = [
        _agop_of_fold(backend, attempt.decisions, one, fold) for one, fold in zip(axes, folds, strict=True)
    ]
    found = start.in_axes(whole)  # with all the neighbors again
    decisions = replace(found.decisions, choice=attempt.decisions.choice)
    return replace(found, decisions=decisions), Slopes(extents, agops)


def attempt_from_fitted_slopes(
    search: Search[D, F, M_co], slopes: Slopes, progress: Progress
) -> Attempt[D]:
    """Attempt in axes from the slopes of good fits, without directions in which f varies nowhere."""
    start = search.start
    axes = [
        axes_from(extent, agop, leave_out=True)
        for extent, agop in zip(slopes.extents, slopes.agops, strict=True)
    ]
    extent = search.backend.extent(start.data)
    there = start.in_axes(axes_from(extent, np.mean(slopes.agops, axis=0), leave_out=True))
    grid = grid_for(search.settings, there.data)
    attempt, _ = _attempt(search, there, start.data, grid, axes, progress)
    return attempt


def steps_of_first_attempt(n: int, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return the steps after which the first attempt is tested: some of all where points are many."""
    last = min(SHORT, max(steps))
    return tuple(t for t in steps if t in (0, last)) if many_points(n) else steps


def _attempt(
    search: Search[D, F, M_co],
    there: Attempt[D],
    data: D,
    grid: SearchGrid,
    axes: list[Array] | None,
    progress: Progress,
) -> tuple[Attempt[D], list[FoldResult[F]]]:
    """Choose from a grid, with each fold of the data in its own axes if they are given."""
    if grid.settled or data.n < FEWEST_POINTS:
        return _with_choice(there, _unchosen(search.settings, grid, data)), []
    dimension = data.dimension if axes is None else max(each.shape[1] for each in axes)
    enough = grid.wide_enough(dimension)
    learning, choosing = progress.stages((progress.title, 2.0), (progress.title, 1.0))
    folds = [
        search.backend.learn_without(
            data, there.decisions.update, enough, held_out, None if axes is None else axes[k], part
        )
        for k, (held_out, part) in enumerate(
            zip(search.folds, learning.parts(len(search.folds)), strict=True)
        )
    ]
    errors = np.concatenate([fold.errors for fold in folds], axis=-1)
    weight = np.concatenate([fold.sample_weight for fold in folds])
    choice = pick_choice(enough, errors, weight, dimension)
    choice = _choose_final(search.settings, choice, grid, Holdout(search.backend, folds), choosing)
    return _with_choice(there, choice), folds


def _with_choice(attempt: Attempt[D], choice: Choice) -> Attempt[D]:
    return replace(attempt, decisions=replace(attempt.decisions, choice=choice))


def _unchosen(settings: Settings, grid: SearchGrid, data: D) -> Choice:
    """Take what there is where there is nothing to choose, or too few points to choose by."""
    choice = grid.default()
    return default_kriging(choice.step, data.largest_size) if settings.final == "kriging" else choice


def _choose_final(
    settings: Settings, choice: Choice, grid: SearchGrid, holdout: Holdout[F], progress: Progress
) -> Choice:
    """Look again at the chosen polynomial, and let kriging compete with it or replace it, as asked."""
    trying, refining, comparing = progress.stages(
        (progress.title, 2.0), (progress.title, 2.0), (progress.title, 1.0)
    )
    kriging = None
    if settings.may_krige:
        kriging = choose_kriging(holdout, steps_near(choice.step, grid.steps), trying)
        if settings.final == "kriging" or kriging.error <= CLEAR_GAIN * choice.error:
            return kriging
    choice = refine_choice(choice, grid, holdout, refining)
    better = kriging is not None and clearly_better(kriging, choice, holdout, comparing)
    return kriging if kriging is not None and better else choice


def _agop_of_fold(
    backend: Backend[D, F, M_co], decisions: Decisions, axes: Array, fold: FoldResult[F]
) -> Array:
    """AGOP (D, D) over all data, from gradients of the chosen fit at some points of a fold."""
    gradients, weight = backend.gradients_at(fold, decisions, every_kth_point(fold.n))
    return global_agop(axes, gradients, weight)
