"""Races: choices meet at few held-out points first, and the better ones at more of them.

Under noise held-out points hardly tell good choices apart, but something else is known about a polynomial:
how much its predictions vary with the noise of the labels. So what counts is the error seen beyond that of
the best, as far as it is more than chance, plus the part of the error that is variance. Kriging says by its
ridge how much noise there is: it is taken to vary as the best polynomial does, and has to be better than
that by more than chance, or by a clear share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.logistic_process import LogisticProcess
from localegop._engine.mixture import Mixture
from localegop._selection.folds import N_FOLDS
from localegop._selection.holdout import Holdout, weighted_means

Array = NDArray[np.float64]

FEW_ROWS, MORE_POINTS = 5000, 2.0  # rows from which on rounds have more points, and how many times
FEWEST_SEEN = 50  # held-out points of the first round
CLEAR_GAIN = 0.98  # share of the error of a polynomial with which kriging needs no further proof
PROOF = 2.0  # standard errors by which it has to be better otherwise
CLEARLY = 4.0  # standard errors by which a choice is clearly worse than another
MUCH, SURE = 1.5, 2.0  # or times its error, if that is as many standard errors more
FEW_VARIANCES, MANY_VARIANCES = 8, 64  # held-out points at which variances are found, before and at the end


@dataclass(frozen=True)
class Looks:
    """Numbers of held-out points of the rounds of a race."""

    first: int = 100
    second: int = 300
    third: int = 600
    last: int = 1000

    @classmethod
    def for_rows(cls, n: int) -> Looks:
        """Return the rounds of a fit to n rows: small errors of many rows take more points to be seen.

        Where rows are few, the first look ends with the first fold: the next one costs as much again.
        """
        factor = min(max(n / FEW_ROWS, 1.0), MORE_POINTS)
        first, *others = (round(factor * points) for points in (cls.first, cls.second, cls.third, cls.last))
        return cls(min(first, max(n // N_FOLDS, FEWEST_SEEN)), *others)


class Race:
    """Choices and their squared errors at the held-out points that they have met so far.

    Attributes
    ----------
    choices : list of Choice
    errors : ndarray of shape (point, choice)
    variances : ndarray of shape (choice,)
        Variance factors of their predictions.
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
        return weighted_means(self.errors, self.weight)

    @property
    def best(self) -> Choice:
        """The choice of least expected error."""
        return self.choices[int(np.argmin(self.expected()))]

    @property
    def ranked(self) -> list[Choice]:
        """All choices, that of least expected error first."""
        return [self.choices[k] for k in np.argsort(self.expected(), kind="stable")]

    def expected(self) -> Array:
        """Tell the expected errors (choice,) beyond the noise; see :func:`expected_errors`."""
        return expected_errors(
            self.errors, self.weight, self.variances, self.is_process, self.holdout.noise
        )

    @property
    def is_process(self) -> NDArray[np.bool_]:
        """Which choices are kriging (choice,), local or global, whose variance only a polynomial tells.

        Logistic processes, and means with them, need no proof: beside polynomials, of which there are many,
        the best of a few is less flattered by having been chosen.
        """
        others = (Polynomial, LogisticProcess, Mixture)
        return np.array([not isinstance(choice.final, others) for choice in self.choices], dtype=bool)

    def join(self, choices: Sequence[Choice]) -> None:
        """Let more choices meet the points that the others have met."""
        new = [choice for choice in dict.fromkeys(choices) if choice not in self.choices]
        if new:
            errors, _ = self.holdout.errors(new, 0, self.points)
            self.errors = np.concatenate([self.errors, errors], axis=1)
            self.variances = np.append(self.variances, self.holdout.variances(new, FEW_VARIANCES))
            self.choices += new

    def run_to(self, points: int) -> None:
        """Let all choices meet held-out points up to this number of them, or all."""
        stop = min(points, self.holdout.count)
        if stop > self.points:
            errors, weight = self.holdout.errors(self.choices, self.points, stop)
            self.errors = np.concatenate([self.errors, errors])
            self.weight = np.concatenate([self.weight, weight])

    def keep(self, count: int, of_each_kind: int = 0) -> None:
        """Let only the best go on, and of these only such as are not clearly worse than the best.

        So many of each kind of final fit are among them in any case: few points say little of rare, large
        errors, which some kinds have more of than others.
        """
        if not self.choices or count == 0:
            self.keep_only(np.zeros(0, dtype=np.intp))
            return
        kinds = [type(choice.final) for choice in self.choices]
        self.keep_only(choose_best(self.expected(), self.errors, self.weight, kinds, count, of_each_kind))

    def keep_only(self, numbers: NDArray[np.intp]) -> None:
        """Let only the choices of these numbers go on."""
        self.choices = [self.choices[k] for k in numbers]
        self.errors = np.ascontiguousarray(self.errors[:, numbers])
        self.variances = self.variances[numbers]

    def look_closer(self) -> None:
        """Find the variances at more points."""
        self.variances = self.holdout.variances(self.choices, MANY_VARIANCES)


def expected_errors(
    errors: Array,
    sample_weight: Array,
    variances: Array,
    is_process: NDArray[np.bool_],
    noise: float | None = None,
) -> Array:
    """Estimate the errors (choice,) beyond the noise, from errors (point, choice) and variance factors.

    The noise is that of the labels which fits are made to; where it is not given, the least error, which it
    cannot exceed.

    A difference d from the smallest error counts as d^2 / (d + s), with s its standard error: not at all
    where it may be chance, and in full where it is certain.
    """
    seen, doubt = differences(errors, sample_weight)
    found = np.divide(seen**2, seen + doubt, out=np.zeros_like(seen), where=seen > 0.0)
    if is_process.all():
        return found
    means = weighted_means(errors, sample_weight)
    noise = float(means.min()) if noise is None else noise
    found += noise * np.where(is_process, 0.0, variances)
    best = int(np.argmin(np.where(is_process, np.inf, found)))
    gain, doubt = differences(errors, sample_weight, best)
    lacking = np.minimum(PROOF * doubt + gain, means - CLEAR_GAIN * means[best])
    handicap = noise * variances[best] + np.maximum(lacking, 0.0)
    return np.where(is_process, found + handicap, found)


def choose_best(
    expected: Array,
    errors: Array,
    sample_weight: Array,
    kinds: Sequence[type],
    count: int,
    of_each_kind: int,
) -> NDArray[np.intp]:
    """Numbers of the choices that go on, in rising order; see :meth:`Race.keep`."""
    order = np.argsort(expected, kind="stable")
    seen, doubt = differences(errors, sample_weight, int(order[0]))
    best, met = [], Counter[type]()
    for rank, k in enumerate(order):
        if rank < count or met[kinds[k]] < of_each_kind:
            best.append(k)
        met[kinds[k]] += 1
    mean = float(weighted_means(errors, sample_weight)[order[0]])
    clearly = np.where(seen > (MUCH - 1.0) * mean, SURE, CLEARLY)
    return np.sort([k for k in best if seen[k] <= clearly[k] * doubt[k]])


def differences(errors: Array, sample_weight: Array, best: int | None = None) -> tuple[Array, Array]:
    """Differences (choice,) of means from that of a choice, the best if none is given, and their errors."""
    at = int(np.argmin(weighted_means(errors, sample_weight))) if best is None else best
    gap = errors - errors[:, [at]]
    seen = weighted_means(gap, sample_weight)
    doubt: Array = np.sqrt(weighted_means((gap - seen) ** 2, sample_weight) / len(gap))
    return seen, doubt
