"""The work of a fit in one process; see :class:`localegop._fit.backend.Backend`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._data.sums import Extent, measure_extent
from localegop._data.units import Units
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.settings import Settings
from localegop._engine.sites import LocalSite, Site
from localegop._fit.blend_choice import choose_blending
from localegop._predict.decisions import Decisions
from localegop._predict.later import Later
from localegop._predict.model import Model
from localegop._predict.uncertainty import Diagnostics

Array = NDArray[np.float64]


class ProcessBackend:
    """The work of a fit to distinct rows, in this process."""

    def __init__(self, rows: DistinctRows, robustness: Array | None = None) -> None:
        self._given, self.robustness = rows, robustness
        self.rows = rows if robustness is None else rows.reweighted(robustness)

    def reweighted(self, robustness: Array) -> ProcessBackend:
        """See :class:`Backend`."""
        return ProcessBackend(self._given, robustness)

    def in_units(self, units: Units, settings: Settings) -> LocalData:
        """See :class:`Backend`."""
        rows = self.rows
        return LocalData(
            units.features(rows.X),
            units.labels(rows.y),
            rows.sample_weight,
            **settings.data_options(units),
            slopes=units.slopes(rows.gradients, rows.X, rows.directions),
        )

    def extent(self, data: LocalData) -> Extent:
        """See :class:`Backend`."""
        return measure_extent(data.rows, data.sample_weight)

    def own_site(self, data: LocalData, points: NDArray[np.int64]) -> LocalSite:
        """See :class:`Backend`."""
        return LocalSite.own(data, points)

    def hold_out(
        self, data: LocalData, held_out: NDArray[np.intp], tested: int | None = None
    ) -> tuple[LocalData, LocalSite]:
        """See :class:`Backend`."""
        rest, at = data.without(held_out), held_out[:tested]
        return rest, LocalSite.at(rest, data.rows[at], data.labels[at], data.sample_weight[at])

    def gather(self, data: LocalData, points: NDArray[np.int64]) -> LocalData:
        """See :class:`Backend`."""
        return data if len(points) == data.n else data.subset(points)

    def as_data(self, site: Site) -> LocalData:
        """See :class:`Backend`."""
        assert isinstance(site, LocalSite)
        if site.left_out is not None:
            return site.data.subset(site.left_out)
        return site.data.like(site.rows, site.labels, site.sample_weight)

    def model(
        self,
        data: LocalData,
        decisions: Decisions,
        field: GradientField,
        diagnostics: Later[Diagnostics],
    ) -> Model:
        """See :class:`Backend`."""
        blend, final = choose_blending(data, field, decisions.choice), decisions.choice.final
        if isinstance(final, GlobalKriging):
            field.anchors.solved(final)  # so that the first prediction does not wait for it
        return Model(
            decisions,
            data,
            self.rows.position,
            self.rows.part,
            field,
            diagnostics,
            blend,
            self.robustness,
            self.rows.X,
        )
