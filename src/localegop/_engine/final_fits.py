"""The final fit in neighborhoods that the recursion has shaped: a polynomial, or kriging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._core import KeptFits
from localegop._engine.centers import Centers, Widths
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.local_data import KrigingBatch, LocalData

Array = NDArray[np.float64]

MAX_KRIGING_POINTS = 200
LEVERAGE_RIDGE = 1e-6  # of the linear fits that tell whether kriging extrapolates
GLOBAL_LEVERAGE_SIZE = 60.0  # effective size of their neighborhoods where all rows are used at once


@dataclass(frozen=True)
class FitsAtCenters:
    """Final fits at q centers, in units of the recursion.

    Attributes
    ----------
    scale, effective_size : ndarrays of shape (q,)
        Of the neighborhoods.
    value : ndarray of shape (q, K)
    gradient : ndarray of shape (q, K, D)
        Empty unless asked for.
    variance_factor : ndarray of shape (q,)
        Variance of the value for labels of variance one; empty unless asked for.
    """

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array


class FinalFit(Protocol):
    """A kind of final fit with its constants."""

    kind: ClassVar[str]

    @property
    def degree(self) -> int:
        """Degree of the polynomial, or of the trend of kriging."""

    @property
    def ridge(self) -> float:
        """Ridge, relative to the local variance."""

    def fit(
        self,
        data: LocalData,
        centers: Centers,
        shapes: Array,
        widths: Widths,
        *,
        gradients: bool = False,
        variances: bool = False,
    ) -> FitsAtCenters:
        """Fit in neighborhoods of these shapes and widths."""

    def keep(self, data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> KeptFits:
        """Make the same fits and keep them, as functions of the query."""

    def leverage(self, data: LocalData, centers: Centers, shapes: Array, fits: FitsAtCenters) -> Array:
        """Variance factor (q,) of a polynomial fit in the same neighborhoods, large away from the data."""


@dataclass(frozen=True)
class Polynomial:
    """Local mean, linear or quadratic fit.

    Parameters
    ----------
    degree : {0, 1, 2}
    n_quadratic_directions : int
        Number of leading directions whose products with all features join the linear terms; more than 0
        for degree 2.
    ridge : float
        Relative to the local variance of the features.
    """

    kind: ClassVar[str] = "polynomial"
    logistic: ClassVar[bool] = False

    degree: int
    n_quadratic_directions: int
    ridge: float

    def fit(
        self,
        data: LocalData,
        centers: Centers,
        shapes: Array,
        widths: Widths,
        *,
        gradients: bool = False,
        variances: bool = False,
    ) -> FitsAtCenters:
        """See :class:`FinalFit`."""
        batch = data.localize(
            centers,
            shapes,
            widths,
            degree=min(self.degree, 1),
            quadratic_directions=(self._directions_of(data),),
            ridges=(self.ridge,),
            gradients=gradients,
            variances=variances,
            logistic=self.logistic,
            slope_weight=self.slope_weight,
        )
        single = (found[:, 0, 0, 0] for found in (batch.value, batch.gradient, batch.variance_factor))
        return FitsAtCenters(batch.scale[:, 0], batch.effective_size[:, 0], *single)

    def keep(self, data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> KeptFits:
        """See :class:`FinalFit`."""
        return data.keep_polynomials(
            centers,
            shapes,
            widths,
            degree=min(self.degree, 1),
            n_quadratic_directions=self._directions_of(data),
            ridge=self.ridge,
            slope_weight=self.slope_weight,
        )

    def leverage(self, data: LocalData, centers: Centers, shapes: Array, fits: FitsAtCenters) -> Array:
        """See :class:`FinalFit`."""
        return fits.variance_factor

    @property
    def slope_weight(self) -> float:
        """How much given slopes count: not at all."""
        return 0.0

    def _directions_of(self, data: LocalData) -> int:
        """Count the quadratic directions; rows of a fold may have fewer axes than those chosen for."""
        directions: int = min(self.n_quadratic_directions, data.dimension)
        return directions


@dataclass(frozen=True)
class Logistic(Polynomial):
    """Local multinomial logistic regression on one-hot labels, whose values are probabilities.

    Logits are what the values of a :class:`Polynomial` are, with the same constants.
    """

    kind: ClassVar[str] = "logistic"
    logistic: ClassVar[bool] = True

    def keep(self, data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> KeptFits:
        """See :class:`FinalFit`."""
        raise AssertionError("logistic fits are not blended")


@dataclass(frozen=True)
class SlopePolynomial(Polynomial):
    """Local fit to labels and to given slopes, with the constants of a :class:`Polynomial`.

    Parameters
    ----------
    slope_weight : float
        How much slopes count: with one, about as much as labels, see ``src/core/slope_moments.hpp``.
    """

    kind: ClassVar[str] = "slopes"

    slope_weight: float = 1.0


@dataclass(frozen=True)
class Kriging:
    """A small Gaussian process in the metric of the neighborhood.

    Parameters
    ----------
    length : float
        Correlation length, in units of the width of the neighborhood.
    ridge : float
        Variance of the noise over that of f.
    trend : bool
        Whether there is a linear trend.
    rough : bool
        Whether the covariance is exponential instead of Gaussian.
    """

    kind: ClassVar[str] = "kriging"

    length: float
    ridge: float
    trend: bool = True
    rough: bool = False

    @property
    def degree(self) -> int:
        """Degree of the trend."""
        return int(self.trend)

    @property
    def order(self) -> tuple[bool, bool, float, float]:
        """Order in which those that share covariances follow each other."""
        return self.trend, self.rough, self.length, self.ridge

    def fit(
        self,
        data: LocalData,
        centers: Centers,
        shapes: Array,
        widths: Widths,
        *,
        gradients: bool = False,
        variances: bool = False,
    ) -> FitsAtCenters:
        """See :class:`FinalFit`; widths must be one effective size for all centers."""
        batch = krige_all((self,), data, centers, shapes, widths, gradients=gradients, variances=variances)
        single = (found[:, 0] for found in (batch.value, batch.gradient, batch.variance_factor))
        return FitsAtCenters(batch.scale, batch.effective_size, *single)

    def keep(self, data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> KeptFits:
        """See :class:`FinalFit`."""
        return data.keep_kriging(
            centers,
            shapes,
            widths,
            most=MAX_KRIGING_POINTS,
            length=self.length,
            ridge=self.ridge,
            trend=self.trend,
            rough=self.rough,
        )

    def leverage(self, data: LocalData, centers: Centers, shapes: Array, fits: FitsAtCenters) -> Array:
        """See :class:`FinalFit`. The variance of kriging itself may be large anywhere without noise."""
        return _linear_leverage(data, centers, shapes, Widths.of_scale(fits.scale, len(centers)))


@dataclass(frozen=True)
class GlobalFit:
    """A Gaussian process of all rows, solved for them.

    Parameters
    ----------
    process : GlobalKriging
    anchors : LocalData
        All rows.
    """

    kind: ClassVar[str] = GlobalKriging.kind

    process: GlobalKriging
    anchors: LocalData

    @property
    def degree(self) -> int:
        """Degree of the trend."""
        return self.process.degree

    @property
    def ridge(self) -> float:
        """Ridge of the process."""
        return self.process.ridge

    def fit(
        self,
        data: LocalData,
        centers: Centers,
        shapes: Array,
        widths: Widths,
        *,
        gradients: bool = False,
        variances: bool = False,
    ) -> FitsAtCenters:
        """See :class:`FinalFit`; widths must be those of the covariance."""
        assert widths.scales is not None and centers.left_out is None
        solved = self.anchors.solved(self.process)
        found = solved.at(centers.rows, gradients=gradients, variances=variances)
        return FitsAtCenters(
            widths.scales[:, 0], found.effective_size, found.value, found.gradient, found.variance_factor
        )

    def keep(self, data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> KeptFits:
        """See :class:`FinalFit`."""
        raise AssertionError("a global process needs no kept fits")

    def leverage(self, data: LocalData, centers: Centers, shapes: Array, fits: FitsAtCenters) -> Array:
        """See :class:`FinalFit`; that of linear fits in neighborhoods as local kriging has them."""
        size = min(GLOBAL_LEVERAGE_SIZE, data.largest_size)
        return _linear_leverage(data, centers, shapes, Widths.of_sizes((size,), len(centers)))


def _linear_leverage(data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> Array:
    """Variance factors (q,) of linear fits, hardly shrunk."""
    linear = data.localize(centers, shapes, widths, degree=1, ridges=(LEVERAGE_RIDGE,), variances=True)
    factors: Array = linear.variance_factor[:, 0, 0, 0]
    return factors


def krige_all(
    processes: Sequence[Kriging],
    data: LocalData,
    centers: Centers,
    shapes: Array,
    widths: Widths,
    *,
    gradients: bool = False,
    variances: bool = False,
    most: int = MAX_KRIGING_POINTS,
) -> KrigingBatch:
    """Fit several processes; widths must be one effective size for all centers."""
    assert widths.sizes is not None
    return data.krige(
        centers,
        shapes,
        size=float(widths.sizes[0, 0]) if len(centers) else 1.0,
        most=most,
        lengths=[one.length for one in processes],
        ridges=[one.ridge for one in processes],
        trends=[one.trend for one in processes],
        rough=[one.rough for one in processes],
        gradients=gradients,
        variances=variances,
    )
