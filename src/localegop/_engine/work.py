"""Work done at sites (:class:`localegop._engine.sites.Work`): several kinds of fits around centers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.final_fits import MAX_KRIGING_POINTS, FinalFit, Kriging, krige_all
from localegop._engine.local_data import LocalData

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PolynomialFits:
    """Polynomial fits of several numbers of quadratic directions and several ridges.

    The results are values (center, size, directions, ridge, output), and, as asked for, gradients with one
    more axis and variance factors (center, size, directions, ridge).
    """

    ridges: tuple[float, ...]
    degree: int = 1
    quadratic_directions: tuple[int, ...] = (0,)
    gradients: bool = False
    variances: bool = False
    logistic: bool = False
    slope_weight: float = 0.0

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`Work`."""
        fits = len(self.ridges) * len(self.quadratic_directions) * data.outputs
        each = fits * (1 + self.gradients * data.dimension) + data.dimension**2
        return float(8.0 * each + 12.0 * data.max_visible)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`Work`."""
        batch = data.localize(
            centers,
            shapes,
            widths,
            degree=min(self.degree, 1),
            # a fold may have fewer axes
            quadratic_directions=[min(b, data.dimension) for b in self.quadratic_directions],
            ridges=self.ridges,
            gradients=self.gradients,
            variances=self.variances,
            logistic=self.logistic,
            slope_weight=self.slope_weight,
        )
        found = [batch.value]
        if self.gradients:
            found.append(batch.gradient)
        if self.variances:
            found.append(batch.variance_factor)
        return tuple(found)


@dataclass(frozen=True)
class KrigingFits:
    """Kriging by several processes, in neighborhoods of one effective size.

    Each uses so many of the heaviest points at most. The results are values (center, process, output).
    """

    processes: tuple[Kriging, ...]
    most: int = MAX_KRIGING_POINTS

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`Work`."""
        each = len(self.processes) * data.outputs + data.dimension**2
        return float(8.0 * each + 12.0 * data.max_visible)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`Work`."""
        return (krige_all(self.processes, data, centers, shapes, widths, most=self.most).value,)


@dataclass(frozen=True)
class FinalFits:
    """Final fits of one kind.

    The results are values (center, output), gradients with one more axis, and variance factors (center,).
    """

    final: FinalFit

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`Work`."""
        each = data.dimension * (data.dimension + data.outputs)
        return float(8.0 * each + 12.0 * data.max_visible)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`Work`."""
        fit = self.final.fit(data, centers, shapes, widths, gradients=True, variances=True)
        return fit.value, fit.gradient, fit.variance_factor
