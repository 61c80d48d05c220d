"""The global processes that know given gradients: length, ridge, and how far slopes are trusted.

Found as those without gradients are, by errors of rows that are left out, with their slopes. Slopes may be
wrong or of no use, and some directions may be worth more than all: so processes that know the leading two
or four compete with such as know all that can be solved for, and all of them with processes that know none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import spread_points
from localegop._engine.gradient_kriging import MOST_EQUATIONS, GradientKriging
from localegop._engine.local_data import LocalData
from localegop._engine.threads import work_together
from localegop._selection.global_search import LEAST_RIDGE, MOST_RIDGE, descend, mean_square, typical_length

Array = NDArray[np.float64]

FEW_SLOPES = 2, 4
SEARCHED_EQUATIONS, FEWEST_ROWS = 600, 60  # of the processes that are tried
LENGTH, RIDGE, SLOPE_RIDGE = 2.0, 1e-3, 1e-2  # to start from; the length in typical distances
# of length, ridge and slope ridge
MOVES = (
    *((1.0, 10.0, 1.0), (1.0, 0.1, 1.0), (1.0, 1.0, 10.0), (1.0, 1.0, 0.1)),
    *((2.0, 1.0, 1.0), (0.5, 1.0, 1.0), (2.0, 0.1, 0.1), (0.5, 10.0, 10.0)),
)


def numbers_of_slopes(data: LocalData) -> list[int]:
    """Numbers of leading directions to try: a few, and as many as can be solved for."""
    each = data.dimension if data.slopes is None else data.slopes.most_each
    most = min(each, MOST_EQUATIONS // data.n - 1)
    return sorted({min(number, most) for number in (*FEW_SLOPES, most)}) if most > 0 else []


def find_gradient_processes(data: LocalData) -> list[GradientKriging]:
    """Find a process that knows gradients, of each number of slopes; the best comes first."""
    assert data.slopes is not None
    numbers = numbers_of_slopes(data)
    if not numbers or not data.slopes.known.any():
        return []
    count = max(SEARCHED_EQUATIONS // (1 + numbers[-1]), FEWEST_ROWS)
    search = GradientSearch(data.subset(spread_points(data.n, min(count, data.n))))
    found = work_together([partial(search.best, number) for number in numbers], data.threads)
    return sorted(found, key=search.error)


class GradientSearch:
    """Search for processes of some rows that know slopes, by leave-one-out errors."""

    def __init__(self, sample: LocalData) -> None:
        self.sample = sample
        self.unit = typical_length(sample.rows)
        self._errors: dict[GradientKriging, float] = {}

    def best(self, n_slopes: int) -> GradientKriging:
        """Find the best process with so many slopes a row."""
        process = GradientKriging(LENGTH * self.unit, RIDGE, False, n_slopes, SLOPE_RIDGE)
        return descend(process, MOVES, _moved, self.error)

    def error(self, process: GradientKriging) -> float:
        """Mean squared leave-one-out error, in units of the labels."""
        if process not in self._errors:
            self._errors[process] = self._measure(process)
        return self._errors[process]

    def _measure(self, process: GradientKriging) -> float:
        return mean_square(self.sample.fresh_solution(process).loo_residuals, self.sample.sample_weight)


def _moved(process: GradientKriging, longer: float, larger: float, looser: float) -> GradientKriging:
    """Return a process of another length, ridge and slope ridge, by these factors."""
    ridge, slope_ridge = np.clip(
        [process.ridge * larger, process.slope_ridge * looser], LEAST_RIDGE, MOST_RIDGE
    ).tolist()
    return replace(process, length=process.length * longer, ridge=ridge, slope_ridge=slope_ridge)
