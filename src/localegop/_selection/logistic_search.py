"""The logistic processes to choose from: length and ridge found by the log loss of rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.logistic_process import (
    Functions,
    LogisticProcess,
    SolvedLogistic,
    find_functions,
)
from localegop._engine.mixture import Mixture
from localegop._selection.global_search import Guess, as_choice, descend, typical_length

Array = NDArray[np.float64]

STARTS: tuple[Guess, ...] = (
    (2.0, 1e-1, False),
    (8.0, 1e-1, True),
)
MOVES = ((2.0, 1.0), (1.0, 0.2), (2.0, 0.2), (0.5, 1.0), (1.0, 5.0), (0.5, 5.0))  # of length and ridge
MOST_SEARCHED = 4000  # rows that are looked at
FEW_PLACES = 80  # of the processes that are compared
MOST_LENGTHS = 4  # whose functions are kept, for other ridges
BETTER = 0.995  # share of the log loss that is worth a move
NEARLY = 1e-4  # share of the loss that is not worth another iteration
LEAST_RIDGE, MOST_RIDGE = 1e-5, 10.0
LONGEST = 64.0  # in typical distances: the rest is a linear regression


def best_logistic_processes(
    rows: Array, labels: Array, sample_weight: Array, guesses: Sequence[Guess] = STARTS
) -> tuple[list[LogisticProcess], list[Guess]]:
    """Find the best process near each of some guesses, by the log loss of rows that are left out.

    Rows are (m, D), one-hot labels (m, K) and weights (m,); the best process of all comes first. The same
    processes are returned as guesses for rows in other axes.
    """
    rows, unit = np.ascontiguousarray(rows), typical_length(rows)

    def moved(process: LogisticProcess, longer: float, larger: float) -> LogisticProcess:
        length = min(process.length * longer, LONGEST * unit)
        ridge = float(np.clip(process.ridge * larger, LEAST_RIDGE, MOST_RIDGE))
        return replace(process, length=length, ridge=ridge)

    @lru_cache(MOST_LENGTHS)
    def functions(length: float, rough: bool) -> Functions:
        return find_functions(LogisticProcess(length, 1.0, rough), rows, FEW_PLACES)

    before: list[Array | None] = [None]  # logits of the process that was looked at last

    @cache
    def error(process: LogisticProcess) -> float:
        some = functions(process.length, process.rough)
        solved = SolvedLogistic(process, rows, labels, sample_weight, some, before[0], NEARLY)
        before[0] = solved.logits
        return solved.loo_log_loss

    starts = [LogisticProcess(length * unit, ridge, rough) for length, ridge, rough in guesses]
    found = sorted((descend(start, MOVES, moved, error, BETTER) for start in starts), key=error)
    return found, [(one.length / unit, one.ridge, one.rough) for one in found]


def mixtures(logistic: Sequence[Choice], others: Sequence[Choice]) -> list[Choice]:
    """List means of the best logistic process, the next one, and the best other process of all rows."""
    pick = (logistic[:1], logistic[1:2], others[:1])
    first, next_one, other = ([one.final for one in some] for some in pick)
    found = []
    for parts in (first + other, first + next_one, first + next_one + other):
        processes = [one for one in parts if isinstance(one, GlobalKriging)]
        if first and len(processes) > 1:
            found.append(as_choice(Mixture.equal(*processes)))
    return found
