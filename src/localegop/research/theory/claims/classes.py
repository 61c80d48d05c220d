"""Claims about classes, which the paper leaves open: what its bias bound says of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from localegop._arguments import Array
from localegop.research.theory.bounds import poincare_gap
from localegop.research.theory.quadrature import gauss_hermite

from .momentum import random_positive_definite
from .table import Claim, show, within

Function = Callable[[Array], Array]
FLOORS = (0.2, 0.05, 0.01)  # which probabilities of three classes stay above
SCALES = (0.01, 0.1, 1.0, 4.0)  # of the covariance of the localization
_CENTER, _STEEP = np.array([0.3, -0.2]), np.array([[2.0, 0.5], [-1.0, 1.5], [0.0, -1.0]])


@dataclass(frozen=True)
class Smoothed:
    """Class probabilities and what a kernel smoother makes of them, integrated over a localization.

    Parameters
    ----------
    bias : float
        Squared errors of the probabilities, summed over classes.
    bound : float
        The paper's bound for each class, summed.
    form : float
        W(mu), of the summed AGOP.
    excess : float
        Log loss beyond that of the true probabilities.
    """

    bias: float
    bound: float
    form: float
    excess: float


def three_classes(floor: float, scale: float) -> Smoothed:
    """Smooth probabilities of three classes in the plane that stay above a floor."""

    def softmax(X: Array) -> Array:
        powers = np.exp(X @ _STEEP.T)
        found: Array = powers / powers.sum(axis=1, keepdims=True)
        return found

    def probabilities(X: Array) -> Array:
        return floor + (1.0 - 3.0 * floor) * softmax(X)

    def gradients(X: Array) -> Array:
        p = softmax(X)
        found: Array = (1.0 - 3.0 * floor) * p[:, :, None] * (_STEEP - (p @ _STEEP)[:, None])
        return found

    covariance = scale * random_positive_definite(2, np.random.default_rng(0))
    return smooth(probabilities, gradients, _CENTER, covariance)


def two_classes(center: float, width: float) -> Smoothed:
    """Smooth the probabilities (1 -+ cos x) / 2, of which one is 0 at x = 0."""

    def probabilities(X: Array) -> Array:
        return 0.5 * (1.0 + np.array([-1.0, 1.0]) * np.cos(X))

    def gradients(X: Array) -> Array:
        return 0.5 * (np.array([1.0, -1.0]) * np.sin(X))[:, :, None]

    return smooth(probabilities, gradients, np.array([center]), np.array([[width**2]]))


def smooth(probabilities: Function, gradients: Function, center: Array, covariance: Array) -> Smoothed:
    """Smooth probabilities (k, K) of points (k, D) at a center, with rows that thin out to one side."""

    def density(X: Array) -> Array:
        found: Array = np.exp(0.3 * X[:, 0])
        return found

    rule = gauss_hermite(len(center), 40)
    points = center + rule.points @ np.linalg.cholesky(covariance).T
    p = probabilities(points)
    gaps = [
        poincare_gap(
            partial(_column, probabilities, k),
            partial(_column, gradients, k),
            density,
            center,
            covariance,
            rule=rule,
        )
        for k in range(p.shape[1])
    ]
    share = rule.weights * density(points)
    q = share @ p / share.sum()
    excess = float(rule.weights @ np.sum(p * np.log(np.maximum(p, 1e-300) / q), axis=1))
    return Smoothed(
        sum(gap.bias for gap in gaps), sum(gap.bound for gap in gaps), sum(gap.form for gap in gaps), excess
    )


def _column(function: Function, k: int, X: Array) -> Array:
    return function(X)[:, k]


def excess_slope(center: float) -> float:
    """Slope of excess log loss over W in the width of the localization."""
    widths = np.geomspace(0.01, 0.1, 5)
    runs = [two_classes(center, float(width)) for width in widths]
    ratios = [run.excess / run.form for run in runs]
    return float(np.polyfit(np.log(widths), np.log(ratios), 1)[0])


def class_claims() -> list[Claim]:
    """Measure what of the theory carries over to classes."""
    runs = {floor: [three_classes(floor, scale) for scale in SCALES] for floor in FLOORS}
    biases = np.array([run.bias / run.bound for each in runs.values() for run in each])
    excesses = np.array([[floor * run.excess / run.bound for run in each] for floor, each in runs.items()])
    slopes = [excess_slope(0.5 * np.pi), excess_slope(0.0)]
    return [
        Claim(
            "Probabilities of classes are bounded as any f is, with the AGOP summed over classes (ours; "
            "from the paper's bound for each)",
            "Σ_k E (P_M p_k - p_k)² / ((1 + Var p / (E p)²) W) ≤ 1",
            f"{biases.min():.2f} to {biases.max():.2f} for {biases.size} localizations",
            bool(biases.max() <= 1.0),
        ),
        Claim(
            "Excess log loss is bounded by W where probabilities stay above c (ours)",
            "c E KL(p, P_M p) / ((1 + Var p / (E p)²) W) ≤ 1",
            f"at most {show(excesses.max(axis=1), 3)} for c = {', '.join(map(str, FLOORS))}",
            bool(excesses.max() <= 1.0),
        ),
        Claim(
            "Where a probability is 0, W does not bound excess log loss (ours)",
            "slope of E KL / W in the width: 0 where p = 1/2, -2 where p = 0, within 0.1",
            show(slopes),
            within(slopes[:1], 0.0, 0.1) and within(slopes[1:], -2.0, 0.1),
        ),
    ]
