"""Pilot fits: isotropic linear fits at some of the points, each without its own, before the recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.gradient_field import spread_points
from localegop._engine.recursion import isotropic_shapes
from localegop._engine.work import PolynomialFits
from localegop._fit.backend import Backend, D, M_co
from localegop._selection.search_grid import sizes_for

Array = NDArray[np.float64]

PILOT_POINTS = 300  # at most as many points are tried


@dataclass(frozen=True)
class PilotResult:
    """Leave-one-out errors (size, ridge) of pilot fits; size, ridge and gradients (m, K, D) of the best."""

    errors: Array
    gradients: Array
    sample_weight: Array
    size: float
    ridge: float

    @property
    def error(self) -> float:
        """The smallest error."""
        return float(self.errors.min())


def run_pilot(
    backend: Backend[D, M_co], data: D, ridges: tuple[float, ...], *, gradients: bool = False
) -> PilotResult:
    """Fit at some points, for all sizes and ridges."""
    site, sizes = backend.own_site(data, spread_points(data.n, PILOT_POINTS)), sizes_for(data)
    found = site.run(
        PolynomialFits(ridges, gradients=gradients),
        isotropic_shapes(len(site), data.dimension),
        Widths.of_sizes(sizes, len(site)),
    )
    squares = np.sum((site.labels[:, None, None] - found[0][:, :, 0]) ** 2, axis=-1)
    errors = np.einsum("i,isr->sr", site.sample_weight, squares, optimize=False)
    size, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    slopes = found[1][:, size, 0, ridge] if gradients else np.zeros((0, 0, data.dimension))
    weight = site.sample_weight
    return PilotResult(errors / weight.sum(), slopes, weight, sizes[size], ridges[ridge])
