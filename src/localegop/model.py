"""The fitted model: units, data, learned gradients and the choice of the final fit; what predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import Candidates, LocalBatch, LocalData
from localegop.progress import Progress
from localegop.recursion import Recursion, Rules, Step, isotropic
from localegop.results import LocalFits, Status, Trace
from localegop.selection import Choice, Menu, choose, cost
from localegop.setup import Settings, initial_options, menu_for, query_choice, unit_length
from localegop.strategies import GradientField, QuerySampler, query_seeds
from localegop.units import Units

Array = NDArray[np.float64]


@dataclass
class Model:
    """A fitted model; see :meth:`fit` and :meth:`fits`."""

    settings: Settings
    units: Units
    data: LocalData
    rules: Rules
    choice: Choice
    initial_metric: str | Array
    field: GradientField | None = None
    loo_residuals: Array | None = None
    _candidates: Candidates | None = None  # of the training points, between _choose and _learn

    @classmethod
    def fit(cls, X: Array, y: Array, share: Array, settings: Settings) -> Model:
        """Fit to points X (n, D), labels y (n, K) and their shares."""
        schedule, n_iter = settings.schedule_for(X.shape[1])
        by_size = hasattr(schedule, "effective_size")
        models = []
        for initial_metric, units, data in initial_options(X, y, share, settings, by_size):
            cap = settings.covariance_cap
            rules = Rules(
                schedule,
                settings.momentum,
                settings.initial_scale,
                None if cap is None else cap / unit_length(units) ** 2,
            )
            choice = query_choice(data, settings, n_iter)
            models.append(cls(settings, units, data, rules, choice, initial_metric))
        if settings.strategy == "query":
            return models[0]
        menu = menu_for(settings, models[0].data, by_size, n_iter)
        work = len(models) * cost(len(X), menu) + 2.0 * (max(menu.steps) + 0.5) * len(X)
        with Progress(work, "fit", settings.verbose) as progress:
            for model in models:
                model._choose(menu, progress)
            best = min(models, key=lambda model: model.choice.error)
            best._learn(progress)
        return best

    def _choose(self, menu: Menu, progress: Progress) -> None:
        """Choose the final fit at held-out points."""
        rng = np.random.default_rng(self.settings.seed)
        candidates = self.data.candidates(self.data.rows)
        self.choice = choose(self.data, candidates, self.rules, menu, self.settings.ridges, rng, progress)
        self._candidates = candidates

    def _learn(self, progress: Progress) -> None:
        """Learn the field from all points, and the leave-one-out residuals of the final fit."""
        data, candidates, self._candidates = self.data, self._candidates, None
        self.field = GradientField(data, self.rules, self.settings.ridges)
        shapes = self.field.learn(self.choice.step, candidates, progress)
        residuals = np.empty_like(data.labels)
        for rows in data.chunks(data.n, 8 * data.dimension**2):
            part = None if candidates is None else candidates[rows]
            out = np.arange(rows.start, rows.stop)
            batch = self._final(data.rows[rows], shapes[rows], part, left_out=out)
            residuals[rows] = data.labels[rows] - batch.value[:, 0, 0, 0]
            progress.advance(rows.stop - rows.start)
        self.loo_residuals = residuals * self.units.label_scale

    def _final(
        self,
        centers: Array,
        shapes: Array,
        candidates: Candidates | None,
        *,
        scale: Array | None = None,
        left_out: NDArray[np.int64] | None = None,
        full: bool = False,
    ) -> LocalBatch:
        """Make the chosen fit in neighborhoods of these shapes."""
        choice, sizes, scales = self.choice, None, None
        if scale is not None:
            scales = scale[:, None]
        elif choice.size is not None:
            sizes = np.full((len(centers), 1), choice.size)
        elif self.rules.by_size:
            sizes = np.full((len(centers), 1), self.rules.size(choice.step, self.data.reachable))
        else:
            scales = np.full((len(centers), 1), self.rules.scale(choice.step, self.data.dimension))
        return self.data.localize(
            centers,
            shapes,
            candidates,
            sizes=sizes,
            scales=scales,
            left_out=left_out,
            degree=choice.degree,
            bends=(choice.bends,),
            ridges=(choice.ridge,),
            gradients=full,
            variances=full,
            keep=full and self.loo_residuals is not None,
        )

    def fits(self, X: Array, *, full: bool, trace: bool, threads: int, verbose: int) -> LocalFits:
        """Local fits at queries X (q, D); only values unless ``full``."""
        self.data.threads = threads if self.data.named else 1
        # Squares of distances beyond 1e150 would overflow; that far out all directions look alike anyway.
        centers = np.clip(self.units.features(X), -1e75, 1e75)
        each = (
            8 * (4 + trace * 3 * (self.choice.step + 1)) * self.data.dimension**2 + 64 * self.data.reachable
        )
        parts = []
        with Progress(len(X), "predict", verbose) as progress:
            for rows in self.data.chunks(len(X), each):
                parts.append(self._chunk(centers[rows], full, trace))
                progress.advance(rows.stop - rows.start)
        return _joined(parts) if len(parts) != 1 else parts[0]

    def _chunk(self, centers: Array, full: bool, trace: bool) -> LocalFits:
        candidates = self.data.candidates(centers)
        if self.field is not None:
            shape, scale, step, steps = self._follow(centers, candidates, trace)
            errors = None
        else:
            shape, scale, step, errors, steps = self._search(centers, candidates, trace)
        batch = self._final(centers, shape, candidates, scale=scale, full=full)
        units = self.units
        value = units.values(batch.value[:, 0, 0, 0])
        status = self._status(centers)
        if not full:
            empty = np.zeros((len(centers), 0))
            return LocalFits(
                value, empty, empty, empty, batch.effective_size[:, 0], step, empty, empty, status
            )
        if errors is None and self.loo_residuals is not None:
            squared = np.mean(self.loo_residuals**2, axis=1, keepdims=True)
            errors = batch.neighborhoods.means(squared, self.data.threads)[:, 0]
        agop = steps[-1].agop if steps else np.zeros_like(shape)
        status[(status == Status.OK) & (np.abs(agop).max(axis=(1, 2)) == 0.0) & (step > 0)] = Status.FLAT
        label_unit = float(np.mean(units.label_scale**2))
        return LocalFits(
            value=value,
            gradient=units.gradients(batch.gradient[:, 0, 0, 0]),
            metric=units.metrics(batch.scale[:, :, None] * shape),
            agop=units.metrics(agop) * label_unit,
            effective_size=batch.effective_size[:, 0],
            step=step,
            loo_error=np.full(len(centers), np.nan) if errors is None else errors,
            variance_factor=batch.variance_factor[:, 0, 0, 0],
            status=status,
            trace=self._trace(centers, candidates, steps) if trace else None,
        )

    def _follow(
        self, centers: Array, candidates: Candidates | None, trace: bool
    ) -> tuple[Array, None, NDArray[np.int64], list[Step]]:
        """Field strategy: shapes after the chosen number of steps."""
        assert self.field is not None
        recursion = self.field.follow(centers, candidates)
        steps: list[Step] = []
        for _ in range(self.choice.step):
            step = recursion.advance()
            steps = [*steps, step] if trace else [step]
        return recursion.shape, None, np.full(len(centers), self.choice.step), steps

    def _search(
        self, centers: Array, candidates: Candidates | None, trace: bool
    ) -> tuple[Array, Array, NDArray[np.int64], Array, list[Step]]:
        """Query strategy: the step of the smallest leave-one-out error (Alg. 1, lines 14-17)."""
        seeds = query_seeds(centers, self.settings.seed)
        sampler = QuerySampler(
            self.data, centers, candidates, seeds, self.settings.n_subsamples, self.choice.ridge
        )
        recursion = Recursion(sampler, self.rules, len(centers), self.data.dimension, self.data.reachable)
        best = np.full(len(centers), np.inf)
        chosen = np.zeros(len(centers), dtype=np.int64)
        shape, agop = isotropic(*centers.shape), np.zeros((len(centers), *(2 * centers.shape[1:])))
        scale = np.ones(len(centers))
        steps: list[Step] = []
        for t in range(max(self.choice.step, 1)):
            step = recursion.advance()
            assert step.loo_error is not None
            better = step.loo_error < best
            best[better], chosen[better], scale[better] = step.loo_error[better], t, step.scale[better]
            shape[better], agop[better] = step.shape[better], step.agop[better]
            if trace:
                steps.append(step)
        if not trace:
            steps = [replace(step, agop=agop)]
        return shape, scale, chosen, best * float(np.mean(self.units.label_scale**2)), steps

    def _status(self, centers: Array) -> NDArray[np.int64]:
        status = np.full(len(centers), int(Status.OK), dtype=np.int64)
        status[self.data.lonely(centers)] = Status.FEW_NEIGHBORS
        return status

    def _trace(self, centers: Array, candidates: Candidates | None, steps: list[Step]) -> Trace:
        """Every step in the user's units; estimates are linear fits at the step's own scale."""
        errors, values, metrics, sizes = [], [], [], []
        label_unit = float(np.mean(self.units.label_scale**2))
        for t, step in enumerate(steps):
            sizes_t = scales_t = None
            if step.value is None and self.rules.by_size and self.rules.covariance_cap is None:
                sizes_t = np.full((len(centers), 1), self.rules.size(t, self.data.reachable))
            else:
                scales_t = step.scale[:, None]
            batch = self.data.localize(
                centers,
                step.shape,
                candidates,
                sizes=sizes_t,
                scales=scales_t,
                degree=1,
                ridges=(self.choice.ridge,),
                keep=True,
            )
            error = step.loo_error
            if error is None and self.loo_residuals is not None:
                squared = np.mean((self.loo_residuals / self.units.label_scale) ** 2, axis=1, keepdims=True)
                error = batch.neighborhoods.means(squared, self.data.threads)[:, 0]
            errors.append(np.full(len(centers), np.nan) if error is None else error * label_unit)
            values.append(self.units.values(batch.value[:, 0, 0, 0]))
            metrics.append(self.units.metrics(batch.scale[:, :, None] * step.shape))
            sizes.append(batch.effective_size[:, 0])
        if not steps:
            q, d, outputs = *centers.shape, self.data.labels.shape[1]
            square, line = np.zeros((0, q, d, d)), np.zeros((0, q))
            return Trace(square, square, line, line, np.zeros((0, q, outputs)))
        agops = [self.units.metrics(step.agop) * label_unit for step in steps]
        return Trace(*(np.array(part) for part in (metrics, agops, sizes, errors, values)))


def _joined(parts: list[LocalFits]) -> LocalFits:
    if not parts:
        raise ValueError("no queries were given")

    def stacked(pieces: Iterator[Any], axis: int = 0) -> Any:
        return np.concatenate(list(pieces), axis=axis)

    names = [name for name in LocalFits.__dataclass_fields__ if name != "trace"]
    columns = {name: stacked(getattr(part, name) for part in parts) for name in names}
    traces = [part.trace for part in parts]
    trace = None
    if traces[0] is not None:
        trace = Trace(
            *(
                stacked((getattr(one, name) for one in traces), axis=1)
                for name in Trace.__dataclass_fields__
            )
        )
    return LocalFits(**columns, trace=trace)
