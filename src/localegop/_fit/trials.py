"""Trials of a fit, each in other axes: what is chosen there, and with which error at held-out points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.gradient_field import learn_field, spread_points
from localegop._engine.settings import Settings
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.initial_axes import global_agop
from localegop._fit.leave_one_out import final_fits
from localegop._predict.decisions import Decisions
from localegop._progress import SILENT
from localegop._selection.holdout import Holdout, LearnedFold
from localegop._selection.kriging import PRECISE, noisy_processes, smooth_processes
from localegop._selection.race import FIRST_LOOK, SECOND_LOOK, Race, standard_error
from localegop._selection.search_grid import SearchGrid, grid_for

Array = NDArray[np.float64]

FOLD_ANCHORS = 500
ENOUGH = 1000  # held-out points of the last round, or a fifth of all where that is more
CLEAR_GAIN = 0.98  # kriging with this share of the error of a polynomial fit needs no further proof
STANDARD_ERRORS = 1.5  # within which polynomials count as equal, and the one of least variance is taken
VARIANCE_POINTS = 64  # held-out points at which variances are compared
MOST_COMPARED = 32


@dataclass(frozen=True)
class Start(Generic[D]):
    """What was decided in some axes, and the data in them."""

    decisions: Decisions
    data: D

    def in_axes(self, axes: Array) -> Start[D]:
        """Return the same in other axes (D, r), with nothing chosen yet."""
        return Start(self.decisions.in_axes(axes), self.data.rotated(axes))


@dataclass(frozen=True)
class Search(Generic[D, M_co]):
    """A search for the best trial: who does the work, where it starts, and the points held out."""

    backend: Backend[D, M_co]
    start: Start[D]
    folds: list[NDArray[np.intp]]

    @property
    def settings(self) -> Settings:
        """Parameters of the fit."""
        return self.start.decisions.settings

    @property
    def enough(self) -> int:
        """Number of held-out points to choose by."""
        return max(ENOUGH, len(self.folds[0]))


def anchor_points(settings: Settings, n: int, most: int) -> NDArray[np.int64]:
    """Take the points to learn gradients at: some, or all where lengths are given in the data's units."""
    by_length = not settings.by_size or settings.exclusion_radius is not None
    return spread_points(n, n if by_length or settings.covariance_cap is not None else most)


class Trial(Generic[D, M_co]):
    """One trial: the data in some axes, and the race of choices there."""

    def __init__(self, search: Search[D, M_co], start: Start[D]) -> None:
        self.search, self.start = search, start
        self.grid = grid_for(search.settings, start.data)
        self.holdout = Holdout(self._learn_fold, [len(fold) for fold in search.folds])

    @cached_property
    def largest_size(self) -> float:
        """Largest effective size that neighborhoods have without the points of a fold."""
        return float(self.holdout.fold(0).field.largest_size)

    @cached_property
    def race(self) -> Race:
        """The race after its first rounds: a coarse grid, what lies around its best, and kriging."""
        settings = self.search.settings
        race = Race(self.holdout, self._choices(self.grid.coarse()))
        race.run_to(FIRST_LOOK)
        best = race.best
        race.keep(8)
        race.join(self._choices(self.grid.around(best)))
        race.run_to(SECOND_LOOK)
        race.keep(8)
        if settings.may_krige:
            processes = self._race_processes(sorted({0, race.best.step}))
            if settings.final == "kriging":
                race.keep(0)
            race.join(processes)
        return race

    def _race_processes(self, steps: list[int]) -> list[Choice]:
        """Race the kinds of kriging."""
        race = Race(self.holdout, smooth_processes(steps, self.largest_size))
        race.run_to(FIRST_LOOK // 4)
        race.keep(len(race.choices) // 4)
        if race.means.min() > PRECISE:
            race.join(noisy_processes(steps, self.largest_size))
            race.keep(len(race.choices) // 3)
        race.run_to(FIRST_LOOK)
        race.keep(4)
        return race.choices

    def settle(self) -> Choice:
        """Finish the race: the last look at polynomials, and at kriging, at as many points as it takes."""
        race = self.race
        polynomials = [one for one in race.choices if isinstance(one.final, Polynomial)]
        if polynomials:
            best = min(polynomials, key=lambda one: race.means[race.choices.index(one)])
            race.join(self._choices(self.grid.finer(best, self.largest_size)))
            race.keep_close(3.0)
        race.run_to(self.search.enough)
        return self._pick(race)

    def _pick(self, race: Race) -> Choice:
        """Take the polynomial of least variance among the best, unless kriging is clearly better."""
        means = race.means
        kinds = np.array([isinstance(one.final, Kriging) for one in race.choices])
        found = []
        for kriging in (False, True):
            numbers = np.flatnonzero(kinds == kriging)
            if len(numbers):
                found.append(self._least_variance(race, numbers) if not kriging else numbers[np.argmin(means[numbers])])
        best = found[0]
        if len(found) == 2:
            gain, weight = race.errors[:, found[0]] - race.errors[:, found[1]], race.weight / race.weight.sum()
            sure = weight @ gain > standard_error(gain[:, None], weight)[0]
            if sure or means[found[1]] <= CLEAR_GAIN * means[found[0]]:
                best = found[1]
        choice = race.choices[best]
        return Choice(choice.step, choice.size, choice.final, float(means[best]))

    def _least_variance(self, race: Race, numbers: NDArray[np.intp]) -> int:
        """Number of the choice of least variance among those that cannot be told from the best of some."""
        means, weight = race.means[numbers], race.weight / race.weight.sum()
        gap = race.errors[:, numbers] - race.errors[:, [numbers[np.argmin(means)]]]
        close = numbers[means - means.min() <= STANDARD_ERRORS * standard_error(gap, weight)]
        close = close[np.argsort(race.means[close], kind="stable")][:MOST_COMPARED]
        variances = self.holdout.variances([race.choices[k] for k in close], VARIANCE_POINTS)
        return int(close[np.argmin(variances)])

    def agop(self) -> Array:
        """Averaged outer product (D, D) of the gradients of the best choice so far, over all data."""
        fold, choice = self.holdout.fold(0), self.race.best
        own = np.arange(len(fold.anchors))
        shapes = fold.field.shapes_at(fold.anchors.rows, choice.step, own)
        _, gradients, _ = final_fits(fold.anchors, fold.field, choice, shapes)
        return global_agop(np.eye(self.start.data.dimension), gradients, fold.anchors.sample_weight)

    def _choices(self, grid: SearchGrid) -> list[Choice]:
        return grid.choices(self.start.data.dimension)

    def _learn_fold(self, k: int) -> LearnedFold:
        """Learn a field without the points of a fold."""
        backend, settings, decisions = self.search.backend, self.search.settings, self.start.decisions
        rest, held_out = backend.hold_out(self.start.data, self.search.folds[k])
        site = backend.own_site(rest, anchor_points(settings, rest.n, FOLD_ANCHORS))
        field = learn_field(
            site, backend.as_data(site), decisions.update, settings.ridges, max(self.grid.steps), SILENT
        )
        return LearnedFold(field, held_out, site)
