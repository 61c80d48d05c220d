"""Bodies of the tasks that learn: each works on the rows of one partition and those of its halo.

The work itself is that of a fit in one process, done at some of the points: the targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers
from localegop._engine.gradient_field import FieldLearner, GradientField
from localegop._engine.recursion import MetricUpdate, Recursion, Stage
from localegop._fit.leave_one_out import gradients_in_field, leave_one_out_fits, noise_around
from localegop._fit.pilot_fits import fit_pilot
from localegop._predict.decisions import Decisions
from localegop._predict.support import spacing
from localegop._predict.uncertainty import expect_deviation, score_residuals
from localegop._progress import SILENT
from localegop._selection.folds import Fold, hold_out
from localegop._selection.holdout import Measure, evaluate_some, grid_errors
from localegop._selection.isotropic_baseline import isotropic_errors
from localegop._selection.search_grid import SearchGrid
from localegop.distributed.packed_lists import PackedLists, find_and_pack, pack
from localegop.distributed.partitions import DataOptions, Numbers, local_data
from localegop.distributed.tables import Table, merge_sorted, take

Array = NDArray[np.float64]
Ridges = tuple[float, ...]


@dataclass(frozen=True)
class PartitionData:
    """Rows to learn from, sorted by number, with points to learn at and held-out points."""

    fold: Fold
    number: Numbers  # of the rows to learn from
    order: NDArray[np.intp]  # sorts the rows of the targets, followed by those of the halo, by number
    halo_used: list[NDArray[np.intp]]  # of the rows of each exchange, those that are looked at
    held_out: Table  # number and sample_weight of the held-out points

    def __sizeof__(self) -> int:  # for the scheduler, which moves what is small
        data, lists = self.fold.data, self.fold.targets.lists
        rows = 2 * (data.rows.nbytes + data.labels.nbytes + data.sample_weight.nbytes)
        return rows + self.number.nbytes + self.order.nbytes + (0 if lists is None else lists.__sizeof__())

    def at_all_rows(self, at_targets: Array, at_halo: list[Array]) -> Array:
        """Values at all rows, from those at the targets and those at the rows of each exchange."""
        return np.ascontiguousarray(np.concatenate([at_targets, *at_halo])[self.order])

    @property
    def targets(self) -> NDArray[np.int64]:
        """Positions of the points to learn at."""
        assert self.fold.targets.left_out is not None
        return self.fold.targets.left_out

    @property
    def target_number(self) -> Numbers:
        """Numbers of the points to learn at."""
        return self.number[self.targets]

    def learner(self, ridges: Ridges) -> FieldLearner:
        """Learner at the targets."""
        return FieldLearner(self.fold.data, ridges, self.fold.targets, SILENT)

    def field(
        self, update: MetricUpdate, at_targets: list[Table], at_halo: list[list[Array]]
    ) -> GradientField:
        """Field from the gradients of each step, at the targets and in the halo."""
        gradients = tuple(
            self.at_all_rows(step["gradients"], halo)
            for step, halo in zip(at_targets, at_halo, strict=True)
        )
        return GradientField(self.fold.data, update, gradients)


def prepare_partition(
    table: Table,
    halo: list[Table],
    n_total: tuple[int, int],
    options: DataOptions,
    held_out_excluded: bool,
) -> PartitionData:
    """Prepare a partition for learning.

    Of all partitions together, ``n_total`` are the numbers of rows without and with held-out ones.
    """
    held_out = table["held_out"]
    if held_out_excluded:
        number, fold = _fold_without_held_out(table, halo, n_total[0], options)
    else:
        number, fold = _fold_taking_out(table, halo, n_total, options)
    used = _rows_in_use(fold)
    number = number[used]
    halo_numbers = [part["number"] for part in halo]
    halo_used = [np.flatnonzero(np.isin(part, number)) for part in halo_numbers]
    kept = [part[at] for part, at in zip(halo_numbers, halo_used, strict=True)]
    order = np.argsort(np.concatenate([table["number"][~held_out], *kept]), kind="stable")
    return PartitionData(
        _drop_unused_rows(fold, used),
        number,
        order,
        halo_used,
        take(table, held_out, ("number", "sample_weight")),
    )


def _fold_without_held_out(
    table: Table, halo: list[Table], n_total: int, options: DataOptions
) -> tuple[Numbers, Fold]:
    """Numbers of the rows, and a fold whose lists of neighbors were made without held-out rows."""
    held_out = table["held_out"]
    rest = take(table, ~held_out)
    together = merge_sorted([rest, *halo])
    data = local_data(together, n_total, options)
    points = np.searchsorted(together["number"], rest["number"])
    targets = Centers(data.rows[points], find_and_pack(data, data.rows[points]), points)
    centers = np.ascontiguousarray(table["rows"][held_out])
    outside = Centers(centers, find_and_pack(data, centers))
    return together["number"], Fold(data, targets, outside, table["labels"][held_out])


def _fold_taking_out(
    table: Table, halo: list[Table], n_total: tuple[int, int], options: DataOptions
) -> tuple[Numbers, Fold]:
    """Numbers of the rows, and a fold whose held-out rows were taken out of the lists of neighbors."""
    together = merge_sorted([table, *halo])
    data = local_data(together, n_total[1], options)
    own_rows = np.searchsorted(together["number"], table["number"])
    out = np.flatnonzero(together["held_out"])
    fold = hold_out(data, own_rows, data.neighbor_lists(data.rows[own_rows]), out, n_total[0])
    fold = replace(fold, targets=_pack_lists(fold.targets), held_out=_pack_lists(fold.held_out))
    return together["number"][~together["held_out"]], fold


def _pack_lists(centers: Centers) -> Centers:
    lists = centers.lists
    return centers if lists is None else replace(centers, lists=pack(lists[: len(centers)]))


def _packed(centers: Centers) -> PackedLists | None:
    assert centers.lists is None or isinstance(centers.lists, PackedLists)
    return centers.lists


def _rows_in_use(fold: Fold) -> NDArray[np.bool_]:
    """Which rows some center looks at, or are targets."""
    used = np.full(fold.data.n, fold.targets.lists is None)
    used[fold.targets.left_out] = True
    for centers in (fold.targets, fold.held_out):
        lists = _packed(centers)
        if lists is not None:
            lists.mark(used)
    return used


def _drop_unused_rows(fold: Fold, used: NDArray[np.bool_]) -> Fold:
    """Leave out the rows of the halo that no center looks at: it is a little larger than needed."""
    if used.all():
        return fold
    number = (np.cumsum(used) - 1).astype(np.int32)
    data = fold.data.subset(np.flatnonzero(used), fold.data.n_total)
    targets, held_out = (_renumber(centers, number) for centers in (fold.targets, fold.held_out))
    return replace(fold, data=data, targets=targets, held_out=held_out)


def _renumber(centers: Centers, number: NDArray[np.int32]) -> Centers:
    lists, left_out = _packed(centers), centers.left_out
    assert lists is not None
    new = None if left_out is None else number[left_out].astype(np.int64)
    return replace(centers, lists=lists.renumber(number), left_out=new)


def used_positions(
    partition: PartitionData, exchange: int, positions: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Positions, at their owner, of the rows of an exchange that are looked at."""
    return positions[partition.halo_used[exchange]]


