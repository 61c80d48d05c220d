"""Sums that come out the same in any order and from any parts: exact ones, rounded once at the end.

So a fit whose rows are spread over a cluster works in the very units of a fit in one process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Applies a function to the values (n, m) and weights (n,) of every part and returns what it gave.
Reduce = Callable[[Callable[[Array, Array], Any]], list[Any]]


def partial_sums(values: Array) -> Array:
    """Add up the columns of (n, m): sums (3, m), each with two further numbers that rounding took from it.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._data.sums import partial_sums, total
    >>> values = np.array([[1.0], [1e-30], [-1.0]])
    >>> total([partial_sums(values[:2]), partial_sums(values[2:])]).tolist()
    [1e-30]
    """
    sums = np.zeros((3, values.shape[1]))
    for j, column in enumerate(values.T.tolist()):
        for level in range(3):
            sums[level, j] = math.fsum(column)
            column.append(-sums[level, j])
    return sums


def total(parts: Iterable[Array]) -> Array:
    """Sum (m,) of partial sums."""
    return np.array([math.fsum(column) for column in np.concatenate(list(parts)).T.tolist()])


@dataclass(frozen=True)
class Extent:
    """Ends, mean and standard deviation of columns; the deviation is one where they do not vary."""

    low: Array
    high: Array
    mean: Array
    spread: Array

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns have one value only."""
        return np.asarray(self.low == self.high)


def extent(values: Array, share: Array) -> Extent:
    """Extent of columns (n, m) with weights (n,)."""
    return extent_of(lambda function: [function(values, share)])


def extent_of(reduce: Reduce) -> Extent:
    """Extent of columns that may lie in several parts."""
    ends = reduce(_ends)
    low = np.min([part[0] for part in ends], axis=0)
    high = np.max([part[1] for part in ends], axis=0)
    weight = float(total([part[2] for part in ends])[0])
    largest = np.maximum(np.abs(low), np.abs(high))
    largest = np.where(largest > 0.0, largest, 1.0)  # sums of 1e308 overflow; shares of it do not
    mean = total(reduce(partial(_moment, weight=weight, largest=largest)))
    spread = np.sqrt(total(reduce(partial(_moment, weight=weight, largest=largest, mean=mean))))
    negligible = spread <= 1e-14 * np.abs(mean)
    return Extent(low, high, mean * largest, np.where(negligible, 1.0, spread) * largest)


def _ends(values: Array, share: Array) -> tuple[Array, Array, Array]:
    return values.min(axis=0), values.max(axis=0), partial_sums(share[:, None])


def _moment(
    values: Array, share: Array, *, weight: float, largest: Array, mean: Array | None = None
) -> Array:
    """Weighted sums of the columns, or of their squared distances from the mean."""
    scaled = values / largest
    return partial_sums((share / weight)[:, None] * (scaled if mean is None else (scaled - mean) ** 2))
