"""The units that a fit starts from: those of the initial metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.metric import factor
from localegop._engine.settings import Settings
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.pilot_fits import run_pilot

Array = NDArray[np.float64]


def find_initial_units(backend: Backend[D, M_co], settings: Settings) -> tuple[str | Array, Units, D]:
    """Units and data for the initial metric; "auto" takes that of the better pilot fits."""
    rows, given = backend.rows, settings.initial_metric
    names: list[Any] = ["variance", "identity"] if settings.metric_is_free else [given]
    options: list[tuple[str | Array, Units, D]] = []
    for name in names:
        center, transform = feature_units(rows.features, name)
        if isinstance(name, str) and name == "identity" and not settings.by_size:
            transform = np.eye(rows.dimension)  # bandwidths have the units of the data
        units = Units(center, transform, rows.labels.mean, rows.labels.std)
        units.check_spread(np.where(rows.features.constant, 0.0, rows.features.std))
        options.append((name, units, backend.in_units(units, settings)))
    if len(options) == 1:
        return options[0]
    return min(
        options,
        key=lambda option: run_pilot(backend, option[2], settings.ridges).error,
    )


def feature_units(found: Extent, initial_metric: str | Array) -> tuple[Array, Array]:
    """Center and transform for an initial metric: "identity", "variance", a vector or a matrix."""
    center, std, constant = found.mean, found.std, found.constant
    dimension = len(center)
    if isinstance(initial_metric, str):
        if initial_metric == "identity":
            scale = np.where(constant, 0.0, std).max()
            return center, np.eye(dimension) / (scale if scale > 0.0 else 1.0)
        return center, np.diag(np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, std)))
    given = np.asarray(initial_metric, dtype=float)
    if given.shape not in ((dimension,), (dimension, dimension)) or not np.isfinite(given).all():
        raise ValueError(
            "initial_metric must be 'auto', 'identity', 'variance', a vector of "
            f"{dimension} or a matrix of {dimension} x {dimension} finite numbers, "
            f"got an array of shape {given.shape}"
        )
    matrix = np.diag(given) if given.ndim == 1 else 0.5 * (given + given.T)
    if np.linalg.eigvalsh(matrix)[0] < -1e-10 * np.abs(matrix).max():
        raise ValueError("initial_metric must be positive semi-definite, but has a negative eigenvalue")
    return center, np.ascontiguousarray(factor(matrix).T)