@dataclass(frozen=True)
class HalfStep:
    """The first half of a step: its stage, gradients (ridge, m, K, D), errors (ridge, m) and their sums."""

    stage: Stage
    gradients: Array
    errors: Array
    sums: Array

    def __sizeof__(self) -> int:  # for the scheduler
        return self.stage.__sizeof__() + self.gradients.nbytes + self.errors.nbytes


def first_stage(partition: PartitionData) -> Stage:
    """Return the beginning of the recursion, where no step is taken."""
    return Stage.first(len(partition.targets), partition.fold.data.dimension)


def first_half_step(partition: PartitionData, update: MetricUpdate, ridges: Ridges) -> HalfStep:
    """Make the leave-one-out fits of step 0."""
    return _fit_step(partition, update, ridges, first_stage(partition))


def _fit_step(partition: PartitionData, update: MetricUpdate, ridges: Ridges, stage: Stage) -> HalfStep:
    learner = partition.learner(ridges)
    recursion = Recursion(learner, update, partition.fold.data, stage)
    gradients, errors = learner.leave_one_out(*recursion.setting())
    return HalfStep(recursion.stage, gradients, errors, learner.error_sums(errors))


def error_sums(half_step: HalfStep) -> Array:
    """Return the sums of errors, by which the ridge is chosen."""
    return half_step.sums


