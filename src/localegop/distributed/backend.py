"""The work of a fit on a cluster; see :class:`localegop._fit.backend.Backend`.

Rows stay in partitions on the cluster, and work around centers is done there. What is learned, at some
hundred or thousand anchors, is in the process that fits, as are all decisions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._predict.decisions import Decisions
from localegop._predict.later import Later
from localegop._predict.uncertainty import Diagnostics
from localegop.distributed.models import PartitionedModel
from localegop.distributed.partitions import (
    Numbers,
    PartitionedData,
    RowTransform,
    rank_to_number,
    transform_rest,
)
from localegop.distributed.sites import ClusterSite, gather_rows, make_site, rows_in_process
from localegop.distributed.sorting import PartitionedRows

Array = NDArray[np.float64]


class ClusterBackend:
    """The work of a fit to distinct rows on a cluster."""

    def __init__(self, rows: PartitionedRows, robustness: Array | None = None) -> None:
        self._given, self.robustness = rows, robustness
        self.rows = rows if robustness is None else rows.reweighted(robustness)

    def reweighted(self, robustness: Array) -> ClusterBackend:
        """See :class:`Backend`."""
        return ClusterBackend(self._given, robustness)

    def in_units(self, units: Units, settings: Settings) -> PartitionedData:
        """See :class:`Backend`."""
        return PartitionedData(self.rows, RowTransform(units), settings.data_options(units))

    def extent(self, data: PartitionedData) -> Extent:
        """See :class:`Backend`."""
        return data.source.extent("rows", transform_rest, data.row_transform, data.held_out)

    def own_site(self, data: PartitionedData, points: Numbers) -> ClusterSite:
        """See :class:`Backend`."""
        numbers = rank_to_number(points, data.held_out)
        return make_site(data, data.partitioning_for(len(points)), numbers, own=True)

    def hold_out(
        self, data: PartitionedData, held_out: NDArray[np.intp], tested: int | None = None
    ) -> tuple[PartitionedData, ClusterSite]:
        """See :class:`Backend`."""
        rest, at = data.without(held_out), held_out[:tested]
        return rest, make_site(rest, rest.partitioning_for(len(at)), at, own=False)

    def gather(self, data: PartitionedData, points: Numbers) -> LocalData:
        """See :class:`Backend`."""
        return gather_rows(data, data.partitioning_for(len(points)), rank_to_number(points, data.held_out))

    def as_data(self, site: Site) -> LocalData:
        """See :class:`Backend`."""
        assert isinstance(site, ClusterSite)
        return rows_in_process(site)

    def model(
        self,
        data: PartitionedData,
        decisions: Decisions,
        field: GradientField,
        diagnostics: Later[Diagnostics],
    ) -> PartitionedModel:
        """See :class:`Backend`."""
        found, known = data.partitioning, diagnostics()  # now, while the rows are on the cluster
        assert known.loo is not None and known.calibration is not None
        # The tables have all that is needed later.
        slim = replace(data, source=replace(data.source, ranges=[]), in_old_axes=None, origin=None)
        return PartitionedModel(
            decisions,
            slim,
            found.splits,
            found.tables,
            found.boxes,
            field,
            known.loo,
            known.calibration,
            self.robustness,
        )
