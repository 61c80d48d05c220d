"""Fitted models on a cluster: rows in partitions, and what every task that answers queries has to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._predict.decisions import Decisions, LooDiagnostics
from localegop._predict.uncertainty import Calibration
from localegop.distributed.halo import neighbors_needed
from localegop.distributed.partitions import DataOptions, PartitionedData
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QueryContext:
    """What queries have to know of a fit beside the rows."""

    decisions: Decisions
    options: DataOptions
    n: int
    boxes: tuple[int, ...]  # of the splits, one for each partition
    field: GradientField
    loo: LooDiagnostics

    @property
    def neighbors_needed(self) -> int:
        """How many of the nearest rows a query needs."""
        return neighbors_needed(self.options["max_neighbors"], self.field.dimension, self.n)


@dataclass(frozen=True)
class PartitionedModel:
    """A fitted model whose rows stay on the cluster.

    ``tables`` have the rows of the partitions, ``boxes`` the boxes of the splits that these are;
    ``robustness`` has the robustness weights (n,) of the distinct rows, None for one each.
    """

    decisions: Decisions
    data: PartitionedData
    splits: Future[Splits]
    tables: list[Future[Table]]
    boxes: list[int]
    field: GradientField
    loo: LooDiagnostics
    calibration: Calibration
    robustness: Array | None = None

    @property
    def overall_agop(self) -> Array:
        """AGOP (D, D) over the anchors, per standard deviation of the features."""
        return self.decisions.overall_agop(self.loo.gradients, self.field.anchors.sample_weight)

    @property
    def context(self) -> QueryContext:
        """What queries have to know beside the rows."""
        data = self.data
        return QueryContext(self.decisions, data.options, data.n, tuple(self.boxes), self.field, self.loo)

    @cached_property
    def context_there(self) -> Future[QueryContext]:
        """The same on the cluster, sent once for all queries."""
        return self.data.cluster.submit(_identity, self.context)


def _identity(context: QueryContext) -> QueryContext:
    return context
