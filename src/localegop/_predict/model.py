"""The fitted model: units, data, learned gradients and the choice of the final fit; what predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._data.rows import DistinctRows
from localegop._data.units import Units
from localegop._engine.final_fits import FinalFit, final_fit, final_neighborhoods, leverage
from localegop._engine.gradient_field import GradientField, QuerySampler, query_seeds
from localegop._engine.local_data import Candidates, LocalData
from localegop._engine.placement import Place, followed, searched
from localegop._engine.recursion import Recursion, Rules
from localegop._fit.setup import Settings, initial_units, query_choice, unit_length
from localegop._predict.tracing import traced
from localegop._predict.uncertainty import (
    QUERY_HELD_OUT,
    SURROUNDINGS,
    Calibration,
    expected_deviation,
)
from localegop._progress import Progress
from localegop._selection.search_grid import Choice
from localegop.results import LocalFits, Neighbors, Status, joined

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Aftermath:
    """What the final fits at the training points, each without its own point, leave behind.

    In units of the recursion: residuals (n, K), noise variances (n, K) and gradients (n, K, D).
    """

    residuals: Array
    noise: Array
    gradients: Array


@dataclass
class Model:
    """What predicts; see :meth:`fits`. With the field strategy :mod:`localegop._fit.plan` fills it."""

    settings: Settings
    units: Units
    data: LocalData
    rules: Rules
    choice: Choice
    initial_metric: str | Array
    feature_scale: Array
    position: NDArray[np.intp]  # where each row as given went, -1 for none
    part: Array  # and its share of the distinct row there
    field: GradientField | None = None
    after: Aftermath | None = None
    calibration: Calibration | None = None
    isotropic_error: float = np.nan  # at the points held out for the choice; NaN if nothing was chosen

    @classmethod
    def unlearned(cls, rows: DistinctRows, settings: Settings) -> Model:
        """Model with units and data that has learned nothing yet."""
        schedule, n_iter = settings.schedule_for(rows.dimension)
        by_size = hasattr(schedule, "effective_size")
        initial_metric, units, data = initial_units(rows, settings, by_size)
        return cls(
            settings,
            units,
            data,
            settings.rules(schedule, unit_length(units)),
            query_choice(data, settings, n_iter),
            initial_metric,
            rows.features.spread,
            rows.position,
            rows.part,
        )

    def in_axes(self, axes: Array) -> Model:
        """Model that works in other axes (D, r) and has learned nothing yet."""
        schedule, _ = self.settings.schedule_for(axes.shape[1])
        units = self.units.turned(axes)
        return replace(
            self,
            units=units,
            data=self.data.turned(axes),
            rules=self.settings.rules(schedule, 1.0),
            initial_metric=np.einsum("ab,cb->ac", units.transform, units.transform),
        )

    @property
    def loo_residuals(self) -> Array | None:
        """Label minus leave-one-out prediction (n, K) of every row as given; NaN at weight 0."""
        if self.after is None:
            return None
        residuals = self.after.residuals * self.units.label_scale
        return np.where(self.position[:, None] < 0, np.nan, residuals[self.position])

    @property
    def squared_slopes(self) -> Array:
        """Mean square (D,) of the gradients at the training points, per standard deviation of a feature."""
        assert self.after is not None
        return squared_slopes(self, self.after.gradients, self.data.share)

    def surroundings(
        self,
        centers: Array,
        shapes: Array,
        candidates: Candidates | None,
        left_out: NDArray[np.int64] | None = None,
    ) -> _core.Neighborhoods:
        """Neighborhoods over which noise and gradients are averaged."""
        size = min(SURROUNDINGS, max(0.5 * self.data.reachable, 1.0))
        sizes = np.full((len(centers), 1), size)
        batch = self.data.localize(centers, shapes, candidates, sizes=sizes, left_out=left_out, keep=True)
        return batch.neighborhoods

    def fits(
        self, X: Array, *, spread: bool, full: bool, trace: bool, threads: int, verbose: int
    ) -> LocalFits:
        """Local fits at queries X (q, D): values, with ``spread`` their noise, with ``full`` everything."""
        self.data.threads = threads if self.data.named else 1
        each = (
            8 * (4 + trace * 3 * (self.choice.step + 1)) * self.data.dimension**2 + 64 * self.data.reachable
        )
        parts = []
        with Progress(len(X), "predict", verbose) as progress:
            for rows in self.data.chunks(len(X), each):
                parts.append(self._chunk(X[rows], spread or full, full, trace))
                progress.advance(rows.stop - rows.start)
        return joined(parts)

    def centers(self, X: Array) -> Array:
        """Turn queries into the units of the recursion."""
        # Squares of distances beyond 1e150 would overflow; that far out all directions look alike anyway.
        return np.clip(self.units.features(X), -1e75, 1e75)

    def _chunk(self, X: Array, spread: bool, full: bool, trace: bool) -> LocalFits:
        centers, units = self.centers(X), self.units
        candidates, place = self._placed(centers, trace)
        fit = self._final(centers, place, candidates, spread=spread, full=full)
        nothing = np.zeros((len(X), self.data.labels.shape[1], 0))
        around, reach = None, np.zeros(len(X))
        if spread:
            around = self._around(centers, candidates, place, fit, full)
            reach = leverage(self.data, self.choice, fit, centers, place.shape, candidates)
        found: dict[str, Any] = {}
        for name in ("loo_error", "noise", "variance_factor"):
            found[name] = nothing if around is None else getattr(around, name)
        for name in ("gradient", "metric", "agop"):
            found[name] = nothing
        if around is not None and full:
            found["gradient"] = units.gradients(fit.gradient)
            found["metric"] = units.metrics(fit.scale[:, None, None] * place.shape)
            found["agop"] = around.agop
        return LocalFits(
            query=X,
            value=units.values(fit.value),
            effective_size=fit.effective_size,
            step=place.step,
            status=self._status(centers, reach, around),
            feature_scale=self.feature_scale,
            feature_names=(),
            output_names=(),
            trace=traced(self, centers, candidates, place.steps) if trace else None,
            _neighbors_at=self.neighbors_at,
            **found,
        )

    def _placed(self, centers: Array, trace: bool = False) -> tuple[Candidates | None, Place]:
        """Take centers through the recursion."""
        candidates = self.data.candidates(centers)
        if self.field is not None:
            return candidates, followed(self.field, centers, candidates, self.choice.step, trace)
        return candidates, searched(self._sampling(centers, candidates), self.choice.step, trace)

    def _final(
        self, centers: Array, place: Place, candidates: Candidates | None, *, spread: bool, full: bool
    ) -> FinalFit:
        return final_fit(
            self.data,
            self.rules,
            self.choice,
            centers,
            place.shape,
            candidates,
            scale=place.scale,
            spread=spread,
            full=full,
        )

    def _sampling(self, centers: Array, candidates: Candidates | None) -> Recursion:
        """Return the recursion of the query strategy."""
        seeds = query_seeds(centers, self.settings.seed)
        sampler = QuerySampler(
            self.data, centers, candidates, seeds, self.settings.n_subsamples, self.choice.ridge
        )
        return Recursion(sampler, self.rules, len(centers), self.data.dimension, self.data.reachable)

    def _around(
        self, centers: Array, candidates: Candidates | None, place: Place, fit: FinalFit, full: bool
    ) -> Around:
        """Noise, error and slopes around centers, in the user's units."""
        units, threads = self.units, self.data.threads
        factor = fit.variance_factor
        if self.after is None:
            assert place.loo_error is not None and place.agop is not None
            noise = np.sqrt(place.loo_error / (1.0 + factor))[:, None] * units.label_scale
            agop = units.metrics(place.agop) * units.label_unit
            return Around(noise, place.loo_error * units.label_unit, factor, agop)
        near = self.surroundings(centers, place.shape, candidates)
        noise = np.sqrt(near.means(self.after.noise, threads)) * units.label_scale
        squares = np.mean((self.after.residuals * units.label_scale) ** 2, axis=1, keepdims=True)
        error = near.means(squares, threads)[:, 0]
        agop = np.zeros((len(centers), 0, 0))
        if full:
            agop = np.empty_like(place.shape)
            near.outer_products(self.after.gradients, agop, threads)
            agop = units.metrics(agop) * units.label_unit
        return Around(noise, error, factor, agop)

    def _status(self, centers: Array, reach: Array, around: Around | None) -> NDArray[np.int64]:
        status = np.full(len(centers), int(Status.OK), dtype=np.int64)
        if around is not None and around.agop.shape[1] > 0:
            status[np.abs(around.agop).max(axis=(1, 2)) == 0.0] = Status.FLAT
        status[reach > 1.0] = Status.EXTRAPOLATED
        status[self.data.lonely(centers)] = Status.FEW_NEIGHBORS
        return status

    def neighbors_at(self, query: Array) -> Neighbors:
        """Rows as given to ``fit`` that speak for one query (D,)."""
        centers = self.centers(query[None])
        candidates, place = self._placed(centers)
        hoods = final_neighborhoods(
            self.data, self.rules, self.choice, centers, place.shape, candidates, place.scale
        )
        indices, weights = hoods.neighbors(0)
        by_distinct = np.zeros(self.data.n)
        by_distinct[indices] = weights
        weight = np.where(self.position < 0, 0.0, by_distinct[self.position] * self.part)
        order = np.argsort(-weight, kind="stable")[: np.count_nonzero(weight)]
        return Neighbors(order.astype(np.int64), weight[order])

    def multipliers(self, coverage: Array) -> Array:
        """Factors (k, K) of the expected deviation that intervals of these coverages need."""
        if self.calibration is None:
            self.calibration = self._calibrate_queries()
        return self.calibration.multipliers(coverage)

    def interval_widths(self, noise: Array, variance_factor: Array, multipliers: Array) -> Array:
        """Half widths (q, K, k) of intervals, from noise (q, K) in the user's units."""
        scale = self.units.label_scale
        expected = expected_deviation(noise / scale, variance_factor) * scale
        return expected[:, :, None] * multipliers.T

    def _calibrate_queries(self) -> Calibration:
        """Calibrate the query strategy, which leaves no residuals behind, with points held out."""
        data = self.data
        order = np.random.default_rng(self.settings.seed).permutation(data.n)
        held_out = np.sort(order[: max(1, min(data.n // 5, QUERY_HELD_OUT))])
        rest = replace(self, data=data.subset(np.setdiff1d(np.arange(data.n), held_out)))
        residuals, expected = [], []
        for rows in data.chunks(len(held_out), 64 * data.dimension**2 + 64 * data.reachable):
            centers = data.rows[held_out[rows]]
            candidates, place = rest._placed(centers)
            fit = rest._final(centers, place, candidates, spread=True, full=False)
            around = rest._around(centers, candidates, place, fit, full=False)
            residuals.append(data.labels[held_out[rows]] - fit.value)
            noise = around.noise / self.units.label_scale
            expected.append(expected_deviation(noise, around.variance_factor))
        return Calibration.from_residuals(
            np.concatenate(residuals), np.concatenate(expected), data.share[held_out]
        )


def squared_slopes(model: Model, gradients: Array, share: Array) -> Array:
    """Mean square (D,) of gradients (m, K, r) in the model's units, per standard deviation of a feature."""
    there = np.einsum("ab,nkb->nka", model.units.transform, gradients)
    slopes: Array = np.einsum("n,nka->a", share / share.sum(), there**2) * model.feature_scale**2
    return slopes


@dataclass(frozen=True)
class Around:
    """Noise (q, K), leave-one-out error (q,), variance factor (q,) and AGOP (q, D, D) around q centers."""

    noise: Array
    loo_error: Array
    variance_factor: Array
    agop: Array
