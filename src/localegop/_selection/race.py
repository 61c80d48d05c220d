"""Races: choices meet at few held-out points first, and the better ones at more of them.

Under noise held-out points hardly tell good choices apart, but something else is known about a polynomial:
how much its predictions vary with the noise of the labels. So what counts is the error seen beyond that of
the best, as far as it is more than chance, plus the part of the error that is variance. Kriging says itself
how much noise there is, by its ridge, which would make that part count twice: it is taken to vary as the
best polynomial does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._selection.holdout import Holdout

Array = NDArray[np.float64]

FIRST_LOOK, SECOND_LOOK = 100, 300  # held-out points of the first rounds
CLEARLY = 4.0  # standard errors by which a choice is clearly worse than another
FEW_VARIANCES, MANY_VARIANCES = 8, 64  # held-out points at which variances are found, before and at the end


class Race:
    """Choices and their squared errors at the held-out points that they have met so far.

    Attributes
    ----------
    choices : list of Choice
    errors : ndarray of shape (point, choice)
    variances : ndarray of shape (choice,)
        Variance factors of their predictions; NaN for kriging.
    weight : ndarray of shape (point,)
    """

    def __init__(self, holdout: Holdout, choices: Sequence[Choice] = ()) -> None:
        self.holdout = holdout
        self.choices: list[Choice] = []
        self.errors, self.variances, self.weight = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
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
        """The choice of least expected error."""
        return self.choices[int(np.argmin(self.expected()))]

    def expected(self) -> Array:
        """Tell the expected errors (choice,) beyond the noise; see :func:`expected_errors`."""
        return expected_errors(self.errors, self.weight, self.variances)

    def join(self, choices: Sequence[Choice]) -> None:
        """Let more choices meet the points that the others have met."""
        new = [choice for choice in choices if choice not in self.choices]
        if new:
            errors, _ = self.holdout.errors(new, 0, self.points)
            self.errors = np.concatenate([self.errors, errors], axis=1)
            self.variances = np.append(self.variances, self._variances(new, FEW_VARIANCES))
            self.choices += new

    def run_to(self, points: int) -> None:
        """Let all choices meet held-out points up to this number of them, or all."""
        stop = min(points, self.holdout.count)
        if stop > self.points:
            errors, weight = self.holdout.errors(self.choices, self.points, stop)
            self.errors = np.concatenate([self.errors, errors])
            self.weight = np.concatenate([self.weight, weight])

    def keep(self, count: int) -> None:
        """Let only the best go on, and of these only such as are not clearly worse than the best."""
        seen, doubt = differences(self.errors, self.weight)
        best = np.argsort(self.expected(), kind="stable")[:count]
        self.keep_only(np.sort(best[seen[best] <= CLEARLY * doubt[best]]))

    def keep_only(self, numbers: NDArray[np.intp]) -> None:
        """Let only the choices of these numbers go on."""
        self.choices = [self.choices[k] for k in numbers]
        self.errors = np.ascontiguousarray(self.errors[:, numbers])
        self.variances = self.variances[numbers]

    def look_closer(self) -> None:
        """Find the variances at more points."""
        self.variances = self._variances(self.choices, MANY_VARIANCES)

    def _variances(self, choices: Sequence[Choice], points: int) -> Array:
        found = np.full(len(choices), np.nan)
        known = [k for k, choice in enumerate(choices) if isinstance(choice.final, Polynomial)]
        if known:
            found[known] = self.holdout.variances([choices[k] for k in known], points)
        return found


def expected_errors(errors: Array, sample_weight: Array, variances: Array) -> Array:
    """Find expected errors (choice,) beyond the noise.

    They come from errors (point, choice) and variance factors (choice,). A difference d from the smallest
    error counts as d^2 / (d + s), with s its standard error: hardly at all where it may be chance, and in
    full where it is certain.
    """
    seen, doubt = differences(errors, sample_weight)
    sure = np.divide(seen**2, seen + doubt, out=np.zeros_like(seen), where=seen > 0.0)
    means = sample_weight @ errors / sample_weight.sum()
    noise = float(np.min(means / (1.0 + np.nan_to_num(variances))))  # at most
    known = np.flatnonzero(~np.isnan(variances))
    best = known[np.argmin((sure + noise * variances)[known])] if len(known) else None
    found: Array = sure + noise * np.where(
        np.isnan(variances), 0.0 if best is None else variances[best], variances
    )
    return found


def differences(errors: Array, sample_weight: Array, best: int | None = None) -> tuple[Array, Array]:
    """Mean differences (choice,) from one choice, the best if none is given, and their standard errors."""
    weight = sample_weight / sample_weight.sum()
    gap = errors - errors[:, [int(np.argmin(weight @ errors)) if best is None else best]]
    seen = weight @ gap
    doubt: Array = np.sqrt(weight @ (gap - seen) ** 2 / len(weight))
    return seen, doubt
