"""Bodies of the tasks that learn: each works on the rows of one partition and those of its halo.

The work itself is that of a fit in one process, done at some of the points: the targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import FieldLearner, GradientField
from localegop._engine.recursion import Recursion, Rules, Stage, isotropic
from localegop._fit.plan import aftermath, noise_around, refined_gradients
from localegop._predict.model import Model
from localegop._predict.uncertainty import expected_deviation, scores_of
from localegop._progress import SILENT
from localegop._selection.holdout import Measure, at_some
from localegop._selection.isotropic_baseline import errors_of_guests
from localegop._selection.search_grid import Fold, Menu, fold_of, held_out_errors
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
        data, lists = self.fold.data, self.fold.candidates
        rows = 2 * (data.rows.nbytes + data.labels.nbytes + data.share.nbytes)
        return rows + self.number.nbytes + self.order.nbytes + (0 if lists is None else lists.__sizeof__())

    def at_all_rows(self, at_targets: Array, at_halo: list[Array]) -> Array:
        """Values at all rows, from those at the targets and those at the rows of each exchange."""
        return np.ascontiguousarray(np.concatenate([at_targets, *at_halo])[self.order])

    @property
    def targets(self) -> NDArray[np.intp]:
        """Positions of the points to learn at."""
        return self.fold.own

    @property
    def target_number(self) -> Numbers:
        """Numbers of the points to learn at."""
        return self.number[self.targets]

    def learner(self, rules: Rules, ridges: Ridges) -> FieldLearner:
        """Learner at the targets."""
        field = GradientField(self.fold.data, rules, ridges)
        return FieldLearner(field, self.targets, self.fold.candidates, SILENT)

    def field(
        self, rules: Rules, ridges: Ridges, at_targets: list[Table], at_halo: list[list[Array]]
    ) -> GradientField:
        """Field from the gradients of each step, at the targets and in the halo."""
        gradients = [
            self.at_all_rows(step["gradients"], halo)
            for step, halo in zip(at_targets, at_halo, strict=True)
        ]
        return GradientField(self.fold.data, rules, ridges, gradients)


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
    lists, center_lists = fold.candidates, fold.center_candidates
    assert lists is None or isinstance(lists, PackedLists)
    assert center_lists is None or isinstance(center_lists, PackedLists)
    used = _rows_in_use(fold, lists, center_lists)
    number = number[used]
    halo_numbers = [part["number"] for part in halo]
    halo_used = [np.flatnonzero(np.isin(part, number)) for part in halo_numbers]
    kept = [part[at] for part, at in zip(halo_numbers, halo_used, strict=True)]
    order = np.argsort(np.concatenate([table["number"][~held_out], *kept]), kind="stable")
    return PartitionData(
        _drop_unused_rows(fold, used, lists, center_lists),
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
    targets = np.searchsorted(together["number"], rest["number"])
    centers = np.ascontiguousarray(table["rows"][held_out])
    lists, center_lists = find_and_pack(data, data.rows[targets]), find_and_pack(data, centers)
    return together["number"], Fold(data, targets, lists, centers, table["labels"][held_out], center_lists)


def _fold_taking_out(
    table: Table, halo: list[Table], n_total: tuple[int, int], options: DataOptions
) -> tuple[Numbers, Fold]:
    """Numbers of the rows, and a fold whose held-out rows were taken out of the lists of neighbors."""
    together = merge_sorted([table, *halo])
    data = local_data(together, n_total[1], options)
    own_rows = np.searchsorted(together["number"], table["number"])
    out = np.flatnonzero(together["held_out"])
    fold = fold_of(data, own_rows, data.candidates(data.rows[own_rows]), out, n_total[0])
    lists, center_lists = (
        None if some is None else pack(some[: len(own_rows)])
        for some in (fold.candidates, fold.center_candidates)
    )
    fold = replace(fold, candidates=lists, center_candidates=center_lists)
    return together["number"][~together["held_out"]], fold


def _rows_in_use(
    fold: Fold, lists: PackedLists | None, center_lists: PackedLists | None
) -> NDArray[np.bool_]:
    """Which rows some center looks at, or are targets."""
    used = np.full(fold.data.n, lists is None)
    used[fold.own] = True
    for some in (lists, center_lists):
        if some is not None:
            some.mark(used)
    return used


def _drop_unused_rows(
    fold: Fold, used: NDArray[np.bool_], lists: PackedLists | None, center_lists: PackedLists | None
) -> Fold:
    """Leave out the rows of the halo that no center looks at: it is a little larger than needed."""
    if used.all():
        return fold
    assert lists is not None and center_lists is not None
    number = (np.cumsum(used) - 1).astype(np.int32)
    return replace(
        fold,
        data=fold.data.subset(np.flatnonzero(used), fold.data.among),
        own=number[fold.own].astype(np.int64),
        candidates=lists.renumber(number),
        center_candidates=center_lists.renumber(number),
    )


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


def first_half_step(partition: PartitionData, rules: Rules, ridges: Ridges) -> HalfStep:
    """Make the leave-one-out fits of step 0."""
    return _fit_step(partition, rules, ridges, None)


def _recursion(
    partition: PartitionData, learner: FieldLearner, rules: Rules, stage: Stage | None
) -> Recursion:
    data = partition.fold.data
    return Recursion(learner, rules, len(partition.targets), data.dimension, data.reachable, stage)


def _fit_step(partition: PartitionData, rules: Rules, ridges: Ridges, stage: Stage | None) -> HalfStep:
    learner = partition.learner(rules, ridges)
    recursion = _recursion(partition, learner, rules, stage)
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
    rules: Rules,
    ridges: Ridges,
    at_targets: Table,
    at_halo: list[Array],
) -> Stage:
    """Finish a step: average the gradients of the chosen ridge and move on to the next shapes."""
    learner = partition.learner(rules, ridges)
    recursion = _recursion(partition, learner, rules, half_step.stage)
    gradients = partition.at_all_rows(at_targets["gradients"], at_halo)
    recursion.move(learner.averages(gradients, *recursion.setting()), reuse=True)
    return recursion.stage


def next_half_step(
    partition: PartitionData,
    half_step: HalfStep,
    rules: Rules,
    ridges: Ridges,
    at_targets: Table,
    at_halo: list[Array],
) -> HalfStep:
    """Finish a step, and make the leave-one-out fits of the next one."""
    stage = next_stage(partition, half_step, rules, ridges, at_targets, at_halo)
    return _fit_step(partition, rules, ridges, stage)


def first_stage(partition: PartitionData) -> Stage:
    """Shapes where no step is taken."""
    return Stage(0, isotropic(len(partition.targets), partition.fold.data.dimension))


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
    rules: Rules,
    ridges: Ridges,
    menu: Menu,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Errors at the held-out points, which are along the first axis."""
    field = partition.field(rules, ridges, at_targets, at_halo)
    errors = held_out_errors(field, partition.fold, menu, SILENT)
    return {**partition.held_out, "errors": np.moveaxis(errors, -1, 0)}