def keep_ridge(half_step: HalfStep, ridge: int) -> Table:
    """Keep the gradients (m, K, D) and errors (m, 1) of one ridge."""
    return {
        "gradients": np.ascontiguousarray(half_step.gradients[ridge]),
        "errors": np.ascontiguousarray(half_step.errors[ridge, :, None]),
    }


def next_stage(
    partition: PartitionData,
    half_step: HalfStep,
    update: MetricUpdate,
    ridges: Ridges,
    at_targets: Table,
    at_halo: list[Array],
) -> Stage:
    """Finish a step: average the gradients of the chosen ridge and move on to the next shapes."""
    learner = partition.learner(ridges)
    recursion = Recursion(learner, update, partition.fold.data, half_step.stage)
    gradients = partition.at_all_rows(at_targets["gradients"], at_halo)
    recursion.move(learner.averages(gradients, *recursion.setting()), reuse=True)
    return recursion.stage


def next_half_step(
    partition: PartitionData,
    half_step: HalfStep,
    update: MetricUpdate,
    ridges: Ridges,
    at_targets: Table,
    at_halo: list[Array],
) -> HalfStep:
    """Finish a step, and make the leave-one-out fits of the next one."""
    stage = next_stage(partition, half_step, update, ridges, at_targets, at_halo)
    return _fit_step(partition, update, ridges, stage)


def halo_values(values: Table, name: str, positions: NDArray[np.intp], table: Table) -> Array:
    """Values for the halo of another partition, at these positions of the owner's table.

    The values are those of the rows that are not held out.
    """
    rest = ~table["held_out"]
    rank = np.cumsum(rest) - 1
    found: Array = values[name][rank[positions[rest[positions]]]]
    return found


