"""The fit on a cluster: what :mod:`localegop._fit.plan` asks for, done in partitions.

Between partitions go the gradients, residuals and noise at borrowed rows, and sums to the process that
fits; all else stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._engine.gradient_field import best_ridge
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Rules
from localegop._fit.plan import learned, refined_gradients
from localegop._predict.model import Model
from localegop._progress import Progress
from localegop._selection.holdout import Measure, at_guests
from localegop._selection.isotropic_baseline import isotropic_errors
from localegop._selection.search_grid import Fold, Menu, Tested, tested_without
from localegop.distributed import tasks as grounds
from localegop.distributed.partitions import (
    Arrangement,
    Loan,
    Numbers,
    SpreadData,
    arranged,
    by_number,
    rank_to_number,
)
from localegop.distributed.tables import Table
from localegop.distributed.tasks import Ground

Array = NDArray[np.float64]


@dataclass
class SpreadField:
    """Gradients at the rows of all partitions, one set per step, and copies at borrowed rows."""

    data: SpreadData
    rules: Rules
    ridges: tuple[float, ...]
    scene: Arrangement
    grounds: list[Future[Ground]]
    own: list[list[Future[Table]]] = field(default_factory=list)  # by step and partition
    borrowed: list[list[list[Future[Array]]]] = field(default_factory=list)

    @classmethod
    def on(cls, data: SpreadData, rules: Rules, ridges: tuple[float, ...]) -> SpreadField:
        """Field of data that has learned nothing yet."""
        scene, cluster = arranged(data), data.cluster
        among, apart = (data.n, data.source.n), data.frame.apart
        here = [
            cluster.submit(
                grounds.ground,
                partition.table,
                [loan.table for loan in loans],
                among,
                data.options,
                apart,
            )
            for partition, loans in zip(scene.partitions, scene.loans, strict=True)
        ]
        loans = [
            [
                Loan(loan.lender, cluster.submit(grounds.kept_positions, ground, i, loan.positions), None)
                for i, loan in enumerate(some)
            ]
            for ground, some in zip(here, scene.loans, strict=True)
        ]
        return cls(data, rules, ridges, replace(scene, loans=loans), here)

    @property
    def counts(self) -> list[int]:
        """Numbers of points to learn at."""
        return [partition.rest for partition in self.scene.partitions]

    def learn(self, n_iter: int, progress: Progress, *, onward: bool) -> list[Future[Any]]:
        """Run the recursion; with ``onward``, the stages that the last gradients lead to."""
        cluster, common = self.data.cluster, (self.rules, self.ridges)
        if n_iter == 0:
            return cluster.each(grounds.first_stage, self.grounds)
        halves = cluster.each(grounds.first_half, self.grounds, *common)
        for t in range(n_iter):
            passes = 1.0 if t == 0 else 2.0
            sums = cluster.gather(
                cluster.each(grounds.half_sums, halves),
                progress,
                [passes * count for count in self.counts],
                f"fit: step {t + 1} of {n_iter}",
            )
            self.own.append(cluster.each(grounds.chosen, halves, best_ridge(sums)))
            self.borrowed.append(self.exchanged(self.own[t], "gradients"))
            if t == n_iter - 1 and not onward:
                break
            step = grounds.next_half if t < n_iter - 1 else grounds.next_stage
            halves = [
                cluster.submit(step, here, half, *common, own, borrowed)
                for here, half, own, borrowed in zip(
                    self.grounds, halves, self.own[t], self.borrowed[t], strict=True
                )
            ]
        return halves

    def exchanged(self, values: list[Future[Table]], name: str) -> list[list[Future[Array]]]:
        """Values at the rows that each partition has borrowed."""
        cluster, partitions = self.data.cluster, self.scene.partitions
        return [
            [
                cluster.submit(
                    grounds.lent_values,
                    values[loan.lender],
                    name,
                    loan.positions,
                    partitions[loan.lender].table,
                )
                for loan in loans
            ]
            for loans in self.scene.loans
        ]

    def steps_at(self, p: int, count: int) -> tuple[list[Future[Table]], list[list[Future[Array]]]]:
        """Return what partition p knows of the first steps."""
        return [step[p] for step in self.own[:count]], [step[p] for step in self.borrowed[:count]]


@tested_without.register
def _(
    data: SpreadData,
    rules: Rules,
    menu: Menu,
    gradient_ridges: tuple[float, ...],
    held_out: Numbers,
    progress: Progress,
    axes: Array | None = None,
) -> Tested:
    rest = data.without(held_out)
    after_lists = replace(rest, frame=replace(rest.frame, apart=False))
    rest = after_lists if axes is None else rest.turned(axes)
    field = SpreadField.on(rest, rules, gradient_ridges)
    field.learn(max(menu.steps), progress, onward=False)
    cluster = data.cluster
    errors = [
        cluster.submit(
            grounds.guest_errors, here, rules, gradient_ridges, menu, *field.steps_at(p, max(menu.steps))
        )
        for p, here in enumerate(field.grounds)
    ]
    amount = 2.0 * len(menu.steps) * len(held_out) / len(errors)
    found = cluster.gather(errors, progress, [amount] * len(errors), "fit: choice")
    errors_at = np.ascontiguousarray(np.moveaxis(by_number(found, "errors"), 0, -1))
    return Tested(errors_at, by_number(found, "share"), field, None)


@at_guests.register
def _(field: SpreadField, guests: Fold | None, every: int, measure: Measure) -> Array:
    cluster, numbers = field.data.cluster, field.data.frame.held_out[::every]
    found = cluster.gather(
        [
            cluster.submit(
                grounds.guest_measure,
                here,
                field.rules,
                field.ridges,
                numbers,
                measure,
                *field.steps_at(p, measure.last_step),
            )
            for p, here in enumerate(field.grounds)
        ]
    )
    return by_number(found, "measure")


@isotropic_errors.register
def _(data: SpreadData, rules: Rules, menu: Menu, held_out: Numbers) -> tuple[Array, Array]:
    rest, cluster = data.without(held_out), data.cluster
    scene = arranged(rest, held_out)
    found = cluster.gather(
        [
            cluster.submit(
                grounds.isotropic_guests,
                partition.table,
                [loan.table for loan in loans],
                (rest.n, rest.options),
                rules,
                menu,
            )
            for partition, loans in zip(scene.partitions, scene.loans, strict=True)
        ]
    )
    return np.ascontiguousarray(np.moveaxis(by_number(found, "errors"), 0, -1)), by_number(found, "share")


@refined_gradients.register
def _(field: SpreadField, model: Model, points: Numbers) -> tuple[Array, Array]:
    cluster, head = field.data.cluster, bare(model)
    numbers = rank_to_number(points, field.data.frame.held_out)
    found = cluster.gather(
        [
            cluster.submit(
                grounds.refined,
                here,
                field.rules,
                field.ridges,
                head,
                numbers,
                *field.steps_at(p, model.choice.step),
            )
            for p, here in enumerate(field.grounds)
        ]
    )
    return by_number(found, "gradients"), by_number(found, "share")


def bare(model: Model) -> Model:
    """Model without its data, to be sent along with tasks."""
    return replace(model, data=cast(LocalData, None), field=None, after=None, calibration=None)


@dataclass(frozen=True)
class LearnedField:
    """What a fit leaves on the cluster: splits of space, and a table for each partition."""

    splits: Future[Any]
    tables: list[Future[Table]]
    numbers: list[int]  # the boxes of the splits that they belong to
    steps: int


@learned.register
def _(data: SpreadData, model: Model, progress: Progress) -> Model:
    cluster, head = data.cluster, bare(model)
    field = SpreadField.on(data, model.rules, model.settings.ridges)
    stages = field.learn(model.choice.step, progress, onward=True)
    pairs = list(zip(field.grounds, stages, strict=True))
    after = [cluster.submit(grounds.after_fits, here, head, stage) for here, stage in pairs]
    noise = field.exchanged(after, "noise")
    scores = [
        cluster.submit(grounds.scores, here, head, stage, after[p], noise[p])
        for p, (here, stage) in enumerate(pairs)
    ]
    tables = [
        cluster.submit(
            grounds.learned_table,
            partition.table,
            field.steps_at(p, model.choice.step)[0],
            after[p],
            scores[p],
        )
        for p, partition in enumerate(field.scene.partitions)
    ]
    done = cluster.each(_done, tables)
    cluster.gather(done, progress, [3.0 * count for count in field.counts], "fit: last fits")
    placed = field.scene.placed
    left = LearnedField(placed.splits, tables, placed.numbers, model.choice.step)
    slim = replace(data, source=replace(data.source, parts=[]))  # the tables have all that is needed
    return replace(model, data=cast(LocalData, slim), field=cast(Any, left))


def _done(table: Table) -> None:
    """Be there when the table is."""
