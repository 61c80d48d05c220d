"""Trials of a fit, each in other axes: what is chosen there, and with which error at held-out points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.few_functions import FunctionKriging
from localegop._engine.final_fits import Kriging, Logistic, Polynomial, SlopePolynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField, learn_field, spread_points
from localegop._engine.gradient_kriging import GradientKriging
from localegop._engine.local_data import LocalData, half_of
from localegop._engine.logistic_process import LogisticProcess
from localegop._engine.mixture import Mixture
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.initial_axes import global_agop
from localegop._fit.leave_one_out import final_fits
from localegop._predict.decisions import Decisions
from localegop._predict.rivals import Origin
from localegop._progress import SILENT, Progress
from localegop._selection.final import is_alone_with_slopes
from localegop._selection.folds import MOST_TESTED
from localegop._selection.global_search import STARTS as PROCESS_STARTS
from localegop._selection.global_search import (
    GlobalSearch,
    Guess,
    as_choice,
    for_more_rows,
    from_fewer_rows,
)
from localegop._selection.gradient_search import find_gradient_processes
from localegop._selection.holdout import Holdout, LearnedFold, weighted_means
from localegop._selection.kriging import PRECISE, later_processes, noisy_processes, smooth_processes
from localegop._selection.logistic_search import (
    MOST_SEARCHED,
    STARTS,
    best_logistic_processes,
    mixtures,
)
from localegop._selection.losses import LogLoss, Loss, SquaredError
from localegop._selection.race import Looks, Race
from localegop._selection.search_grid import MOST_LOGISTIC_TERMS, SearchGrid, grid_for, logistic_choices

Array = NDArray[np.float64]

ROWS_PER_FEATURE = 100  # fewer are few: each fold then finds its own axes
FOLD_ANCHORS = 300
WIDEST = 16_384.0  # effective size
MOST_COMPARED = 12  # choices of a trial that lie around its best
FINISHERS = 6  # of these, that may reach the final
OF_EACH_KIND = 2  # that do so in any case, unless clearly worse
FEW_KRIGING_POINTS = 100  # neighbors with which kinds of kriging meet first, at a quarter of the cost
PROCESSES = 8  # kinds of kriging that go on
MOST_LIKE, FEW_LOGISTIC = 1, 1  # polynomials that logistic fits are made like, and how many go on
MOST_STEPS = 2  # after which kriging is tried again
FINE = 5e-3  # error over variance below which local kriging is tried beside processes of all rows
NOT_CLEARLY_WORSE = 1.5  # times the error of the best global process, within which others compete
MOST_WIDE_STEPS = (
    2  # of the recursion with gradients from wide neighborhoods, which find their shapes at once
)
SORTED_BY_SLOPES = ("given", "given gently", "refined")  # axes of which the leading slopes tell most
SLOPE_WEIGHTS = 1.0, (0.1, 10.0)  # how much given slopes count in a first look, and in a second
CLEARLY_WORSE = 2.0  # times the error of another kind in some axes: no need to compete there
KINDS = (GlobalKriging, LogisticProcess, Polynomial, SlopePolynomial, Kriging)  # slowest last: `_may_win`


@dataclass(frozen=True)
class Start(Generic[D]):
    """What was decided in some axes, and the data in them."""

    decisions: Decisions
    data: D
    axes: Array  # (D, r), relative to the initial ones
    held_out: Array | None = None  # squared errors (m,) of the choice, if it knows the labels otherwise

    def in_axes(self, axes: Array) -> Start[D]:
        """Return the same in other axes (D, r), with nothing chosen yet."""
        return Start(self.decisions.in_axes(axes), self.data.rotated(axes), axes)


@dataclass(frozen=True)
class Search(Generic[D, M_co]):
    """A search for the best trial: who does the work, where it starts, and the points held out."""

    backend: Backend[D, M_co]
    start: Start[D]
    folds: list[NDArray[np.intp]]
    least_errors: dict[type, float] = field(
        default_factory=dict
    )  # by kind of final fits, in any axes so far
    guesses: list[Guess] = field(default_factory=lambda: list(STARTS))  # of logistic processes
    process_guesses: list[Guess] = field(default_factory=lambda: list(PROCESS_STARTS))  # of others

    def note_errors(self, race: Race) -> None:
        """Note the least errors of each kind of final fits that a race has seen."""
        for choice, mean in zip(race.choices, race.means, strict=True):
            kind = GlobalKriging if type(choice.final) is FunctionKriging else type(choice.final)
            self.least_errors[kind] = min(float(mean), self.least_errors.get(kind, math.inf))

    @property
    def settings(self) -> Settings:
        """Parameters of the fit."""
        return self.start.decisions.settings

    @property
    def few_rows(self) -> bool:
        """Whether axes found from all rows, being few, would know too much of those held out."""
        data = self.start.data
        return data.n < ROWS_PER_FEATURE * data.dimension

    def new_loss(self) -> Loss:
        """Return what a trial compares choices by."""
        return LogLoss(self.backend.rows.labels.mean) if self.settings.classifies else SquaredError()

    @property
    def may_use_all_rows(self) -> bool:
        """Whether processes of all rows compete: where these are few, and no parameter forbids it."""
        return self.settings.may_use_all(self.start.data.n)

    @property
    def may_use_functions(self) -> bool:
        """Whether such processes compete that are made of few functions, as rows are too many otherwise."""
        return self.settings.may_use_functions(self.start.data.n)


def anchor_points(settings: Settings, n: int, most: int) -> NDArray[np.int64]:
    """Take the points to learn gradients at: some, or all where lengths are given in the data's units."""
    by_length = not settings.by_size or settings.exclusion_radius is not None
    return spread_points(n, n if by_length or settings.covariance_cap is not None else most)


