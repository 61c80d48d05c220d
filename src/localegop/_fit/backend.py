"""Where a fit's work is done: eight jobs, done in one process or on a cluster.

Whatever a fit does is either work at points that looks at the rows around them, or a decision from sums
over all of them. The decisions are made in one place, in :mod:`localegop._fit` and
:mod:`localegop._selection`; the work is these methods. :mod:`localegop._fit.process` does it in one
process, :mod:`localegop.distributed.backend` on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.local_data import TrainingData
from localegop._engine.recursion import MetricUpdate
from localegop._engine.settings import Settings
from localegop._predict.decisions import Decisions
from localegop._progress import Progress
from localegop._selection.folds import FoldResult
from localegop._selection.holdout import Measure
from localegop._selection.search_grid import SearchGrid

Array = NDArray[np.float64]
D = TypeVar("D", bound=TrainingData)  # training data in some units
F = TypeVar("F")  # what is learned without the points of a fold
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


@dataclass(frozen=True)
class PilotFits:
    """Squared residuals (m, size, ridge) and weights (m,) of the points tried.

    ``gradients(s, r)`` gives the gradients (m, K, D) of the fits with size number s and ridge number r.
    """

    squares: Array
    sample_weight: Array
    gradients: Callable[[int, int], Array]


class Backend(Protocol[D, F, M_co]):
    """Who does the work of a fit."""

    @property
    def rows(self) -> Rows:
        """The training rows."""

    def in_units(self, units: Units, settings: Settings) -> D:
        """Rows in the units of the recursion, ready for local fits."""

    def extent(self, data: D) -> Extent:
        """Extent of the rows in their units."""

    def pilot_fits(
        self,
        data: D,
        points: NDArray[np.int64],
        sizes: tuple[float, ...],
        ridges: tuple[float, ...],
        gradients: bool,
    ) -> PilotFits:
        """Isotropic linear fits at these points, each without itself."""

    def learn_without(
        self,
        data: D,
        update: MetricUpdate,
        grid: SearchGrid,
        held_out: NDArray[np.intp],
        axes: Array | None,
        progress: Progress,
    ) -> FoldResult[F]:
        """Learn a field without some points, in axes (D, r) if given, and test the grid at them."""

    def evaluate_at_held_out(self, fold: FoldResult[F], measure: Measure, every: int) -> Array:
        """Measure (point, fit) at every k-th point that was held out."""

    def isotropic_errors(
        self, data: D, update: MetricUpdate, grid: SearchGrid, held_out: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Squared errors (..., point) at step 0 of points held out, and their weights (point,)."""

    def gradients_at(
        self, fold: FoldResult[F], decisions: Decisions, points: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Gradients (m, K, D) of the chosen fit at points of a fold, each without itself, and weights."""

    def learn(self, data: D, decisions: Decisions, progress: Progress) -> M_co:
        """Learn the field from all points, then fit at each without it, and see how that went."""
