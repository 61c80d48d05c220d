"""Where a fit's work is done: in one process or on a cluster.

Whatever a fit does is either work at centers that looks at the rows around them, or a decision from what
came out there. The decisions are made in one place, in :mod:`localegop._fit` and
:mod:`localegop._selection`; the work is done at sites (:mod:`localegop._engine.sites`), which a backend
makes. :mod:`localegop._fit.process` is the one for a single process, :mod:`localegop.distributed.backend`
that for a cluster.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData, TrainingData
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._predict.decisions import Decisions
from localegop._predict.later import Later
from localegop._predict.uncertainty import Diagnostics

Array = NDArray[np.float64]
D = TypeVar("D", bound=TrainingData)  # training data in some units
M_co = TypeVar("M_co", covariant=True)  # a fitted model


class Rows(Protocol):
    """Distinct training rows, as given."""

    @property
    def dimension(self) -> int:
        """Number of features."""

    def sample(self, most: int) -> tuple[Array, Array]:
        """Features (m, D) and weights (m,) of at most so many rows, in their order."""

    @property
    def features(self) -> Extent:
        """Extent of the features."""

    @property
    def labels(self) -> Extent:
        """Extent of the labels."""


class Backend(Protocol[D, M_co]):
    """Who does the work of a fit."""

    @property
    def rows(self) -> Rows:
        """The training rows."""

    @property
    def robustness(self) -> Array | None:
        """Robustness weights (n,), by which the weights of the rows are multiplied; None for one each."""

    def reweighted(self, robustness: Array) -> Self:
        """Return the same with robustness weights (n,) in place of those that there were."""

    def in_units(self, units: Units, settings: Settings) -> D:
        """Rows in the units of the recursion, ready for local fits."""

    def extent(self, data: D) -> Extent:
        """Extent of the rows in their units."""

    def own_site(self, data: D, points: NDArray[np.int64]) -> Site:
        """Site at some of the training points, each of which leaves itself out."""

    def hold_out(self, data: D, held_out: NDArray[np.intp], tested: int | None = None) -> tuple[D, Site]:
        """Take some points out: the data without them, and a site at the first of them, or all for None."""

    def gather(self, data: D, points: NDArray[np.int64]) -> LocalData:
        """Take some of the training points into this process, as data of their own."""

    def as_data(self, site: Site) -> LocalData:
        """Centers of a site as data of their own, in this process."""

    def model(
        self,
        data: D,
        decisions: Decisions,
        field: GradientField,
        diagnostics: Later[Diagnostics],
    ) -> M_co:
        """Put together a fitted model."""
