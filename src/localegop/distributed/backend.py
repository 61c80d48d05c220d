"""The work of a fit on a cluster; see :class:`localegop._fit.backend.Backend`.

Partitions send each other gradients and noise at the rows of their halos, and sums to the process that
fits; all else stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.gradient_field import best_ridge
from localegop._engine.recursion import MetricUpdate, Stage
from localegop._engine.settings import Settings
from localegop._fit.backend import PilotFits
from localegop._fit.pilot_fits import every_kth_point
from localegop._predict.decisions import Decisions
from localegop._predict.support import reach_from
from localegop._progress import Progress
from localegop._selection.folds import FoldResult
from localegop._selection.holdout import Measure
from localegop._selection.search_grid import SearchGrid
from localegop.distributed import tasks
from localegop.distributed.partitions import (
    HaloExchange,
    Layout,
    Numbers,
    PartitionedData,
    RowTransform,
    lay_out,
    merge_column,
    rank_to_number,
    without_held_out,
)
from localegop.distributed.sorting import PartitionedRows
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table
from localegop.distributed.tasks import HalfStep, PartitionData

Array = NDArray[np.float64]
# For each step, values at the targets of a partition and in its halo. In quotes: in old versions of dask a
# Future takes no type.
Steps: TypeAlias = "tuple[list[Future[Table]], list[list[Future[Array]]]]"


@dataclass(frozen=True)
class PreparedData:
    """Data in partitions, each with its halo, ready to learn."""

    data: PartitionedData
    layout: Layout
    partitions: list[Future[PartitionData]]

    @classmethod
    def of(cls, data: PartitionedData) -> PreparedData:
        """Let every partition prepare its rows."""
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
        return cls(data, replace(layout, exchanges=used), partitions)

    @property
    def target_counts(self) -> list[int]:
        """Number of points to learn at in each partition."""
        return [partition.n_targets for partition in self.layout.partitions]

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


@dataclass(frozen=True)
class PartitionedField:
    """Gradients at the rows of all partitions, one set for each step, and copies of them in the halos."""

    prepared: PreparedData
    update: MetricUpdate
    at_targets: list[list[Future[Table]]]  # by step and partition
    at_halos: list[list[list[Future[Array]]]]  # and by exchange

    def steps_at(self, p: int, count: int) -> Steps:
        """Gradients of the first steps in partition p: at its targets and in its halo."""
        return [step[p] for step in self.at_targets[:count]], [step[p] for step in self.at_halos[:count]]


def learn_field(
    prepared: PreparedData,
    update: MetricUpdate,
    ridges: tuple[float, ...],
    n_iter: int,
    progress: Progress,
    *,
    onward: bool,
) -> tuple[PartitionedField, list[Future[Stage]] | list[Future[HalfStep]]]:
    """Run the recursion; with ``onward``, the second are the stages that the last gradients lead to."""
    cluster, common, counts = prepared.data.cluster, (update, ridges), prepared.target_counts
    field = PartitionedField(prepared, update, [], [])
    if n_iter == 0:
        return field, cluster.each(tasks.first_stage, prepared.partitions)
    progress.expect((2 * n_iter - 1) * sum(counts))
    half_steps = cluster.each(tasks.first_half_step, prepared.partitions, *common)
    at_targets, at_halos = [], []
    for t in range(n_iter):
        passes = 1.0 if t == 0 else 2.0
        sums = cluster.gather(
            cluster.each(tasks.error_sums, half_steps),
            progress,
            [passes * count for count in counts],
            f"step {t + 1} of {n_iter}",
        )
        at_targets.append(cluster.each(tasks.keep_ridge, half_steps, best_ridge(sums)))
        at_halos.append(prepared.exchange(at_targets[t], "gradients"))
        if t == n_iter - 1 and not onward:
            break
        step: Callable[..., HalfStep | Stage] = tasks.next_half_step if t < n_iter - 1 else tasks.next_stage
        half_steps = [
            cluster.submit(step, partition, half_step, *common, targets, halo)
            for partition, half_step, targets, halo in zip(
                prepared.partitions, half_steps, at_targets[t], at_halos[t], strict=True
            )
        ]
    return replace(field, at_targets=at_targets, at_halos=at_halos), half_steps


@dataclass(frozen=True)
class LearnedField:
    """What a fit leaves on the cluster: the splits of space, and a table for each partition."""

    splits: Future[Splits]
    tables: list[Future[Table]]
    boxes: list[int]  # of the splits, one for each table
    steps: int


@dataclass(frozen=True)
class PartitionedModel:
    """A fitted model whose rows and field stay on the cluster."""

    decisions: Decisions
    data: PartitionedData
    field: LearnedField


class ClusterBackend:
    """The work of a fit to distinct rows on a cluster."""

    def __init__(self, rows: PartitionedRows) -> None:
        self.rows = rows
        self.cluster = rows.cluster

    def in_units(self, units: Units, settings: Settings) -> PartitionedData:
        """See :class:`Backend`."""
        row_transform = RowTransform(units, None, np.zeros(0, dtype=np.int64))
        return PartitionedData(self.rows, row_transform, settings.data_options(units))

    def extent(self, data: PartitionedData) -> Extent:
        """See :class:`Backend`."""
        return data.source.extent("rows", without_held_out, data.row_transform)

    def pilot_fits(
        self,
        data: PartitionedData,
        points: Numbers,
        sizes: tuple[float, ...],
        ridges: tuple[float, ...],
        gradients: bool,
    ) -> PilotFits:
        """See :class:`Backend`."""
        cluster, numbers = self.cluster, rank_to_number(points, data.row_transform.held_out)
        layout = lay_out(data, numbers)
        fits = [
            cluster.submit(
                tasks.pilot_fits,
                partition.table,
                [exchange.table for exchange in exchanges],
                numbers,
                (data.n, data.options),
                (sizes, ridges, gradients),
            )
            for partition, exchanges in zip(layout.partitions, layout.exchanges, strict=True)
        ]
        found = cluster.gather(cluster.each(tasks.pilot_squares, fits))
        return PilotFits(
            merge_column(found, "squares"),
            merge_column(found, "sample_weight"),
            lambda size, ridge: merge_column(
                cluster.gather(cluster.each(tasks.pilot_gradients, fits, size, ridge)), "gradients"
            ),
        )

    def learn_without(
        self,
        data: PartitionedData,
        update: MetricUpdate,
        grid: SearchGrid,
        held_out: Numbers,
        axes: Array | None,
        progress: Progress,
    ) -> FoldResult[PartitionedField]:
        """See :class:`Backend`."""
        rest = data.without(held_out)
        if axes is None:
            rest = replace(rest, row_transform=replace(rest.row_transform, held_out_excluded=False))
        else:
            rest = rest.rotated(axes)
        learning, testing = progress.stages((progress.title, 2.0), (progress.title, 1.0))
        prepared, last = PreparedData.of(rest), max(grid.steps)
        field, _ = learn_field(prepared, update, grid.ridges, last, learning, onward=False)
        errors = [
            self.cluster.submit(tasks.errors_at_held_out, partition, update, grid, *field.steps_at(p, last))
            for p, partition in enumerate(prepared.partitions)
        ]
        testing.expect(len(errors))
        found = self.cluster.gather(errors, testing, [1.0] * len(errors), "errors at held-out points")
        return FoldResult(
            np.ascontiguousarray(np.moveaxis(merge_column(found, "errors"), 0, -1)),
            merge_column(found, "sample_weight"),
            rest.dimension,
            rest.n,
            rest.max_visible,
            field,
        )

    def evaluate_at_held_out(
        self, fold: FoldResult[PartitionedField], measure: Measure, every: int
    ) -> Array:
        """See :class:`Backend`."""
        field = fold.learned
        numbers = field.prepared.data.row_transform.held_out[::every]
        found = self.cluster.gather(
            [
                self.cluster.submit(
                    tasks.measure_at_held_out,
                    partition,
                    field.update,
                    numbers,
                    measure,
                    *field.steps_at(p, measure.last_step),
                )
                for p, partition in enumerate(field.prepared.partitions)
            ]
        )
        return merge_column(found, "measure")

    def isotropic_errors(
        self, data: PartitionedData, update: MetricUpdate, grid: SearchGrid, held_out: Numbers
    ) -> tuple[Array, Array]:
        """See :class:`Backend`."""
        rest = data.without(held_out)
        layout = lay_out(rest, held_out)
        found = self.cluster.gather(
            [
                self.cluster.submit(
                    tasks.isotropic_errors_at_held_out,
                    partition.table,
                    [exchange.table for exchange in exchanges],
                    (rest.n, rest.options),
                    update,
                    grid,
                )
                for partition, exchanges in zip(layout.partitions, layout.exchanges, strict=True)
            ]
        )
        errors = np.ascontiguousarray(np.moveaxis(merge_column(found, "errors"), 0, -1))
        return errors, merge_column(found, "sample_weight")

    def gradients_at(
        self, fold: FoldResult[PartitionedField], decisions: Decisions, points: Numbers
    ) -> tuple[Array, Array]:
        """See :class:`Backend`."""
        field = fold.learned
        numbers = rank_to_number(points, field.prepared.data.row_transform.held_out)
        found = self.cluster.gather(
            [
                self.cluster.submit(
                    tasks.gradients_at_targets,
                    partition,
                    decisions,
                    numbers,
                    *field.steps_at(p, decisions.choice.step),
                )
                for p, partition in enumerate(field.prepared.partitions)
            ]
        )
        return merge_column(found, "gradients"), merge_column(found, "sample_weight")

    def learn(self, data: PartitionedData, decisions: Decisions, progress: Progress) -> PartitionedModel:
        """See :class:`Backend`."""
        cluster, steps = self.cluster, decisions.choice.step
        learning, finishing = progress.stages(("learning", 1.0 + 2.0 * steps), ("last fits", 2.0))
        prepared = PreparedData.of(data)
        ridges = decisions.settings.ridges
        field, stages = learn_field(prepared, decisions.update, ridges, steps, learning, onward=True)
        pairs = list(zip(prepared.partitions, stages, strict=True))
        loo = [
            cluster.submit(tasks.final_fits_at_targets, partition, decisions, stage)
            for partition, stage in pairs
        ]
        noise = prepared.exchange(loo, "noise")
        scores = [
            cluster.submit(tasks.residual_scores, partition, stage, loo[p], noise[p])
            for p, (partition, stage) in enumerate(pairs)
        ]
        tables = [
            cluster.submit(
                tasks.table_for_queries,
                partition.table,
                field.steps_at(p, steps)[0],
                loo[p],
                scores[p],
            )
            for p, partition in enumerate(prepared.layout.partitions)
        ]
        finishing.expect(len(tables))
        cluster.gather(cluster.each(_wait_for, tables), finishing, [1.0] * len(tables), "last fits")
        partitioning = prepared.layout.partitioning
        left = LearnedField(partitioning.splits, tables, partitioning.boxes, steps)
        # The tables have all that is needed later.
        slim = replace(data, source=replace(data.source, ranges=[]))
        return PartitionedModel(replace(decisions, reach=self._reach(prepared)), slim, left)

    def _reach(self, prepared: PreparedData) -> float:
        """How far from the data queries may be."""
        numbers = every_kth_point(prepared.data.n)
        found = self.cluster.gather(
            self.cluster.each(tasks.spacing_at_targets, prepared.partitions, numbers)
        )
        return reach_from(merge_column(found, "spacing"))


def _wait_for(table: Table) -> None:
    """Finish when the table is there."""
