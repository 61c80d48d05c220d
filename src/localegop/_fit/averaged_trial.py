"""A trial whose choices are compared by averages of all labels held out, where noise is most of an error.

See :mod:`localegop._selection.averaged_labels`. Gradients, which noise hides too, come from wider
neighborhoods than usual. Averages know nothing of what they average away, so they are believed only where
the labels as given say nothing against what they lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._fit.backend import D, M_co
from localegop._fit.trials import FINISHERS, MOST_WIDE_STEPS, Trial
from localegop._selection.averaged_labels import (
    AVERAGED_LOOKS,
    FEWEST_LABELS,
    LARGEST_RADIUS,
    NEARLY,
    POINTS,
    SMALL_VARIANCE,
    average_labels,
    average_size,
)
from localegop._selection.holdout import mixed_parts
from localegop._selection.race import Race, differences

Array = NDArray[np.float64]

# Sizes of neighborhoods for gradients where noise is most of every error: the first, and the largest, as
# still larger ones take long and bring next to nothing.
WIDE_GRADIENTS, WIDEST_GRADIENTS = 480.0, 3840.0
MOST_AHEAD = 4  # choices of the least errors that may show that labels are not to be averaged
SURELY = 3.0  # standard errors by which they do


class AveragedTrial(Trial[D, M_co]):
    """A trial that goes on by averages of the labels held out.

    Parameters
    ----------
    by_labels : Trial
        The same by the labels as given, after its second look.
    labels : sequence of ndarray
        What :func:`average_labels_of` gives.
    """

    kept_of_wider = FINISHERS

    def __init__(self, by_labels: Trial[D, M_co], labels: Sequence[Array]) -> None:
        super().__init__(
            by_labels.search,
            by_labels.start,
            by_labels.fold_axes,
            origin=by_labels.origin,
            first_kinds=by_labels.first_kinds,
        )
        self.by_labels, self.looks = by_labels, AVERAGED_LOOKS
        noise = float(by_labels.race.means.min())
        self.holdout = by_labels.holdout.relabelled(labels, noise)
        parts = mixed_parts([len(own) for own in labels])
        self.points = np.concatenate([self.search.folds[k][points] for k, points in parts])
        gradients = wide_gradients_of(by_labels)
        self.race = Race(self.holdout, [_with_gradients(one, gradients) for one in by_labels.race.choices])
        self.race.run_to(self.looks.second)

    def errors_of(self, choice: Choice, points: int) -> tuple[Array, float]:
        """Errors (m,) of a choice at the first held-out points, and their mean, by the labels as given."""
        return self.by_labels.errors_of(choice, points)

    def first_wider(self, best: Choice) -> list[Choice]:
        """List choices after each step: the noise that hid so far which are good is gone."""
        if best.size is None:
            return []
        usual = wide_gradients_of(self)
        steps = [step for step in self.grid.steps if step <= MOST_WIDE_STEPS]
        same_size = self.choices_of(self.grid.at_size(best.size, steps, usual))
        best = replace(best, gradient_size=best.gradient_size or usual)
        return [*same_size, *super().wider_than(best, steps), *self._by_wider_gradients(best, steps)]

    def next_wider(self, best: Choice) -> list[Choice]:
        """List choices of twice the size, and such with gradients of neighborhoods of twice the size.

        Where no step with the gradients so far was better than none, one is tried with those from
        neighborhoods like that of the fit itself, which have less noise.
        """
        usual = wide_gradients_of(self)
        if best.step == 0 and best.size is not None and usual is not None:
            like_the_fit = min(max(usual, best.size), WIDEST_GRADIENTS)
            return self.wider_than(replace(best, gradient_size=like_the_fit), self.grid.steps[:2])
        steps = [best.step]
        return [*self.wider_than(best, steps), *self._by_wider_gradients(best, steps)]

    def _by_wider_gradients(self, best: Choice, steps: Sequence[int]) -> list[Choice]:
        """List choices like one with gradients of neighborhoods of twice the size."""
        later, gradients = [step for step in steps if step > 0], best.gradient_size
        if best.size is None or gradients is None or not later:
            return []
        if 2.0 * gradients > min(self.widest, WIDEST_GRADIENTS):
            return []
        return self.choices_of(self.grid.at_size(best.size, later, 2.0 * gradients))


def can_average(trial: Trial[D, M_co]) -> bool:
    """Whether labels are numbers, and so many that averages of those held out tell f well."""
    data, fewest = trial.start.data, min(len(fold) for fold in trial.search.folds)
    if data.n < FEWEST_LABELS or trial.search.settings.classifies:
        return False
    return average_size(data.dimension) <= LARGEST_RADIUS**data.dimension * fewest


def noise_is_most(trial: Trial[D, M_co]) -> bool:
    """Whether polynomials are about the best, and err by far less than labels do, by their variance."""
    race = trial.race
    expected = np.where(race.is_process, np.inf, race.expected())
    if not np.isfinite(expected).any():
        return False
    best = int(np.argmin(expected))
    about_the_best = race.means[best] < NEARLY * race.means.min()
    smooth = about_the_best and race.variances[best] < SMALL_VARIANCE
    return bool(smooth) and not is_surely_beaten(trial, race.choices[best], trial)


def is_surely_beaten(trial: Trial[D, M_co], choice: Choice, other: Trial[D, M_co]) -> bool:
    """Whether choices of another trial surely err less than one of a trial, by the labels as given."""
    points = other.looks.last
    ahead = np.argsort(other.race.means, kind="stable")[:MOST_AHEAD]
    race = Race(other.holdout, [other.race.choices[k] for k in ahead])
    race.run_to(points)
    errors, _ = trial.errors_of(choice, points)
    seen, doubt = differences(np.column_stack([errors, race.errors]), race.weight, 0)
    return bool((seen < -SURELY * doubt).any())


def average_labels_of(trial: Trial[D, M_co]) -> list[Array]:
    """Average the labels that each fold of a trial holds out, at the first points (m, K) of the fold."""
    return [_average_labels(trial, k) for k in range(len(trial.search.folds))]


def _average_labels(trial: Trial[D, M_co], k: int) -> Array:
    """Average the labels of a fold in neighborhoods that were shaped without it."""
    learned, folds, gradients = trial.holdout.fold(k), trial.search.folds, wide_gradients_of(trial)
    rows = trial.search.backend.gather(trial.data_for_fold(k), folds[k])
    step = min(MOST_WIDE_STEPS, trial.grid.steps[-1])
    field = learned.field(gradients) if step > 0 else learned.start
    size = min(average_size(rows.dimension, rows.n), rows.largest_size)
    return average_labels(rows, POINTS // len(folds), size, lambda some: field.shapes_at(some, step))


def _with_gradients(choice: Choice, size: float | None) -> Choice:
    """Return a choice with gradients of neighborhoods of another size, after a few steps at most."""
    if choice.step == 0 or size is None:
        return choice
    return replace(choice, step=min(choice.step, MOST_WIDE_STEPS), gradient_size=size)


def wide_gradients_of(trial: Trial[D, M_co]) -> float | None:
    """Size of the first neighborhoods that gradients are learned in under noise; None for the usual."""
    allowed = trial.search.settings.may_widen_gradients and trial.widest >= WIDE_GRADIENTS
    return WIDE_GRADIENTS if allowed else None
