"""Everything that a fit decides, and the fits it leaves at training points; no data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.choice import Choice
from localegop._engine.recursion import MetricUpdate
from localegop._engine.settings import Settings
from localegop._predict.classes import ClassCalibration
from localegop._predict.gaps import GapLaw
from localegop._predict.rivals import Rivals

Array = NDArray[np.float64]
FORGOTTEN = 1e-30  # robustness weight of outlying labels: nothing, but a number that can be divided by


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
    rivals : Rivals or None
        Choices that came close; None if there was nothing to choose.
    classes : ClassCalibration or None
        How estimates become probabilities of classes; None if labels are no classes.
    """

    settings: Settings
    units: Units
    update: MetricUpdate
    choice: Choice
    initial_metric: str | Array
    feature_scale: Array
    isotropic_error: float = np.nan
    reach: float = np.inf
    rivals: Rivals | None = None
    classes: ClassCalibration | None = None

    def in_axes(self, axes: Array) -> Decisions:
        """Decisions for other axes (D, r)."""
        units = self.units.rotated(axes)
        return replace(
            self,
            units=units,
            update=self.settings.update(units),
            initial_metric=np.einsum("ab,cb->ac", units.transform, units.transform),
        )

    def choosing(self, choice: Choice) -> Decisions:
        """Return the same with another choice, and gradients as it wants them."""
        update = self.settings.update(self.units, choice.gradient_size)
        return replace(self, choice=choice, update=update)

    def query_rows(self, X: Array) -> Array:
        """Turn queries into the units of the recursion."""
        # Squares of distances beyond 1e150 would overflow; that far out all directions look alike anyway.
        return np.clip(self.units.features(X), -1e75, 1e75)

    def overall_agop(self, gradients: Array, sample_weight: Array) -> Array:
        """Average outer product (D, D) of gradients (m, K, r), per standard deviation of the features.

        Features with a curve are taken after it: slopes before it would be those of its steepest parts.
        """
        there = np.einsum("ab,nkb->nka", self.units.transform * self.feature_scale[:, None], gradients)
        weight = sample_weight / sample_weight.sum()
        agop: Array = np.einsum("n,nka,nkb->ab", weight, there, there, optimize=False)
        return agop


@dataclass(frozen=True)
class LooDiagnostics:
    """What the final fits at the training points, each without its own point, leave behind.

    In units of the recursion: residuals (n, K), noise variances (n, K) and gradients (n, K, D). The others
    are from fits without whole blocks; see :mod:`localegop._predict.gaps`.

    ``gap_share`` (n, K) is the part of the expected squared error that the law of gaps says, zero where no
    block was left out, ``gap_excess`` (n, K) the squared residual over the expected one, times that part.
    """

    residuals: Array
    noise: Array
    gradients: Array
    gap_share: Array
    gap_excess: Array
    gap_coefficients: Array
    gap_largest: Array

    @property
    def gap_law(self) -> GapLaw:
        """How errors grow where the rows are far."""
        return GapLaw(self.gap_coefficients, self.gap_largest)


def weights_before(sample_weight: Array, robustness: Array | None) -> Array:
    """Weights (m,) without their robustness weights (m,); those of outlying labels stay next to nothing."""
    if robustness is None:
        return sample_weight
    return sample_weight / np.where(robustness > FORGOTTEN, robustness, 1.0)
