"""Sites: centers with the training points that they may look at, and work done there.

A fit is a recursion and decisions in one place, and work at centers that looks at the rows around them. A
site is where such work is done: in one process here, in partitions of a cluster in
:mod:`localegop.distributed`. What comes back is an array for each result, with one entry a center.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData, TrainingData
from localegop._engine.neighbor_lists import KeptLists, NeighborLists

Array = NDArray[np.float64]


class Work(Protocol):
    """Something to do around centers, in neighborhoods of given shapes and widths."""

    def bytes_each(self, data: LocalData) -> float:
        """How much memory a center needs."""

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """Do it, and return arrays with one entry a center."""


class Site(Protocol):
    """Centers and the training points around them."""

    @property
    def data(self) -> TrainingData:
        """The training points, as a whole."""

    @property
    def rows(self) -> Array:
        """Where the centers are (m, D), in the units of the recursion."""

    @property
    def labels(self) -> Array:
        """Labels (m, K) of the centers."""

    @property
    def sample_weight(self) -> Array:
        """Weights (m,) of the centers."""

    def __len__(self) -> int:
        """Count the centers."""

    def pick(self, some: NDArray[np.intp]) -> Self:
        """Take some of the centers."""

    def relabelled(self, labels: Array) -> Self:
        """Take the same centers with other labels (m, K)."""

    def run(self, work: Work, shapes: Array, widths: Widths) -> tuple[Array, ...]:
        """Do some work around all centers."""


KEPT_BYTES = 100e6  # lists of neighbors are kept between two pieces of work if they take no more


@dataclass(frozen=True)
class LocalSite:
    """A site in this process; see :class:`Site`.

    ``left_out`` are the training points that the centers are, if any; ``lists`` the points that they may
    look at, None if these are all, or too many to be kept.
    """

    data: LocalData
    rows: Array
    labels: Array
    sample_weight: Array
    left_out: NDArray[np.int64] | None = None
    lists: NeighborLists | KeptLists | None = None

    @classmethod
    def at(
        cls,
        data: LocalData,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        left_out: NDArray[np.int64] | None = None,
    ) -> LocalSite:
        """Return the site at some rows, with their neighbors."""
        return cls(data, rows, labels, sample_weight, left_out, _lists_to_keep(data, rows))

    @classmethod
    def own(cls, data: LocalData, points: NDArray[np.int64]) -> LocalSite:
        """Return the site at some of the training points, each of which leaves itself out."""
        return cls.at(data, data.rows[points], data.labels[points], data.sample_weight[points], points)

    def __len__(self) -> int:
        return len(self.rows)

    def pick(self, some: NDArray[np.intp]) -> LocalSite:
        """See :class:`Site`."""
        rows = self.rows[some]
        return LocalSite(
            self.data,
            rows,
            self.labels[some],
            self.sample_weight[some],
            None if self.left_out is None else self.left_out[some],
            _lists_to_keep(self.data, rows) if self.lists is None else self.lists.pick(some),
        )

    def relabelled(self, labels: Array) -> LocalSite:
        """See :class:`Site`."""
        return replace(self, labels=labels)

    def run(self, work: Work, shapes: Array, widths: Widths) -> tuple[Array, ...]:
        """See :class:`Site`."""
        parts = [
            work(self.data, self._centers(rows), shapes[rows], widths[rows])
            for rows in chunks(len(self), work.bytes_each(self.data))
        ]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    def _centers(self, part: slice) -> Centers:
        """Return some centers with the points that they may look at."""
        rows = self.rows[part]
        lists = self.data.neighbor_lists(rows) if self.lists is None else self.lists[part]
        return Centers(rows, lists, None if self.left_out is None else self.left_out[part])


def _lists_to_keep(data: LocalData, rows: Array) -> KeptLists | None:
    """Return lists of the neighbors of rows, each searched for once; None if they are too many, or all."""
    keep = 4.0 * data.max_visible * len(rows) <= KEPT_BYTES
    return data.keep_neighbor_lists(rows) if keep else None
