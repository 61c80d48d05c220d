"""Expectations under a standard normal distribution in R^D, with an error estimate.

A `Rule` is a set of nodes with weights. Along with the weights proper it carries other weights on the
same nodes, each a poorer estimate of the same expectation, whose disagreement measures the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from localegop._arguments import Array, check_count

_HERMITE_ORDERS = {1: 15, 2: 11, 3: 9, 4: 7}  # nodes per axis; above, their number explodes
_SOBOL_LOG2 = 9  # 2^9 nodes and their mirror images
_N_REPLICATES = 8


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights for expectations under N(0, I).

    Parameters
    ----------
    points : array of shape (k, D)
        The nodes.
    weights : array of shape (k,)
        Weights, summing to one.
    alternatives : array of shape (c, k)
        Other weights on the same nodes; each row sums to one.
    error_scale : float
        The error is this multiple of the root mean squared deviation of the alternatives.
    name : str
        How the nodes were made.
    """

    points: Array
    weights: Array
    alternatives: Array
    error_scale: float
    name: str

    @property
    def dimension(self) -> int:
        """Dimension D."""
        return int(self.points.shape[1])

    def restrict(self, inside: NDArray[np.bool_]) -> Rule:
        """Return the rule conditioned on a set: nodes outside are dropped, weights renormalized."""
        if inside.all():
            return self
        if not self.weights[inside].sum() > 0.0:
            raise ValueError(
                "exclusion_radius leaves no node of the quadrature: give a larger radius, or a "
                "covariance that is smaller."
            )
        weights = self.weights[inside] / self.weights[inside].sum()
        kept = self.alternatives[:, inside]
        totals = kept.sum(axis=1, keepdims=True)
        kept = kept[totals[:, 0] > 0.0] / totals[totals[:, 0] > 0.0]
        return Rule(self.points[inside], weights, kept, self.error_scale, self.name)

    def error(self, estimate: Callable[[Array], Array]) -> float:
        """Error estimate, in the spectral norm, of a matrix that is a function of the weights."""
        center = estimate(self.weights)
        deviations = [np.linalg.norm(estimate(w) - center, 2) for w in self.alternatives]
        return float(self.error_scale * np.sqrt(np.mean(np.square(deviations)))) if deviations else np.inf


@lru_cache(maxsize=32)
def gauss_hermite(dimension: int, order: int) -> Rule:
    """Return the tensor product of Gauss-Hermite rules with ``order`` nodes per axis.

    It is exact for polynomials of degree 2 order - 1 in each variable. The error estimate is the
    difference from the rule with two nodes per axis less.

    Examples
    --------
    >>> from localegop.research.theory.quadrature import gauss_hermite
    >>> rule = gauss_hermite(2, 3)
    >>> float(rule.weights @ rule.points[:, 0] ** 4).__round__(12)
    3.0
    """
    dimension, order = check_count("dimension", dimension), check_count("order", order, 3)
    fine, coarse = _tensor(dimension, order), _tensor(dimension, order - 2)
    points = np.vstack([fine[0], coarse[0]])
    weights = np.concatenate([fine[1], np.zeros(len(coarse[1]))])
    alternatives = np.concatenate([np.zeros(len(fine[1])), coarse[1]])[None]
    return Rule(points, weights, alternatives, 1.0, f"Gauss-Hermite, {order} nodes per axis")


@lru_cache(maxsize=32)
def quasi_monte_carlo(dimension: int, log2_points: int = _SOBOL_LOG2, seed: int = 0) -> Rule:
    """Return a scrambled Sobol rule with ``2^log2_points`` nodes and their mirror images.

    Odd moments vanish by symmetry and the nodes are rescaled to covariance I, so that the rule is
    exact for polynomials of degree three: the recursion's anisotropy rests on these moments. The nodes
    are made of independently scrambled blocks, whose spread is the error estimate.

    Examples
    --------
    >>> from localegop.research.theory.quadrature import quasi_monte_carlo
    >>> rule = quasi_monte_carlo(8)
    >>> rule.points.shape, abs(float(rule.weights @ rule.points[:, 0] ** 2) - 1.0) < 1e-12
    ((1024, 8), True)
    """
    dimension = check_count("dimension", dimension)
    log2_points = check_count("log2_points", log2_points, 6)
    block = log2_points - int(np.log2(_N_REPLICATES))
    seeds = np.random.SeedSequence(seed).spawn(_N_REPLICATES)
    uniform = [
        qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(child)).random_base2(block)
        for child in seeds
    ]
    normal = ndtri(np.concatenate(uniform))
    points = np.concatenate([normal, -normal])
    points = np.linalg.solve(np.linalg.cholesky(points.T @ points / len(points)), points.T).T
    labels = np.tile(np.repeat(np.arange(_N_REPLICATES), 2**block), 2)
    alternatives = (labels == np.arange(_N_REPLICATES)[:, None]) / (2.0 * 2**block)
    weights = np.full(len(points), 1.0 / len(points))
    scale = 1.0 / np.sqrt(_N_REPLICATES - 1.0)
    return Rule(points, weights, alternatives, scale, f"scrambled Sobol, {len(points)} nodes")


def default_rule(dimension: int) -> Rule:
    """Return Gauss-Hermite nodes up to dimension four, Sobol nodes above."""
    if dimension in _HERMITE_ORDERS:
        return gauss_hermite(dimension, _HERMITE_ORDERS[dimension])
    return quasi_monte_carlo(dimension)


def check_rule(rule: Rule | None, dimension: int) -> Rule:
    """Return the rule given, or the default one, for this dimension."""
    if rule is None:
        return default_rule(dimension)
    if rule.dimension != dimension:
        raise ValueError(f"rule has dimension {rule.dimension}: give one of dimension {dimension}.")
    return rule


def _tensor(dimension: int, order: int) -> tuple[Array, Array]:
    """Nodes, shape (order^D, D), and weights of the product rule."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    grids = np.meshgrid(*[nodes] * dimension, indexing="ij")
    factors = np.meshgrid(*[weights] * dimension, indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    return points, np.prod([factor.ravel() for factor in factors], axis=0)
