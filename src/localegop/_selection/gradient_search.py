"""The global processes that know given gradients: length, ridge, and how far slopes are trusted.

Found as those without gradients are, by errors of rows that are left out, with their slopes. Slopes may be
wrong or of no use, and some directions may be worth more than all: so processes that know the leading two
or four compete with such as know all that can be solved for; where not all can be, also with one that knows
all and is made of few functions; and all of them with processes that know none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import spread_points
from localegop._engine.gradient_kriging import MOST_EQUATIONS, GradientKriging
from localegop._engine.local_data import LocalData
from localegop._engine.sparse_kriging import SolvedSparsely
from localegop._engine.threads import work_together
from localegop._selection.global_search import (
    LEAST_RIDGE,
    MOST_RIDGE,
    descend,
    for_more_rows,
    mean_square,
    typical_length,
)

Array = NDArray[np.float64]

FEW_SLOPES = 2, 4
SEARCHED_EQUATIONS, FEWEST_ROWS = 600, 60  # of the processes that are tried
SEARCHED_ROWS, SEARCHED_FUNCTIONS, FEWEST_SEARCHED = 100, 210, 12  # and of those made of few functions
FEWEST_PLACES, FUNCTION_SLOPES = 20, 6  # and how many slopes a place brings as functions, at most
# Of processes made of few functions: the number of equations times the square of that of functions, and
# that itself, in a first look and where they have grown. The last takes some seconds.
FIRST_WORK, FIRST_FUNCTIONS = 4e9, 480
MOST_WORK, MOST_FUNCTIONS = 8e10, 2000
LENGTH, RIDGE, SLOPE_RIDGE = 2.0, 1e-3, 1e-2  # to start from; the length in typical distances
# of length, ridge and slope ridge
MOVES = (
    *((1.0, 10.0, 1.0), (1.0, 0.1, 1.0), (1.0, 1.0, 10.0), (1.0, 1.0, 0.1)),
    *((2.0, 1.0, 1.0), (0.5, 1.0, 1.0), (2.0, 0.1, 0.1), (0.5, 10.0, 10.0)),
)


def numbers_of_slopes(n: int, each: int) -> list[int]:
    """Numbers of leading directions to try: a few, and all if n rows with these can be solved for."""
    most = min(each, MOST_EQUATIONS // n - 1)
    tried = (*FEW_SLOPES, each) if most == each else FEW_SLOPES
    return sorted({min(number, most) for number in tried}) if most > 0 else []


def functions_for(
    n: int, each: int, work: float = FIRST_WORK, most: int = FIRST_FUNCTIONS
) -> tuple[int, int]:
    """Find of how many places a process may be made that knows so many slopes of each of n rows.

    The second number is how many slopes there are functions, too: the leading ones, so that there are more
    places. The cost of a process is the number of equations times the square of that of functions, which is
    bounded. No places if an exact solution can know all.
    """
    equations = n * (1 + each)
    if equations <= MOST_EQUATIONS:
        return 0, each
    functions = min(int((work / equations) ** 0.5), most)
    places = min(max(functions // (1 + min(each, FUNCTION_SLOPES)), FEWEST_PLACES), n)
    return places, max(min(each, FUNCTION_SLOPES, functions // places - 1), 1)


def find_gradient_processes(data: LocalData, *, axes_are_sorted: bool = True) -> list[GradientKriging]:
    """Find processes that know gradients: the best that is exact, and one that knows all.

    Where axes are not sorted by how much f varies along them, the leading ones tell no more than others.
    """
    assert data.slopes is not None
    if not data.slopes.known.any():
        return []
    each = data.slopes.most_each
    places, n_slopes = functions_for(data.n, each)
    numbers = numbers_of_slopes(data.n, each) if axes_are_sorted or places == 0 else []
    if not axes_are_sorted:
        numbers = numbers[-1:]
    return [*_find_exact(data, numbers)[:1], *_find_sparse(data, places, n_slopes)]


def _find_exact(data: LocalData, numbers: list[int]) -> list[GradientKriging]:
    """Find the best process of each number of slopes; the best of all comes first."""
    if not numbers:
        return []
    search = GradientSearch.of(data, max(SEARCHED_EQUATIONS // (1 + numbers[-1]), FEWEST_ROWS))
    found = work_together([partial(search.best, number) for number in numbers], data.threads)
    return sorted(found, key=search.error)


def _find_sparse(data: LocalData, places: int, n_slopes: int) -> list[GradientKriging]:
    """Find the best process of so many places, by one of fewer rows and places, if there may be any."""
    if places == 0:
        return []
    fewer = max(min(places, SEARCHED_FUNCTIONS // (1 + n_slopes)), FEWEST_SEARCHED)
    found = GradientSearch.of(data, SEARCHED_ROWS).best(n_slopes, fewer)
    return [replace(found, n_places=places)]


class GradientSearch:
    """Search for processes of some rows that know slopes, by leave-one-out errors."""

    def __init__(self, sample: LocalData) -> None:
        self.sample = sample
        self.unit = typical_length(sample.rows)
        self._errors: dict[GradientKriging, float] = {}

    @classmethod
    def of(cls, data: LocalData, most: int) -> GradientSearch:
        """Search with at most so many of the rows."""
        return cls(data.subset(spread_points(data.n, min(most, data.n))))

    def best(self, n_slopes: int, n_places: int = 0) -> GradientKriging:
        """Find the best process with so many slopes a row, and so many places if it is of few functions."""
        process = GradientKriging(LENGTH * self.unit, RIDGE, False, n_slopes, SLOPE_RIDGE, n_places)
        return descend(process, MOVES, _moved, self.error)

    def grow(self, process: GradientKriging, n: int) -> tuple[GradientKriging, float]:
        """Look for length and noise of a process of few functions again, and give it all it may have.

        The more functions there are, the shorter the best length may be. The error is that with some more
        of them, since that with all of n rows takes long.
        """
        sample = self.sample
        assert sample.slopes is not None
        process = descend(process, MOVES, _moved, self.error)
        most, _ = functions_for(n, sample.slopes.most_each, MOST_WORK, MOST_FUNCTIONS)
        more = replace(process, n_places=min(2 * process.n_places, most))
        more = min(more, for_more_rows(more), key=self.error)
        return replace(more, n_places=most), self.error(more)

    def error(self, process: GradientKriging) -> float:
        """Mean squared leave-one-out error, in units of the labels."""
        if process not in self._errors:
            self._errors[process] = self._measure(process)
        return self._errors[process]

    def _measure(self, process: GradientKriging) -> float:
        sample = self.sample
        if process.n_places == 0:
            return mean_square(sample.fresh_solution(process).loo_residuals, sample.sample_weight)
        assert sample.slopes is not None
        given = sample.rows, sample.labels, sample.sample_weight, sample.slopes
        return mean_square(
            SolvedSparsely(process, *given, for_residuals=True).loo_residuals, sample.sample_weight
        )


def _moved(process: GradientKriging, longer: float, larger: float, looser: float) -> GradientKriging:
    """Return a process of another length, ridge and slope ridge, by these factors."""
    ridge, slope_ridge = np.clip(
        [process.ridge * larger, process.slope_ridge * looser], LEAST_RIDGE, MOST_RIDGE
    ).tolist()
    return replace(process, length=process.length * longer, ridge=ridge, slope_ridge=slope_ridge)
