"""Isotropic linear fits at some of the points, each without its own: what is known before the recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic
from localegop._selection.search_grid import n_folds, sizes_for

Array = NDArray[np.float64]

CENTERS = 500  # about as many points are tried
FEW = 500  # neighbors of a center that are enough for a first look


@dataclass(frozen=True)
class Trial:
    """Leave-one-out errors (size, ridge) of isotropic fits, and the gradients (m, K, D) of the best."""

    errors: Array
    gradients: Array
    share: Array

    @property
    def error(self) -> float:
        """The smallest error."""
        return float(self.errors.min())


@dataclass(frozen=True)
class TrialFits:
    """Squared residuals (m, size, ridge) and weights (m,) of the points tried.

    ``gradients(s, r)`` gives the gradients (m, K, D) of the fits with size number s and ridge number r.
    """

    squares: Array
    share: Array
    gradients: Callable[[int, int], Array]


def seen_first(n: int, reachable: int) -> int:
    """How many of the reachable points a center looks at first: few where n points are many."""
    return min(FEW, reachable) if n_folds(n) == 1 else reachable


def glance(data: LocalData | Any) -> LocalData | Any:
    """Return the data for a first look."""
    most = seen_first(data.n, data.reachable)
    return data if most == data.reachable else data.narrowed(most)


def some_points(n: int) -> NDArray[np.int64]:
    """Every so manieth of n points."""
    return np.arange(0, n, max(1, n // CENTERS))


def isotropic_trial(data: LocalData, ridges: tuple[float, ...], *, gradients: bool = False) -> Trial:
    """Fit at some points, for all sizes and ridges."""
    fits = trial_fits(data, some_points(data.n), sizes_for(data.reachable), ridges, gradients)
    errors = np.einsum("i,isr->sr", fits.share, fits.squares)
    size, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    best = fits.gradients(int(size), int(ridge)) if gradients else np.zeros((0, 0, data.dimension))
    return Trial(errors / fits.share.sum(), best, fits.share)


@singledispatch
def trial_fits(
    data: LocalData | Any,
    tried: NDArray[np.int64],
    sizes: tuple[float, ...],
    ridges: tuple[float, ...],
    gradients: bool,
) -> TrialFits:
    """Fit at these points of the data."""
    squares = np.empty((len(tried), len(sizes), len(ridges)))
    slopes = [np.zeros((0, len(sizes), len(ridges), data.labels.shape[1], data.dimension))]
    each = 8 * data.dimension * (data.dimension + gradients * len(sizes) * len(ridges))
    for rows in data.chunks(len(tried), each + 12 * data.reachable):
        here = tried[rows]
        batch = data.localize(
            data.rows[here],
            isotropic(len(here), data.dimension),
            data.candidates(data.rows[here]),
            sizes=np.tile(sizes, (len(here), 1)),
            left_out=here.astype(np.int64),
            degree=1,
            ridges=ridges,
            gradients=gradients,
        )
        residual = data.labels[here, None, None] - batch.value[:, :, 0]
        squares[rows] = np.sum(residual**2, axis=-1)
        slopes.append(batch.gradient[:, :, 0])
    return TrialFits(
        squares,
        data.share[tried],
        lambda size, ridge: np.concatenate([part[:, size, ridge] for part in slopes]),
    )
