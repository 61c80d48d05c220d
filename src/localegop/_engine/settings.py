"""Parameters of the estimator, checked, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.local_data import FIELD_CUTOFF, QUERY_CUTOFF
from localegop._engine.recursion import MetricUpdate
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

Array = NDArray[np.float64]

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
START_SIZE = 200.0  # effective size of the first step: wide enough for gradients, narrow enough to be local
# Points that a center looks at with max_neighbors="auto": the nearest; for wide neighborhoods all, which
# takes less time than to search for those that count, up to a crowd of so many.
NEAREST, FARTHEST, CROWD = 1000, 32_768, 131_072
STEPS_BY_SIZE, STEPS_BY_BANDWIDTH = 4, 150


@dataclass(frozen=True)
class Settings:
    """Parameters of :class:`localegop.LocalEGOPRegressor`, checked."""

    strategy: str
    schedule: Any
    n_iter: int | None
    n_subsamples: int
    momentum: float
    initial_scale: float
    initial_metric: Any
    exclusion_radius: float | None
    covariance_cap: float | None
    kernel: Any
    degree: Any
    ridge: Any
    final: str
    max_neighbors: int | str | None
    seed: int
    threads: int

    @property
    def by_size(self) -> bool:
        """Whether the schedule speaks of effective sizes rather than of bandwidths."""
        return self.schedule == "effective_size" or hasattr(self.schedule, "effective_size")

    @property
    def n_steps(self) -> int:
        """Number of steps of the recursion."""
        if self.n_iter is not None:
            return int(self.n_iter)
        return STEPS_BY_SIZE if self.by_size else STEPS_BY_BANDWIDTH

    @property
    def ridges(self) -> tuple[float, ...]:
        """Ridges to choose from."""
        return RIDGES if self.ridge == "auto" else (float(self.ridge),)

    @property
    def nearest(self) -> int | None:
        """How many of the nearest points a center looks at first; None for all."""
        return NEAREST if isinstance(self.max_neighbors, str) else self.max_neighbors

    def farthest(self, n: int) -> int | None:
        """How many of n points a center may look at where wide neighborhoods are better; None for all."""
        if not isinstance(self.max_neighbors, str):
            return self.max_neighbors
        return FARTHEST if n > CROWD else None

    @property
    def metric_is_free(self) -> bool:
        """Whether the initial metric is to be found."""
        return isinstance(self.initial_metric, str) and self.initial_metric == "auto"

    @property
    def has_lengths(self) -> bool:
        """Whether parameters are lengths, whose units are those of the features."""
        return self.exclusion_radius is not None or self.covariance_cap is not None or not self.by_size

    @property
    def may_krige(self) -> bool:
        """Whether kriging competes for the final fit, or is asked for."""
        return self.final == "kriging" or (self.final == "auto" and self.degree == "auto")

    def update(self, units: Units) -> MetricUpdate:
        """How the metric moves in these units."""
        cap, length = self.covariance_cap, unit_length(units)
        return MetricUpdate(
            self._schedule(units.transform.shape[1]),
            self.momentum,
            self.initial_scale,
            None if cap is None else cap / length**2,
        )

    def _schedule(self, dimension: int) -> Any:
        if self.schedule != "effective_size":
            return self.schedule
        stop = 2.0 * dimension + 10.0
        return EffectiveSampleSize(max(START_SIZE, stop), stop, max(self.n_steps, 1))

    def data_options(self, units: Units) -> dict[str, Any]:
        """Options of :class:`LocalData` in these units."""
        radius = self.exclusion_radius
        return {
            "kernel": as_kernel(self.kernel),
            "max_neighbors": self.nearest,
            "radius": None if radius is None else radius / unit_length(units),
            "threads": self.threads,
            "cutoff": FIELD_CUTOFF if self.strategy == "field" else QUERY_CUTOFF,
        }


def unit_length(units: Units) -> float:
    """Length of the user's unit in the recursion's, where all features share one; else 1."""
    if units.curves is not None:
        return 1.0
    diagonal = np.diagonal(units.transform)
    same = np.array_equal(units.transform, np.eye(len(diagonal)) * diagonal[0])
    return 1.0 / float(diagonal[0]) if same and diagonal[0] > 0.0 else 1.0
