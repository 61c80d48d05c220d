"""The work of a fit in one process; see :class:`localegop._fit.backend.Backend`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._data.sums import Extent, measure_extent
from localegop._data.units import Units
from localegop._engine.centers import Centers
from localegop._engine.gradient_field import GradientField, learn_field
from localegop._engine.local_data import LocalData
from localegop._engine.neighbor_lists import NeighborLists
from localegop._engine.recursion import MetricUpdate
from localegop._engine.settings import Settings
from localegop._fit.backend import PilotFits
from localegop._fit.blend_choice import choose_blending
from localegop._fit.leave_one_out import gradients_in_field, leave_one_out_fits, noise_around
from localegop._fit.pilot_fits import fit_pilot
from localegop._predict.decisions import Decisions
from localegop._predict.model import Model
from localegop._predict.uncertainty import Calibration, expect_deviation
from localegop._progress import Progress
from localegop._selection.folds import FoldResult, hold_out, hold_out_in_axes
from localegop._selection.holdout import Measure, evaluate_some, grid_errors
from localegop._selection.isotropic_baseline import isotropic_errors
from localegop._selection.search_grid import SearchGrid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LearnedFold:
    """A field learned without some points, and these points with their labels."""

    field: GradientField
    held_out: Centers
    labels: Array


class ProcessBackend:
    """The work of a fit to distinct rows, in this process."""

    def __init__(self, rows: DistinctRows) -> None:
        self.rows = rows
        # Searching neighbors is expensive: those of all points are kept, for the data used last.
        self._lists: tuple[LocalData, NeighborLists | None] | None = None

    def in_units(self, units: Units, settings: Settings) -> LocalData:
        """See :class:`Backend`."""
        rows = self.rows
        return LocalData(
            units.features(rows.X), units.labels(rows.y), rows.sample_weight, **settings.data_options(units)
        )

    def extent(self, data: LocalData) -> Extent:
        """See :class:`Backend`."""
        return measure_extent(data.rows, data.sample_weight)

    def pilot_fits(
        self,
        data: LocalData,
        points: NDArray[np.int64],
        sizes: tuple[float, ...],
        ridges: tuple[float, ...],
        gradients: bool,
    ) -> PilotFits:
        """See :class:`Backend`."""
        return fit_pilot(data, points, sizes, ridges, gradients)

    def learn_without(
        self,
        data: LocalData,
        update: MetricUpdate,
        grid: SearchGrid,
        held_out: NDArray[np.intp],
        axes: Array | None,
        progress: Progress,
    ) -> FoldResult[LearnedFold]:
        """See :class:`Backend`."""
        if axes is None:
            n_total = data.n - len(held_out)
            fold = hold_out(data, np.arange(data.n), self._own_lists(data), held_out, n_total)
        else:
            fold = hold_out_in_axes(data, held_out, axes)
        learning, testing = progress.stages((progress.title, 2.0), (progress.title, 1.0))
        part, last = fold.data, max(grid.steps)
        field, _ = learn_field(part, update, grid.ridges, fold.targets, last, learning, onward=False)
        errors = grid_errors(field, fold.held_out, fold.labels, grid, testing)
        learned = LearnedFold(field, fold.held_out, fold.labels)
        weight = data.sample_weight[held_out]
        return FoldResult(errors, weight, part.dimension, part.n, part.max_visible, learned)

    def evaluate_at_held_out(self, fold: FoldResult[LearnedFold], measure: Measure, every: int) -> Array:
        """See :class:`Backend`."""
        found = fold.learned
        some = np.arange(0, len(found.held_out), every)
        return evaluate_some(found.field, found.held_out, found.labels, some, measure)

    def isotropic_errors(
        self, data: LocalData, update: MetricUpdate, grid: SearchGrid, held_out: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """See :class:`Backend`."""
        rest = data.without(held_out)
        errors = isotropic_errors(rest, update, grid, data.rows[held_out], data.labels[held_out])
        return errors, data.sample_weight[held_out]

    def gradients_at(
        self, fold: FoldResult[LearnedFold], decisions: Decisions, points: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """See :class:`Backend`."""
        return gradients_in_field(fold.learned.field, decisions.choice, points)

    def learn(self, data: LocalData, decisions: Decisions, progress: Progress) -> Model:
        """See :class:`Backend`."""
        learning, fitting, averaging, blending = progress.stages(
            ("learning", 1.0 + 2.0 * decisions.choice.step),
            ("last fits", 1.0),
            ("noise", 1.0),
            ("blend", 1.0),
        )
        centers = data.all_own_centers(self._own_lists(data))
        ridges, steps = decisions.settings.ridges, decisions.choice.step
        field, shapes = learn_field(data, decisions.update, ridges, centers, steps, learning)
        loo, factors = leave_one_out_fits(decisions, data, centers, shapes, fitting)
        noise = noise_around(data, centers, shapes, loo.noise, averaging)
        calibration = Calibration.from_residuals(
            loo.residuals, expect_deviation(noise, factors), data.sample_weight
        )
        blend = choose_blending(data, field, decisions.choice)
        blending.advance()
        return Model(decisions, data, self.rows.position, self.rows.part, field, loo, calibration, blend)

    def _own_lists(self, data: LocalData) -> NeighborLists | None:
        if self._lists is None or self._lists[0] is not data:
            self._lists = None  # free its memory first
            self._lists = data, data.neighbor_lists(data.rows)
        return self._lists[1]
