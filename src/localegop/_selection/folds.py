"""Points to hold out: how many, and which ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
MOST_HELD_OUT = 4000  # points of a fold
FEWEST_POINTS = 2 * N_FOLDS  # with fewer nothing is held out


def draw_folds(n: int, seed: int) -> list[NDArray[np.intp]]:
    """Draw sets of points to hold out, each in random order.

    Where a fifth of the points is more than it takes to choose by, there is only one set.
    """
    rng = np.random.default_rng(seed)
    if n >= N_FOLDS * MOST_HELD_OUT:
        return [rng.choice(n, MOST_HELD_OUT, replace=False)]  # n may be too large for a permutation
    return list(np.array_split(rng.permutation(n), N_FOLDS))
