"""A length for every feature, found together by the likelihood of the labels.

Slopes of a process with one length for all features do not see a feature that matters only in a product
with another one as long as there are many that do not matter: such a process is best as a line. So lengths
start equal and about as large as the distances between rows, where products weigh enough to be seen, and
all of them move at once along the gradient of the likelihood. It costs the inverse of one matrix, however
many features there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from localegop._engine.blas import limited_blas
from localegop._engine.global_kriging import TREND
from localegop._engine.lapack import factorize, invert, mirror, solve
from localegop._selection.climbing import climb

Array = NDArray[np.float64]

TREND_SLOPE = 0.1  # variance of slopes: if lines weigh more, a feature that also bends passes for one
NOISE = 0.5  # of the labels to begin with, over the variance of f
LEAST_NOISE, MOST_NOISE = 1e-6, 10.0
SHORTEST, LONGEST = np.exp(-4.0), np.exp(5.0)  # lengths, over those to begin with
NEGLIGIBLE = 1e-6  # part of the largest sample weight


def find_feature_weights(
    rows: Array, labels: Array, sample_weight: Array, start: Array | None = None
) -> Array:
    """Weights (D,) of features: one over the lengths of a smooth process of some rows (m, D).

    They are in units of the features; constant features have weight 0. They are found from equal lengths,
    or from the weights that are given to start with.
    """
    given = Standardized.of(rows, labels, sample_weight)
    if not given.can_tell:
        return given.per_unit
    likelihood = Likelihood(given.rows, given.labels, given.sample_weight)
    with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
        return given.per_unit * _climb(likelihood, None if start is None else start * given.std)


@dataclass(frozen=True)
class Standardized:
    """Rows whose features have mean 0 and standard deviation 1, or are 0, and centered labels that vary.

    Rows of next to no weight, as wrong labels have, are left out: their likelihood would count, however
    little they say. ``per_unit`` (D,) is one over ``std`` (D,), both 0 for constant features.
    """

    rows: Array
    labels: Array
    sample_weight: Array
    std: Array
    per_unit: Array

    @classmethod
    def of(cls, rows: Array, labels: Array, sample_weight: Array) -> Self:
        """Standardize rows (m, D) with labels (m, K)."""
        counts = sample_weight > NEGLIGIBLE * sample_weight.max()
        rows, labels, sample_weight = rows[counts], labels[counts], sample_weight[counts]
        part = sample_weight / sample_weight.sum()
        centered = rows - np.sum(part[:, None] * rows, axis=0)
        std = np.where(
            np.ptp(rows, axis=0) > 0.0, np.sqrt(np.sum(part[:, None] * centered**2, axis=0)), 0.0
        )
        per_unit: Array = np.divide(1.0, std, out=np.zeros_like(std), where=std > 0.0)
        varies = np.ptp(labels, axis=0) > 0.0
        values = (labels - np.sum(part[:, None] * labels, axis=0))[:, varies]
        return cls(centered * per_unit, values, sample_weight, std, per_unit)

    @property
    def can_tell(self) -> bool:
        """Whether there is a feature that varies, and a label that does."""
        return bool((self.std > 0.0).any()) and self.labels.shape[1] > 0


class Likelihood:
    """Of labels (m, K) at rows (m, D), by a Gaussian process with a weak linear trend.

    The variance of f follows from the labels, for each output its own.
    """

    def __init__(self, rows: Array, labels: Array, sample_weight: Array) -> None:
        self.rows, self.labels, self.sample_weight = rows, labels, sample_weight
        self._spare = np.empty(
            (3, len(rows), len(rows))
        )  # used again: new memory takes as long as filling it

    def measure(self, weights: Array, noise: float) -> tuple[float, Array, float]:
        """Twice the negative logarithm, and its slopes in the logarithms of the weights (D,) and the noise.

        Infinite where the covariance is not positive definite in double precision.
        """
        scaled = self.rows * weights
        self._fill(scaled)
        value, noise_slope = self._slopes_in_covariances(noise)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(weights), 0.0
        return value, self._slopes_in_weights(scaled), noise_slope

    def _slopes_in_covariances(self, noise: float) -> tuple[float, float]:
        """Put slopes in the covariances in their place; what is measured, and its slope in the noise."""
        products, _, matrix = self._spare
        m, outputs = self.labels.shape
        variances = noise / self.sample_weight
        matrix[np.diag_indices(m)] += variances
        if not factorize(matrix):
            return np.inf, 0.0
        value = 2.0 * outputs * float(np.sum(np.log(np.diagonal(matrix))))
        dual = solve(matrix, self.labels)
        invert(matrix)
        mirror(matrix)
        fitted = np.sum(self.labels * dual, axis=0)  # m times the variance of f
        value += m * float(np.sum(np.log(fitted / m)))
        matrix *= outputs
        matrix -= np.matmul(m * dual / fitted, dual.T, out=products)  # now slopes in the covariances
        return value, float(np.sum(variances * np.diagonal(matrix)))

    def _slopes_in_weights(self, scaled: Array) -> Array:
        """Slopes (D,) in the logarithms of the weights, from those in the covariances, which are lost."""
        _, kernel, matrix = self._spare
        slopes = TREND_SLOPE * np.sum(scaled * (matrix @ scaled), axis=0)
        matrix *= kernel
        slopes += np.sum(scaled * (matrix @ scaled - matrix.sum(axis=1)[:, None] * scaled), axis=0)
        doubled: Array = 2.0 * slopes
        return doubled

    def _fill(self, scaled: Array) -> None:
        """Fill kernel and covariances (m, m), but for the noise, of scaled rows (m, D)."""
        products, kernel, matrix = self._spare
        np.matmul(scaled, scaled.T, out=products)
        half = 0.5 * np.diagonal(products)
        np.subtract(products, half, out=kernel)
        kernel -= half[:, None]
        np.exp(np.minimum(kernel, 0.0, out=kernel), out=kernel)
        np.multiply(products, TREND_SLOPE, out=matrix)
        matrix += kernel
        matrix += TREND


def _climb(likelihood: Likelihood, known: Array | None = None) -> Array:
    """Weights (D,) of features in their standard deviations, of the greatest likelihood near the start."""
    dimension = likelihood.rows.shape[1]
    low, place, high = weight_bounds(dimension)
    if known is not None:
        place[:-1] = np.log(np.maximum(known, np.exp(low[:-1])))
        place = np.minimum(place, high)

    def measure(place: Array) -> tuple[float, Array]:
        value, slopes, noise_slope = likelihood.measure(np.exp(place[:-1]), float(np.exp(place[-1])))
        return value, np.append(slopes, noise_slope)

    weights: Array = np.exp(climb(measure, place, low, high)[:-1])
    return weights


def weight_bounds(dimension: int) -> tuple[Array, Array, Array]:
    """Least, first and largest logarithms (D + 1,) of the weights of features and the noise."""
    start = -0.5 * np.log(dimension)
    low = np.append(np.full(dimension, start - np.log(LONGEST)), np.log(LEAST_NOISE))
    high = np.append(np.full(dimension, start - np.log(SHORTEST)), np.log(MOST_NOISE))
    return low, np.append(np.full(dimension, start), np.log(NOISE)), high
