"""Pilot fits: isotropic linear fits at some of the points, each without its own, before the recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._fit.backend import Backend, D, F, M_co, PilotFits
from localegop._selection.folds import many_points
from localegop._selection.search_grid import sizes_for

Array = NDArray[np.float64]

PILOT_POINTS = 500  # about as many points are tried
PILOT_NEIGHBORS = 500  # of a center, enough for a first look


@dataclass(frozen=True)
class PilotResult:
    """Leave-one-out errors (size, ridge) of pilot fits, and the gradients (m, K, D) of the best."""

    errors: Array
    gradients: Array
    sample_weight: Array

    @property
    def error(self) -> float:
        """The smallest error."""
        return float(self.errors.min())


def pilot_neighbor_count(n: int, max_visible: int) -> int:
    """How many of the visible points a center looks at first: few where n points are many."""
    return min(PILOT_NEIGHBORS, max_visible) if many_points(n) else max_visible


def with_fewer_neighbors(data: D) -> D:
    """Return the data for a first look."""
    most = pilot_neighbor_count(data.n, data.max_visible)
    return data if most == data.max_visible else data.limited(most)


def every_kth_point(n: int) -> NDArray[np.int64]:
    """Take some of n points, evenly spaced in their order."""
    return np.arange(0, n, max(1, n // PILOT_POINTS))


def run_pilot(
    backend: Backend[D, F, M_co], data: D, ridges: tuple[float, ...], *, gradients: bool = False
) -> PilotResult:
    """Fit at some points, for all sizes and ridges."""
    fits = backend.pilot_fits(data, every_kth_point(data.n), sizes_for(data), ridges, gradients)
    errors = np.einsum("i,isr->sr", fits.sample_weight, fits.squares)
    size, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    best = fits.gradients(int(size), int(ridge)) if gradients else np.zeros((0, 0, data.dimension))
    return PilotResult(errors / fits.sample_weight.sum(), best, fits.sample_weight)


def fit_pilot(
    data: LocalData,
    points: NDArray[np.int64],
    sizes: tuple[float, ...],
    ridges: tuple[float, ...],
    gradients: bool,
) -> PilotFits:
    """Make the pilot fits at these points of data in one process."""
    squares = np.empty((len(points), len(sizes), len(ridges)))
    slopes = [np.zeros((0, len(sizes), len(ridges), data.outputs, data.dimension))]
    each = 8 * data.dimension * (data.dimension + gradients * len(sizes) * len(ridges))
    for rows in chunks(len(points), each + 12 * data.max_visible):
        here = points[rows]
        batch = data.localize(
            data.own_centers(here),
            isotropic_shapes(len(here), data.dimension),
            Widths.of_sizes(sizes, len(here)),
            degree=1,
            ridges=ridges,
            gradients=gradients,
        )
        residual = data.labels[here, None, None] - batch.value[:, :, 0]
        squares[rows] = np.sum(residual**2, axis=-1)
        slopes.append(batch.gradient[:, :, 0])
    return PilotFits(
        squares,
        data.sample_weight[points],
        lambda size, ridge: np.concatenate([part[:, size, ridge] for part in slopes]),
    )
