"""What local fits are asked for: around which centers, and how wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.neighbor_lists import NeighborLists

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Centers:
    """Points around which to fit; they can be sliced like an array.

    Parameters
    ----------
    rows : ndarray of shape (q, D)
        In the units of the recursion.
    lists : NeighborLists or None
        The training points that each may look at; None for all.
    left_out : ndarray of shape (q,) or None
        The training point that each leaves out, which is the center itself; None for none.
    """

    rows: Array
    lists: NeighborLists | None = None
    left_out: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> Centers:
        return Centers(
            self.rows[part],
            None if self.lists is None else self.lists[part],
            None if self.left_out is None else self.left_out[part],
        )

    def pick(self, index: NDArray[np.intp]) -> Centers:
        """Take some of the centers."""
        return Centers(
            self.rows[index],
            None if self.lists is None else self.lists.pick(index),
            None if self.left_out is None else self.left_out[index],
        )


@dataclass(frozen=True)
class Widths:
    """How wide neighborhoods are, one or several widths for each of q centers.

    Parameters
    ----------
    sizes : ndarray of shape (q, S) or None
        Effective sample sizes, falling, or
    scales : ndarray of shape (q, S) or None
        factors that turn a shape into a metric.
    """

    sizes: Array | None = None
    scales: Array | None = None

    @classmethod
    def of_sizes(cls, sizes: Sequence[float], count: int) -> Widths:
        """Give these effective sizes to all of so many centers."""
        return cls(sizes=np.tile(np.asarray(sizes, dtype=float), (count, 1)))

    @classmethod
    def of_scale(cls, scale: float | Array, count: int) -> Widths:
        """Give one scale to all of so many centers, or one to each."""
        return cls(scales=np.array(np.broadcast_to(scale, (count,)), dtype=float)[:, None])

    def __getitem__(self, part: slice | NDArray[np.intp]) -> Widths:
        return Widths(
            None if self.sizes is None else self.sizes[part],
            None if self.scales is None else self.scales[part],
        )

    def columns(self) -> tuple[Array | None, Array | None]:
        """Give the first sizes (q,) and scales (q,), of which one is None."""
        return (
            None if self.sizes is None else np.ascontiguousarray(self.sizes[:, 0]),
            None if self.scales is None else np.ascontiguousarray(self.scales[:, 0]),
        )

    def widen(self, factor: float, largest: float, smallest: float = 0.0) -> Widths:
        """Multiply effective sizes, within bounds; scales stay as they are."""
        if self.sizes is None:
            return self
        return Widths(sizes=np.minimum(np.maximum(factor * self.sizes, smallest), largest))
