"""Fitting by the field strategy: let several units compete, then learn from all points in the best.

Whatever is chosen is chosen by errors at held-out points, which took part in nothing: each fold also finds
the axes it works in without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._engine.final_fits import final_fit
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Lists, LocalData
from localegop._fit.initial_axes import axes_from, extent_in, first_axes, global_agop
from localegop._fit.pilot_fits import glance, some_points
from localegop._fit.setup import Settings, menu_for
from localegop._predict.model import Aftermath, Model
from localegop._predict.uncertainty import Calibration, expected_deviation, noise_variances
from localegop._progress import Progress
from localegop._selection import kriging
from localegop._selection import refinement as refining
from localegop._selection.isotropic_baseline import isotropic_error
from localegop._selection.refinement import better, refined
from localegop._selection.search_grid import N_FOLDS, Choice, Menu, Tested, choose, cost, folds, n_folds

Array = NDArray[np.float64]

DOUBTFUL = 2.0  # where isotropic fits have less than so many times the error, axes may not help
CLEAR_GAIN = 0.98  # kriging with this share of the error of a polynomial fit needs no second look
SHORT = 2  # steps of the first attempt where points are many: good axes are found by then


@dataclass(frozen=True)
class Attempt:
    """A model with its choice, and the fields of the folds that it was chosen in."""

    model: Model
    folds: list[Tested]

    @property
    def error(self) -> float:
        """Mean squared error at held-out points."""
        return self.model.choice.error

    @property
    def alone(self) -> Attempt:
        """The attempt without its folds, which hold much memory."""
        return replace(self, folds=[])


def fitted(rows: DistinctRows | Any, settings: Settings) -> Model:
    """Fit a model to distinct rows."""
    model = Model.unlearned(rows, settings)
    if settings.strategy == "query":
        return model
    with Progress(_work(model), "fit", settings.verbose) as progress:
        best = _best(_attempts(model, progress))
        if not np.isnan(best.error):
            isotropic = isotropic_error(model.data, model.rules, settings.ridges, _folds(model))
            if _starts_from_slopes(model) and isotropic < DOUBTFUL * best.error:
                progress.extend(_work_of_choice(model, [_menu(model)]))
                best = _best([best, _attempt(model, progress).alone])
            best = replace(best, model=replace(best.model, isotropic_error=isotropic))
        model = best.model  # lists of neighbors in units that lost are no longer needed
        return learned(model.data, model, progress)


def _attempts(base: Model, progress: Progress) -> list[Attempt]:
    """Start from slopes twice: from first ones in all directions, and from good ones where f varies."""
    if not _starts_from_slopes(base):
        return [_attempt(base, progress).alone]
    ridges, steps, look = base.settings.ridges, _menu(base).steps, replace(base, data=glance(base.data))
    parts = [look.data.without(out) for out in _folds(base)]
    extents = [extent_in(part) for part in parts]
    axes = [first_axes(part, ridges) for part in parts]
    whole = axes[0] if len(axes) == 1 else first_axes(look.data, ridges)
    first = _attempt_in_axes(look, whole, axes, progress, steps_of_first(base.data.n, steps))
    agops = [_refined_agop(first.model, a, fold.field) for a, fold in zip(axes, first.folds, strict=True)]
    first = Attempt(replace(base.in_axes(whole), choice=first.model.choice), [])
    axes = [axes_from(part, agop, leave_out=True) for part, agop in zip(extents, agops, strict=True)]
    whole = axes_from(extent_in(base.data), np.mean(agops, axis=0), leave_out=True)
    return [first, _attempt_in_axes(base, whole, axes, progress, steps).alone]


def steps_of_first(n: int, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return the steps after which the first attempt is tested: some of all where points are many."""
    last = min(SHORT, max(steps))
    return tuple(t for t in steps if t in (0, last)) if n_folds(n) == 1 else steps


def _final_choice(model: Model, choice: Choice, folds: list[Tested], progress: Progress) -> Choice:
    """Look again at the chosen polynomial, and let kriging compete with it or replace it, as told."""
    settings, steps = model.settings, _menu(model).steps
    only_kriging = settings.final == "kriging"
    if not folds:  # nothing to choose, or too few points to choose by
        return kriging.unchosen(choice.step, model.data.reachable) if only_kriging else choice
    kriged = None
    if _may_krige(settings):
        kriged = kriging.chosen(folds, kriging.steps_near(choice.step, steps), progress)
        if only_kriging or kriged.error <= CLEAR_GAIN * choice.error:
            return kriged
    choice = refined(choice, _menu(model), folds, progress)
    return kriged if kriged is not None and better(kriged, choice, folds, progress) else choice


def _may_krige(settings: Settings) -> bool:
    return settings.final == "kriging" or (settings.final == "auto" and settings.degree == "auto")


def _best(attempts: list[Attempt]) -> Attempt:
    return min(attempts, key=lambda attempt: attempt.error)


def _attempt(model: Model, progress: Progress) -> Attempt:
    settings = model.settings
    choice, tested = choose(model.data, model.rules, _menu(model), settings.ridges, _folds(model), progress)
    return Attempt(replace(model, choice=_final_choice(model, choice, tested, progress)), tested)


