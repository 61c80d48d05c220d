"""Everything that a fit decides, and the fits it leaves at training points; no data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.choice import Choice
from localegop._engine.recursion import MetricUpdate
from localegop._engine.settings import Settings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Decisions:
    """What a fit has decided: units, how the metric moves, and the final fit.

    Parameters
    ----------
    settings : Settings
    units : Units
    update : MetricUpdate
    choice : Choice
    initial_metric : str or ndarray of shape (D, D)
        A name, or the matrix of the axes that slopes gave.
    feature_scale : ndarray of shape (D,)
        Standard deviations of the features; of those with a curve, after it.
    isotropic_error : float
        Of isotropic fits at the points held out for the choice; NaN if nothing was chosen.
    reach : float
        Distance, in the units of the recursion, beyond which a query is too far from the data; see
        :mod:`localegop._predict.support`.
    """

    settings: Settings
    units: Units
    update: MetricUpdate
    choice: Choice
    initial_metric: str | Array
    feature_scale: Array
    isotropic_error: float = np.nan
    reach: float = np.inf

    def in_axes(self, axes: Array) -> Decisions:
        """Decisions for other axes (D, r)."""
        units = self.units.rotated(axes)
        return replace(
            self,
            units=units,
            update=self.settings.update(units),
            initial_metric=np.einsum("ab,cb->ac", units.transform, units.transform),
        )

    def query_rows(self, X: Array) -> Array:
        """Turn queries into the units of the recursion."""
        # Squares of distances beyond 1e150 would overflow; that far out all directions look alike anyway.
        return np.clip(self.units.features(X), -1e75, 1e75)

    def squared_slopes(self, gradients: Array, sample_weight: Array) -> Array:
        """Mean square (D,) of gradients (m, K, r) of the recursion, per standard deviation of a feature.

        Features with a curve are taken after it: slopes before it would be those of its steepest parts.
        """
        there = np.einsum("ab,nkb->nka", self.units.transform, gradients)
        weight = sample_weight / sample_weight.sum()
        slopes: Array = np.einsum("n,nka->a", weight, there**2) * self.feature_scale**2
        return slopes


@dataclass(frozen=True)
class LooDiagnostics:
    """What the final fits at the training points, each without its own point, leave behind.

    In units of the recursion: residuals (n, K), noise variances (n, K) and gradients (n, K, D).
    """

    residuals: Array
    noise: Array
    gradients: Array
