"""Logistic regression in a space of functions: probabilities of classes by one process of all rows.

The logits of the classes are Gaussian processes with the covariances of :mod:`.global_kriging`, which hold
a linear trend: with a great length that is a logistic regression of all rows with a ridge, with a small one
it follows any boundary. What is found is the most probable logits,

    least of  sum_i w_i log loss_i(f) + ridge / 2 * |f|^2,

made of the covariances with up to ``MOST_PLACES`` of the rows, which leave the least of the covariances of
all rows unexplained. With L the factor of the covariances of these places, coefficients theta = L' c of
functions that are not correlated have the penalty ridge / 2 * |theta|^2. What follows without some rows is
one step of Newton's method away, class by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from localegop._engine.blas import limited_blas
from localegop._engine.global_kriging import (
    BLOCK,
    TREND,
    GlobalKriging,
    Near,
    SolvedProcess,
    covariances,
    effective_sizes,
    kernels,
)
from localegop._engine.link import log_losses, softmax, with_doubt
from localegop._engine.logit_search import PenalizedLoss, curvatures, inverse_of

Array = NDArray[np.float64]

MOST_ROWS = 10_000  # for more of them what fits leave behind takes too long
MOST_AT_ONCE = 1000  # rows of which all covariances are found at once, which takes less time
MOST_PLACES = 200  # rows whose covariances are the functions
EXPLAINED = 1e-5  # share of the largest covariance of a row below which places explain it
ENOUGH = 1e-6  # share of the loss that is not worth another iteration
LEAST_LEFT = 1e-3  # of the second derivative, where a row is taken away
MOST_LOGIT, SMALLEST = 50.0, 1e-300


class Functions(NamedTuple):
    """Places (M,) among rows, and functions (n, M) at the rows that are not correlated."""

    places: NDArray[np.intp]
    values: Array


@dataclass(frozen=True)
class LogisticProcess(GlobalKriging):
    """Logits that are Gaussian processes of all rows; values are probabilities.

    Parameters
    ----------
    length, ridge, rough
        See :class:`GlobalKriging`; the variance of the logits is one over the ridge.
    """

    kind: ClassVar[str] = "logistic process"


class SolvedLogistic(SolvedProcess):
    """The most probable logits for one-hot labels (n, K) of rows (n, D).

    ``functions`` are those of :func:`find_functions`, if they are known; ``near`` is what
    :meth:`PenalizedLoss.least` may start from.
    """

    process: LogisticProcess

    def __init__(
        self,
        process: LogisticProcess,
        rows: Array,
        labels: Array,
        sample_weight: Array,
        functions: Functions | None = None,
        near: Array | None = None,
        enough: float = ENOUGH,
    ) -> None:
        self.process, self.rows, self.sample_weight = process, rows, sample_weight
        self.labels, weight = labels, sample_weight[:, None]
        smoothed = np.sum(weight * labels, axis=0) + 0.5
        self.means: Array = np.log(smoothed / smoothed.sum())  # logits of no slope
        with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
            places, self._functions = functions or find_functions(process, rows, MOST_PLACES)
            self.places = np.ascontiguousarray(rows[places])
            self._apart = self._functions[places]
            given = labels, sample_weight, self.means, process.ridge
            self._loss = PenalizedLoss(self._functions, *given)
            self.theta = self._loss.least(enough, near)
            self.logits = self._loss.logits(self.theta)
            self.probabilities: Array = softmax(self.logits)
            self.dual = self._of_places(self.theta)

    def _of_places(self, theta: Array) -> Array:
        """Turn coefficients (M, K) of the functions into those of the covariances with the places."""
        found: Array = solve_triangular(self._apart, theta, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(found)

    @cached_property
    def _inverses(self) -> list[Array]:
        """Inverse (M, M) of the second derivatives in the coefficients of each class."""
        found = []
        with limited_blas(1, 1):
            for curve in (self.sample_weight[:, None] * curvatures(self.probabilities)).T:
                apart = inverse_of(self._loss.factor(curve))
                found.append(apart.T @ apart)
        return found

    @cached_property
    def _gram(self) -> Array:
        """Sum (M, M) over the rows of the weighted products of the functions."""
        with limited_blas(1, 1):
            found: Array = self._functions.T @ (self.sample_weight[:, None] * self._functions)
        return found

    @property
    def loo_log_loss(self) -> float:
        """Weighted mean log loss (nats) of all rows, each without itself, of labels with some doubt.

        Where hardly any row is predicted wrongly, logits of any size would else be as good.
        """
        weight, p = self.sample_weight, self.probabilities
        logits, curves = np.log(np.maximum(p, SMALLEST)), weight[:, None] * curvatures(p)
        with limited_blas(1, 1):
            for k, inverse in enumerate(self._inverses):
                share = np.einsum("na,na->n", self._functions @ inverse, self._functions)
                left = np.maximum(1.0 - share * curves[:, k], LEAST_LEFT)
                logits[:, k] -= share * weight * (self.labels[:, k] - p[:, k]) / left
        losses = log_losses(softmax(logits), with_doubt(self.labels))
        return float(np.sum(weight * losses) / np.sum(weight))

    def _without_own(self, own: NDArray[np.int64]) -> tuple[Array, ...]:
        """See :class:`SolvedProcess`; one step of Newton's method, class by class."""
        functions, p = self._functions[own], self.probabilities[own]
        weight = np.minimum(self.sample_weight[own], 1.0)  # one unit of it is taken away
        near = Near(self.process, self.rows[own], self.places)
        logits = np.log(np.maximum(p, SMALLEST))
        slopes, curves = np.empty((*p.shape, self.rows.shape[1])), curvatures(p)
        for k, inverse in enumerate(self._inverses):
            moved = functions @ inverse
            share = np.einsum("ma,ma->m", moved, functions)
            left = np.maximum(1.0 - weight * share * curves[:, k], LEAST_LEFT)
            pull = weight * (self.labels[own, k] - p[:, k]) / left
            logits[:, k] -= share * pull
            theta = self.theta[:, k] - pull[:, None] * moved
            duals = solve_triangular(self._apart, theta.T, lower=True, trans="T", check_finite=False).T
            slopes[:, k] = self._slopes_of(near, duals)
        value = softmax(logits)
        factor = self._variance_factors(functions, value)
        kernel = kernels(self.process, self.rows[own], self.rows)
        return value, of_probabilities(value, slopes), factor, effective_sizes(kernel, self.sample_weight)

    def _slopes_of(self, near: Near, duals: Array) -> Array:
        """Gradients (m, D) of a logit at centers, each with coefficients (m, M) of its own."""
        steep = duals * self.process.steepness(near.squared, near.kernel)
        straight = TREND / self.process.length**2 * (duals @ self.places)
        found: Array = steep @ self.places - steep.sum(axis=1)[:, None] * near.centers + straight
        return found

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """See :class:`SolvedProcess`."""
        logits = np.log(np.maximum(self.probabilities[own], SMALLEST))
        with limited_blas(1, 1):
            for i, (row, block) in enumerate(zip(own, blocks, strict=True)):
                out = np.append(row, block)
                functions, weight = self._functions[out], self.sample_weight[out]
                curves = weight[:, None] * curvatures(self.probabilities[out])
                for k, inverse in enumerate(self._inverses):
                    p = self.probabilities[out, k]
                    shared = functions @ inverse @ functions.T
                    system = np.eye(len(out)) - curves[:, [k]] * shared
                    pull = np.linalg.lstsq(system, weight * (self.labels[out, k] - p))[0]
                    logits[i, k] -= shared[0] @ pull
            value = softmax(np.clip(logits, -MOST_LOGIT, MOST_LOGIT))
            return value, self._variance_factors(self._functions[own], value)

    def _at_block(self, queries: Array, first: int, gradients: bool, variances: bool) -> tuple[Array, ...]:
        block = queries[np.minimum(np.arange(first, first + BLOCK), len(queries) - 1)]
        near = Near(self.process, block, self.places)
        value = softmax(self.means + np.einsum("qm,mk->qk", near.covariance, self.dual, optimize=False))
        gradient = np.zeros((BLOCK, len(self.means), 0))
        if gradients:
            gradient = of_probabilities(value, near.slopes(self.dual))
        factor = np.zeros(BLOCK)
        if variances:
            with limited_blas(1, 1):
                functions = solve_triangular(
                    self._apart, near.covariance.T, lower=True, check_finite=False
                ).T
                factor = self._variance_factors(functions, value)
        kernel = kernels(self.process, block, self.rows)
        return value, gradient, factor, effective_sizes(kernel, self.sample_weight)

    def _variance_factors(self, functions: Array, value: Array) -> Array:
        """Mean over classes (q,) of the sums of squared derivatives of probabilities in the labels."""
        total = np.zeros(len(functions))
        for k, inverse in enumerate(self._inverses):
            smoother = functions @ inverse
            squares = np.einsum("qa,qa->q", smoother @ self._gram, smoother)
            total += squares * (value[:, k] * (1.0 - value[:, k])) ** 2
        factors: Array = np.maximum(total, 0.0) / value.shape[1]
        return factors