def errors_at_held_out(
    partition: PartitionData,
    update: MetricUpdate,
    grid: SearchGrid,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Errors at the held-out points, which are along the first axis."""
    field, fold = partition.field(update, at_targets, at_halo), partition.fold
    errors = grid_errors(field, fold.held_out, fold.labels, grid, SILENT)
    return {**partition.held_out, "errors": np.moveaxis(errors, -1, 0)}


def isotropic_errors_at_held_out(
    table: Table,
    halo: list[Table],
    n_total_and_options: tuple[int, DataOptions],
    update: MetricUpdate,
    grid: SearchGrid,
) -> Table:
    """Errors of fits without learned metrics at the held-out points, which are along the first axis."""
    out = table["held_out"]
    held_out = take(table, out, ("number", "sample_weight"))
    if not out.any():
        return {**held_out, "errors": np.zeros((0, *grid.counts))}
    data = local_data(merge_sorted([take(table, ~out), *halo]), *n_total_and_options)
    centers = np.ascontiguousarray(table["rows"][out])
    errors = isotropic_errors(data, update, grid, centers, table["labels"][out])
    return {**held_out, "errors": np.moveaxis(errors, -1, 0)}


def measure_at_held_out(
    partition: PartitionData,
    update: MetricUpdate,
    numbers: Numbers,
    measure: Measure,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Measure several fits at the held-out points that have these numbers."""
    field, fold = partition.field(update, at_targets, at_halo), partition.fold
    some = np.flatnonzero(np.isin(partition.held_out["number"], numbers))
    return {
        "number": partition.held_out["number"][some],
        "measure": evaluate_some(field, fold.held_out, fold.labels, some, measure),
    }


def gradients_at_targets(
    partition: PartitionData,
    decisions: Decisions,
    numbers: Numbers,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Gradients of the chosen fit at the targets that have these numbers."""
    field = partition.field(decisions.update, at_targets, at_halo)
    here = partition.target_number[np.isin(partition.target_number, numbers)]
    points = np.searchsorted(partition.number, here)
    gradients, sample_weight = gradients_in_field(field, decisions.choice, points)
    return {"number": here, "gradients": gradients, "sample_weight": sample_weight}


def final_fits_at_targets(partition: PartitionData, decisions: Decisions, stage: Stage) -> Table:
    """Make the final fits at the targets, each without its own point."""
    fold = partition.fold
    loo, factors = leave_one_out_fits(decisions, fold.data, fold.targets, stage.shape, SILENT)
    return {
        "residuals": loo.residuals,
        "noise": loo.noise,
        "gradients": loo.gradients,
        "factors": factors,
    }


def spacing_at_targets(partition: PartitionData, numbers: Numbers) -> Table:
    """Distances of the targets that have these numbers to their third nearest other row."""
    here = np.isin(partition.target_number, numbers)
    found = spacing(partition.fold.data, partition.targets[here])
    return {"number": partition.target_number[here], "spacing": found}


def residual_scores(
    partition: PartitionData, stage: Stage, loo: Table, noise_in_halo: list[Array]
) -> Array:
    """Leave-one-out residuals (m, K) of the targets, divided by their expected size."""
    fold = partition.fold
    variances = partition.at_all_rows(loo["noise"], noise_in_halo)
    noise = noise_around(fold.data, fold.targets, stage.shape, variances, SILENT)
    return score_residuals(loo["residuals"], expect_deviation(noise, loo["factors"]))


PilotTask = tuple[Table, Callable[[int, int], Array]]


def pilot_fits(
    table: Table,
    halo: list[Table],
    numbers: Numbers,
    n_total_and_options: tuple[int, DataOptions],
    grid: tuple[tuple[float, ...], tuple[float, ...], bool],
) -> PilotTask:
    """Pilot fits at the rows of a partition that have these numbers: sizes, ridges, with gradients."""
    rest = take(table, ~table["held_out"])
    together = merge_sorted([rest, *halo])
    targets = rest["number"][np.isin(rest["number"], numbers)]
    at = np.searchsorted(together["number"], targets)
    fits = fit_pilot(local_data(together, *n_total_and_options), at, *grid)
    return {
        "number": targets,
        "squares": fits.squares,
        "sample_weight": fits.sample_weight,
    }, fits.gradients


def pilot_squares(fits: PilotTask) -> Table:
    """Squared residuals of pilot fits, with numbers and weights."""
    return fits[0]


def pilot_gradients(fits: PilotTask, size: int, ridge: int) -> Table:
    """Gradients of the pilot fits of one size and ridge."""
    return {"number": fits[0]["number"], "gradients": fits[1](size, ridge)}


def table_for_queries(table: Table, at_targets: list[Table], loo: Table, score: Array) -> Table:
    """Put together all that queries need to know of a partition."""
    found = take(table, slice(None), ("number", "rows", "labels", "sample_weight"))
    for t, step in enumerate(at_targets):
        found |= {f"gradients_{t}": step["gradients"], f"errors_{t}": step["errors"]}
    found |= {f"loo_{name}": loo[name] for name in ("residuals", "noise", "gradients")}
    return found | {"score": score}
