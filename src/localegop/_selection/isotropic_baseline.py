"""What the learned metric gains: errors of isotropic local linear fits at the same held-out points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Rules
from localegop._predict.uncertainty import EXACT
from localegop._progress import SILENT
from localegop._selection.search_grid import Fold, Menu, held_out_errors, pick, sizes_for

Array = NDArray[np.float64]


def isotropic_error(
    data: LocalData, rules: Rules, ridges: tuple[float, ...], held_out_sets: Sequence[NDArray[np.intp]]
) -> float:
    """Mean squared error of the best isotropic linear fits, size and ridge chosen as for any final fit."""
    menu = Menu((0,), sizes_for(data.reachable), 1, (0,), ridges).fitting(data.dimension)
    found = [isotropic_errors(data, rules, menu, held_out) for held_out in held_out_sets]
    errors = np.concatenate([part[0] for part in found], axis=-1)
    return pick(menu, errors, np.concatenate([part[1] for part in found]), data.dimension).error


@singledispatch
def isotropic_errors(
    data: LocalData | Any, rules: Rules, menu: Menu, held_out: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Squared errors (..., point) at step 0 of points held out, and their weights (point,)."""
    errors = errors_of_guests(
        data.without(held_out), rules, menu, data.rows[held_out], data.labels[held_out]
    )
    return errors, data.share[held_out]


def errors_of_guests(data: LocalData, rules: Rules, menu: Menu, centers: Array, labels: Array) -> Array:
    """Squared errors (..., point) at step 0, where nothing has been learned, of points not in the data."""
    fold = Fold(data, np.zeros(0, dtype=np.intp), None, centers, labels, data.candidates(centers))
    return held_out_errors(GradientField(data, rules, menu.ridges), fold, menu, SILENT)


def gain(isotropic: float, chosen: float) -> float:
    """Ratio of two mean squared errors in units of the label variance; one where both are rounding.

    Examples
    --------
    >>> from localegop._selection.isotropic_baseline import gain
    >>> gain(0.5, 0.25), gain(1e-30, 1e-33)
    (2.0, 1.0)
    """
    least = EXACT**2
    return max(isotropic, least) / max(chosen, least) if chosen == chosen else np.nan
