"""What fits do at the points held out, once fields without them are learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers
from localegop._engine.chunks import chunks
from localegop._engine.gradient_field import GradientField
from localegop._progress import SILENT, Progress
from localegop._selection.folds import FoldResult
from localegop._selection.search_grid import SearchGrid

Array = NDArray[np.float64]
F = TypeVar("F")


class Measure(Protocol):
    """Something to measure of several fits at points held out."""

    @property
    def last_step(self) -> int:
        """Steps of the recursion that the fits need."""

    def __len__(self) -> int:
        """Count the fits."""

    def at(self, field: GradientField, centers: Centers, labels: Array) -> Array:
        """Measure (point, fit) at centers with these labels, which the field does not know."""


class Evaluator(Protocol[F]):
    """Who can look at the points held out of a fold: one process, or a cluster."""

    def evaluate_at_held_out(self, fold: FoldResult[F], measure: Measure, every: int) -> Array:
        """Measure (point, fit) at every k-th point that was held out."""


@dataclass(frozen=True)
class Holdout(Generic[F]):
    """The points held out of all folds, and who can look at them."""

    evaluator: Evaluator[F]
    folds: Sequence[FoldResult[F]]

    @property
    def count(self) -> int:
        """Number of points held out, in all folds."""
        return sum(len(fold.sample_weight) for fold in self.folds)

    @property
    def dimension(self) -> int:
        """Largest number of features in the axes of a fold."""
        return max(fold.dimension for fold in self.folds)

    @property
    def largest_size(self) -> float:
        """Largest effective size that all folds have."""
        return min(fold.largest_size for fold in self.folds)

    def evaluate(self, measure: Measure, progress: Progress, every: int = 1) -> tuple[Array, Array]:
        """Measure (point, fit) at every k-th point of all folds; the second are its weights (point,)."""
        found = []
        progress.expect(len(self.folds))
        for fold in self.folds:
            found.append(self.evaluator.evaluate_at_held_out(fold, measure, every))
            progress.advance()
        return np.concatenate(found), np.concatenate([fold.sample_weight[::every] for fold in self.folds])


def evaluate_some(
    field: GradientField, held_out: Centers, labels: Array, some: NDArray[np.intp], measure: Measure
) -> Array:
    """Measure (point, fit) at some of the points held out."""
    data, whole = field.data, held_out[: len(held_out)]
    found = [np.zeros((0, len(measure)))]
    for rows in chunks(len(some), 8 * data.dimension**2 + 12 * data.max_visible):
        here = some[rows]
        found.append(measure.at(field, whole.pick(here), labels[here]))
    return np.concatenate(found)


def grid_errors(
    field: GradientField, centers: Centers, labels: Array, grid: SearchGrid, progress: Progress
) -> Array:
    """Squared errors (step, size, directions, ridge, point) of all fits of a grid at points held out."""
    data, columns = field.data, [np.zeros((*grid.counts, 0))]
    for rows in progress.over(
        chunks(len(centers), 8 * data.dimension**2 + 12 * data.max_visible), len(centers)
    ):
        errors = [
            np.mean((values - labels[rows, None, None, None]) ** 2, axis=-1)
            for values in _values_by_step(field, centers[rows], grid)
        ]
        columns.append(np.moveaxis(np.array(errors), 1, -1))
    return np.concatenate(columns, axis=-1)


def _values_by_step(field: GradientField, centers: Centers, grid: SearchGrid) -> Iterator[Array]:
    """Predictions (center, size, directions, ridge, output) at each step of the grid."""
    data = field.data
    for t, shapes in enumerate(field.shapes(centers, max(grid.steps))):
        if t in grid.steps:
            yield data.localize(
                centers,
                shapes,
                field.update.widths(t, len(centers), data, grid.sizes),
                degree=int(grid.linear),
                quadratic_directions=[
                    min(b, data.dimension)
                    for b in grid.quadratic_directions  # a fold may have fewer axes
                ],
                ridges=grid.ridges,
            ).value


@dataclass(frozen=True)
class GridErrors:
    """Squared errors of all fits of a grid; see :class:`Measure`."""

    grid: SearchGrid

    def __len__(self) -> int:
        """Count the fits."""
        return int(np.prod(self.grid.counts))

    @property
    def last_step(self) -> int:
        """Steps of the recursion that they need."""
        return max(self.grid.steps)

    def at(self, field: GradientField, centers: Centers, labels: Array) -> Array:
        """Squared errors (point, fit)."""
        return grid_errors(field, centers, labels, self.grid, SILENT).reshape(len(self), -1).T
