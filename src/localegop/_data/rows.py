"""Training rows in a form of their own: no repeats, sorted.

So a row of weight 2 is a row given twice, and neither the order of rows nor their repetition can change a
result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent, measure_extent

Array = NDArray[np.float64]
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100  # which are squared, added up and divided by each other


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of (X, y) of positive weight, sorted, with the sum of their weights.

    ``position`` tells where each row as given went, -1 if it had no weight; ``part`` is how much of the
    distinct row's weight it brought. ``gradients`` (n, K, m) are the slopes given with the rows, if
    any, along ``directions`` (n, m, D), or along the features if these are None.
    """

    X: Array
    y: Array
    sample_weight: Array
    position: NDArray[np.intp]
    part: Array
    gradients: Array | None = None
    directions: Array | None = None

    @property
    def dimension(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def reweighted(self, factors: Array) -> DistinctRows:
        """Return the same rows, with weights multiplied by factors (n,)."""
        return replace(self, sample_weight=multiply_weights(self.sample_weight, factors))

    def sample(self, most: int) -> tuple[Array, Array]:
        """Features and weights of at most so many rows: every k-th."""
        some = slice(None, None, spacing(len(self.X), most))
        return self.X[some], self.sample_weight[some]

    @cached_property
    def features(self) -> Extent:
        """Extent of the features."""
        return measure_extent(self.X, self.sample_weight)

    @cached_property
    def labels(self) -> Extent:
        """Extent of the labels."""
        return measure_extent(self.y, self.sample_weight)


def multiply_weights(sample_weight: Array, factors: Array) -> Array:
    """Multiply weights (n,) by factors (n,), to no less than can be represented in products."""
    return np.maximum(sample_weight * factors, SMALLEST_WEIGHT)


def spacing(n: int, most: int) -> int:
    """Return the least k with which every k-th of n rows are at most so many."""
    return max(1, -(-n // most))


def merge_rows(
    X: Array,
    y: Array,
    weight: Array,
    gradients: Array | None = None,
    directions: Array | None = None,
) -> DistinctRows:
    """Merge equal rows of X (n, D) and y (n, K) and add up their weights.

    With slopes (n, K, m), and directions (n, m, D), rows are equal if these are, too; NaN is equal to NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._data.rows import merge_rows
    >>> rows = merge_rows(np.array([[2.0], [1.0], [2.0]]), np.zeros((3, 1)), np.ones(3))
    >>> rows.X.ravel().tolist(), rows.sample_weight.tolist(), rows.position.tolist()
    ([1.0, 2.0], [1.0, 2.0], [1, 0, 1])
    """
    used = np.flatnonzero(weight > 0.0)
    slopes, along = (
        np.zeros((len(X), 0)) if given is None else given.reshape(len(X), -1)
        for given in (gradients, directions)
    )
    unknown = np.isnan(slopes)
    parts = [X, y, np.where(unknown, 0.0, slopes), unknown, along]
    both = np.hstack([part[used] for part in parts]) + 0.0  # + 0.0 turns -0.0 into 0.0
    order = np.lexsort(both.T[::-1])
    ordered = both[order]
    new = np.ones(len(used), dtype=bool)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    group = np.cumsum(new) - 1
    position = np.full(len(X), -1, dtype=np.intp)
    position[used[order]] = group
    sample_weight = np.bincount(group, weights=weight[used[order]]).astype(float)
    part = np.zeros(len(X))
    part[used] = weight[used] / sample_weight[position[used]]
    kept = ordered[new]
    split, end = X.shape[1], X.shape[1] + y.shape[1]
    first = used[order][new]  # of equal rows
    return DistinctRows(
        np.ascontiguousarray(kept[:, :split]),
        np.ascontiguousarray(kept[:, split:end]),
        sample_weight,
        position,
        part,
        None if gradients is None else np.ascontiguousarray(gradients[first]),
        None if directions is None else np.ascontiguousarray(directions[first]),
    )
