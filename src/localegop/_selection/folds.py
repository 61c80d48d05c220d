"""Points to hold out: how many, which ones, and what is learned without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import rotate
from localegop._engine.centers import Centers
from localegop._engine.local_data import LocalData, half_of
from localegop._engine.neighbor_lists import NeighborLists

Array = NDArray[np.float64]
F = TypeVar("F")

N_FOLDS = 5
HELD_OUT = 1000  # points to choose by: fewer folds are learned where fewer hold as many
FEWEST_POINTS = 2 * N_FOLDS  # with fewer nothing is held out


def count_folds(n: int) -> int:
    """How many folds hold out enough of n points."""
    return min(N_FOLDS, -(-N_FOLDS * HELD_OUT // n))


def many_points(n: int) -> bool:
    """Whether n points are so many that one fold holds out enough."""
    return count_folds(n) == 1


def draw_folds(n: int, seed: int) -> list[NDArray[np.intp]]:
    """Draw the sets of points to hold out, one after the other."""
    rng = np.random.default_rng(seed)
    if many_points(n):
        return [np.sort(rng.choice(n, HELD_OUT, replace=False))]  # n may be too large for a permutation
    parts = np.array_split(rng.permutation(n), N_FOLDS)
    return [np.sort(part[:HELD_OUT]) for part in parts[: count_folds(n)]]


@dataclass(frozen=True)
class Fold:
    """Points to learn from, those of them to learn at, and points held out with their labels."""

    data: LocalData
    targets: Centers
    held_out: Centers
    labels: Array


@dataclass(frozen=True)
class FoldResult(Generic[F]):
    """What was learned without some points, and what came out at them.

    Parameters
    ----------
    errors : ndarray of shape (step, size, quadratic directions, ridge, point)
        Squared errors at the points held out.
    sample_weight : ndarray of shape (point,)
        Their weights.
    dimension, n, max_visible : int
        Number of features in the axes of the fold, of points learned from, and of those that a center sees.
    learned : F
        The field that was learned, and where the points held out are.
    """

    errors: Array
    sample_weight: Array
    dimension: int
    n: int
    max_visible: int
    learned: F

    @property
    def largest_size(self) -> float:
        """Largest effective size that is asked of a neighborhood."""
        return half_of(self.max_visible)


def hold_out(
    data: LocalData,
    points: NDArray[np.intp],
    lists: NeighborLists | None,
    held_out: NDArray[np.intp],
    n_total: int,
) -> Fold:
    """Leave some of the data out, with centers at ``points`` that have these lists before.

    The lists become a little shorter, but need no second search. The points left are some of ``n_total``.
    """
    rest = np.setdiff1d(np.arange(data.n), held_out)
    part = data.subset(rest, n_total)
    out = np.isin(points, held_out)

    def centers(which: NDArray[np.intp]) -> tuple[Array, NeighborLists | None]:
        rows = data.rows[points[which]]
        shorter = None if lists is None else lists.restrict(which, rest, data.n)
        return rows, part.fill_short_lists(rows, shorter)

    stay, go = np.flatnonzero(~out), np.flatnonzero(out)
    targets = Centers(*centers(stay), np.searchsorted(rest, points[stay]).astype(np.int64))
    return Fold(part, targets, Centers(*centers(go)), data.labels[points[go]])


def hold_out_in_axes(data: LocalData, held_out: NDArray[np.intp], axes: Array) -> Fold:
    """Leave some of the data out, and look at the rest in other axes (D, r)."""
    part = data.without(held_out).rotated(axes)
    targets = part.all_own_centers(part.neighbor_lists(part.rows))
    return Fold(part, targets, part.centers(rotate(data.rows[held_out], axes)), data.labels[held_out])
