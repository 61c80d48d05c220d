"""Steps along the signs of slopes, to where a function of a few logarithms is least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EVALUATIONS = 36
PATIENCE, WORTH = 6, 4.0  # evaluations that must lower the function by so much
FIRST_STEP, MOST_STEP, LEAST_STEP = 0.4, 1.0, 1e-3
FASTER, SLOWER = 1.3, 0.5  # factors of a step, where the slope keeps its sign and where it does not


def climb(measure: Callable[[Array], tuple[float, Array]], place: Array, low: Array, high: Array) -> Array:
    """Find the place (p,) between bounds where the function is least, from one to start with.

    ``measure`` tells the function at a place, infinite where it cannot, and its slopes (p,). Each entry has
    a step of its own, which grows while its slope keeps its sign. So a step cannot throw an entry far off,
    as it can where steps are as long as slopes say.
    """
    best, least, reached = place, np.inf, list[float]()
    step, before = np.full(len(place), FIRST_STEP), np.zeros(len(place))
    for _ in range(EVALUATIONS):
        value, slopes = measure(place)
        if not np.isfinite(value):
            break
        if value < least:
            best, least = place, value
        reached.append(least)
        if len(reached) > PATIENCE and reached[-1 - PATIENCE] - least < WORTH:
            break
        sign = np.sign(slopes)
        factor = np.where(sign * before > 0.0, FASTER, np.where(sign * before < 0.0, SLOWER, 1.0))
        step = np.clip(step * factor, LEAST_STEP, MOST_STEP)
        before, place = sign, np.clip(place - sign * step, low, high)
    return best