def of_probabilities(p: Array, slopes: Array) -> Array:
    """Gradients (q, K, D) of probabilities (q, K) from those of their logits."""
    mean = np.einsum("qk,qkd->qd", p, slopes, optimize=False)
    found: Array = p[:, :, None] * (slopes - mean[:, None])
    return found


def find_functions(process: GlobalKriging, rows: Array, most: int) -> Functions:
    """Places (M,) among rows, and functions (n, M) there that are not correlated: a pivoted factor.

    Each place is the row whose covariance the places before explain least; of equal ones the first.
    """
    trend = TREND * (1.0 + np.sum(rows**2, axis=1) / process.length**2)
    left = 1.0 + trend
    enough = EXPLAINED * float(left.max())
    known = covariances(process, rows, rows) if len(rows) <= MOST_AT_ONCE else None
    functions = np.zeros((min(most, len(rows)), len(rows)))
    places: list[int] = []
    for j in range(len(functions)):
        place = int(np.argmax(left))
        if left[place] <= enough:
            break
        column = covariances(process, rows[[place]], rows)[0] if known is None else known[place]
        column = column - functions[:j, place] @ functions[:j]
        column[places] = 0.0
        functions[j] = column / np.sqrt(column[place])
        left = np.maximum(left - functions[j] ** 2, 0.0)
        left[place] = 0.0
        places.append(place)
    return Functions(np.array(places, dtype=np.intp), np.ascontiguousarray(functions[: len(places)].T))
