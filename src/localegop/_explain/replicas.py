"""Replicas of a fit, for its explanations: rivals learned from all rows, and choices on halves of the rows.

A half has the resolution of all rows: neighborhoods of half as many rows are as wide as those of all, and
kriging takes half as many points, of half the noise. So complementary halves differ by twice as much as
fits to all rows of one sample and another would.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localegop._data.slopes import GivenSlopes
from localegop._data.sums import measure_extent
from localegop._data.units import Units
from localegop._engine.centers import Centers, Widths
from localegop._engine.choice import Choice
from localegop._engine.final_fits import (
    MAX_KRIGING_POINTS,
    FitsAtCenters,
    Kriging,
    Polynomial,
    SlopePolynomial,
    krige_all,
)
from localegop._engine.global_kriging import MOST_ROWS, GlobalKriging
from localegop._engine.gradient_kriging import GradientKriging
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.local_data import LocalData
from localegop._engine.mixture import Mixture
from localegop._engine.recursion import MetricUpdate
from localegop._engine.settings import Settings
from localegop._fit.initial_axes import (
    RULES,
    FirstRound,
    Sample,
    Slopes,
    axes_from,
    axes_from_gradients,
    find_axes_by_pilots,
    find_single_slopes,
    find_slopes,
    global_agop,
)
from localegop._fit.leave_one_out import final_fits
from localegop._fit.plan import Learned, learn
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import Start
from localegop._predict.decisions import LooDiagnostics
from localegop._predict.later import Later
from localegop._predict.model import Model
from localegop._predict.rivals import Origin, Rival, in_half
from localegop._predict.uncertainty import Diagnostics
from localegop._progress import SILENT, Progress
from localegop._selection.global_search import DEFAULT_GLOBAL
from localegop._selection.jagged_search import find_jagged
from localegop.schedules import EffectiveSizeSchedule

Array = NDArray[np.float64]

FEWEST_ROWS = 20  # with fewer, halves tell nothing


@dataclass(frozen=True)
class Replicas:
    """Rivals learned from all rows, with their shares, and what halves of the rows lead to, in pairs."""

    shares: tuple[float, ...]
    rivals: tuple[Model, ...]
    halves: tuple[Model, ...]


def can_replicate(model: Model) -> bool:
    """Whether a model has what it takes to repeat the fit."""
    known = model.features is not None and model.decisions.rivals is not None
    return known and model.field is not None and model.data.n >= FEWEST_ROWS


def learn_replicas(model: Model, progress: Progress = SILENT) -> Replicas:
    """Learn what the halves of the rows led to, from these halves and from all rows."""
    rivals = model.decisions.rivals
    assert rivals is not None
    counts = sorted(Counter(rivals.picks).items())
    progress.expect(len(counts) + len(rivals.picks))
    everything = _Learner.of(model)
    whole, halves = [], []
    for number, _ in counts:
        whole.append(model if number == 0 else everything.learn(rivals.every[number]))
        progress.advance()
    for half, number in enumerate(rivals.picks):
        some = in_half(np.arange(model.data.n), half, model.decisions.settings.seed)
        halves.append(_Learner.of(model, some, everything).learn(rivals.every[number]))
        progress.advance()
    shares = tuple(count / len(rivals.picks) for _, count in counts)
    return Replicas(shares, tuple(whole), tuple(halves))


class ReplicaBackend(ProcessBackend):
    """The work of fits that explain and do not predict, to rows whose labels are in units already."""

    def __init__(
        self, features: Array, labels: Array, sample_weight: Array, slopes: GivenSlopes | None = None
    ) -> None:
        self.features, self.labels, self.sample_weight = features, labels, sample_weight
        self.slopes = slopes  # in any axes
        self.robustness = None

    def reweighted(self, robustness: Array) -> ReplicaBackend:
        """See :class:`localegop._fit.backend.Backend`."""
        return ReplicaBackend(self.features, self.labels, robustness * self.sample_weight, self.slopes)

    def in_units(self, units: Units, settings: Settings) -> LocalData:
        """See :class:`localegop._fit.backend.Backend`."""
        rows = units.features(self.features)
        given = None if self.slopes is None else replace(self.slopes, frame=units.transform)
        options = settings.data_options(units)
        return LocalData(rows, self.labels, self.sample_weight, **options, slopes=given)


@dataclass(frozen=True)
class _Learner:
    """Learns rivals from all rows or, if there is a learner from these already, from a half of them."""

    backend: ReplicaBackend
    start: Start[LocalData]
    everything: _Learner | None = None

    @classmethod
    def of(
        cls, model: Model, half: NDArray[np.bool_] | None = None, everything: _Learner | None = None
    ) -> _Learner:
        """Return to the initial units of a model, with all of its rows or a half of them."""
        data, decisions = model.data, model.decisions
        assert model.features is not None and decisions.rivals is not None
        some = np.ones(data.n, dtype=bool) if half is None else half
        slopes = None if data.slopes is None else data.slopes.take(some)
        backend = ReplicaBackend(model.features[some], data.labels[some], data.sample_weight[some], slopes)
        units = replace(decisions.units, transform=decisions.rivals.transform)
        settings = replace(decisions.settings, threads=data.threads)
        scale = decisions.feature_scale
        if half is not None:
            scale = units.feature_scale(measure_extent(backend.features, backend.sample_weight).std)
        known = replace(decisions, units=units, settings=settings, feature_scale=scale, rivals=None)
        rows = backend.in_units(units, settings)
        return cls(backend, Start(known, rows, np.eye(rows.dimension)), everything)

    def learn(self, rival: Rival) -> Model:
        """Learn a rival, which was chosen for all rows."""
        if rival.origin == "jagged":
            return self._learn_jagged(rival)
        return self._learn(rival.choice, self._find_axes(rival))

    def _learn_jagged(self, rival: Rival) -> Model:
        """Learn the process of a partly jagged function, whose lengths are found again at these rows."""
        some, final = self._sample.rows, rival.choice.final
        process = final.parts[0].process if isinstance(final, Mixture) else final
        assert isinstance(process, JaggedKriging)
        found = find_jagged(some.rows, some.labels, some.sample_weight)
        if found is None:  # as all labels are the same
            return self._learn(DEFAULT_GLOBAL, self.start.axes)
        process = replace(found.process, length=process.length, ridge=process.ridge)
        return self._learn(replace(rival.choice, final=process), found.axes)

    def _learn(self, choice: Choice, axes: Array) -> Model:
        """Learn a choice, which is meant for all rows, in some axes (D, r)."""
        found = self.start.in_axes(axes)
        decisions = found.decisions.choosing(within(choice, found.data.dimension))
        if self.everything is not None:
            choice, update = halve_choice(decisions.choice), halve_update(decisions.update)
            decisions = replace(decisions, choice=choice, update=update)
        return _with_gradients(learn(self.backend, replace(found, decisions=decisions), SILENT))

    def _find_axes(self, rival: Rival) -> Array:
        """Find the axes (D, r) of a rival again, from slopes at these rows."""
        data, settings = self.start.data, self.start.decisions.settings
        if rival.origin == "initial":
            return self.start.axes
        if rival.origin == "pilots":
            return find_axes_by_pilots(self.backend, data, settings.ridges)
        if rival.origin == "refined":
            return self._refine(rival)
        rule = RULES[rival.origin]
        if rival.origin in ("given", "given gently"):
            return axes_from_gradients(data, self.backend.extent(data), rule)
        slopes = find_single_slopes(self._sample) if rule.single else self.slopes
        return axes_from(self.backend.extent(data), slopes.agop, rule)

    def _refine(self, rival: Rival) -> Array:
        """Find axes (D, r) from the slopes of a choice in the axes that come before."""
        n = len((self if self.everything is None else self.everything).backend.labels)
        before: Origin = "pilots" if n > MOST_ROWS else "slopes"
        if isinstance(rival.choice.final, GradientKriging | SlopePolynomial):
            before = "given"
        axes = self._find_axes(replace(rival, origin=before))
        model = self._learn(rival.choice, axes)
        assert model.loo is not None and model.field is not None
        agop = global_agop(axes, model.loo.gradients, model.field.anchors.sample_weight)
        return axes_from(self.backend.extent(self.start.data), agop)

    @cached_property
    def _sample(self) -> Sample:
        return Sample.take(self.backend, self.start.data)

    @cached_property
    def _first_round(self) -> FirstRound:
        """The process to begin with; that of all rows saves time for halves."""
        guesses = () if self.everything is None else (self.everything._first_round.process,)
        return FirstRound.find(self._sample, guesses)

    @cached_property
    def slopes(self) -> Slopes:
        """Slopes of f at these rows."""
        return find_slopes(self._sample, self._first_round)


def _with_gradients(found: Learned[LocalData]) -> Model:
    """Put together a model that knows the gradients at its anchors, and nothing of their errors."""
    site, field, choice = found.site, found.field, found.decisions.choice
    shapes = field.shapes_at(site.rows, choice.step, np.arange(len(site)))
    value, gradients, _ = final_fits(site, field, choice, shapes)
    unknown, nothing = np.zeros_like(value), np.zeros(0)
    loo = LooDiagnostics(site.labels - value, unknown, gradients, unknown, unknown, nothing, nothing)
    known = Later.known(Diagnostics(loo, None))
    return Model(found.decisions, found.data, nothing.astype(np.intp), nothing, field, known)


@dataclass(frozen=True)
class HalvedSchedule:
    """Effective sizes half as large as those of another schedule."""

    whole: EffectiveSizeSchedule

    def effective_size(self, t: int) -> float:
        """Target of step t."""
        return 0.5 * self.whole.effective_size(t)


@dataclass(frozen=True)
class HalvedKriging(Kriging):
    """Kriging with half as many points as usual."""

    def fit(
        self,
        data: LocalData,
        centers: Centers,
        shapes: Array,
        widths: Widths,
        *,
        gradients: bool = False,
        variances: bool = False,
    ) -> FitsAtCenters:
        """See :class:`localegop._engine.final_fits.FinalFit`."""
        most = MAX_KRIGING_POINTS // 2
        batch = krige_all(
            (self,), data, centers, shapes, widths, gradients=gradients, variances=variances, most=most
        )
        single = (found[:, 0] for found in (batch.value, batch.gradient, batch.variance_factor))
        return FitsAtCenters(batch.scale, batch.effective_size, *single)


def within(choice: Choice, dimension: int) -> Choice:
    """Return a choice for axes of which some may have been left out."""
    final = choice.final
    if not isinstance(final, Polynomial) or final.n_quadratic_directions <= dimension:
        return choice
    return replace(choice, final=replace(final, n_quadratic_directions=dimension))


def halve_update(update: MetricUpdate) -> MetricUpdate:
    """Return how the metric moves with half as many rows; bandwidths stay as they are."""
    return replace(update, schedule=HalvedSchedule(update.schedule)) if update.by_size else update


def halve_choice(choice: Choice) -> Choice:
    """Return a choice for half as many rows."""
    size, final = choice.size, choice.final
    if isinstance(final, Mixture):
        final = final.changed(halve_process)
    elif isinstance(final, GlobalKriging):
        final = halve_process(final)
    elif isinstance(final, Kriging):
        final = HalvedKriging(final.length, 0.5 * final.ridge, final.trend, final.rough)
    return replace(choice, size=None if size is None else max(0.5 * size, 1.0), final=final)


def halve_process(process: GlobalKriging) -> GlobalKriging:
    """Return a process for half as many rows."""
    if isinstance(process, GradientKriging):
        return replace(process, ridge=0.5 * process.ridge, slope_ridge=0.5 * process.slope_ridge)
    return replace(process, ridge=0.5 * process.ridge)
