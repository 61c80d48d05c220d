"""How much of the calibrating points a coverage asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def needed_weight(coverage: Array, total: float) -> Array:
    """Sum of weights, of such a total, that scores must reach for each coverage.

    A new point counts like one more.
    """
    needed: Array = coverage * (total + 1.0) * (1.0 - 1e-12)  # rounding in the sums must not cost a row
    return needed
