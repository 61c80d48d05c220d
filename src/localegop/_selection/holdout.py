"""What further fits do at the points held out, once fields without them are learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Candidates
from localegop._progress import Progress
from localegop._selection.search_grid import Fold, Tested

Array = NDArray[np.float64]


class Measure(Protocol):
    """Something to measure of several fits at points held out."""

    @property
    def last_step(self) -> int:
        """Steps of the recursion that the fits need."""

    @property
    def work(self) -> float:
        """Cost at one point in passes over one, about."""

    def __len__(self) -> int:
        """Count the fits."""

    def at(self, field: GradientField, guests: Fold, candidates: Candidates | None) -> Array:
        """Measure (point, fit) at all guests, with these candidates."""


def measured(
    measure: Measure, folds: Sequence[Tested], progress: Progress, every: int = 1
) -> tuple[Array, Array]:
    """Measure (point, fit) at every so manieth point of all folds; the second are its weights (point,)."""
    found = []
    for fold in folds:
        found.append(at_guests(fold.field, fold.guests, every, measure))
        progress.advance(measure.work * len(found[-1]))
    return np.concatenate(found), np.concatenate([fold.share[::every] for fold in folds])


@singledispatch
def at_guests(field: GradientField | Any, guests: Fold | None, every: int, measure: Measure) -> Array:
    """Measure (point, fit) at every so manieth point that the field does not know."""
    assert guests is not None
    return at_some(field, guests, np.arange(0, len(guests.centers), every), measure)


def at_some(field: GradientField, guests: Fold, some: NDArray[np.intp], measure: Measure) -> Array:
    """Measure (point, fit) at some of the points held out."""
    data, lists = field.data, guests.center_candidates
    listed = None if lists is None else lists[: len(guests.centers)]
    found = [np.zeros((0, len(measure)))]
    for rows in data.chunks(len(some), 8 * data.dimension**2 + 12 * data.reachable):
        here = some[rows]
        found.append(measure.at(field, guests.some(here), None if listed is None else listed.some(here)))
    return np.concatenate(found)