def learn_at(
    backend: Backend[D, M_co],
    data: D,
    points: NDArray[np.int64],
    site: Site,
    anchors: LocalData,
    decisions: Decisions,
    progress: Progress,
) -> GradientField:
    """Learn the gradients that a choice wants at some points, whose site sees what is usual."""
    settings, choice = decisions.settings, decisions.choice
    if choice.gradient_size is not None:
        seen = settings.seen_for(choice.gradient_size, data.n)
        site = backend.own_site(data.seeing(seen), points)
    largest = choice.largest_size(data.largest_size)
    return learn_field(site, anchors, decisions.update, settings.ridges, choice.step, progress, largest)


class Trial(Generic[D, M_co]):
    """One trial: the data in some axes, and the race of choices there.

    Parameters
    ----------
    search : Search
    start : Start
        The data in the axes of the trial.
    fold_axes : callable or None
        Gives the axes (D, r) of a fold, found without the points that it holds out; None if those of the
        trial serve all folds.
    origin : {"initial", "slopes", "gentle", "features", "pilots", "refined", "given", "given gently",
            "jagged"}
        Where the axes came from.
    first_kinds : tuple of type
        Kinds of final fits that have a first look; the others come to the second.
    known : process or None
        The one process that competes there, as axes and process were found together; all kinds for None.

    Attributes
    ----------
    points : ndarray of int
        Numbers of the rows at which choices are compared, in that order.
    """

    kept_of_wider = OF_EACH_KIND  # choices of larger sizes that may reach the final

    def __init__(
        self,
        search: Search[D, M_co],
        start: Start[D],
        fold_axes: Callable[[int], Array] | None = None,
        *,
        origin: Origin = "initial",
        first_kinds: tuple[type, ...] = KINDS,
        known: GlobalKriging | None = None,
    ) -> None:
        self.search, self.start, self.origin, self.known = search, start, origin, known
        self.first_kinds = first_kinds if known is None else (GlobalKriging,)
        self.later_kinds = tuple(kind for kind in KINDS if known is None and kind not in first_kinds)
        self.fold_axes = None if fold_axes is None else cache(fold_axes)
        self.grid = grid_for(search.settings, start.data)
        self.looks = Looks.for_rows(start.data.n)
        self.holdout = Holdout(
            self._learn_fold, [min(len(fold), MOST_TESTED) for fold in search.folds], loss=search.new_loss()
        )

        self.points = np.concatenate([fold[:MOST_TESTED] for fold in search.folds])

    def errors_of(self, choice: Choice, points: int) -> tuple[Array, float]:
        """Errors (m,) of a choice at the first held-out points, and their mean."""
        errors, weight = self.holdout.errors([choice], 0, points)
        return np.ascontiguousarray(errors[:, 0]), float(weighted_means(errors, weight)[0])

    @cached_property
    def largest_size(self) -> float:
        """Largest effective size that neighborhoods have without the points of a fold."""
        return float(self.holdout.fold(0).start.largest_size)

    @cached_property
    def opening(self) -> Race:
        """The race after its first look: a coarse grid, kriging before any step, and global processes.

        The best kriging is also tried after all steps.
        """
        race = Race(self.holdout)
        race.run_to(self.looks.first)
        self._let_join(race, self.first_kinds)
        return race

    def _let_join(self, race: Race, kinds: Iterable[type]) -> None:
        """Let the best of some kinds of final fits join, but local ones only if they may win."""
        for kind in kinds:
            if self._may_win(kind, float(race.means.min()) if race.choices else math.inf):
                race.join(self._find_first(kind))
                self.search.note_errors(race)

    def _may_win(self, kind: type, least: float) -> bool:
        """Whether a kind of final fits may be better than what has this error here.

        Local kriging, which is slow, is hardly better than processes of all rows if errors are large.
        Nor are polynomials of classes, which would take half of the time of a fit.
        The others hardly are where they were clearly worse in all axes so far; logistic fits follow them.
        """
        if kind is LogisticProcess:
            return self.search.settings.may_use_logistic_process(self.start.data.n)
        if kind is Polynomial and self.search.settings.classifies:
            return not self.search.may_use_all_rows
        if kind is Kriging:
            return not (self.search.may_use_all_rows and FINE < least < math.inf)
        clearly_worse = self.search.least_errors.get(kind, 0.0) > CLEARLY_WORSE * least
        return not clearly_worse

    def _find_first(self, kind: type) -> list[Choice]:
        """Find the choices of a kind that come through a first look; none if there may be none."""
        settings = self.search.settings
        if kind is Polynomial and settings.may_fit_polynomials:
            coarse = self.choices_of(self.grid.coarse())
            return self._best_of(coarse, max(len(coarse) // 3, 1))
        if kind is SlopePolynomial and self._slopes_may_count:
            coarse = self.choices_of(self.grid.informed(SLOPE_WEIGHTS[0]).coarse())
            return self._best_of(coarse, max(len(coarse) // 3, 1))
        if kind is Kriging and settings.may_krige:
            processes = self._race_processes()
            return [*processes, *later_processes(processes[:1], self.grid.steps[-1:])]
        if kind is GlobalKriging and self.search.may_use_all_rows:
            return [as_choice(process) for process in (*self.global_processes, *self._find_with_slopes())]
        if kind is GlobalKriging and self.search.may_use_functions:
            found = self.global_processes
            smooth = next((one for one in found if not one.rough), found[0])
            return [as_choice(one) for one in from_fewer_rows(smooth)]
        if kind is LogisticProcess:
            return self._find_logistic_processes()
        return []

    @cached_property
    def race(self) -> Race:
        """The race after its second look: what lies around the best of each kind joins."""
        race = self.opening
        self._let_join(race, self.later_kinds)
        steps = self._steps_of(race)
        race.keep(MOST_COMPARED, 2 * OF_EACH_KIND)
        found = [one.final for one in race.choices if isinstance(one.final, GlobalKriging)]
        found = [one for one in found if type(one) in (GlobalKriging, GradientKriging)]
        race.join([as_choice(for_more_rows(one)) for one in found if self._saw_few_rows(one)])
        if not self._is_decided_by_slopes(race):
            race.run_to(self.looks.second)
        best = {kind: [one for one in race.ranked if type(one.final) is kind] for kind in KINDS}
        race.join(mixtures(best[LogisticProcess], best[GlobalKriging]))
        if best[Polynomial]:
            race.keep(MOST_COMPARED, OF_EACH_KIND)
            race.join(self._best_of(self.choices_of(self.grid.around(best[Polynomial][0])), MOST_COMPARED))
            race.join(self._find_logistic(race))
        if best[SlopePolynomial]:
            race.join(self._find_informed(best[SlopePolynomial][0]))
        if best[Kriging] and self.grid.steps[-1] > 0:
            race.join(self._race_later(best[Kriging], self._steps_of(race) or steps))
        if self.search.settings.final == "logistic":
            race.keep_only(
                np.array([k for k, one in enumerate(race.choices) if isinstance(one.final, Logistic)])
            )
        race.keep(MOST_COMPARED, OF_EACH_KIND)
        return race

    def _saw_few_rows(self, process: GlobalKriging) -> bool:
        """Whether a process was found with some of the rows that it is solved for."""
        if isinstance(process, GradientKriging):
            return process.n_places == 0  # one of few functions has seen all as it grew
        return not self._anchors_are_all

    def _is_decided_by_slopes(self, race: Race) -> bool:
        """Whether a process that knows slopes is clearly ahead of all others.

        Only the best of these goes on: each takes as long as all else together.
        """
        informed = [one.final for one in race.choices if isinstance(one.final, GradientKriging)]
        if not informed:
            return False
        one_fold = any(process.n_places > 0 for process in informed)  # as each takes seconds
        points = min(2 * self.looks.first, self.looks.second)
        race.run_to(min(points, self.holdout.first_count) if one_fold else points)
        _keep_one_with_slopes(race)
        race.keep(MOST_COMPARED, OF_EACH_KIND)
        return is_alone_with_slopes(race.choices)

    def _find_logistic(self, race: Race) -> list[Choice]:
        """Find logistic fits that come through a first look, among those like the best polynomials."""
        settings = self.search.settings
        by_process = settings.may_use_logistic_process(self.start.data.n)  # which is as good, and faster
        few_terms = math.prod(self._shape) <= MOST_LOGISTIC_TERMS
        affordable = settings.final == "logistic" or (few_terms and not by_process)
        if not (settings.may_fit_logistic and affordable):
            return []
        best = [one for one in race.ranked if type(one.final) is Polynomial][:MOST_LIKE]
        alike = [one for like in best for one in logistic_choices(like, self.largest_size, *self._shape)]
        return self._best_of(list(dict.fromkeys(alike)), FEW_LOGISTIC)

    @property
    def _slopes_may_count(self) -> bool:
        """Whether local fits to given slopes compete, in axes that may show what they tell."""
        known = self.start.data.knows_gradients and self.origin in ("initial", *SORTED_BY_SLOPES)
        return known and self.search.settings.may_fit_polynomials and self.grid.linear

    def _find_informed(self, best: Choice) -> list[Choice]:
        """Find local fits to slopes around the best of a first look, with other weights of slopes, too."""
        grid = self.grid.informed(SLOPE_WEIGHTS[0])
        around = self._best_of([best, *self.choices_of(grid.around(best))], OF_EACH_KIND)
        others = [
            replace(one, final=replace(one.final, slope_weight=weight))
            for one in around
            for weight in SLOPE_WEIGHTS[1]
            if isinstance(one.final, SlopePolynomial)
        ]
        return self._best_of([*around, *others], MOST_COMPARED)

    @property
    def _shape(self) -> tuple[int, int]:
        """Numbers of features and outputs."""
        return self.start.data.dimension, len(self.search.backend.rows.labels.mean)

    def knows_labels(self, choice: Choice) -> bool:
        """Whether axes or metrics of a choice are found from the labels."""
        mixed = isinstance(choice.final, Mixture)  # some of its axes are, whatever those of the fit
        return choice.step > 0 or mixed or self.start is not self.search.start

    def _race_processes(self) -> list[Choice]:
        """Race the kinds of kriging, before any step."""
        sketch = self.holdout.with_kriging_points(FEW_KRIGING_POINTS)
        first = Race(sketch, smooth_processes((0,), self.largest_size))
        first.run_to(self.looks.first // 2)
        if first.means.min() > PRECISE:
            first.join(noisy_processes((0,), self.largest_size))
        first.keep(PROCESSES)
        race = Race(self.holdout, first.choices)
        race.run_to(self.looks.first)
        race.keep(PROCESSES // 2)
        return race.ranked

    def _race_later(self, found: list[Choice], steps: set[int]) -> list[Choice]:
        """Race the kinds of kriging that did best before any step after some, where fields help."""
        return self._best_of(later_processes(found, sorted(steps)[-MOST_STEPS:]), PROCESSES // 2)

    def _steps_of(self, race: Race) -> set[int]:
        """Return the steps after which polynomials of a race are fitted."""
        return {one.step for one in race.choices if isinstance(one.final, Polynomial)} - {0}

    @cached_property
    def global_processes(self) -> list[GlobalKriging]:
        """Find a smooth and a rough global process by their errors at the anchors of the first fold.

        If one is clearly worse it is left out. Of classes the best is where further trials begin, alone:
        logistic processes, of which there are both, are mostly better.
        """
        if self.known is not None:
            return [self.known]
        anchors = self.holdout.fold(0).anchors
        given = anchors.rows, anchors.labels, anchors.sample_weight
        search = GlobalSearch(*given, self.search.settings.threads)
        guesses = self.search.process_guesses
        best, *others = search.best(search.first_guesses(guesses))
        if self.search.settings.classifies:
            guesses[:] = [search.guess_from(best)]
        limit = NOT_CLEARLY_WORSE * search.error(best)
        return [best, *(one for one in others if search.error(one) < limit)]

    def _find_logistic_processes(self) -> list[Choice]:
        """Find a smooth and a rough logistic process by their log losses at rows of the first fold."""
        rest = self.holdout.fold(0).everything
        some = spread_points(rest.n, MOST_SEARCHED)
        given, guesses = (rest.rows[some], rest.labels[some], rest.sample_weight[some]), self.search.guesses
        found, guesses[:] = best_logistic_processes(*given, tuple(guesses))
        return [as_choice(process) for process in found]

    def _find_with_slopes(self) -> list[GradientKriging]:
        """Find the best processes that know given gradients, in axes that may show what they tell."""
        if not self.start.data.knows_gradients or self.origin not in ("initial", *SORTED_BY_SLOPES):
            return []
        everything, by_slopes = self.holdout.fold(0).everything, self.origin in SORTED_BY_SLOPES
        return find_gradient_processes(everything, axes_are_sorted=by_slopes)

    @property
    def _anchors_are_all(self) -> bool:
        """Whether a process of the anchors is one of all rows."""
        fold = self.holdout.fold(0)
        return len(fold.anchors) == fold.start.n

    def finish(self, *, widen: bool) -> None:
        """Finish the race but for the final: look around the best polynomial, at larger sizes if asked."""
        race = self.race
        polynomials = [k for k, one in enumerate(race.choices) if type(one.final) is Polynomial]
        if polynomials:
            best = race.choices[min(polynomials, key=lambda k: race.expected()[k])]
            if widen:
                best = self._widen(best)
            finer = self.grid.finer(best, self.widest if widen else self.largest_size)
            race.join(self._best_of(self.choices_of(finer), MOST_COMPARED))
        race.join(self._find_finer(race))
        race.keep(FINISHERS, OF_EACH_KIND)
        race.look_closer()

    def _find_finer(self, race: Race) -> list[Choice]:
        """Find local fits to slopes of finer sizes around the best of a race, if there are any."""
        best = [one for one in race.ranked if isinstance(one.final, SlopePolynomial)][:1]
        grids = [self.grid.informed(one.final.slope_weight) for one in best]  # type: ignore[union-attr]
        finer = [grid.finer(one, self.largest_size) for grid, one in zip(grids, best, strict=True)]
        return self._best_of([one for grid in finer for one in self.choices_of(grid)], MOST_COMPARED)

    def _widen(self, best: Choice) -> Choice:
        """Try larger sizes as long as the error falls, and return the best polynomial."""
        race = Race(self.holdout, [best])
        race.run_to(self.looks.second)
        wider = self.first_wider(best)
        while wider:
            race.join(self._best_of(wider, MOST_COMPARED))
            race.keep(MOST_COMPARED)
            if race.best not in wider:
                break
            wider = self.next_wider(race.best)
        self.race.join(race.ranked[: self.kept_of_wider])
        return race.best

    def first_wider(self, best: Choice) -> list[Choice]:
        """List what is tried first where the best polynomial is about as wide as can be."""
        return self.next_wider(best)

    def next_wider(self, best: Choice) -> list[Choice]:
        """List what is tried next after a wider choice was the best."""
        return self.wider_than(best, [best.step])

    def wider_than(self, best: Choice, steps: Sequence[int]) -> list[Choice]:
        """List choices of twice the size, if that may be had and the size is not small."""
        size = best.size
        if size is None or 1.5 * size <= self.largest_size or 2.0 * size > self.widest:
            return []
        return self.choices_of(self.grid.at_size(2.0 * size, steps, best.gradient_size))

    @property
    def widest(self) -> float:
        """Largest effective size that neighborhoods may have."""
        n = self.holdout.fold(0).start.n
        farthest = self.search.settings.farthest(self.start.data.n)
        return min(half_of(n if farthest is None else min(farthest, n)), WIDEST)

    def slopes_of(self, choice: Choice, k: int) -> Array:
        """Average the outer products (D, D) of the gradients of a choice at a fold's anchors, as given."""
        fold = self.holdout.fold(k)
        if isinstance(choice.final, GlobalKriging):
            sample = fold.everything
            fits = sample.solved(choice.final).without_own(spread_points(sample.n, len(fold.anchors)))
            return global_agop(self._axes_of_fold(k), fits.gradient, fold.anchors.sample_weight)
        field = fold.field_for([choice])
        shapes = field.shapes_at(fold.anchors.rows, choice.step, np.arange(len(fold.anchors)))
        _, gradients, _ = final_fits(fold.anchors, field, choice, shapes)
        return global_agop(self._axes_of_fold(k), gradients, fold.anchors.sample_weight)

    def _axes_of_fold(self, k: int) -> Array:
        """Axes (D, r) of a fold, relative to the initial ones."""
        return self.start.axes if self.fold_axes is None else self.fold_axes(k)

    def _best_of(self, choices: list[Choice], count: int) -> list[Choice]:
        """Race some choices through a first look, and return the best of them."""
        race = Race(self.holdout, choices)
        race.run_to(self.looks.first)
        race.keep(count)
        return race.choices

    def choices_of(self, grid: SearchGrid) -> list[Choice]:
        """List what is in a grid."""
        return grid.choices(self.start.data.dimension)

    def data_for_fold(self, k: int) -> D:
        """All data in the axes of a fold."""
        if self.fold_axes is None:
            return self.start.data
        return self.search.start.data.rotated(self.fold_axes(k))

    def _learn_fold(self, k: int) -> LearnedFold:
        """Learn a field without the points of a fold."""
        backend, settings, decisions = self.search.backend, self.search.settings, self.start.decisions
        data = self.data_for_fold(k)
        rest, held_out = backend.hold_out(data, self.search.folds[k], MOST_TESTED)
        points = anchor_points(settings, rest.n, FOLD_ANCHORS)
        site = backend.own_site(rest, points)
        anchors = backend.as_data(site)

        def learn(gradient_size: float | None) -> GradientField:
            steps = max(self.grid.steps)
            if gradient_size is not None:
                steps = min(steps, MOST_WIDE_STEPS)
            choice = Choice(steps, None, decisions.choice.final, gradient_size=gradient_size)
            return learn_at(backend, rest, points, site, anchors, decisions.choosing(choice), SILENT)

        def see_farther() -> Site:
            farther = data.seeing(settings.farthest(data.n))
            return backend.hold_out(farther, self.search.folds[k], MOST_TESTED)[1]

        def gather() -> LocalData:
            return backend.gather(rest, np.arange(rest.n))

        start = GradientField(anchors, rest.n, rest.largest_size, decisions.update)
        return LearnedFold(start, held_out, site, learn, see_farther, gather)


def _keep_one_with_slopes(race: Race) -> None:
    """Let only the best process that knows slopes go on: each takes as long as all else together."""
    those = [k for k, one in enumerate(race.choices) if isinstance(one.final, GradientKriging)]
    worse = sorted(those, key=lambda k: float(race.means[k]))[1:]
    race.keep_only(np.setdiff1d(np.arange(len(race.choices)), worse))
