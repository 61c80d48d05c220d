"""What the learned metric gains: errors of isotropic local linear fits at the same held-out points."""

from __future__ import annotations

import numpy as np

from localegop._data.units import ROUNDING
from localegop._engine.local_data import TrainingData
from localegop._selection.holdout import Holdout
from localegop._selection.race import Looks, Race
from localegop._selection.search_grid import SearchGrid, sizes_for


def race_isotropic(holdout: Holdout, data: TrainingData, ridges: tuple[float, ...]) -> Race:
    """Race isotropic linear fits of all sizes and ridges, through the first rounds."""
    grid = SearchGrid((0,), sizes_for(data), True, (0,), ridges)
    race = Race(holdout, grid.choices(data.dimension))
    race.run_to(Looks.first)
    race.keep(4)
    race.run_to(Looks.second)
    return race


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
