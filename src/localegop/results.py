"""Results: what a local fit found at each query. Frozen; the leading axis of every array is the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Status(IntEnum):
    """How a local fit came about."""

    OK = 0
    FEW_NEIGHBORS = 1
    FLAT = 2

    @property
    def message(self) -> str:
        """One line for people."""
        return {
            Status.OK: "fitted as asked",
            Status.FEW_NEIGHBORS: "fewer than two points within exclusion_radius: the nearest were used",
            Status.FLAT: "no slope found: the neighborhood stayed isotropic",
        }[self]


@dataclass(frozen=True)
class Trace:
    """The recursion step by step; arrays are (step, query, ...)."""

    metric: Array
    agop: Array
    effective_size: Array
    loo_error: Array
    value: Array


@dataclass(frozen=True)
class LocalFits:
    """Local fits at q queries in D features, in the units of the data; K outputs only if y had columns.

    Attributes
    ----------
    value : ndarray of shape (q,) or (q, K)
        Predictions.
    gradient : ndarray of shape (q, D) or (q, K, D)
        Gradients of the local fits.
    metric : ndarray of shape (q, D, D)
        Metric M of the final neighborhood; weights are kernel((x - query)' M (x - query)).
    agop : ndarray of shape (q, D, D)
        Averaged outer product of gradients that shaped it; zero before the first step.
    effective_size : ndarray of shape (q,)
        Effective number of points that spoke.
    step : ndarray of shape (q,)
        Number of steps of the recursion before the final fit.
    loo_error : ndarray of shape (q,)
        Mean squared leave-one-out error in the neighborhood, averaged over outputs.
    variance_factor : ndarray of shape (q,)
        Sum of squared smoother coefficients: variance of the prediction per unit of noise variance.
    status : ndarray of shape (q,) of Status codes
    trace : Trace or None
    """

    value: Array
    gradient: Array
    metric: Array
    agop: Array
    effective_size: Array
    step: NDArray[np.int64]
    loo_error: Array
    variance_factor: Array
    status: NDArray[np.int64]
    trace: Trace | None = None

    def __len__(self) -> int:
        return len(self.value)

    def single_output(self) -> LocalFits:
        """Drop the axis of outputs, for labels given as a vector."""
        gradient = self.gradient[:, 0] if self.gradient.ndim == 3 else self.gradient
        trace = None if self.trace is None else replace(self.trace, value=self.trace.value[..., 0])
        return replace(self, value=self.value[:, 0], gradient=gradient, trace=trace)

    @property
    def covariance(self) -> Array:
        """Covariance M^-1 of the localization, (q, D, D); directions of no weight are infinite there."""
        values, vectors = np.linalg.eigh(self.metric)
        floor = np.finfo(float).tiny
        inverse = np.where(values > floor, 1.0 / np.maximum(values, floor), np.inf)
        if np.isinf(inverse).any():
            inverse = np.minimum(inverse, 1e300)  # inf * 0 would be NaN
        product: Array = (vectors * inverse[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        return product
