"""What the learned metric gains: errors of isotropic local linear fits at the same held-out points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import ROUNDING
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData, TrainingData
from localegop._engine.recursion import MetricUpdate
from localegop._progress import SILENT
from localegop._selection.holdout import grid_errors
from localegop._selection.search_grid import SearchGrid, pick_choice, sizes_for

Array = NDArray[np.float64]


def isotropic_grid(data: TrainingData, ridges: tuple[float, ...]) -> SearchGrid:
    """Isotropic linear fits of all sizes and ridges."""
    return SearchGrid((0,), sizes_for(data), True, (0,), ridges).wide_enough(data.dimension)


def isotropic_error(
    data: TrainingData,
    grid: SearchGrid,
    held_out_sets: Sequence[NDArray[np.intp]],
    errors_at: Callable[[SearchGrid, NDArray[np.intp]], tuple[Array, Array]],
) -> float:
    """Mean squared error of the best isotropic fits, size and ridge chosen as for any final fit.

    ``errors_at`` gives squared errors (..., point) at points held out, and their weights (point,).
    """
    found = [errors_at(grid, held_out) for held_out in held_out_sets]
    errors = np.concatenate([part[0] for part in found], axis=-1)
    return pick_choice(grid, errors, np.concatenate([part[1] for part in found]), data.dimension).error


def isotropic_errors(
    data: LocalData, update: MetricUpdate, grid: SearchGrid, rows: Array, labels: Array
) -> Array:
    """Squared errors (..., point) at step 0, where nothing has been learned, of points not in the data."""
    return grid_errors(GradientField(data, update), data.centers(rows), labels, grid, SILENT)


def gain(isotropic: float, chosen: float) -> float:
    """Ratio of two mean squared errors in units of the label variance; one where both are rounding.

    Examples
    --------
    >>> from localegop._selection.isotropic_baseline import gain
    >>> gain(0.5, 0.25), gain(1e-30, 1e-33)
    (2.0, 1.0)
    """
    least = ROUNDING**2
    return max(isotropic, least) / max(chosen, least) if chosen == chosen else np.nan
