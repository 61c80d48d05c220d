"""The fitted model in one process: what predicts. Nothing about it changes once it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.blend import CANDIDATES
from localegop._engine.centers import Centers
from localegop._engine.chunks import chunks
from localegop._engine.final_fits import FinalFit, FitsAtCenters
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField, spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.placement import Place, follow_field, search_steps
from localegop._engine.query_sampling import QuerySampler, query_seeds
from localegop._engine.recursion import Recursion, Stage
from localegop._predict.blending import Blending, fade
from localegop._predict.decisions import FORGOTTEN, Decisions, LooDiagnostics, weights_before
from localegop._predict.gaps import global_spread, squared_spread
from localegop._predict.gradients import predictor_gradients
from localegop._predict.later import Later
from localegop._predict.support import Support, find_support
from localegop._predict.tracing import trace_steps
from localegop._predict.uncertainty import (
    QUERY_HELD_OUT,
    Calibration,
    Diagnostics,
    expect_deviation,
    expect_gap,
    gradients_around,
    surroundings,
)
from localegop._progress import SILENT, Progress
from localegop.results import LocalFits, Neighbors, Status, intrinsic_dimensions, join_fits

Array = NDArray[np.float64]


NEAR_THE_EDGE = 0.8  # remoteness from which on fits of their own answer, more and more


@dataclass(frozen=True)
class Requested:
    """What to find out about queries: values, and more; values alone may be blended."""

    uncertainty: bool = False
    everything: bool = False
    trace: bool = False
    blended: bool = False
    errors: bool = False  # of explanations, which are then averaged


@dataclass(frozen=True)
class Surroundings:
    """Noise (q, K), what gaps add (q, K), leave-one-out error (q,) around queries, in the user's units.

    ``agop`` (q, r, r) and ``squared_slope`` (q, K), the mean square of the gradients, are in units of the
    recursion.
    """

    noise: Array
    gap_error: Array
    loo_error: Array
    agop: Array
    squared_slope: Array


@dataclass(frozen=True)
class Model:
    """What predicts; see :meth:`fits`.

    Parameters
    ----------
    decisions : Decisions
    data : LocalData
    position : ndarray of shape (n_given,)
        Which of the distinct rows each row as given became, -1 for none,
    part : ndarray of shape (n_given,)
        and its part of the weight there.
    field : GradientField or None
        None with the query strategy.
    diagnostics : Later or None
        What the final fits at the anchors leave behind, made when it is first needed: predictions alone
        never do. None with the query strategy.
    blending : Blending or None
        None where every query has a fit of its own.
    robustness : ndarray of shape (n,) or None
        Robustness weights of the distinct rows, which the weights of ``data`` contain; None for one each.
    features : ndarray of shape (n, D) or None
        The distinct rows as given, to repeat the fit with; None if that cannot be done.
    """

    decisions: Decisions
    data: LocalData
    position: NDArray[np.intp]
    part: Array
    field: GradientField | None = None
    diagnostics: Later[Diagnostics] | None = None
    blending: Blending | None = None
    robustness: Array | None = None
    features: Array | None = None

    @property
    def loo(self) -> LooDiagnostics | None:
        """What the final fits at the anchors leave behind; None with the query strategy."""
        return None if self.diagnostics is None else self.diagnostics().loo

    @property
    def calibration(self) -> Calibration | None:
        """What intervals are widened by; None where it has to be made when intervals are asked for."""
        return None if self.diagnostics is None else self.diagnostics().calibration

    @property
    def loo_residuals(self) -> Array | None:
        """Label minus leave-one-out prediction (n, K) of every row as given; NaN at weight 0."""
        if self.loo is None:
            return None
        residuals = self.distinct_residuals * self.decisions.units.label_scale
        return np.where(self.position[:, None] < 0, np.nan, residuals[self.position])

    @property
    def robustness_weights(self) -> Array:
        """Robustness weights (n,) of every row as given: 0 for outlying labels; NaN at weight 0."""
        if self.robustness is None:
            return np.where(self.position < 0, np.nan, 1.0)
        weights = np.where(self.robustness > FORGOTTEN, self.robustness, 0.0)
        return np.where(self.position < 0, np.nan, weights[self.position])

    @cached_property
    def distinct_residuals(self) -> Array:
        """Residuals (n, K) of all distinct rows, each without its own label; the anchors' are known."""
        assert self.loo is not None and self.field is not None
        anchors = spread_points(self.data.n, self.field.anchors.n)
        others = np.setdiff1d(np.arange(self.data.n), anchors)
        residuals = np.empty((self.data.n, self.data.outputs))
        residuals[anchors] = self.loo.residuals
        residuals[others] = self.residuals_without(others)
        return residuals

    def residuals_without(self, points: NDArray[np.int64]) -> Array:
        """Residuals (m, K) of rows that are no anchors, each without its own label."""
        residuals = np.empty((len(points), self.data.outputs))
        for part in chunks(len(points), 8 * self.data.dimension**2 + 64 * self.data.max_visible):
            place = self._place(self.data.own_centers(points[part]))
            fit = self._final_fit(place, variances=False)
            residuals[part] = self.data.labels[points[part]] - fit.value
        return residuals

    @property
    def overall_agop(self) -> Array:
        """AGOP (D, D) over the training points, per standard deviation of the features."""
        assert self.loo is not None
        assert self.field is not None
        return self.decisions.overall_agop(self.loo.gradients, self.field.anchors.sample_weight)

    def slopes_at(self, X: Array, size: float) -> tuple[Array, Array]:
        """Gradients (q, K, r) at queries X, and AGOPs (q, r, r) of so many anchors around them.

        Both are in units of the recursion.
        """
        assert self.loo is not None
        assert self.field is not None
        place = self._place(self._centers(*self.look_at(X)))
        fit = self._final_fit(place, variances=False, gradients=True)
        agop = np.empty_like(place.shape)
        near = surroundings(self.field, place.centers.rows, place.shape, size=size)
        near.outer_products(self.loo.gradients, agop, self.data.threads)
        return fit.gradient, agop

    def gradients(self, X: Array, progress: Progress = SILENT) -> Array:
        """Gradients (q, K, D) of predictions at queries X; see :mod:`localegop._predict.gradients`."""
        each = 8 * 4 * self.data.dimension**2 + 64 * self.data.max_visible
        parts = [predictor_gradients(self, X[rows]) for rows in progress.over(chunks(len(X), each), len(X))]
        return np.concatenate([np.zeros((0, self.data.outputs, X.shape[1])), *parts])

    def values(self, X: Array) -> Array:
        """Predictions (q, K) at queries X (q, D), blended where that was found as good."""
        return self.fits(X, Requested(blended=True)).value

    def slopes_of_fits(self, rows: Array, support: Support) -> Array:
        """Gradients (q, K, r) of final fits made for queries, in units of the recursion."""
        place = self._place(self._centers(rows, support, alone=True))
        return self._final_fit(place, variances=False, gradients=True).gradient

    @property
    def edge(self) -> float:
        """Remoteness from which on a query has a fit of its own, more and more."""
        return NEAR_THE_EDGE

    def with_threads(self, threads: int) -> Model:
        """Return the same model, worked on by so many threads."""
        data = self.data.with_threads(threads)
        field = self.field
        if field is not None:
            field = replace(field, anchors=field.anchors.with_threads(threads))
        return replace(self, data=data, field=field)

    def fits(self, X: Array, requested: Requested, progress: Progress = SILENT) -> LocalFits:
        """Local fits at queries X (q, D)."""
        if requested.blended and self.blending is not None:
            return self._blended_fits(X, self.blending, progress)
        steps = requested.trace * 3 * (self.decisions.choice.step + 1)
        each = 8 * (4 + steps) * self.data.dimension**2 + 64 * self.data.max_visible
        return join_fits(
            [self._fits(X[rows], requested) for rows in progress.over(chunks(len(X), each), len(X))]
        )

    def _blended_fits(self, X: Array, blending: Blending, progress: Progress) -> LocalFits:
        """Values that centers answer with, and where they cannot, those of local fits."""
        values, remoteness = np.empty((len(X), self.data.outputs)), np.empty(len(X))
        for rows in progress.over(chunks(len(X), 8 * (self.data.dimension + CANDIDATES)), len(X)):
            values[rows], remoteness[rows] = self._blend(X[rows], blending)
        return self._only_values(X, values, remoteness)

    def _blend(self, X: Array, blending: Blending) -> tuple[Array, Array]:
        """Values (q, K) at queries, blended between centers' and own fits, and their remoteness (q,)."""
        assert self.field is not None
        decisions = self.decisions
        queries, support = self.look_at(X)
        found, uncovered = blending.values(self.data, self.field, decisions.choice, queries)
        share = np.maximum(uncovered, fade(support.remoteness, NEAR_THE_EDGE, 1.0))
        values = decisions.units.values(found)
        alone = np.flatnonzero(share > 0.0)
        if len(alone):
            exact, part = self.fits(X[alone], Requested()).value, share[alone, None]
            blended = np.where(part < 1.0, values[alone], 0.0)
            values[alone] = part * exact + (1.0 - part) * blended
        return values, support.remoteness

    def _only_values(self, X: Array, values: Array, remoteness: Array) -> LocalFits:
        """Values (q, K) as fits of which little else is known."""
        count = len(X)
        nothing: Any = np.zeros((count, self.data.outputs, 0))
        return LocalFits(
            query=X,
            value=values,
            gradient=nothing,
            metric=nothing,
            agop=nothing,
            effective_size=np.full(count, np.nan),
            step=np.full(count, self.decisions.choice.step),
            loo_error=nothing,
            noise=nothing,
            variance_factor=nothing,
            gap_error=nothing,
            drift=nothing,
            remoteness=remoteness,
            status=np.full(count, int(Status.OK), dtype=np.int64),
            feature_scale=nothing,
            intrinsic_dimension=nothing,
            gradient_std=nothing,
            importance_std=nothing,
            intrinsic_dimension_std=nothing,
            feature_names=(),
            output_names=(),
        )

    def _fits(self, X: Array, requested: Requested) -> LocalFits:
        decisions, count = self.decisions, len(X)
        units, choice = decisions.units, decisions.choice
        full = requested.everything
        rows, support = self.look_at(X)
        alone = not (requested.uncertainty or full or requested.trace)
        place = self._place(self._centers(rows, support, alone=alone), keep=requested.trace)
        beyond = support.beyond
        carried = self.field is not None and choice.degree > 0 and bool(beyond.any())
        fit = self._final_fit(place, variances=requested.uncertainty or full, gradients=full or carried)
        value = support.carry_on(fit.value, fit.gradient) if carried else fit.value
        nothing = np.zeros((count, self.data.outputs, 0))
        found: dict[str, Any] = {
            name: nothing
            for name in (
                *("gradient", "metric", "agop", "loo_error", "noise", "variance_factor", "gap_error"),
                *("drift", "feature_scale", "intrinsic_dimension"),
                *("gradient_std", "importance_std", "intrinsic_dimension_std"),
            )
        }
        status = np.full(count, int(Status.OK), dtype=np.int64)
        if requested.uncertainty or full:
            around = self._surroundings(place, fit, agops=full, slopes=bool(beyond.any()))
            leverage = self._final.leverage(self.data, place.centers, place.shape, fit)
            found |= {"noise": around.noise, "loo_error": around.loo_error}
            found |= {"variance_factor": fit.variance_factor, "gap_error": around.gap_error}
            found["drift"] = support.drift(around.squared_slope) * units.label_scale
            if around.agop.shape[1] > 0:
                agop = units.metrics(around.agop, X) * units.label_unit
                status[np.abs(agop).max(axis=(1, 2)) == 0.0] = int(Status.FLAT)
            if full:
                found["agop"] = agop
                found["feature_scale"] = units.scale_at(decisions.feature_scale, X)
                found["gradient"] = units.gradients(fit.gradient, X)
                found["metric"] = units.metrics(fit.scale[:, None, None] * place.shape, X)
                found |= _without_errors(found["gradient"], agop, found["feature_scale"])
            status[leverage > 1.0] = int(Status.EXTRAPOLATED)
        status[beyond] = int(Status.EXTRAPOLATED)
        status[self.data.isolated(rows)] = int(Status.FEW_NEIGHBORS)
        return LocalFits(
            query=X,
            value=units.values(value),
            remoteness=support.remoteness,
            effective_size=fit.effective_size,
            step=place.step,
            status=status,
            feature_names=(),
            output_names=(),
            trace=trace_steps(self.data, self.field, units, choice.ridge, place, X)
            if requested.trace
            else None,
            _neighbors_at=self.neighbors_at,
            **found,
        )

    def look_at(self, X: Array) -> tuple[Array, Support]:
        """Take queries into the units of the recursion, and see which of them lie beyond the data."""
        rows = self.decisions.query_rows(X)
        return rows, find_support(self.data, rows, self.decisions.reach)

    def _centers(self, rows: Array, support: Support, *, alone: bool = False) -> Centers:
        """Where to fit for queries; the query strategy fits at them wherever they are.

        Where the fit alone is wanted, a process of all rows asks for no neighbors.
        """
        needless = alone and isinstance(self.decisions.choice.final, GlobalKriging)
        centers = Centers(rows, None) if needless else self.data.centers(rows)
        return centers if self.field is None else replace(centers, rows=support.rows)

    def _place(self, centers: Centers, *, keep: bool = False) -> Place:
        """Take centers through the recursion."""
        choice = self.decisions.choice
        if self.field is not None:
            return follow_field(self.field, centers, choice, keep=keep)
        return search_steps(self._sampling(centers), centers, choice.step, keep=keep)

    def _sampling(self, centers: Centers) -> Recursion[QuerySampler]:
        """Return the recursion of the query strategy."""
        decisions = self.decisions
        seeds = query_seeds(centers.rows, decisions.settings.seed)
        settings, ridge = decisions.settings, decisions.choice.ridge
        sampler = QuerySampler(self.data, centers, seeds, settings.n_subsamples, ridge, settings.weighting)
        stage = Stage.first(len(centers), self.data.dimension)
        return Recursion(sampler, decisions.update, self.data, stage)

    @property
    def _final(self) -> FinalFit:
        """The final fit, ready for queries."""
        return self.decisions.choice.fit_with(None if self.field is None else self.field.anchors)

    def _final_fit(self, place: Place, *, variances: bool, gradients: bool = False) -> FitsAtCenters:
        return self._final.fit(
            self.data, place.centers, place.shape, place.widths, variances=variances, gradients=gradients
        )

    def _surroundings(
        self, place: Place, fit: FitsAtCenters, *, agops: bool = False, slopes: bool = False
    ) -> Surroundings:
        """Noise, error and slopes around centers."""
        units, threads = self.decisions.units, self.data.threads
        loo = self.loo
        if loo is None:
            assert place.loo_error is not None and place.agop is not None
            noise = np.sqrt(place.loo_error / (1.0 + fit.variance_factor))[:, None] * units.label_scale
            slope = np.trace(place.agop, axis1=1, axis2=2)[:, None] * np.ones(self.data.outputs)
            error = place.loo_error * units.label_unit
            return Surroundings(noise, np.zeros_like(noise), error, place.agop, np.maximum(slope, 0.0))
        assert self.field is not None
        near = surroundings(self.field, place.centers.rows, place.shape)
        noise = np.sqrt(near.means(loo.noise, threads)) * units.label_scale
        if isinstance(self.decisions.choice.final, GlobalKriging):
            spread = global_spread(self.data, place.centers, place.shape)
        else:
            spread = squared_spread(self.data, place.centers, place.shape, place.widths)
        gap = expect_gap(loo, near, spread, fit.variance_factor, threads) * units.label_scale
        squares = np.mean((loo.residuals * units.label_scale) ** 2, axis=1, keepdims=True)
        error = near.means(squares, threads)[:, 0]
        agop, slope = np.zeros((len(place.centers), 0, 0)), np.zeros_like(noise)
        if agops or slopes:
            near = gradients_around(self.field, place.centers.rows, place.shape)
        if agops:
            agop = np.empty_like(place.shape)
            near.outer_products(loo.gradients, agop, threads)
        if slopes:
            slope = near.means(np.sum(loo.gradients**2, axis=2), threads)
        return Surroundings(noise, gap, error, agop, slope)

    def neighbors_at(self, query: Array) -> Neighbors:
        """Rows as given to ``fit`` that contributed to the prediction at one query (D,)."""
        place = self._place(self._centers(*self.look_at(query[None])))
        batch = self.data.localize(place.centers, place.shape, place.widths, keep=True)
        indices, weights = batch.neighborhoods.neighbors(0)
        by_distinct = np.zeros(self.data.n)
        by_distinct[indices] = weights
        weight = np.where(self.position < 0, 0.0, by_distinct[self.position] * self.part)
        order = np.argsort(-weight, kind="stable")[: np.count_nonzero(weight)]
        return Neighbors(order.astype(np.int64), weight[order])

    def multipliers(self, coverage: Array) -> Array:
        """Factors (3, k, K) of the expected deviation that intervals of these coverages need."""
        calibration = self.query_calibration if self.calibration is None else self.calibration
        return calibration.multipliers(coverage)

    @cached_property
    def query_calibration(self) -> Calibration:
        """Calibration of the query strategy, which leaves no residuals behind, with points held out."""
        data, seed = self.data, self.decisions.settings.seed
        order = np.random.default_rng(seed).permutation(data.n)
        held_out = np.sort(order[: max(1, min(data.n // 5, QUERY_HELD_OUT))])
        rest = replace(self, data=data.without(held_out))
        residuals, expected = [], []
        for rows in chunks(len(held_out), 64 * data.dimension**2 + 64 * data.max_visible):
            place = rest._place(rest.data.centers(data.rows[held_out[rows]]))
            fit = rest._final_fit(place, variances=True)
            residuals.append(data.labels[held_out[rows]] - fit.value)
            noise = rest._surroundings(place, fit).noise / self.decisions.units.label_scale
            expected.append(expect_deviation(noise, fit.variance_factor))
        weight = weights_before(data.sample_weight, self.robustness)[held_out]
        return Calibration.without_blocks(np.concatenate(residuals), np.concatenate(expected), weight)


def _without_errors(gradient: Array, agop: Array, scale: Array) -> dict[str, Array]:
    """Intrinsic dimensions, and standard errors as long as they are not known."""
    dimension = intrinsic_dimensions(agop, scale)
    return {
        "intrinsic_dimension": dimension,
        "gradient_std": np.full_like(gradient, np.nan),
        "importance_std": np.full_like(scale, np.nan),
        "intrinsic_dimension_std": np.full_like(dimension, np.nan),
    }