def _attempt_in_axes(
    base: Model, whole: Array, axes: list[Array], progress: Progress, steps: tuple[int, ...]
) -> Attempt:
    """Choose among steps with each fold in its own axes, for a model in axes of all points."""
    model, ridges = base.in_axes(whole), base.settings.ridges
    menu = _menu(model).at(steps)
    choice, tested = choose(base.data, model.rules, menu, ridges, _folds(base), progress, axes)
    return Attempt(replace(model, choice=_final_choice(model, choice, tested, progress)), tested)


def _refined_agop(model: Model, axes: Array, field: GradientField) -> Array:
    """AGOP over all data, from gradients of the chosen fit at some points of a fold's field."""
    gradients, share = refined_gradients(field, model, some_points(field.data.n))
    return global_agop(axes, gradients, share)


@singledispatch
def refined_gradients(
    field: GradientField | Any, model: Model, points: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Gradients (m, K, D) of the model's fit at points of a field, each without itself, and weights."""
    data = field.data
    gradients = [np.zeros((0, data.labels.shape[1], data.dimension))]
    for rows in data.chunks(len(points), 16 * data.dimension**2 + 64 * data.reachable):
        here = points[rows]
        candidates = data.candidates(data.rows[here])
        recursion = field.follow(data.rows[here], candidates, here)
        for _ in range(model.choice.step):
            recursion.advance()
        fit = final_fit(
            data,
            model.rules,
            model.choice,
            data.rows[here],
            recursion.shape,
            candidates,
            left_out=here,
            full=True,
        )
        gradients.append(fit.gradient)
    return np.concatenate(gradients), data.share[points]


def _starts_from_slopes(model: Model) -> bool:
    """Whether the initial metric is free to be learned."""
    settings, data = model.settings, model.data
    free = isinstance(settings.initial_metric, str) and settings.initial_metric == "auto"
    no_lengths = settings.exclusion_radius is None and settings.covariance_cap is None
    enough = data.n >= 2 * N_FOLDS and data.dimension > 1
    return free and no_lengths and enough and model.rules.by_size and max(_menu(model).steps) > 0


def _menu(model: Model) -> Menu:
    n_iter = model.settings.schedule_for(model.data.dimension)[1]
    return menu_for(model.settings, model.data, model.rules.by_size, n_iter)


def _work(model: Model) -> float:
    """Count passes over one point, about."""
    menu, n = _menu(model), model.data.n
    menus = [menu.at(steps_of_first(n, menu.steps)), menu] if _starts_from_slopes(model) else [menu]
    learning: float = 2.0 * (max(menu.steps) + 1.0) * n
    return _work_of_choice(model, menus) + learning


def _work_of_choice(model: Model, menus: list[Menu]) -> float:
    """Count the passes of attempts with these menus, about."""
    n = model.data.n
    work: float = sum(cost(n, menu) + refining.work(n) for menu in menus)
    if _may_krige(model.settings):
        work += sum(kriging.work(n, menu.steps) for menu in menus)
    return work


def _folds(model: Model) -> list[NDArray[np.intp]]:
    return folds(model.data.n, np.random.default_rng(model.settings.seed))


@singledispatch
def learned(data: LocalData | Any, model: Model, progress: Progress) -> Model:
    """Learn the field from all points, then fit at each without it, and see how that went."""
    own, candidates = np.arange(data.n), data.own_candidates()
    field = GradientField(data, model.rules, model.settings.ridges)
    shapes = field.learn(model.choice.step, candidates, progress)
    after, factors = aftermath(model, own, candidates, shapes, progress)
    noise = noise_around(model, own, candidates, shapes, after.noise, progress)
    data.forget_candidates()
    calibration = Calibration.from_residuals(
        after.residuals, expected_deviation(noise, factors), data.share
    )
    return replace(model, field=field, after=after, calibration=calibration)


def aftermath(
    model: Model,
    own: NDArray[np.int64],
    candidates: Lists | None,
    shapes: Array,
    progress: Progress,
) -> tuple[Aftermath, Array]:
    """Make the final fits at some points, each without itself; the second are variance factors (m,)."""
    data = model.data
    outputs = data.labels.shape[1]
    residuals, factors = np.empty((len(own), outputs)), np.empty(len(own))
    gradients = np.empty((len(own), outputs, data.dimension))
    for rows in data.chunks(len(own), 8 * data.dimension**2):
        part, here = None if candidates is None else candidates[rows], own[rows]
        fit = final_fit(
            data,
            model.rules,
            model.choice,
            data.rows[here],
            shapes[rows],
            part,
            left_out=here,
            spread=True,
            full=True,
        )
        residuals[rows] = data.labels[here] - fit.value
        factors[rows] = fit.variance_factor
        gradients[rows] = fit.gradient
        progress.advance(rows.stop - rows.start)
    return Aftermath(residuals, noise_variances(residuals, factors), gradients), factors


def noise_around(
    model: Model,
    own: NDArray[np.int64],
    candidates: Lists | None,
    shapes: Array,
    variances: Array,
    progress: Progress,
) -> Array:
    """Noise (m, K) around some points, from its variances (n, K) at all points of the data."""
    data = model.data
    noise = np.empty((len(own), variances.shape[1]))
    for rows in data.chunks(len(own), 8 * data.dimension**2 + 12 * data.reachable):
        part, here = None if candidates is None else candidates[rows], own[rows]
        around = model.surroundings(data.rows[here], shapes[rows], part, here)
        noise[rows] = np.sqrt(around.means(variances, data.threads))
        progress.advance(rows.stop - rows.start)
    return noise
