"""Losses by which choices are compared at held-out points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Logistic
from localegop._engine.link import Link, best_link, fit_links, log_losses
from localegop._engine.logistic_process import LogisticProcess

Array = NDArray[np.float64]

FLOOR_OF_LOGISTIC = 1e-3  # of their links while choices are compared


class Loss(Protocol):
    """What is lost at points by the values that choices give."""

    def __call__(self, choices: Sequence[Choice], values: Array, labels: Array, weight: Array) -> Array:
        """Losses (m, c) of values (m, c, K) where labels are (m, K); weights are (m,)."""


class SquaredError:
    """Squared errors, averaged over outputs."""

    def __call__(self, choices: Sequence[Choice], values: Array, labels: Array, weight: Array) -> Array:
        """See :class:`Loss`."""
        losses: Array = np.mean((values - labels[:, None]) ** 2, axis=2)
        return losses


def gives_probabilities(choice: Choice) -> bool:
    """Whether the values of a choice are probabilities before any link."""
    return isinstance(choice.final, Logistic | LogisticProcess)


class LogLoss:
    """Log losses of the probabilities that values are turned into, as a share of that of frequencies.

    Each choice has a link of its own, fitted at the first points that it meets, which stays as it is: its
    losses at further points can be compared with those before.

    Parameters
    ----------
    frequencies : ndarray of shape (K,)
        Of the classes, which sum to one.
    """

    def __init__(self, frequencies: Array) -> None:
        positive = frequencies[frequencies > 0.0]
        entropy = -float(np.sum(positive * np.log(positive)))
        self.unit = entropy if entropy > 0.0 else 1.0
        self._links: dict[Choice, Link] = {}

    def __call__(self, choices: Sequence[Choice], values: Array, labels: Array, weight: Array) -> Array:
        """See :class:`Loss`."""
        if not len(values):
            return np.zeros(values.shape[:2])
        new = [k for k, choice in enumerate(choices) if choice not in self._links]
        guessed = [k for k in new if not gives_probabilities(choices[k])]
        links = fit_links(values[:, guessed], labels, weight) if guessed else []
        self._links |= {choices[k]: link for k, link in zip(guessed, links, strict=True)}
        for k in set(new) - set(guessed):
            floors, known = (FLOOR_OF_LOGISTIC,), {"are_probabilities": True}
            self._links[choices[k]] = best_link(values[:, k], labels, weight, floors, **known)
        found = [
            log_losses(self._links[choice].probabilities(values[:, k]), labels)
            for k, choice in enumerate(choices)
        ]
        return np.stack(found, axis=1) / self.unit
