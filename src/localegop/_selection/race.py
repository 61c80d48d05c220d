"""Races: choices meet at few held-out points first, and the better ones at more of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._selection.holdout import Holdout

Array = NDArray[np.float64]

FIRST_LOOK, SECOND_LOOK = 100, 300  # held-out points of the first rounds


class Race:
    """Choices and their squared errors at the held-out points that they have met so far.

    Attributes
    ----------
    choices : list of Choice
    errors : ndarray of shape (point, choice)
    weight : ndarray of shape (point,)
    """

    def __init__(self, holdout: Holdout, choices: Sequence[Choice] = ()) -> None:
        self.holdout = holdout
        self.choices: list[Choice] = []
        self.errors, self.weight = np.zeros((0, 0)), np.zeros(0)
        self.join(choices)

    @property
    def points(self) -> int:
        """Number of held-out points met so far."""
        return len(self.weight)

    @property
    def means(self) -> Array:
        """Mean squared errors (choice,)."""
        means: Array = self.weight @ self.errors / self.weight.sum()
        return means

    @property
    def best(self) -> Choice:
        """The choice with the smallest mean error."""
        return self.choices[int(np.argmin(self.means))]

    def join(self, choices: Sequence[Choice]) -> None:
        """Let more choices meet the points that the others have met."""
        new = [choice for choice in choices if choice not in self.choices]
        if new:
            errors, _ = self.holdout.errors(new, 0, self.points) if self.points else (np.zeros((0, len(new))), 0)
            self.errors = np.concatenate([self.errors, errors], axis=1)
            self.choices += new

    def run_to(self, points: int) -> None:
        """Let all choices meet held-out points up to this number of them, or all."""
        stop = min(points, self.holdout.count)
        if stop > self.points:
            errors, weight = self.holdout.errors(self.choices, self.points, stop)
            self.errors = np.concatenate([self.errors, errors])
            self.weight = np.concatenate([self.weight, weight])

    def keep(self, count: int) -> None:
        """Let only the best go on."""
        self._keep_only(np.sort(np.argsort(self.means, kind="stable")[:count]))

    def keep_close(self, standard_errors: float) -> None:
        """Let only those go on that are not clearly worse than the best."""
        self._keep_only(np.flatnonzero(self.close(standard_errors)))

    def close(self, standard_errors: float) -> NDArray[np.bool_]:
        """Tell which are worse than the best by at most so many standard errors of paired differences."""
        means = self.means
        best = int(np.argmin(means))
        gap, weight = self.errors - self.errors[:, [best]], self.weight / self.weight.sum()
        return np.asarray(means - means[best] <= standard_errors * standard_error(gap, weight))

    def _keep_only(self, numbers: NDArray[np.intp]) -> None:
        self.choices = [self.choices[k] for k in numbers]
        self.errors = np.ascontiguousarray(self.errors[:, numbers])


def standard_error(values: Array, weight: Array) -> Array:
    """Standard errors (choice,) of weighted means of values (point, choice), for weights of sum one."""
    mean = weight @ values
    found: Array = np.sqrt(weight @ (values - mean) ** 2 / len(weight))
    return found
