"""Parameters of the estimator, checked, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.few_functions import MOST_ROWS as MOST_FUNCTION_ROWS
from localegop._engine.global_kriging import MOST_ROWS
from localegop._engine.local_data import FIELD_CUTOFF, LITERAL_CUTOFF, QUERY_CUTOFF
from localegop._engine.logistic_process import MOST_ROWS as MOST_LOGISTIC_ROWS
from localegop._engine.recursion import MetricUpdate
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

Array = NDArray[np.float64]

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
START_SIZE = 200.0  # effective size of the first step: wide enough for gradients, narrow enough to be local
# Points that a center looks at with max_neighbors="auto": the nearest; for wide neighborhoods all, which
# takes less time than to search for those that count, up to a crowd of so many.
NEAREST, FARTHEST, CROWD = 1000, 32_768, 131_072
VISIBLE_FOR_GRADIENTS = 4.0  # points that anchors look at, times the effective size, where that is wide
STEPS_BY_SIZE, STEPS_BY_BANDWIDTH = 4, 150


@dataclass(frozen=True)
class Settings:
    """Parameters of an estimator, checked."""

    strategy: str
    schedule: Any
    n_iter: int | None
    n_subsamples: int
    weighting: str
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
    loss: str
    seed: int
    threads: int

    @property
    def by_size(self) -> bool:
        """Whether the schedule speaks of effective sizes rather than of bandwidths."""
        return self.schedule == "effective_size" or hasattr(self.schedule, "effective_size")

    @property
    def may_widen_gradients(self) -> bool:
        """Whether gradients may be learned from larger neighborhoods than usual."""
        return self.schedule == "effective_size" and self.covariance_cap is None

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

    def seen_for(self, gradient_size: float, n: int) -> int | None:
        """How many of n points an anchor may look at for gradients of wide neighborhoods; None for all."""
        wanted, most = int(VISIBLE_FOR_GRADIENTS * gradient_size), self.farthest(n)
        return wanted if most is None else min(wanted, most)

    @property
    def robust(self) -> bool:
        """Whether outlying labels are to count less."""
        return self.loss == "huber"

    @property
    def classifies(self) -> bool:
        """Whether labels are one-hot, and choices compared by log loss."""
        return self.loss == "log"

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

    @property
    def may_fit_polynomials(self) -> bool:
        """Whether polynomials compete for the final fit, or show where logistic fits may be good."""
        return self.final in ("auto", "polynomial", "logistic")

    @property
    def may_fit_logistic(self) -> bool:
        """Whether logistic fits compete for the final fit, or are asked for."""
        return self.classifies and self.final in ("auto", "logistic")

    def may_use_all(self, n: int) -> bool:
        """Whether processes of all of n rows compete for the final fit, or are asked for."""
        return n <= MOST_ROWS and self._may_use_rows(n)

    def may_use_functions(self, n: int) -> bool:
        """Whether such processes do that are made of few functions, as n rows are too many otherwise."""
        by_logits = self.may_use_logistic_process(n)  # which know what labels of classes are
        return MOST_ROWS < n <= MOST_FUNCTION_ROWS and self._may_use_rows(n) and not by_logits

    def may_use_logistic_process(self, n: int) -> bool:
        """Whether logistic processes of all of n rows compete for the final fit."""
        return self.classifies and n <= MOST_LOGISTIC_ROWS and self._may_use_rows(n)

    def _may_use_rows(self, n: int) -> bool:
        """Whether fits may look at n rows at once."""
        wanted = self.final == "global" or (self.final == "auto" and self.degree == "auto")
        limit = self.nearest if not isinstance(self.max_neighbors, str) else None
        return wanted and not self.has_lengths and (limit is None or limit >= n)

    def check_global(self, n: int) -> None:
        """Raise a ValueError if a process of all of n rows is asked for and cannot be had."""
        if not (self.may_use_all(n) or self.may_use_functions(n)):
            raise ValueError(
                f"final='global' needs at most {MOST_FUNCTION_ROWS:,} distinct rows, no exclusion_radius, "
                "covariance_cap, bandwidth schedule or smaller max_neighbors, "
                f"got {n:,} rows and max_neighbors={self.max_neighbors!r}; take final='auto' or 'kriging'"
            )

    def update(self, units: Units, gradient_size: float | None = None) -> MetricUpdate:
        """How the metric moves in these units, with gradients of wider neighborhoods if a size is given."""
        cap, length = self.covariance_cap, unit_length(units)
        return MetricUpdate(
            self._schedule(units.transform.shape[1], gradient_size),
            self.momentum,
            self.initial_scale,
            None if cap is None else cap / length**2,
        )

    def _schedule(self, dimension: int, gradient_size: float | None) -> Any:
        if self.schedule != "effective_size":
            return self.schedule
        start, stop = START_SIZE, 2.0 * dimension + 10.0
        if gradient_size is not None:
            start, stop = gradient_size, max(0.5 * gradient_size, stop)
        return EffectiveSampleSize(max(start, stop), stop, max(self.n_steps, 1))

    def data_options(self, units: Units) -> dict[str, Any]:
        """Options of :class:`LocalData` in these units."""
        radius = self.exclusion_radius
        return {
            "kernel": as_kernel(self.kernel),
            "max_neighbors": self.nearest,
            "radius": None if radius is None else radius / unit_length(units),
            "threads": self.threads,
            "cutoff": self._cutoff,
        }

    @property
    def _cutoff(self) -> float:
        """Share of the largest weight below which weights are dropped."""
        if self.strategy == "field":
            return FIELD_CUTOFF
        return LITERAL_CUTOFF if self.weighting == "literal" else QUERY_CUTOFF


def unit_length(units: Units) -> float:
    """Length of the user's unit in the recursion's, where all features share one; else 1."""
    if units.curves is not None:
        return 1.0
    diagonal = np.diagonal(units.transform)
    same = np.array_equal(units.transform, np.eye(len(diagonal)) * diagonal[0])
    return 1.0 / float(diagonal[0]) if same and diagonal[0] > 0.0 else 1.0
