"""A second look at the chosen polynomial fit, and at its rival.

The first choice is among sizes a factor of two apart, and takes the number of terms over the size for the
variance. Under noise both cost accuracy: fits with many terms and a large ridge vary less than others with
few. So what is near the choice is tried, and of those that the held-out points cannot tell from the best,
the one is taken whose prediction depends least on the noise of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers
from localegop._engine.choice import Choice
from localegop._engine.final_fits import FitsAtCenters
from localegop._engine.gradient_field import GradientField
from localegop._progress import Progress
from localegop._selection.holdout import GridErrors, Holdout
from localegop._selection.search_grid import SearchGrid, close_to_best

Array = NDArray[np.float64]
F = TypeVar("F")

FINER = (2.0**0.5, 1.0, 0.5**0.5)  # sizes to try, in terms of the one chosen
LARGE_RIDGES = (0.3, 1.0)
STANDARD_ERRORS = 1.5
VARIANCE_POINTS = 64  # held-out points at which variances are compared
MOST_CHOICES = 32  # whose variances are compared


def refine_choice(choice: Choice, grid: SearchGrid, holdout: Holdout[F], progress: Progress) -> Choice:
    """Refine a polynomial choice from a grid, by errors at held-out points."""
    finer = _around(choice, grid, holdout.largest_size)
    trying, comparing = progress.parts(2)
    errors, weight = holdout.evaluate(GridErrors(finer), trying)
    errors = np.ascontiguousarray(errors.T).reshape(*finer.counts, -1)
    means, close = close_to_best(errors, weight, finer.allowed(holdout.dimension), STANDARD_ERRORS)
    order = sorted(zip(*np.nonzero(close), strict=True), key=lambda at: float(means[at]))
    choices = tuple(finer.choice(at, float(means[at])) for at in order[:MOST_CHOICES])
    every = max(1, len(weight) // VARIANCE_POINTS)
    factors, weight = holdout.evaluate(ChoiceVariances(choices), comparing, every)
    return choices[int(np.argmin(weight @ factors))]


def clearly_better(choice: Choice, rival: Choice, holdout: Holdout[F], progress: Progress) -> bool:
    """Whether a choice has smaller errors than its rival at held-out points by more than chance."""
    errors, weight = holdout.evaluate(ChoiceErrors((choice, rival)), progress)
    gain, weight = errors[:, 1] - errors[:, 0], weight / weight.sum()
    mean = float(weight @ gain)
    return mean > float(np.sqrt(weight @ (gain - mean) ** 2 / len(weight)))


def _around(choice: Choice, grid: SearchGrid, largest_size: float) -> SearchGrid:
    """Grid of what is near a choice, at the same step."""
    sizes, ridges, directions = None, grid.ridges, grid.quadratic_directions
    if choice.size is not None:
        fitting = [choice.size * factor for factor in FINER if choice.size * factor <= largest_size]
        sizes = tuple(fitting) if len(grid.sizes or ()) > 1 and fitting else (choice.size,)
    if len(ridges) > 1:
        ridges += LARGE_RIDGES
    if choice.step == 0 and max(grid.steps) > 0:
        directions = directions[:1]  # there are no leading directions yet
    return replace(grid, steps=(choice.step,), sizes=sizes, quadratic_directions=directions, ridges=ridges)


@dataclass(frozen=True)
class ChoiceErrors:
    """Squared errors of some choices; see :class:`localegop._selection.holdout.Measure`."""

    choices: tuple[Choice, ...]
    with_variances = False

    def __len__(self) -> int:
        """Count the fits."""
        return len(self.choices)

    @property
    def last_step(self) -> int:
        """Steps of the recursion that the fits need."""
        return max(choice.step for choice in self.choices)

    def at(self, field: GradientField, centers: Centers, labels: Array) -> Array:
        """Measure (point, fit)."""
        found = np.zeros((len(centers), len(self)))
        for step, shapes in enumerate(field.shapes(centers, self.last_step)):
            for k, choice in enumerate(self.choices):
                if choice.step == step:
                    found[:, k] = self.of(self._fit(field, choice, centers, shapes), labels)
        return found

    def of(self, fits: FitsAtCenters, labels: Array) -> Array:
        """Take what is measured (point,) from fits."""
        errors: Array = np.mean((fits.value - labels) ** 2, axis=1)
        return errors

    def _fit(self, field: GradientField, choice: Choice, centers: Centers, shapes: Array) -> FitsAtCenters:
        data, count = field.data, len(centers)
        final = choice.final.within(data.dimension)  # a fold may have fewer axes
        widths = field.update.widths(choice.step, count, data, choice.sizes)
        return final.fit(data, centers, shapes, widths, variances=self.with_variances)


@dataclass(frozen=True)
class ChoiceVariances(ChoiceErrors):
    """Variances of the predictions of some choices, for labels of variance one."""

    with_variances = True

    def of(self, fits: FitsAtCenters, labels: Array) -> Array:
        """Take what is measured (point,) from fits."""
        return fits.variance_factor