def isotropic_errors_at_held_out(
    table: Table,
    halo: list[Table],
    n_total_and_options: tuple[int, DataOptions],
    rules: Rules,
    menu: Menu,
) -> Table:
    """Errors of fits without learned metrics at the held-out points, which are along the first axis."""
    out = table["held_out"]
    held_out = take(table, out, ("number", "sample_weight"))
    if not out.any():
        return {**held_out, "errors": np.zeros((0, *menu.counts))}
    data = local_data(merge_sorted([take(table, ~out), *halo]), *n_total_and_options)
    centers = np.ascontiguousarray(table["rows"][out])
    errors = errors_of_guests(data, rules, menu, centers, table["labels"][out])
    return {**held_out, "errors": np.moveaxis(errors, -1, 0)}


def measure_at_held_out(
    partition: PartitionData,
    rules: Rules,
    ridges: Ridges,
    numbers: Numbers,
    measure: Measure,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Measure several fits at the held-out points that have these numbers."""
    field = partition.field(rules, ridges, at_targets, at_halo)
    some = np.flatnonzero(np.isin(partition.held_out["number"], numbers))
    return {
        "number": partition.held_out["number"][some],
        "measure": at_some(field, partition.fold, some, measure),
    }


def refine_gradients(
    partition: PartitionData,
    rules: Rules,
    ridges: Ridges,
    model: Model,
    numbers: Numbers,
    at_targets: list[Table],
    at_halo: list[list[Array]],
) -> Table:
    """Gradients of the model's fit at the targets that have these numbers."""
    field = partition.field(rules, ridges, at_targets, at_halo)
    here = partition.target_number[np.isin(partition.target_number, numbers)]
    gradients, sample_weight = refined_gradients(field, model, np.searchsorted(partition.number, here))
    return {"number": here, "gradients": gradients, "sample_weight": sample_weight}


def leave_one_out_fits(partition: PartitionData, model: Model, stage: Stage) -> Table:
    """Make the final fits at the targets, each without its own point."""
    here = replace(model, data=partition.fold.data)
    fits, factors = aftermath(here, partition.targets, partition.fold.candidates, stage.shape, SILENT)
    return {
        "residuals": fits.residuals,
        "noise": fits.noise,
        "gradients": fits.gradients,
        "factors": factors,
    }


def residual_scores(
    partition: PartitionData, model: Model, stage: Stage, loo: Table, noise_in_halo: list[Array]
) -> Array:
    """Leave-one-out residuals (m, K) of the targets, divided by their expected size."""
    here, fold = replace(model, data=partition.fold.data), partition.fold
    variances = partition.at_all_rows(loo["noise"], noise_in_halo)
    noise = noise_around(here, partition.targets, fold.candidates, stage.shape, variances, SILENT)
    return scores_of(loo["residuals"], expected_deviation(noise, loo["factors"]))


def table_for_queries(table: Table, at_targets: list[Table], loo: Table, score: Array) -> Table:
    """Put together all that queries need to know of a partition."""
    found = take(table, slice(None), ("number", "rows", "labels", "sample_weight"))
    for t, step in enumerate(at_targets):
        found |= {f"gradients_{t}": step["gradients"], f"errors_{t}": step["errors"]}
    found |= {f"loo_{name}": loo[name] for name in ("residuals", "noise", "gradients")}
    return found | {"score": score}
