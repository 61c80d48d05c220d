"""The process of a partly jagged function, found by the likelihood of the labels.

For each feature there are two lengths, of the smooth part and of the jagged one; these, the variance of the
jagged part and the noise move together along the gradient of the likelihood. See
:mod:`localegop._engine.jagged_kriging` for the process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._engine.blas import limited_blas
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._selection.climbing import climb
from localegop._selection.feature_lengths import Likelihood, Standardized, weight_bounds

Array = NDArray[np.float64]

SHARE = 0.1  # variance of the jagged part to begin with, over that of the smooth one
LEAST_SHARE, MOST_SHARE = 1e-3, 1e3
LONGEST, SHORTEST = np.exp(5.0), np.exp(-1.0)  # lengths of the jagged part, over those to begin with


@dataclass(frozen=True)
class JaggedFit:
    """A process and its axes (D, r), the features in the lengths of its smooth part."""

    axes: Array
    process: JaggedKriging

    @property
    def is_jagged(self) -> bool:
        """Whether the function is jagged at all: of a smooth one this part is as small as it may be."""
        return self.process.jagged > 1.5 * LEAST_SHARE


def find_jagged(rows: Array, labels: Array, sample_weight: Array) -> JaggedFit | None:
    """Find the process of some rows (m, D); None if they tell nothing."""
    given = Standardized.of(rows, labels, sample_weight)
    if not given.can_tell:
        return None
    varies = given.std > 0.0
    likelihood = JaggedLikelihood(
        np.ascontiguousarray(given.rows[:, varies]), given.labels, given.sample_weight
    )
    with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
        found = np.exp(climb(likelihood.measure_at, *_bounds(int(varies.sum()))))
    smooth, noise, jagged, share = likelihood.apart(found)
    axes = np.diag(given.per_unit)[:, varies] * smooth
    ratios = tuple((jagged / smooth).tolist())
    return JaggedFit(axes, JaggedKriging(1.0, noise, jagged=share, inverse_lengths=ratios))


def _bounds(dimension: int) -> tuple[Array, Array, Array]:
    """Place to start from, and bounds: logarithms (2 D + 2,) as in :meth:`JaggedLikelihood.apart`."""
    low, first, high = weight_bounds(dimension)
    start = np.full(dimension, -np.log(dimension))

    def with_jagged(smooth: Array, longer: float, share: float) -> Array:
        return np.concatenate([smooth, start - np.log(longer), [np.log(share)]])

    return (
        with_jagged(first, 1.0, SHARE),
        with_jagged(low, LONGEST, LEAST_SHARE),
        with_jagged(high, SHORTEST, MOST_SHARE),
    )


class JaggedLikelihood(Likelihood):
    """The same with a jagged part."""

    def apart(self, found: Array) -> tuple[Array, float, Array, float]:
        """Weights (D,) of features in the smooth part, noise, weights and variance of the jagged part."""
        dimension = self.rows.shape[1]
        return found[:dimension], float(found[dimension]), found[dimension + 1 : -1], float(found[-1])

    def measure_at(self, place: Array) -> tuple[float, Array]:
        """Twice the negative logarithm, and its slopes in the logarithms (2 D + 2,) of what is to be found.

        Infinite where the covariance is not positive definite in double precision.
        """
        smooth, noise, weights, share = self.apart(np.exp(place))
        scaled, in_blocks = self.rows * smooth, self.rows * weights
        self._fill(scaled)
        matrix, jagged = self._spare[2], np.zeros_like(self._spare[2])
        _core.city_block(in_blocks, in_blocks, jagged, True, 1)
        jagged *= share
        matrix += jagged  # of which the lower triangle counts
        value, noise_slope = self._slopes_in_covariances(noise)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(place)
        jagged *= matrix
        share_slope = 2.0 * float(jagged.sum()) - float(np.trace(jagged))
        away = np.empty(self.rows.shape[1])
        _core.weighted_distances(in_blocks, jagged, away)
        return value, np.concatenate([self._slopes_in_weights(scaled), [noise_slope], -away, [share_slope]])
