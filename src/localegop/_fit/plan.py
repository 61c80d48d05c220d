"""The plan of a fit: units, attempts in several axes, and the best of them learned from all points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.settings import Settings
from localegop._fit.attempts import (
    Attempt,
    Search,
    attempt_from_fitted_slopes,
    attempt_from_pilot_slopes,
    attempt_in_initial_axes,
)
from localegop._fit.backend import Backend, D, F, M_co
from localegop._fit.initial_units import find_initial_units
from localegop._fit.pilot_fits import every_kth_point, run_pilot
from localegop._fit.process import ProcessBackend
from localegop._predict.decisions import Decisions
from localegop._predict.model import Model
from localegop._predict.support import reach_from, spacing
from localegop._progress import SILENT, Progress
from localegop._selection.folds import FEWEST_POINTS, draw_folds
from localegop._selection.isotropic_baseline import isotropic_error, isotropic_grid
from localegop._selection.search_grid import grid_for

Array = NDArray[np.float64]

DOUBTFUL = 2.0  # where isotropic fits have less than so many times the error, axes may not help


def fit_model(rows: DistinctRows, settings: Settings, progress: Progress = SILENT) -> Model:
    """Fit a model to distinct rows in this process, by either strategy."""
    backend = ProcessBackend(rows)
    if settings.strategy == "query":
        return prepare_queries(backend, settings)
    return fit_field(backend, settings, progress)


def fit_field(backend: Backend[D, F, M_co], settings: Settings, progress: Progress = SILENT) -> M_co:
    """Fit by the field strategy: the best of several attempts, learned from all points."""
    finding, trying, learning = progress.stages(("units", 1.0), ("attempts", 20.0), ("learning", 8.0))
    start = _start(backend, settings)
    finding.advance()
    search = Search(backend, start, draw_folds(start.data.n, settings.seed))
    best = _find_best(search, trying)
    return backend.learn(best.data, best.decisions, learning)


def _start(backend: Backend[D, F, M_co], settings: Settings) -> Attempt[D]:
    """Find the units to start from; the choice is what is taken where there is nothing to choose by."""
    name, units, data = find_initial_units(backend, settings)
    choice = grid_for(settings, data).default()
    scale = backend.rows.features.std
    return Attempt(Decisions(settings, units, settings.update(units), choice, name, scale), data)


def _find_best(search: Search[D, F, M_co], progress: Progress) -> Attempt[D]:
    """Take the best attempt: from slopes if axes are free, in the initial axes if slopes hardly help."""
    if not _axes_are_free(search):
        best = attempt_in_initial_axes(search, progress)
        return best if np.isnan(best.error) else _with_baseline(best, _baseline(search))
    one, two, comparing, three = progress.stages(
        ("axes 1 of 3", 6.0), ("axes 2 of 3", 8.0), ("isotropic fits", 1.0), ("axes 3 of 3", 5.0)
    )
    first, slopes = attempt_from_pilot_slopes(search, one)
    best = _better(first, attempt_from_fitted_slopes(search, slopes, two))
    baseline = _baseline(search)
    comparing.advance()
    if baseline < DOUBTFUL * best.error:
        best = _better(best, attempt_in_initial_axes(search, three))
    return _with_baseline(best, baseline)


def _axes_are_free(search: Search[D, F, M_co]) -> bool:
    """Whether the axes may be learned from slopes."""
    settings, data = search.settings, search.start.data
    no_lengths = settings.exclusion_radius is None and settings.covariance_cap is None
    enough = data.n >= FEWEST_POINTS and data.dimension > 1
    recursive = settings.by_size and settings.n_steps > 0
    return settings.metric_is_free and no_lengths and enough and recursive


def _better(one: Attempt[D], other: Attempt[D]) -> Attempt[D]:
    return other if other.error < one.error else one


def _baseline(search: Search[D, F, M_co]) -> float:
    """Error of isotropic fits at the same held-out points."""
    backend, start = search.backend, search.start
    return isotropic_error(
        start.data,
        isotropic_grid(start.data, search.settings.ridges),
        search.folds,
        lambda grid, held_out: backend.isotropic_errors(start.data, start.decisions.update, grid, held_out),
    )


def _with_baseline(attempt: Attempt[D], isotropic: float) -> Attempt[D]:
    return replace(attempt, decisions=replace(attempt.decisions, isotropic_error=isotropic))


def prepare_queries(backend: ProcessBackend, settings: Settings) -> Model:
    """Prepare the query strategy: steps are found for each query, the ridge by pilot fits."""
    name, units, data = find_initial_units(backend, settings)
    ridge = settings.ridges[0]
    if len(settings.ridges) > 1:
        errors = run_pilot(backend, data, settings.ridges).errors
        ridge = settings.ridges[int(np.argmin(errors.min(axis=0)))]
    degree = 1 if settings.degree == "auto" else settings.degree
    choice = Choice(settings.n_steps, None, Polynomial(degree, int(degree == 2), ridge))
    scale = backend.rows.features.std
    reach = reach_from(spacing(data, every_kth_point(data.n)))
    decisions = Decisions(settings, units, settings.update(units), choice, name, scale, reach=reach)
    return Model(decisions, data, backend.rows.position, backend.rows.part)
