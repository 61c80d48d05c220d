"""Before the recursion: settings, units, and what there is to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.rows import DistinctRows
from localegop._data.units import Units, feature_units
from localegop._engine.local_data import FIELD_CUTOFF, QUERY_CUTOFF, LocalData
from localegop._engine.recursion import Rules
from localegop._fit.pilot_fits import glance, isotropic_trial
from localegop._selection.search_grid import Choice, Menu, bends_for, sizes_for
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

Array = NDArray[np.float64]

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
START_SIZE = 200.0  # effective size of the first step: wide enough for gradients, narrow enough to be local


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
    max_neighbors: int | None
    seed: int
    threads: int
    verbose: int

    def schedule_for(self, dimension: int) -> tuple[Any, int]:
        """Schedule object and number of steps."""
        by_size = self.schedule == "ess" or hasattr(self.schedule, "effective_size")
        n_iter = self.n_iter if self.n_iter is not None else (4 if by_size else 150)
        if self.schedule != "ess":
            return self.schedule, n_iter
        stop = 2.0 * dimension + 10.0
        return EffectiveSampleSize(max(START_SIZE, stop), stop, max(n_iter, 1)), n_iter

    def rules(self, schedule: Any, unit_length: float) -> Rules:
        """Rules of the recursion, where a unit of the user's features has this length."""
        cap = self.covariance_cap
        return Rules(
            schedule, self.momentum, self.initial_scale, None if cap is None else cap / unit_length**2
        )

    @property
    def ridges(self) -> tuple[float, ...]:
        """Ridges to choose from."""
        return RIDGES if self.ridge == "loo" else (float(self.ridge),)


def menu_for(settings: Settings, data: LocalData, by_size: bool, n_iter: int) -> Menu:
    """Return what the final fit of the field strategy is chosen from."""
    degree, dimension = settings.degree, data.dimension
    bends = {"auto": bends_for(dimension), 0: (0,), 1: (0,)}.get(degree) or tuple(
        b for b in bends_for(dimension) if b > 0
    )
    return Menu(
        steps=tuple(range(n_iter + 1)),
        sizes=sizes_for(data.reachable) if by_size else None,
        degree=min(degree, 1) if degree != "auto" else 1,
        bends=bends or (1,),
        ridges=settings.ridges,
    )


def query_choice(data: LocalData, settings: Settings, n_iter: int) -> Choice:
    """Describe the final fit of the query strategy; its step is found per query, its ridge at step 0."""
    ridges = settings.ridges
    ridge = ridges[0]
    if len(ridges) > 1 and settings.strategy == "query":
        ridge = ridges[int(np.argmin(isotropic_trial(data, ridges).errors.min(axis=0)))]
    degree = 1 if settings.degree == "auto" else settings.degree
    return Choice(n_iter, None, min(degree, 1), int(degree == 2), ridge)


def initial_units(
    rows: DistinctRows, settings: Settings, by_size: bool
) -> tuple[str | Array, Units, LocalData]:
    """Units and data for the initial metric; "auto" takes that of the better isotropic fits."""
    given = settings.initial_metric
    names: list[Any] = ["variance", "identity"] if isinstance(given, str) and given == "auto" else [given]
    options: list[tuple[str | Array, Units, LocalData]] = []
    for name in names:
        center, transform = feature_units(rows.features, name)
        if isinstance(name, str) and name == "identity" and not by_size:
            transform = np.eye(rows.dimension)  # bandwidths have the units of the data
        units = Units(center, transform, rows.labels.mean, rows.labels.spread)
        options.append((name, units, in_units(rows, units, settings)))
    if len(options) == 1:
        return options[0]
    return min(options, key=lambda option: isotropic_trial(glance(option[2]), settings.ridges).error)


@singledispatch
def in_units(rows: DistinctRows | Any, units: Units, settings: Settings) -> LocalData | Any:
    """Rows in the units of the recursion, ready for local fits."""
    return LocalData(
        units.features(rows.X), units.labels(rows.y), rows.share, **data_options(units, settings)
    )


def data_options(units: Units, settings: Settings) -> dict[str, Any]:
    """Options of :class:`LocalData`."""
    radius = settings.exclusion_radius
    return {
        "kernel": as_kernel(settings.kernel),
        "max_neighbors": settings.max_neighbors,
        "radius": None if radius is None else radius / unit_length(units),
        "threads": settings.threads,
        "cutoff": FIELD_CUTOFF if settings.strategy == "field" else QUERY_CUTOFF,
    }


def unit_length(units: Units) -> float:
    """Length of the user's unit in the recursion's, where all features share one; else 1."""
    diagonal = np.diagonal(units.transform)
    same = np.array_equal(units.transform, np.eye(len(diagonal)) * diagonal[0])
    return 1.0 / float(diagonal[0]) if same and diagonal[0] > 0.0 else 1.0
