"""Sums that come out the same in any order and from any parts.

The sum of a part is rounded correctly (``math.fsum``) and kept with two further numbers, what rounding took
from it and from that: some 150 bits in all. Only rows that cancel to fewer digits could make the order
matter. So a fit whose rows are distributed over a cluster works in the very units of a fit in one process.
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
LARGEST, SMALLEST = 1e152, 1e-152  # of features and labels, whose squares are needed
LARGEST_RATIO = 1e140  # of standard deviations: slopes are ratios, and their squares are needed
# Applies a function to the values (n, m) and weights (n,) of every part and returns what it gave.
Reduce = Callable[[Callable[[Array, Array], Any]], list[Any]]


def sum_columns(values: Array) -> Array:
    """Add up the columns of (n, m): sums (3, m), each with two further numbers that rounding took from it.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._data.sums import sum_columns, merge_sums
    >>> values = np.array([[1.0], [1e-30], [-1.0]])
    >>> merge_sums([sum_columns(values[:2]), sum_columns(values[2:])]).tolist()
    [1e-30]
    """
    sums = np.zeros((3, values.shape[1]))
    for j, column in enumerate(values.T.tolist()):
        for level in range(3):
            sums[level, j] = math.fsum(column)
            column.append(-sums[level, j])
    return sums


def merge_sums(parts: Iterable[Array]) -> Array:
    """Sum (m,) of all parts, from the sums of each."""
    return np.array([math.fsum(column) for column in np.concatenate(list(parts)).T.tolist()])


@dataclass(frozen=True)
class Extent:
    """Ends, mean and standard deviation of columns; the deviation is one where they do not vary."""

    low: Array
    high: Array
    mean: Array
    std: Array

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns have one value only."""
        return np.asarray(self.low == self.high)


def check_range(features: Extent, labels: Extent) -> None:
    """Refuse features and labels whose squares, or those of slopes, could not be represented."""
    spreads = []
    for name, found in (("X", features), ("y", labels)):
        largest = np.maximum(np.abs(found.low), np.abs(found.high))
        _refuse(name, largest, largest > LARGEST, f"values as large as {{:g}}, beyond {LARGEST:g}")
        spread = np.where(found.constant, np.nan, found.std)
        _refuse(name, spread, spread < SMALLEST, f"a standard deviation of {{:g}}, below {SMALLEST:g}")
        spreads.append(spread)
    both = np.concatenate(spreads)
    if np.nanmax(both, initial=0.0) / LARGEST_RATIO > np.nanmin(both, initial=np.inf):
        raise ValueError(
            f"the columns of X and y have standard deviations from {np.nanmin(both):g} to "
            f"{np.nanmax(both):g}, so that squared slopes cannot be represented: give units in which they "
            f"differ by less than {LARGEST_RATIO:g}"
        )


def _refuse(name: str, values: Array, wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        column = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"column {column} of {name} has {what.format(values[column])}, whose squares cannot be "
            f"represented: give {name} in other units, or leave out what is not meant"
        )


def measure_extent(values: Array, sample_weight: Array) -> Extent:
    """Extent of columns (n, m) with weights (n,)."""
    return measure_extent_in_parts(lambda function: [function(values, sample_weight)])


def measure_extent_in_parts(reduce: Reduce) -> Extent:
    """Extent of columns that may lie in several parts."""
    ends = reduce(_ends)
    low = np.min([part[0] for part in ends], axis=0)
    high = np.max([part[1] for part in ends], axis=0)
    weight = float(merge_sums([part[2] for part in ends])[0])
    largest = np.maximum(np.abs(low), np.abs(high))
    largest = np.where(largest > 0.0, largest, 1.0)  # sums of 1e308 overflow; shares of it do not
    mean = merge_sums(reduce(partial(_moment, weight=weight, largest=largest)))
    std = np.sqrt(merge_sums(reduce(partial(_moment, weight=weight, largest=largest, mean=mean))))
    negligible = std <= 1e-14 * np.abs(mean)
    return Extent(low, high, mean * largest, np.where(negligible, 1.0, std) * largest)


def _ends(values: Array, sample_weight: Array) -> tuple[Array, Array, Array]:
    return values.min(axis=0), values.max(axis=0), sum_columns(sample_weight[:, None])


def _moment(
    values: Array, sample_weight: Array, *, weight: float, largest: Array, mean: Array | None = None
) -> Array:
    """Weighted sums of the columns, or of their squared distances from the mean."""
    scaled = values / largest
    return sum_columns(
        (sample_weight / weight)[:, None] * (scaled if mean is None else (scaled - mean) ** 2)
    )
