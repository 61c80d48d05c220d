"""Points to hold out: how many, and which ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
MOST_TESTED = (
    4000  # points of a fold at which choices are compared; others count in averages of labels only
)
MOST_HELD_OUT = 40_000  # points of a fold
ONE_FOLD = 80_000  # rows from which on the labels of one fold are enough
FEWEST_POINTS = 2 * N_FOLDS  # with fewer nothing is held out


def draw_folds(n: int, seed: int) -> list[NDArray[np.intp]]:
    """Draw sets of points to hold out, each in random order.

    Where a fifth of the points is more than it takes to choose by, there is only one set.
    """
    rng = np.random.default_rng(seed)
    if n >= ONE_FOLD:
        return [rng.choice(n, min(n // N_FOLDS, MOST_HELD_OUT), replace=False)]
    return list(np.array_split(rng.permutation(n), N_FOLDS))
