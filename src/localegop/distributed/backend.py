"""The fit on a cluster: what :mod:`localegop._fit.plan` asks for, done in partitions.

Partitions send each other gradients and noise at the rows of their halos, and sums to the process that
fits; all else stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField, best_ridge
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Rules, Stage
from localegop._fit.plan import learned, refined_gradients
from localegop._predict.model import Model
from localegop._progress import Progress
from localegop._selection.holdout import Measure, at_guests
from localegop._selection.isotropic_baseline import isotropic_errors
from localegop._selection.search_grid import Fold, Menu, Tested, tested_without
from localegop.distributed import tasks
from localegop.distributed.partitions import (
    HaloExchange,
    Layout,
    Numbers,
    PartitionedData,
    lay_out,
    merge_column,
    rank_to_number,
)
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table
from localegop.distributed.tasks import HalfStep, PartitionData

Array = NDArray[np.float64]


@dataclass
class PartitionedField:
    """Gradients at the rows of all partitions, one set for each step, and copies of them in the halos."""

    data: PartitionedData
    rules: Rules
    ridges: tuple[float, ...]
    layout: Layout
    partitions: list[Future[PartitionData]]
    at_targets: list[list[Future[Table]]] = field(default_factory=list)  # by step and partition
    at_halos: list[list[list[Future[Array]]]] = field(default_factory=list)  # and by exchange

    @classmethod
    def on(cls, data: PartitionedData, rules: Rules, ridges: tuple[float, ...]) -> PartitionedField:
        """Field of data that has learned nothing yet."""
        layout, cluster = lay_out(data), data.cluster
        partitions = [
            cluster.submit(
                tasks.prepare_partition,
                partition.table,
                [exchange.table for exchange in exchanges],
                (data.n, data.source.n),
                data.options,
                data.row_transform.held_out_excluded,
            )
            for partition, exchanges in zip(layout.partitions, layout.exchanges, strict=True)
        ]
        used = [
            [
                HaloExchange(
                    exchange.owner,
                    cluster.submit(tasks.used_positions, partition, i, exchange.positions),
                    None,
                )
                for i, exchange in enumerate(exchanges)
            ]
            for partition, exchanges in zip(partitions, layout.exchanges, strict=True)
        ]
        return cls(data, rules, ridges, replace(layout, exchanges=used), partitions)

    @property
    def target_counts(self) -> list[int]:
        """Number of points to learn at in each partition."""
        return [partition.n_targets for partition in self.layout.partitions]

    def learn(
        self, n_iter: int, progress: Progress, *, onward: bool
    ) -> list[Future[Stage]] | list[Future[HalfStep]]:
        """Run the recursion; with ``onward``, return the stages that the last gradients lead to."""
        cluster, common = self.data.cluster, (self.rules, self.ridges)
        if n_iter == 0:
            return cluster.each(tasks.first_stage, self.partitions)
        half_steps = cluster.each(tasks.first_half_step, self.partitions, *common)
        for t in range(n_iter):
            passes = 1.0 if t == 0 else 2.0
            sums = cluster.gather(
                cluster.each(tasks.error_sums, half_steps),
                progress,
                [passes * count for count in self.target_counts],
                f"fit: step {t + 1} of {n_iter}",
            )
            self.at_targets.append(cluster.each(tasks.keep_ridge, half_steps, best_ridge(sums)))
            self.at_halos.append(self.exchange(self.at_targets[t], "gradients"))
            if t == n_iter - 1 and not onward:
                break
            step: Callable[..., HalfStep | Stage] = (
                tasks.next_half_step if t < n_iter - 1 else tasks.next_stage
            )
            half_steps = [
                cluster.submit(step, partition, half_step, *common, at_targets, at_halo)
                for partition, half_step, at_targets, at_halo in zip(
                    self.partitions, half_steps, self.at_targets[t], self.at_halos[t], strict=True
                )
            ]
        return half_steps

    def exchange(self, values: list[Future[Table]], name: str) -> list[list[Future[Array]]]:
        """Send values to the halos: for each partition, those at the rows of each of its exchanges."""
        cluster, partitions = self.data.cluster, self.layout.partitions
        return [
            [
                cluster.submit(
                    tasks.halo_values,
                    values[exchange.owner],
                    name,
                    exchange.positions,
                    partitions[exchange.owner].table,
                )
                for exchange in exchanges
            ]
            for exchanges in self.layout.exchanges
        ]

    def steps_at(self, p: int, count: int) -> tuple[list[Future[Table]], list[list[Future[Array]]]]:
        """Gradients of the first steps in partition p: at its targets and in its halo."""
        return [step[p] for step in self.at_targets[:count]], [step[p] for step in self.at_halos[:count]]


@tested_without.register
def _(
    data: PartitionedData,
    rules: Rules,
    menu: Menu,
    gradient_ridges: tuple[float, ...],
    held_out: Numbers,
    progress: Progress,
    axes: Array | None = None,
) -> Tested:
    rest = data.without(held_out)
    if axes is None:
        rest = replace(rest, row_transform=replace(rest.row_transform, held_out_excluded=False))
    else:
        rest = rest.turned(axes)
    field = PartitionedField.on(rest, rules, gradient_ridges)
    field.learn(max(menu.steps), progress, onward=False)
    cluster = data.cluster
    errors = [
        cluster.submit(
            tasks.errors_at_held_out,
            partition,
            rules,
            gradient_ridges,
            menu,
            *field.steps_at(p, max(menu.steps)),
        )
        for p, partition in enumerate(field.partitions)
    ]
    amount = 2.0 * len(menu.steps) * len(held_out) / len(errors)
    found = cluster.gather(errors, progress, [amount] * len(errors), "fit: errors at held-out points")
    errors_at = np.ascontiguousarray(np.moveaxis(merge_column(found, "errors"), 0, -1))
    return Tested(errors_at, merge_column(found, "sample_weight"), field, None)


@at_guests.register
def _(field: PartitionedField, guests: Fold | None, every: int, measure: Measure) -> Array:
    cluster, numbers = field.data.cluster, field.data.row_transform.held_out[::every]
    found = cluster.gather(
        [
            cluster.submit(
                tasks.measure_at_held_out,
                partition,
                field.rules,
                field.ridges,
                numbers,
                measure,
                *field.steps_at(p, measure.last_step),
            )
            for p, partition in enumerate(field.partitions)
        ]
    )
    return merge_column(found, "measure")


@isotropic_errors.register
def _(data: PartitionedData, rules: Rules, menu: Menu, held_out: Numbers) -> tuple[Array, Array]:
    rest, cluster = data.without(held_out), data.cluster
    layout = lay_out(rest, held_out)
    found = cluster.gather(
        [
            cluster.submit(
                tasks.isotropic_errors_at_held_out,
                partition.table,
                [exchange.table for exchange in exchanges],
                (rest.n, rest.options),
                rules,
                menu,
            )
            for partition, exchanges in zip(layout.partitions, layout.exchanges, strict=True)
        ]
    )
    errors = np.ascontiguousarray(np.moveaxis(merge_column(found, "errors"), 0, -1))
    return errors, merge_column(found, "sample_weight")


@refined_gradients.register
def _(field: PartitionedField, model: Model, points: Numbers) -> tuple[Array, Array]:
    cluster, slim = field.data.cluster, without_data(model)
    numbers = rank_to_number(points, field.data.row_transform.held_out)
    found = cluster.gather(
        [
            cluster.submit(
                tasks.refine_gradients,
                partition,
                field.rules,
                field.ridges,
                slim,
                numbers,
                *field.steps_at(p, model.choice.step),
            )
            for p, partition in enumerate(field.partitions)
        ]
    )
    return merge_column(found, "gradients"), merge_column(found, "sample_weight")


def without_data(model: Model) -> Model:
    """Model without its data, small enough to be sent along with tasks."""
    return replace(model, data=cast(LocalData, None), field=None, after=None, calibration=None)


@dataclass(frozen=True)
class LearnedField:
    """What a fit leaves on the cluster: the splits of space, and a table for each partition."""

    splits: Future[Splits]
    tables: list[Future[Table]]
    boxes: list[int]  # of the splits, one for each table
    steps: int


def learned_parts(model: Model) -> tuple[PartitionedData, LearnedField]:
    """Return the data and field of a model that was fitted on a cluster."""
    data, field = model.data, model.field
    assert isinstance(data, PartitionedData) and isinstance(field, LearnedField)
    return data, field


def with_learned_parts(model: Model, data: PartitionedData, field: LearnedField) -> Model:
    """Model with data and field that stay on a cluster."""
    return replace(model, data=cast(LocalData, data), field=cast(GradientField, field))


@learned.register
def _(data: PartitionedData, model: Model, progress: Progress) -> Model:
    cluster, slim = data.cluster, without_data(model)
    field = PartitionedField.on(data, model.rules, model.settings.ridges)
    stages = field.learn(model.choice.step, progress, onward=True)
    pairs = list(zip(field.partitions, stages, strict=True))
    loo = [cluster.submit(tasks.leave_one_out_fits, partition, slim, stage) for partition, stage in pairs]
    noise = field.exchange(loo, "noise")
    scores = [
        cluster.submit(tasks.residual_scores, partition, slim, stage, loo[p], noise[p])
        for p, (partition, stage) in enumerate(pairs)
    ]
    tables = [
        cluster.submit(
            tasks.table_for_queries,
            partition.table,
            field.steps_at(p, model.choice.step)[0],
            loo[p],
            scores[p],
        )
        for p, partition in enumerate(field.layout.partitions)
    ]
    done = cluster.each(_wait_for, tables)
    amounts = [3.0 * count for count in field.target_counts]
    cluster.gather(done, progress, amounts, "fit: final fits")
    partitioning = field.layout.partitioning
    left = LearnedField(partitioning.splits, tables, partitioning.boxes, model.choice.step)
    # The tables have all that is needed later.
    return with_learned_parts(model, replace(data, source=replace(data.source, ranges=[])), left)


def _wait_for(table: Table) -> None:
    """Finish when the table is there."""
