"""The plan of a fit: units, trials in several axes, and the best of them learned from all points."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._engine.centers import Widths
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.gradient_field import learn_field, spread_points
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.initial_axes import axes_from, find_first_axes
from localegop._fit.initial_units import find_initial_units
from localegop._fit.leave_one_out import leave_one_out_fits
from localegop._fit.pilot_fits import run_pilot
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import ENOUGH, Search, Start, Trial, anchor_points
from localegop._predict.decisions import Decisions
from localegop._predict.model import Model
from localegop._predict.support import Spacing, reach_from
from localegop._progress import SILENT, Progress
from localegop._selection.final import Final
from localegop._selection.folds import FEWEST_POINTS, draw_folds
from localegop._selection.holdout import is_wide
from localegop._selection.isotropic_baseline import race_isotropic
from localegop._selection.kriging import default_kriging
from localegop._selection.race import Race, differences
from localegop._selection.search_grid import grid_for

Array = NDArray[np.float64]

DOUBTFUL = 2.0  # where isotropic fits have less than so many times the error, axes may not help
FEW_ANCHORS, MOST_ANCHORS = 1000, 2000  # of the model: a tenth of the points, within these bounds


def fit_model(rows: DistinctRows, settings: Settings, progress: Progress = SILENT) -> Model:
    """Fit a model to distinct rows in this process, by either strategy."""
    backend = ProcessBackend(rows)
    if settings.strategy == "query":
        return prepare_queries(backend, settings)
    return fit_field(backend, settings, progress)


def fit_field(backend: Backend[D, M_co], settings: Settings, progress: Progress = SILENT) -> M_co:
    """Fit by the field strategy: the best of several trials, learned from all points."""
    finding, trying, learning = progress.stages(("units", 1.0), ("trials", 6.0), ("learning", 1.0))
    start = _start(backend, settings)
    finding.advance()
    return _learn(backend, _find_best(backend, start, trying), learning)


def _start(backend: Backend[D, M_co], settings: Settings) -> Start[D]:
    """Find the units to start from; the choice is what is taken where there is nothing to choose by."""
    name, units, data = find_initial_units(backend, settings)
    choice = grid_for(settings, data).default()
    if settings.final == "kriging":
        choice = default_kriging(choice.step, data.largest_size)
    scale = units.feature_scale(backend.rows.features.std)
    decisions = Decisions(settings, units, settings.update(units), choice, name, scale)
    return Start(decisions, data, np.eye(data.dimension))


def _find_best(backend: Backend[D, M_co], start: Start[D], progress: Progress) -> Start[D]:
    """Take the best of the trials: in axes from slopes if free, in the initial ones if in doubt."""
    if grid_for(start.decisions.settings, start.data).settled or start.data.n < FEWEST_POINTS:
        return start
    search = Search(backend, start, draw_folds(start.data.n, start.decisions.settings.seed))
    initial = Trial(search, start)
    progress.expect(4)
    trials = [initial]
    baseline = race_isotropic(initial.holdout, start.data, search.settings.ridges)
    if _axes_are_free(search):
        first = _trial_from_pilot(search)
        second = _trial_from_slopes(search, first)
        progress.advance(2)
        trials = [first, second]
        if baseline.means.min() < DOUBTFUL * min(trial.race.means.min() for trial in trials):
            trials.append(initial)
    progress.advance()
    best, choice = _settle(trials)
    baseline.keep(1)
    baseline.run_to(ENOUGH)
    decisions = replace(best.start.decisions, choice=choice, isotropic_error=float(baseline.means[0]))
    return replace(best.start, decisions=decisions)


def _trial_from_pilot(search: Search[D, M_co]) -> Trial[D, M_co]:
    """Make a trial in axes from the slopes of pilot fits."""
    backend, data, ridges = search.backend, search.start.data, search.settings.ridges
    start = search.start.in_axes(find_first_axes(backend, data, ridges))
    if not search.few_rows:
        return Trial(search, start)
    return Trial(search, start, lambda k: find_first_axes(backend, data, ridges, search.folds[k]))


def _trial_from_slopes(search: Search[D, M_co], first: Trial[D, M_co]) -> Trial[D, M_co]:
    """Make a trial in axes from the slopes of good fits, without directions in which f varies nowhere."""
    extent = search.backend.extent(search.start.data)

    @cache
    def axes(k: int) -> Array:
        return axes_from(extent, first.agop_in_initial_axes(k), leave_out=True)

    start = search.start.in_axes(axes(0))
    return Trial(search, start, axes if search.few_rows else None)


def _settle(trials: list[Trial[D, M_co]]) -> tuple[Trial[D, M_co], Choice]:
    """Finish the races of the trials that may be the best, and take the best choice of all."""
    best, *others = sorted(trials, key=lambda trial: float(trial.race.means.min()))
    left = [best, *(trial for trial in others[:1] if _may_be_better(trial.race, best.race))]
    for trial in left:
        trial.finish(widen=trial is best)
    final = Final([trial.race for trial in left])
    final.decide()
    winner, choice = final.best
    return left[winner], choice


def _may_be_better(race: Race, best: Race) -> bool:
    """Whether a race may have a better end than the one that is ahead."""
    points = min(race.points, best.points)
    pair = [one.errors[:points, np.argmin(one.means)] for one in (best, race)]
    behind, doubt = differences(np.column_stack(pair), race.weight[:points], 0)
    return bool(behind[1] < doubt[1])


def _axes_are_free(search: Search[D, M_co]) -> bool:
    """Whether the axes may be learned from slopes."""
    settings, data = search.settings, search.start.data
    no_lengths = settings.exclusion_radius is None and settings.covariance_cap is None
    recursive = settings.by_size and settings.n_steps > 0
    return settings.metric_is_free and no_lengths and data.dimension > 1 and recursive


def _learn(backend: Backend[D, M_co], best: Start[D], progress: Progress) -> M_co:
    """Learn the field from all points, and see how the final fits do at its anchors."""
    decisions, data = best.decisions, best.data
    most = min(max(FEW_ANCHORS, data.n // 10), MOST_ANCHORS)
    points = anchor_points(decisions.settings, data.n, most)
    site = backend.own_site(data, points)
    field = learn_field(
        site,
        backend.as_data(site),
        decisions.update,
        decisions.settings.ridges,
        decisions.choice.step,
        progress,
    )
    decisions = replace(decisions, reach=_reach(site))
    if is_wide(decisions.choice, field):
        data = data.seeing(decisions.settings.farthest(data.n))
        site = backend.own_site(data, points)
    return backend.model(data, decisions, field, *leave_one_out_fits(site, field, decisions.choice))


def _reach(site: Site) -> float:
    """How far queries may be from the data, from the spacing of the rows of a site."""
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
    return Model(decisions, data, backend.rows.position, backend.rows.part)
