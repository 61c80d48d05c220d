"""How much too small residuals of points left out alone are, because axes and metrics knew their labels.

A point that is left out of its final fit has still helped to find the axes and the metric in which this fit
is made. The points that folds hold out have not. So the errors of both are compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUANTILES = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
DOUBT = 0.85  # standard error of the logarithm of such quantiles of normal errors, for one of them
RATE = 0.3  # errors of fits to fewer rows are larger, like their number to the power of minus this


def measure_optimism(residuals: Array, held_out: Array, share: float) -> float:
    """Factor, at least 1, by which residuals (m, K) are too small.

    ``held_out`` (p,) are squared errors, averaged over outputs, of fits to this share of the rows. By how
    much they are larger, d in logarithms, with standard error s, counts as d^2 / (d + s), as in races.
    """
    squares = np.mean(residuals**2, axis=1)
    quantiles = np.array([np.quantile(each, QUANTILES) for each in (squares, held_out)])
    logarithms = 0.5 * np.log(np.maximum(quantiles, np.finfo(float).tiny))
    larger = float(np.mean(logarithms[1] - logarithms[0])) + RATE * np.log(share)
    doubt = DOUBT * np.sqrt(1.0 / len(squares) + 1.0 / len(held_out))
    return float(np.exp(larger**2 / (larger + doubt))) if larger > 0.0 else 1.0
