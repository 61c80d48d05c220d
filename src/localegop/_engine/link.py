"""From estimates of class probabilities, which may lie below 0 or above 1, to probabilities.

Local fits of one-hot labels estimate probabilities. Where classes overlap these are nearly right as they
are; where classes are apart, estimates are near 0 and 1 and what is left is the error of the fit, which may
have any sign. So the logarithm of a probability is taken to be

    power * log(s(estimate)) + slope * estimate,   s(v) = (v + sqrt(v^2 + floor^2)) / 2,

up to what makes probabilities sum to one. With slope 0 and power 1 that is the estimate itself, kept
positive; with power 0 it is a softmax. For a given floor the log loss is convex in slope and power, so that
a few steps of Newton's method fit them at points that are held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST, MOST = -1.0, 2.0  # estimates are held within these, so that no probability is 0
FLOOR = 0.05  # while choices are compared
FLOORS = (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3)  # to choose from in the end
USUAL = np.array([1.0, 1.0])  # slope and power that few points are drawn to
SPREAD = np.array([5.0, 1.0])  # as if known to this standard deviation
CHANCE = 2.0  # points that could have had any class
MOST_STEPS = 25
SMALLEST = 1e-300


@dataclass(frozen=True)
class Link:
    """How estimates become probabilities.

    Parameters
    ----------
    slope, power : float
        Not negative, and not both 0.
    floor : float
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._engine.link import Link
    >>> Link(0.0, 1.0, 1e-9).probabilities(np.array([[0.25, 0.75]])).round(6).tolist()
    [[0.25, 0.75]]
    """

    slope: float = 1.0
    power: float = 1.0
    floor: float = FLOOR

    def probabilities(self, estimates: Array) -> Array:
        """Probabilities (..., K) for estimates (..., K)."""
        held = np.clip(estimates, LEAST, MOST)
        return softmax(self.slope * held + self.power * log_positive(held, self.floor))

    def jacobian(self, estimates: Array) -> Array:
        """Differentiate probabilities: derivatives (q, K, K) in estimates (q, K)."""
        p = self.probabilities(estimates)
        held = np.clip(estimates, LEAST, MOST)
        steep = self.slope + self.power / np.sqrt(held**2 + self.floor**2)
        steep = np.where(held == estimates, steep, 0.0)
        own = np.eye(p.shape[1]) * p[:, None]
        slopes: Array = (own - p[:, :, None] * p[:, None]) * steep[:, None]
        return slopes


PLAIN = Link(0.0, 1.0, 1e-6)  # of estimates that are probabilities
CLEARLY_BETTER = 3.0  # log likelihood that three parameters gain by chance, and more


def softmax(logits: Array) -> Array:
    """Exponentials of logits (..., K), divided by their sum."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities: Array = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


def log_positive(values: Array, floor: float) -> Array:
    """Logarithm of (v + sqrt(v^2 + floor^2)) / 2, without loss of digits below 0."""
    root = np.sqrt(values**2 + floor**2)
    below = floor**2 / (root - np.minimum(values, 0.0))  # the same as the sum, where v < 0
    logs: Array = np.log(0.5 * np.where(values < 0.0, below, root + np.maximum(values, 0.0)))
    return logs


def log_losses(probabilities: Array, labels: Array) -> Array:
    """Log losses (...,) of probabilities (..., K) where labels (..., K) are one-hot."""
    losses: Array = -np.sum(labels * np.log(np.maximum(probabilities, SMALLEST)), axis=-1)
    return losses


def fit_links(estimates: Array, labels: Array, weight: Array, floor: float = FLOOR) -> list[Link]:
    """Fit slope and power of one link for each of c choices, with estimates (m, c, K), labels (m, K)."""
    held = np.clip(estimates.transpose(1, 0, 2), LEAST, MOST)
    terms = np.stack([held, log_positive(held, floor)], axis=-1)  # (c, m, K, 2)
    found = np.repeat(USUAL[None], len(held), axis=0)
    share, labels = weight / weight.mean(), with_doubt(labels)
    for _ in range(MOST_STEPS):
        step = _newton_step(terms, labels, share, found)
        before, found = found, np.maximum(found + step, 0.0)
        if np.abs(found - before).max(initial=0.0) < 1e-8:
            break
    found[found.sum(axis=1) == 0.0] = USUAL
    return [Link(float(slope), float(power), floor) for slope, power in found]


def with_doubt(labels: Array) -> Array:
    """Labels (m, K) as if a few points in all could as well have had any class.

    Where no held-out point is predicted wrongly, probabilities would else be taken for certain.
    """
    doubt = CHANCE / (len(labels) + CHANCE)
    found: Array = (1.0 - doubt) * labels + doubt / labels.shape[1]
    return found


def _newton_step(terms: Array, labels: Array, share: Array, found: Array) -> Array:
    """Step (c, 2) toward the least penalized log loss; a bound that holds a parameter takes it out."""
    p = softmax(np.einsum("cmkt,ct->cmk", terms, found, optimize=False))
    mean = np.einsum("cmk,cmkt->cmt", p, terms, optimize=False)
    gradient = np.einsum("m,cmk,cmkt->ct", share, labels - p, terms, optimize=False)
    gradient -= (found - USUAL) / SPREAD**2
    hessian = np.einsum("m,cmk,cmkt,cmku->ctu", share, p, terms, terms, optimize=False)
    hessian -= np.einsum("m,cmt,cmu->ctu", share, mean, mean, optimize=False)
    hessian += np.diag(1.0 / SPREAD**2)
    held = (found <= 0.0) & (gradient < 0.0)
    gradient[held] = 0.0
    for t in range(2):
        hessian[held[:, t], t, :] = hessian[held[:, t], :, t] = 0.0
        hessian[held[:, t], t, t] = 1.0
    step: Array = np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return np.clip(step, -2.0 * SPREAD, 2.0 * SPREAD)


def best_link(
    estimates: Array,
    labels: Array,
    weight: Array,
    floors: Sequence[float] = FLOORS,
    *,
    are_probabilities: bool = False,
) -> Link:
    """Fit the link for estimates (m, K) with the floor of the least log loss.

    Estimates that are probabilities stay as they are unless another link is better by more than chance.
    """
    share = weight / weight.mean()

    def loss(link: Link) -> float:
        return float(np.sum(share * log_losses(link.probabilities(estimates), with_doubt(labels))))

    links = [fit_links(estimates[:, None], labels, weight, floor)[0] for floor in floors]
    best = min(links, key=loss)
    return PLAIN if are_probabilities and loss(PLAIN) < loss(best) + CLEARLY_BETTER else best
