"""The global processes to choose from: length and ridge found by leave-one-out errors at some rows.

What a process of a few hundred rows predicts without each of them follows from the inverse of one matrix,
so that many lengths and ridges can be tried in little time, before any of them meets a held-out point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._engine.blas import limited_blas
from localegop._engine.choice import Choice
from localegop._engine.few_functions import FunctionKriging, SolvedByFunctions
from localegop._engine.global_kriging import GlobalKriging, squared_distances
from localegop._engine.lapack import factorize, invert_factor, solve
from localegop._engine.threads import work_together

Array = NDArray[np.float64]
P = TypeVar("P", bound=GlobalKriging)

Guess = tuple[float, float, bool]  # length in typical distances, ridge, roughness

STARTS: tuple[Guess, ...] = ((2.0, 1e-3, False), (8.0, 1e-2, True))
MOVES = ((1.0, 10.0), (1.0, 0.1), (2.0, 1.0), (0.5, 1.0), (2.0, 0.1), (0.5, 10.0))  # of length and ridge
FINER = (2.0**0.5, 10.0**0.5), (2.0**0.25, 10.0**0.25)  # the same, round after round, once one is chosen
LEAST_RIDGE, MOST_RIDGE = 1e-9, 10.0
MOST_SWEEPS = 6
BETTER = 0.999  # share of the error that is worth a move
ANY_BETTER = 1.0 - 1e-5  # the same once one is chosen: less is no reason to go on to a ridge of nothing
MORE_ROWS = 0.7, 0.5  # of length and ridge, where there are more rows than the search has seen
FEW_PLACES = 300  # functions of a process at first
DEFAULT_GLOBAL = Choice(0, None, GlobalKriging(2.0, 1e-2))  # where there are too few points to choose by


class GlobalSearch:
    """Search for a good global process at some rows (m, D), by leave-one-out errors.

    Parameters
    ----------
    rows : ndarray of shape (m, D)
    labels : ndarray of shape (m, K)
    sample_weight : ndarray of shape (m,)
    threads : int
    """

    def __init__(self, rows: Array, labels: Array, sample_weight: Array, threads: int = 1) -> None:
        self.rows, self.weight, self.threads = np.ascontiguousarray(rows), sample_weight, threads
        self.labels = labels - labels.mean(axis=0)
        self._errors: dict[GlobalKriging, float] = {}
        self._spare: list[Array] = []  # matrices to use again: new memory takes as long as filling it

    def first_guesses(self, guesses: Sequence[Guess] = STARTS) -> list[GlobalKriging]:
        """Give processes to start from; those where nothing is known if there are no guesses."""
        unit = typical_length(self.rows)
        return [GlobalKriging(length * unit, ridge, rough) for length, ridge, rough in guesses]

    def guess_from(self, process: GlobalKriging) -> Guess:
        """Return what a process is a guess of, for rows in other axes."""
        return process.length / typical_length(self.rows), process.ridge, process.rough

    def best(self, guesses: Sequence[P]) -> list[P]:
        """Find the best process near each guess; the best of all comes first."""
        with limited_blas(1, 1):
            found = work_together([partial(self._descend, guess) for guess in guesses], self.threads)
        return sorted(found, key=self.error)

    def refine(self, process: GlobalKriging) -> GlobalKriging:
        """Find the best process near one, in finer and finer moves, also along both at once.

        It is one of a grid that follows from the rows alone, so that several starts lead to one process.
        """
        unit = typical_length(self.rows)
        process = _on_grid(process, unit)

        def moved(process: GlobalKriging, longer: float, larger: float) -> GlobalKriging:
            return _on_grid(_moved(process, longer, larger), unit)  # to the very numbers, whatever the way

        with limited_blas(1, 1):
            for longer, larger in FINER:
                both = (longer, 1.0 / larger), (1.0 / longer, larger)  # what errors hardly tell apart
                moves = ((1.0, larger), (1.0, 1.0 / larger), (longer, 1.0), (1.0 / longer, 1.0), *both)
                process = descend(process, moves, moved, self._error, ANY_BETTER)
        return process

    def error(self, process: GlobalKriging) -> float:
        """Mean squared leave-one-out error, in units of the labels."""
        with limited_blas(1, 1):
            return self._error(process)

    def _error(self, process: GlobalKriging) -> float:
        if process not in self._errors:
            self._errors[process] = self._measure(process)
        return self._errors[process]

    def _descend(self, process: P) -> P:
        return descend(process, MOVES, _moved, self._error)

    def _measure(self, process: GlobalKriging) -> float:
        if isinstance(process, FunctionKriging):
            solved = SolvedByFunctions(process, self.rows, self.labels, self.weight)
            return mean_square(solved.loo_residuals, self.weight)
        try:
            spare = self._spare.pop()  # no other thread has it
        except IndexError:
            spare = np.zeros((len(self.rows), len(self.rows)))
        error = self._error_in(process.lower_covariances(self.rows, spare), process)
        self._spare.append(spare)
        return error

    def _error_in(self, system: Array, process: GlobalKriging) -> float:
        """Mean squared leave-one-out error for covariances (m, m), which are lost."""
        system[np.diag_indices_from(system)] += process.ridge / self.weight
        if not factorize(system):
            return np.inf
        dual = solve(system, self.labels)
        invert_factor(system)
        inverse = np.einsum("ij,ij->j", system, system)  # its diagonal
        residuals = dual / inverse[:, None]
        return mean_square(residuals, self.weight)


def _on_grid(process: GlobalKriging, unit: float) -> GlobalKriging:
    """Return the process next to one of which the finest moves from a length of one unit may lead to."""
    longer, larger = FINER[-1]
    length = unit * longer ** round(np.log(process.length / unit) / np.log(longer))
    ridge = larger ** round(np.log(process.ridge) / np.log(larger))
    return replace(process, length=float(length), ridge=float(np.clip(ridge, LEAST_RIDGE, MOST_RIDGE)))


def _moved(process: P, longer: float, larger: float) -> P:
    """Return a process of another length and ridge, by these factors."""
    ridge = float(np.clip(process.ridge * larger, LEAST_RIDGE, MOST_RIDGE))
    return replace(process, length=process.length * longer, ridge=ridge)


def descend(
    process: P,
    moves: Sequence[tuple[float, ...]],
    moved: Callable[..., P],
    error: Callable[[P], float],
    better: float = BETTER,
) -> P:
    """Move from a process to better ones nearby, sweep after sweep, as long as that lowers the error."""
    for _ in range(MOST_SWEEPS):
        start = process
        for move in moves:
            other = moved(process, *move)
            if error(other) < better * error(process):
                process = other
        if process == start:
            break
    return process


def mean_square(residuals: Array, weight: Array) -> float:
    """Weighted mean of squared residuals (n, K), infinite if it is no number; without BLAS."""
    error = float(np.einsum("n,nk->", weight, residuals**2, optimize=False))
    error /= float(weight.sum()) * residuals.shape[1]
    return error if np.isfinite(error) else np.inf


def as_choice(process: GlobalKriging) -> Choice:
    """Return the choice of a process."""
    return Choice(0, None, process)


def for_more_rows(process: P) -> P:
    """Return the process that may be better with more rows than it was found with."""
    length, ridge = process.length * MORE_ROWS[0], max(process.ridge * MORE_ROWS[1], LEAST_RIDGE)
    return replace(process, length=length, ridge=ridge)


def from_fewer_rows(process: GlobalKriging) -> list[FunctionKriging]:
    """List processes of few functions that do well with many rows, if this one does with some of them."""
    both = process, for_more_rows(process)
    return [FunctionKriging(one.length, one.ridge, one.rough, FEW_PLACES) for one in both]


def typical_length(rows: Array) -> float:
    """Return the length that the distances between rows (m, D) suggest to start from."""
    typical = float(np.median(squared_distances(rows, rows)))
    return float(np.sqrt(0.5 * typical)) if typical > 0.0 else 1.0
