"""The units that a fit starts from: those of the initial metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from localegop._data.curves import Curves
from localegop._data.sums import Extent
from localegop._data.units import Units
from localegop._engine.metric import factor
from localegop._engine.settings import Settings
from localegop._fit.backend import Backend, D, M_co, Rows
from localegop._fit.initial_curves import find_curves
from localegop._fit.pilot_fits import run_pilot
from localegop._selection.folds import FEWEST_POINTS

Array = NDArray[np.float64]

CLEARLY_BETTER = 0.95  # share of the others' error with which curves are taken
MISLED = 10.0  # times the spread of most values: a standard deviation that a few values far out have made


@dataclass(frozen=True)
class Option(Generic[D]):
    """An initial metric, by name or as given, with its units and the data in them."""

    metric: str | Array
    units: Units
    data: D


def find_initial_units(backend: Backend[D, M_co], settings: Settings) -> tuple[str | Array, Units, D]:
    """Units and data for the initial metric; "auto" takes that of the better pilot fits."""
    found = (
        _find_best(backend, settings)
        if settings.metric_is_free
        else _start(backend, settings, settings.initial_metric)
    )
    return found.metric, found.units, found.data


def start_without_labels(backend: Backend[D, M_co], settings: Settings) -> D:
    """Return the data in units that no label decides about."""
    free = "variance" if settings.has_lengths else "power"
    return _start(backend, settings, free if settings.metric_is_free else settings.initial_metric).data


def _find_best(backend: Backend[D, M_co], settings: Settings) -> Option[D]:
    """Take the start of the smallest error; that with curves only if it is clearly better.

    Where a few values far out have made a standard deviation, curves are taken unless they are clearly
    worse: pilot fits may have missed these rows, and importances count in standard deviations.

    Curves are tried only where some feature needs one, as pilot fits cost time; and not where parameters
    are lengths, which would mean something else with them.
    """
    plain = [_start(backend, settings, name) for name in ("variance", "identity")]
    errors = [_pilot_error(backend, settings, each) for each in plain]
    best = min(range(2), key=errors.__getitem__)
    if settings.has_lengths or plain[0].data.n < FEWEST_POINTS:
        return plain[best]
    curves = find_curves(backend.rows)
    if curves is None:
        return plain[best]
    curved = _curved_start(backend, settings, curves)
    share = 1.0 / CLEARLY_BETTER if _misled(curves, backend.rows.features) else CLEARLY_BETTER
    return curved if _pilot_error(backend, settings, curved) < share * errors[best] else plain[best]


def _misled(curves: Curves, found: Extent) -> bool:
    """Whether some standard deviation says nothing about most of the values."""
    return bool(np.any((curves.drawn_in > 0.0) & (found.std > MISLED * curves.spread)))


def _pilot_error(backend: Backend[D, M_co], settings: Settings, start: Option[D]) -> float:
    return run_pilot(backend, start.data, settings.ridges).error


def _start(backend: Backend[D, M_co], settings: Settings, metric: str | Array) -> Option[D]:
    rows = backend.rows
    if isinstance(metric, str) and metric == "power":
        return _curved_start(backend, settings, find_curves(rows))
    center, transform = feature_units(rows.features, metric)
    if isinstance(metric, str) and metric == "identity" and not settings.by_size:
        transform = np.eye(rows.dimension)  # bandwidths have the units of the data
    units = Units(center, transform, *_label_units(rows, settings))
    return _in_units(backend, settings, metric, units)


def _curved_start(backend: Backend[D, M_co], settings: Settings, curves: Curves | None) -> Option[D]:
    """Option from standardized features, those that need it after their curves."""
    rows = backend.rows
    center, transform = feature_units(rows.features, "variance")
    if curves is not None:
        center = np.where(curves.curved, 0.0, center)
        transform = np.diag(np.where(curves.curved, 1.0, np.diagonal(transform)))
    units = Units(center, transform, *_label_units(rows, settings), curves)
    return _in_units(backend, settings, "power", units)


def _label_units(rows: Rows, settings: Settings) -> tuple[Array, Array]:
    """Mean and scale (K,) of the labels; one-hot ones stay as they are, and classes alike."""
    mean, std = rows.labels.mean, rows.labels.std
    return (np.zeros_like(mean), np.ones_like(std)) if settings.classifies else (mean, std)


def _in_units(
    backend: Backend[D, M_co], settings: Settings, metric: str | Array, units: Units
) -> Option[D]:
    units.check_spread(_spread(backend.rows, units))
    return Option(metric, units, backend.in_units(units, settings))


def _spread(rows: Rows, units: Units) -> Array:
    """Return the standard deviations (D,) of the features, zero where they do not vary."""
    return np.where(rows.features.constant, 0.0, units.feature_scale(rows.features.std))


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
            "initial_metric must be 'auto', 'identity', 'variance', 'power', a vector of "
            f"{dimension} or a matrix of {dimension} x {dimension} finite numbers, "
            f"got an array of shape {given.shape}"
        )
    matrix = np.diag(given) if given.ndim == 1 else 0.5 * (given + given.T)
    if np.linalg.eigvalsh(matrix)[0] < -1e-10 * np.abs(matrix).max():
        raise ValueError("initial_metric must be positive semi-definite, but has a negative eigenvalue")
    return center, np.ascontiguousarray(factor(matrix).T)
