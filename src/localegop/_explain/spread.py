"""Standard errors from pairs of complementary halves of the rows.

What two complementary halves of the rows say of a quantity is t + a + c and t - a + c', where t is what all
rows say, a what one half has more of than the other, and c and c' the chance in what is chosen. Across
samples t varies as a does across halves, so half of the difference tells the standard error, with half of
the variance of the chance in what is chosen beside it. An average over what might be chosen has less of
that chance, but not none: what comes close differs from sample to sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def error_from_halves(found: Array) -> Array:
    """Find standard errors (...,) from what halves (2 pairs, ...) say."""
    errors: Array = np.sqrt(np.mean((0.5 * (found[0::2] - found[1::2])) ** 2, axis=0))
    return errors
