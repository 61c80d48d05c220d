"""A second look at the chosen polynomial fit, and at its rival.

The first choice is among sizes a factor of two apart, and takes the number of terms over the size for the
variance. Under noise both cost accuracy: fits with many terms and a large ridge vary less than others with
few. So what is near the choice is tried, and of those that the held-out points cannot tell from the best,
the one is taken whose prediction depends least on the noise of the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.final_fits import final_fit
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Candidates
from localegop._progress import SILENT, Progress
from localegop._selection.holdout import measured
from localegop._selection.search_grid import (
    HELD_OUT,
    Choice,
    Fold,
    Menu,
    Tested,
    allowed,
    close_to_best,
    held_out_errors,
)

Array = NDArray[np.float64]

FINER = (2.0**0.5, 1.0, 0.5**0.5)  # sizes to try, in terms of the one chosen
LARGE_RIDGES = (0.3, 1.0)
STANDARD_ERRORS = 1.5
SOME = 64  # held-out points at which variances are compared
MOST = 32  # choices whose variances are compared


def refined(choice: Choice, menu: Menu, folds: Sequence[Tested], progress: Progress) -> Choice:
    """Refine a polynomial choice from a menu, by errors at held-out points."""
    dimension = max(fold.field.data.dimension for fold in folds)
    finer = _around(choice, menu, min(fold.field.data.reachable for fold in folds))
    errors, share = measured(GridErrors(finer), folds, progress)
    errors = np.ascontiguousarray(errors.T).reshape(*finer.counts, -1)
    means, close = close_to_best(errors, share, allowed(finer, dimension), STANDARD_ERRORS)
    order = sorted(zip(*np.nonzero(close), strict=True), key=lambda at: float(means[at]))
    choices = tuple(finer.choice(at, float(means[at])) for at in order[:MOST])
    every = max(1, len(share) // SOME)
    factors, share = measured(Chosen(choices, variances=True), folds, progress, every)
    return choices[int(np.argmin(share @ factors))]


def better(choice: Choice, rival: Choice, folds: Sequence[Tested], progress: Progress) -> bool:
    """Whether a choice has smaller errors than its rival at held-out points by more than chance."""
    errors, share = measured(Chosen((choice, rival)), folds, progress)
    gain, share = errors[:, 1] - errors[:, 0], share / share.sum()
    mean = float(share @ gain)
    return mean > float(np.sqrt(share @ (gain - mean) ** 2 / len(share)))


def _around(choice: Choice, menu: Menu, reachable: int) -> Menu:
    """Menu of what is near a choice, at the same step."""
    sizes, ridges, bends = None, menu.ridges, menu.bends
    if choice.size is not None:
        fitting = [choice.size * factor for factor in FINER if choice.size * factor <= 0.5 * reachable]
        sizes = tuple(fitting) if len(menu.sizes or ()) > 1 and fitting else (choice.size,)
    if len(ridges) > 1:
        ridges += LARGE_RIDGES
    if choice.step == 0 and max(menu.steps) > 0:
        bends = menu.bends[:1]  # there are no leading directions yet
    return replace(menu, steps=(choice.step,), sizes=sizes, bends=bends, ridges=ridges)


def work(n: int) -> float:
    """Cost of a second look for n points in passes over one, about."""
    return 4.0 * min(n, HELD_OUT) + MOST * min(n, SOME)


@dataclass(frozen=True)
class GridErrors:
    """Squared errors of all fits of a menu; see :class:`localegop._selection.holdout.Measure`."""

    menu: Menu
    work: float = 2.0

    def __len__(self) -> int:
        """Count the fits."""
        return int(np.prod(self.menu.counts))

    @property
    def last_step(self) -> int:
        """Steps of the recursion that they need."""
        return max(self.menu.steps)

    def at(self, field: GradientField, guests: Fold, candidates: Candidates | None) -> Array:
        """Squared errors (point, fit)."""
        here = replace(guests, center_candidates=candidates)
        errors = held_out_errors(field, here, self.menu, SILENT)
        return errors.reshape(len(self), -1).T


@dataclass(frozen=True)
class Chosen:
    """Squared errors of some choices, or variances of their predictions for labels of variance one.

    See :class:`localegop._selection.holdout.Measure`.
    """

    choices: tuple[Choice, ...]
    variances: bool = False

    def __len__(self) -> int:
        """Count the fits."""
        return len(self.choices)

    @property
    def work(self) -> float:
        """Cost at one point in passes over one, about."""
        return float(len(self))

    @property
    def last_step(self) -> int:
        """Steps of the recursion that the fits need."""
        return max(choice.step for choice in self.choices)

    def at(self, field: GradientField, guests: Fold, candidates: Candidates | None) -> Array:
        """Errors or variances (point, fit)."""
        found, centers = np.zeros((len(guests.centers), len(self))), guests.centers
        for step, shapes in enumerate(field.shapes(centers, candidates, self.last_step)):
            for k, choice in enumerate(self.choices):
                if choice.step == step:
                    bends = min(choice.bends, field.data.dimension)  # a fold may have fewer axes
                    here = (field.data, field.rules, replace(choice, bends=bends), centers, shapes)
                    fit = final_fit(*here, candidates, spread=self.variances)
                    errors = np.mean((fit.value - guests.labels) ** 2, axis=1)
                    found[:, k] = fit.variance_factor if self.variances else errors
        return found
