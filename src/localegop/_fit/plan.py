"""The plan of a fit: units, trials in several axes, and the best of them learned from all points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._engine.centers import Widths
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.global_kriging import MOST_ROWS, GlobalKriging
from localegop._engine.gradient_field import GradientField, spread_points
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._engine.threads import work_together
from localegop._fit.averaged_trial import (
    AveragedTrial,
    average_labels_of,
    can_average,
    is_surely_beaten,
    noise_is_most,
)
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.class_calibration import calibrate_classes, uncalibrated_classes
from localegop._fit.growing import let_functions_grow
from localegop._fit.initial_axes import (
    RULES,
    FirstRound,
    Sample,
    axes_from,
    axes_from_gradients,
    find_axes_by_pilots,
    find_single_slopes,
    find_slopes,
    repeat_slopes,
)
from localegop._fit.initial_units import find_initial_units
from localegop._fit.jagged_trial import choice_again, found_again, trial_of_jagged
from localegop._fit.leave_one_out import leave_one_out_fits
from localegop._fit.mixing import mix_processes
from localegop._fit.optimism import measure_optimism
from localegop._fit.pilot_fits import run_pilot
from localegop._fit.process import ProcessBackend
from localegop._fit.remembering import remember_rivals
from localegop._fit.robustness import FinalSquares, first_weights, reweigh
from localegop._fit.trials import KINDS, Search, Start, Trial, anchor_points, learn_at
from localegop._predict.decisions import Decisions
from localegop._predict.later import Later
from localegop._predict.model import Model
from localegop._predict.rivals import Origin, Rivals
from localegop._predict.support import Spacing, reach_from
from localegop._predict.uncertainty import Diagnostics
from localegop._progress import SILENT, Progress
from localegop._selection.final import Final
from localegop._selection.folds import FEWEST_POINTS, draw_folds
from localegop._selection.global_search import DEFAULT_GLOBAL
from localegop._selection.holdout import is_wide
from localegop._selection.isotropic_baseline import race_isotropic
from localegop._selection.kriging import PRECISE, default_kriging
from localegop._selection.race import Looks, Race, differences
from localegop._selection.search_grid import grid_for
from localegop._selection.tally import Tally

Array = NDArray[np.float64]

MANY_EARLY = 2.0  # standard errors that a trial may be behind after the first look, with many rows
MOST_REFINED, PAYS = 3, 0.8  # trials in refined axes, and the share of the error that is worth one more
MANY_ROWS = 20_000  # from which on both trials that are left try wide neighborhoods
FEW_PER_FEATURE = 4  # rows, up to which slopes tell more of the noise than of f
FEW_ANCHORS, MOST_ANCHORS = 1000, 2000  # of the model: a tenth of the points, within these bounds


@dataclass(frozen=True)
class Learned(Generic[D]):
    """What was decided, the field learned from all points, and its anchors: their numbers and site.

    ``held_out`` is that of :class:`Start`.
    """

    decisions: Decisions
    data: D
    field: GradientField
    points: NDArray[np.int64]
    site: Site
    held_out: Array | None


def fit_model(rows: DistinctRows, settings: Settings, progress: Progress = SILENT) -> Model:
    """Fit a model to distinct rows in this process, by either strategy."""
    backend = ProcessBackend(rows)
    if settings.strategy == "query":
        if settings.robust:
            backend = backend.reweighted(first_weights(backend, settings))
        return prepare_queries(backend, settings)
    return fit_field(backend, settings, progress)


def fit_field(backend: Backend[D, M_co], settings: Settings, progress: Progress = SILENT) -> M_co:
    """Fit by the field strategy; robustly twice, the second time with weights from the first."""
    if settings.robust:
        before, progress = progress.parts(2)
        backend = backend.reweighted(first_weights(backend, settings))
        found = _search_and_learn(backend, settings, before)
        residuals = FinalSquares(found.field, found.decisions.choice, found.points, backend.gather)
        backend = backend.reweighted(reweigh(backend, found.data, found.decisions, residuals))
    return _complete(backend, _search_and_learn(backend, settings, progress))


def _search_and_learn(backend: Backend[D, M_co], settings: Settings, progress: Progress) -> Learned[D]:
    """Take the best of several trials, and learn it from all points."""
    finding, trying, learning = progress.stages(("units", 1.0), ("trials", 6.0), ("learning", 1.0))
    start = _start(backend, settings)
    finding.advance()
    return learn(backend, _find_best(backend, start, trying), learning)


def _start(backend: Backend[D, M_co], settings: Settings) -> Start[D]:
    """Find the units to start from; the choice is what is taken where there is nothing to choose by."""
    name, units, data = find_initial_units(backend, settings)
    choice = grid_for(settings, data).default()
    if settings.final == "kriging":
        choice = default_kriging(choice.step, data.largest_size)
    if settings.final == "global":
        settings.check_global(data.n)
        choice = DEFAULT_GLOBAL
    scale = units.feature_scale(backend.rows.features.std)
    decisions = Decisions(settings, units, settings.update(units), choice, name, scale)
    return Start(decisions, data, np.eye(data.dimension))


def _find_best(backend: Backend[D, M_co], start: Start[D], progress: Progress) -> Start[D]:
    """Take the best of the trials: in the initial axes, and in axes from slopes if these are free."""
    if grid_for(start.decisions.settings, start.data).settled or start.data.n < FEWEST_POINTS:
        decisions = start.decisions
        alone = Rivals.none(decisions.units.transform, decisions.choice)
        classes = uncalibrated_classes() if decisions.settings.classifies else None
        return replace(start, decisions=replace(decisions, rivals=alone, classes=classes))
    search = Search(backend, start, draw_folds(start.data.n, start.decisions.settings.seed))
    progress.expect(4)
    trials = [Trial(search, start)]
    baseline = race_isotropic(trials[0].holdout, start.data, search.settings.ridges)
    progress.advance()
    if _axes_are_free(search):
        slopes_tell = _slopes_tell(search)
        trials += _trials_from_slopes(search) if slopes_tell else []
        trials += _trials_from_gradients(search)
        trials += _refined(search, trials) if slopes_tell else []
        trials += trial_of_jagged(search, trials[0])
    let_functions_grow(trials)
    left = _most_promising(trials)
    progress.advance()
    settled = _settle(left)
    again = found_again(settled.trial)
    trials = [again if trial is settled.trial else trial for trial in trials]
    settled = settled.found_again(again)
    best, choice, rivals = mix_processes(
        trials, settled.trial, settled.choice, settled.rivals, settled.least_of_processes
    )
    classes = calibrate_classes(best.holdout, choice) if search.settings.classifies else None
    progress.advance()
    baseline.keep(1)
    baseline.run_to(Looks.last)
    decisions = replace(
        best.start.decisions.choosing(choice),
        isotropic_error=float(baseline.means[0]),
        rivals=rivals,
        classes=classes,
    )
    too_small = best.knows_labels(choice) and not search.settings.classifies
    return replace(best.start, decisions=decisions, held_out=settled.errors if too_small else None)


def _trial_from_pilots(search: Search[D, M_co]) -> Trial[D, M_co]:
    """Make a trial in axes from the slopes of pilot fits."""
    backend, data, ridges = search.backend, search.start.data, search.settings.ridges
    start = search.start.in_axes(find_axes_by_pilots(backend, data, ridges))
    if not search.few_rows:
        return Trial(search, start, origin="pilots")
    return Trial(
        search,
        start,
        lambda k: find_axes_by_pilots(backend, data, ridges, search.folds[k]),
        origin="pilots",
    )


def _trials_from_slopes(search: Search[D, M_co]) -> list[Trial[D, M_co]]:
    """Make trials in axes from slopes: as long as f varies along them, gentler, or the features."""
    backend, data = search.backend, search.start.data
    many, found = data.n > MOST_ROWS, list[Trial[D, M_co]]()
    if many:
        found = [_trial_from_pilots(search)]
        if not search.may_use_functions:
            return found
    everywhere = search.may_use_all_rows or search.may_use_functions
    origins: tuple[Origin, ...] = ("slopes", "gentle", "features") if everywhere else ("slopes",)
    sample, threads = Sample.take(backend, data), search.settings.threads
    ways = {False: lambda: find_slopes(sample, FirstRound.find(sample))}
    if "features" in origins:
        ways[True] = partial(find_single_slopes, sample)
    slopes = dict(zip(ways, work_together(list(ways.values()), threads), strict=True))

    @cache
    def sample_of_fold(k: int) -> Sample:
        return Sample.take(backend, data.without(search.folds[k]))

    @cache
    def agops_of_folds(folds: tuple[int, ...], single: bool) -> list[Array]:
        def agop(k: int) -> Array:
            some = sample_of_fold(k)
            return (
                find_single_slopes(some, slopes[True]).agop
                if single
                else repeat_slopes(some, slopes[False].rounds)
            )

        return work_together([partial(agop, k) for k in folds], threads)

    def agop_of_fold(k: int, single: bool) -> Array:
        """Find that of the first fold alone: only the better trials come to the others."""
        others = tuple(range(1, len(search.folds)))
        return agops_of_folds((0,), single)[0] if k == 0 else agops_of_folds(others, single)[k - 1]

    def trial(origin: Origin) -> Trial[D, M_co]:
        rule = RULES[origin]

        def axes(k: int | None) -> Array:
            agop = slopes[rule.single].agop if k is None else agop_of_fold(k, rule.single)
            return axes_from(sample.extent, agop, rule)

        start = search.start.in_axes(axes(None))
        kinds = KINDS if origin == "slopes" and not many else (GlobalKriging,)
        return Trial(search, start, axes if search.few_rows else None, origin=origin, first_kinds=kinds)

    return [*found, *(trial(origin) for origin in origins)]


def _trials_from_gradients(search: Search[D, M_co]) -> list[Trial[D, M_co]]:
    """Make trials in axes from the gradients that were given, if any."""
    backend, data = search.backend, search.start.data
    if not data.knows_gradients:
        return []
    everything = backend.gather(data, np.arange(data.n))

    def trial(origin: Origin) -> Trial[D, M_co]:
        def axes(k: int | None) -> Array:
            some = everything if k is None else everything.without(search.folds[k])
            extent = backend.extent(data if k is None else data.without(search.folds[k]))
            return axes_from_gradients(some, extent, RULES[origin])

        kinds = (GlobalKriging,) if search.may_use_all_rows else KINDS
        fold_axes = axes if search.few_rows else None
        return Trial(search, search.start.in_axes(axes(None)), fold_axes, origin=origin, first_kinds=kinds)

    return [trial("given"), trial("given gently")]


def _refined(search: Search[D, M_co], trials: list[Trial[D, M_co]]) -> list[Trial[D, M_co]]:
    """Make trials in the axes that the best choice so far gives, as long as that pays.

    Slopes are better than before only where fits are precise, or rows are many.
    """
    many = search.start.data.n > MOST_ROWS
    best, found = min(trials, key=_error_so_far), list[Trial[D, M_co]]()
    while len(found) < MOST_REFINED and (many or _error_so_far(best) < PRECISE):
        refined = _refine(search, best)
        pays = _error_so_far(refined) < PAYS * _error_so_far(best)
        if pays or many:  # under noise the first look hardly tells
            found.append(refined)
        if not pays:
            break
        best = refined
    return found


def _refine(search: Search[D, M_co], best: Trial[D, M_co]) -> Trial[D, M_co]:
    """Make a trial in axes from the slopes of the best choice of another.

    It begins with the kind of that choice, unless rows are many, where the first look is noisy.
    """
    choice, extent = best.opening.best, search.backend.extent(search.start.data)

    @cache
    def axes(k: int) -> Array:
        return axes_from(extent, best.slopes_of(choice, k))

    start = search.start.in_axes(axes(0))
    kind = GlobalKriging if isinstance(choice.final, GlobalKriging) else type(choice.final)
    kinds = KINDS if start.data.n > MOST_ROWS else (kind,)
    return Trial(search, start, axes if search.few_rows else None, origin="refined", first_kinds=kinds)


def _error_so_far(trial: Trial[D, M_co]) -> float:
    return float(trial.opening.means.min())


def _most_promising(trials: list[Trial[D, M_co]]) -> list[Trial[D, M_co]]:
    """Take the trial that is ahead after the first look, and the next if that may be better."""
    best, *others = sorted(trials, key=_error_so_far)
    errors = MANY_EARLY if best.start.data.n > MOST_ROWS else 1.0
    return [best, *(trial for trial in others[:1] if _may_be_better(trial.opening, best.opening, errors))]


@dataclass(frozen=True)
class Settled(Generic[D, M_co]):
    """The best choice of several trials, and its trial.

    ``errors`` (m,) are its squared errors at held-out points, ``least_of_processes`` is the least mean
    error of the processes of all rows that came to the final; infinite if none did.
    """

    trial: Trial[D, M_co]
    choice: Choice
    errors: Array
    rivals: Rivals
    least_of_processes: float

    def found_again(self, again: Trial[D, M_co]) -> Settled[D, M_co]:
        """Return the same with the trial as it was found again, and its process."""
        every = tuple(
            replace(one, choice=choice_again(one.choice, again.known)) for one in self.rivals.every
        )
        choice = choice_again(self.choice, again.known)
        return replace(self, trial=again, choice=choice, rivals=replace(self.rivals, every=every))


def _settle(trials: list[Trial[D, M_co]]) -> Settled[D, M_co]:
    """Finish the races of the trials that may be the best, and take the best choice of all.

    What averages of labels lead to is taken unless the labels as given speak against it.
    """
    best, *others = sorted(trials, key=_least_error)
    left = [best, *(trial for trial in others if _may_be_better(trial.race, best.race))]
    if can_average(best) and noise_is_most(best):
        found = _finish([_best_by_averages(left)])
        if not is_surely_beaten(found.trial, found.choice, best):
            return found
    return _finish(left)


def _finish(left: list[Trial[D, M_co]]) -> Settled[D, M_co]:
    """Finish the races of some trials, the best of which comes first; see :func:`_settle`."""
    for trial in left:
        trial.finish(widen=trial is left[0] or trial.start.data.n >= MANY_ROWS)
    final = Final([trial.race for trial in left])
    final.find_finalists(left[0].looks)
    tally = Tally.of([trial.race for trial in left])
    final.decide()
    winner, choice = final.best
    rivals = remember_rivals(tally, left, winner, choice)
    errors, mean = left[winner].errors_of(choice, final.points)
    processes = [
        float(each)
        for trial in left
        for one, each in zip(trial.race.choices, trial.race.means, strict=True)
        if isinstance(one.final, GlobalKriging)
    ]
    return Settled(
        left[winner], replace(choice, error=mean), errors, rivals, min(processes, default=np.inf)
    )


def _least_error(trial: Trial[D, M_co]) -> float:
    """Least mean error in the race of a trial."""
    return float(trial.race.means.min())


def _best_by_averages(trials: list[Trial[D, M_co]]) -> Trial[D, M_co]:
    """Average the labels held out; return the trial that is the best by these."""
    labels = average_labels_of(trials[0])
    return min((AveragedTrial(trial, labels) for trial in trials), key=_least_error)


def _may_be_better(race: Race, best: Race, errors: float = 1.0) -> bool:
    """Whether a race may have a better end than the one ahead, which it is behind by so many errors."""
    points = min(race.points, best.points)
    pair = [one.errors[:points, np.argmin(one.means)] for one in (best, race)]
    behind, doubt = differences(np.column_stack(pair), race.weight[:points], 0)
    return bool(behind[1] < errors * doubt[1])


def _axes_are_free(search: Search[D, M_co]) -> bool:
    """Whether the axes may be learned from slopes."""
    settings = search.settings
    no_lengths = settings.exclusion_radius is None and settings.covariance_cap is None
    recursive = settings.by_size and settings.n_steps > 0
    return settings.metric_is_free and no_lengths and recursive


def _slopes_tell(search: Search[D, M_co]) -> bool:
    """Whether there are several axes, and rows enough to find slopes along them."""
    data = search.start.data
    return data.dimension > 1 and data.n > FEW_PER_FEATURE * data.dimension


def learn(backend: Backend[D, M_co], best: Start[D], progress: Progress) -> Learned[D]:
    """Learn the field from all points."""
    decisions, data = best.decisions, best.data
    settings, choice = decisions.settings, decisions.choice
    most = min(max(FEW_ANCHORS, data.n // 10), MOST_ANCHORS)
    if isinstance(choice.final, GlobalKriging):
        most = data.n  # the process is one of all rows
    points = anchor_points(settings, data.n, most)
    site = backend.own_site(data, points)
    field = learn_at(backend, data, points, site, backend.as_data(site), decisions, progress)
    decisions = replace(decisions, reach=_reach(site))
    if is_wide(choice, field):
        data = data.seeing(settings.farthest(data.n))
        site = backend.own_site(data, points)
    return Learned(decisions, data, field, points, site, best.held_out)


def _complete(backend: Backend[D, M_co], found: Learned[D]) -> M_co:
    """Put the model together; how the final fits do at the anchors is seen when somebody asks."""
    robustness = None if backend.robustness is None else backend.robustness[found.points]
    diagnostics = Later(lambda: _diagnose(found, robustness))
    return backend.model(found.data, found.decisions, found.field, diagnostics)


def _diagnose(found: Learned[D], robustness: Array | None) -> Diagnostics:
    """See how the final fits do at the anchors."""
    decisions, n = found.decisions, found.data.n
    loo, calibration = leave_one_out_fits(
        found.site, found.field, decisions.choice, decisions.reach, robustness
    )
    if found.held_out is not None:
        held = len(draw_folds(n, decisions.settings.seed)[0])
        calibration = calibration.widen(measure_optimism(loo.residuals, found.held_out, 1.0 - held / n))
    return Diagnostics(loo, calibration)


def _reach(site: Site) -> float:
    """How far queries may be from the data, from the spacing of some rows of a site."""
    site = site.pick(spread_points(len(site), FEW_ANCHORS))
    none = np.zeros((len(site), 0, 0))
    return reach_from(site.run(Spacing(), none, Widths.of_scale(1.0, len(site)))[0])


def prepare_queries(backend: ProcessBackend, settings: Settings) -> Model:
    """Prepare the query strategy: steps are found for each query, the ridge by pilot fits."""
    name, units, data = find_initial_units(backend, settings)
    ridge = settings.ridges[0]
    if len(settings.ridges) > 1:
        errors = run_pilot(backend, data, settings.ridges).errors
        ridge = settings.ridges[int(np.argmin(errors.min(axis=0)))]
    degree = 1 if settings.degree == "auto" else settings.degree
    choice = Choice(settings.n_steps, None, Polynomial(degree, int(degree == 2), ridge))
    scale = units.feature_scale(backend.rows.features.std)
    reach = _reach(backend.own_site(data, spread_points(data.n, FEW_ANCHORS)))
    decisions = Decisions(settings, units, settings.update(units), choice, name, scale, reach=reach)
    rows = backend.rows
    return Model(decisions, data, rows.position, rows.part, robustness=backend.robustness)
