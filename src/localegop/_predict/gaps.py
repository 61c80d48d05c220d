"""How errors grow where the rows are far: a law, learned from fits without whole blocks of rows.

What the squared errors of such fits (:mod:`localegop._predict.blocks`) have beyond the noise is described
by ``exp(c0 + c1 log s + c2 log v)``, with ``s`` the mean squared distance, in the learned metric, of the
rows that a fit uses, and ``v`` its variance factor: how far the rows are, and how badly they surround the
center. The law holds on average; around a query it is multiplied by how much more or less the errors of
the blocks there grew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.final_fits import GLOBAL_LEVERAGE_SIZE
from localegop._engine.local_data import LocalData

Array = NDArray[np.float64]

TINY = 1e-300
STEEPEST = 6.0  # slope of the law, in the logarithm of either number
USUAL_SLOPES = 2.0, 0.5  # squared errors grow as s^2: that is curvature
ROUNDS = 50  # of the search for a law
MOST_SURPRISING = 25.0  # squared error over the expected one, as which larger ones count too
NEGLIGIBLE = 1e-6  # part of the largest weight up to which rows do not count
BEYOND_TESTED = np.log(4.0)  # how far the law is continued: with curvature, to twice the squared distance


def squared_spread(data: LocalData, centers: Centers, shapes: Array, widths: Widths) -> Array:
    """Mean squared distance (m,) of the rows in neighborhoods to their centers, in their metrics."""
    hoods = data.localize(centers, shapes, widths, keep=True).neighborhoods
    products = np.empty_like(shapes)
    hoods.outer_products(data.rows[:, None], products, data.threads)
    across = np.einsum("qa,qb->qab", hoods.means(data.rows, data.threads), centers.rows, optimize=False)
    own = np.einsum("qa,qb->qab", centers.rows, centers.rows, optimize=False)
    spread = np.einsum("qab,qab->q", shapes, products - 2.0 * across + own, optimize=False)
    positive: Array = np.maximum(spread, 0.0)
    return positive


def global_spread(data: LocalData, centers: Centers, shapes: Array) -> Array:
    """Mean squared distance (m,) of rows around centers whose fit, a process of all rows, has no size."""
    size = min(GLOBAL_LEVERAGE_SIZE, data.largest_size)
    return squared_spread(data, centers, shapes, Widths.of_sizes((size,), len(centers)))


@dataclass(frozen=True)
class GapLaw:
    """Squared errors of fits far from the rows, beyond the noise: see the top of this module.

    Parameters
    ----------
    coefficients : ndarray of shape (3, K)
    largest : ndarray of shape (K,)
        Logarithms of the largest squared errors beyond the noise that the law may tell.
    """

    coefficients: Array
    largest: Array

    @classmethod
    def none(cls, outputs: int) -> GapLaw:
        """Return the law that there is nothing beyond the noise."""
        return cls(np.vstack([np.full(outputs, -600.0), np.zeros((2, outputs))]), np.zeros(outputs))

    @classmethod
    def learn(
        cls, squares: Array, noise: Array, spread: Array, variance_factor: Array, weight: Array
    ) -> GapLaw:
        """Find the law of squared errors (m, K), of which ``noise`` (m, K) is expected anyway.

        It may tell what it tells at the places tested, and a little more, but no error larger than all that
        were seen: both its numbers may be large at a query without ever having been so together.
        """
        tested = weight > NEGLIGIBLE * weight.max(initial=0.0)
        if not tested.any():
            return cls.none(squares.shape[1])
        squares, noise, weight = squares[tested], noise[tested], weight[tested]
        about = _logarithms(spread[tested], variance_factor[tested])
        each = [_fit_law(about, squares[:, k], noise[:, k], weight) for k in range(squares.shape[1])]
        coefficients = np.stack(each, axis=1)
        told = _powers(about, coefficients).max(axis=0) + BEYOND_TESTED
        seen = np.log(np.maximum(squares.max(axis=0), TINY))
        return cls(coefficients, np.minimum(told, seen))

    def __call__(self, spread: Array, variance_factor: Array) -> Array:
        """Squared error (m, K) beyond the noise."""
        powers = _powers(_logarithms(spread, variance_factor), self.coefficients)
        return _exponentials(np.minimum(powers, self.largest))


def compare_with_law(squares: Array, noise: Array, gap: Array) -> Array:
    """Part of the expected squares that is the gap's (m, K), and times the squares over the expected ones.

    Their means around a place tell how much more or less than the law says errors grow there.
    """
    expected = noise + gap
    share = gap / expected
    return np.stack([share, share * np.minimum(squares / expected, MOST_SURPRISING)])


def _logarithms(spread: Array, variance_factor: Array) -> Array:
    """Take the logarithms (m, 2) that the law is about."""
    return np.log(np.maximum(np.stack([spread, variance_factor], axis=1), TINY))


def _powers(about: Array, coefficients: Array) -> Array:
    """Logarithms (m, K) of what the law tells."""
    powers: Array = coefficients[0] + np.einsum("mf,fk->mk", about, coefficients[1:], optimize=False)
    return powers


def _exponentials(powers: Array) -> Array:
    squares: Array = np.exp(np.clip(powers, -600.0, 300.0))
    return squares


def _fit_law(about: Array, squares: Array, noise: Array, weight: Array) -> Array:
    """Coefficients (3,) by maximum likelihood, as if errors were normal: Fisher scoring with small steps.

    The slopes are held to their usual values as if one more row had said so.
    """
    middle = np.sum(weight[:, None] * about, axis=0) / np.sum(weight)
    terms = np.column_stack([np.ones(len(about)), about - middle])
    usual = np.array([0.0, *USUAL_SLOPES])
    shape = _exponentials(_powers(terms[:, 1:], usual[:, None]))[:, 0]
    beyond = max(float(np.sum(weight * (squares - noise))), 1e-3 * float(np.sum(weight * noise)))
    found: Array = usual.copy()
    found[0] = np.log(max(beyond / float(np.sum(weight * shape)), TINY))
    for _ in range(ROUNDS):
        gap = _exponentials(_powers(terms[:, 1:], found[:, None]))[:, 0]
        share = gap / (noise + gap)
        surprise = np.minimum(squares / (noise + gap), MOST_SURPRISING) - 1.0
        score = np.sum(terms * (weight * share * surprise)[:, None], axis=0)
        score[1:] += usual[1:] - found[1:]
        scaled = terms * (weight * share**2)[:, None]
        information = np.einsum("mf,mg->fg", scaled, terms, optimize=False) + np.diag([1e-6, 1.0, 1.0])
        # least squares: with weights of very different sizes the system may be singular
        step = np.clip(np.linalg.lstsq(information, score, rcond=1e-14)[0], -1.0, 1.0)
        found = found + step
        found[1:] = np.clip(found[1:], 0.0, STEEPEST)
        if np.abs(step).max() < 1e-6:
            break
    found[0] -= float(np.sum(middle * found[1:]))
    return found
