"""The field strategy: gradients learned once at all training points, then averaged around any center."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._core import Neighborhoods
from localegop._data.sums import merge_sums, sum_columns
from localegop._engine.centers import Centers, Widths
from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate, Recursion, Stage, Step
from localegop._progress import Progress

Array = NDArray[np.float64]

# AGOPs are averaged over neighborhoods this many times the size of those the gradients are fitted in: a
# gradient field turns slowly, and the average of few gradients is noisy.
AGOP_WIDENING = 3.0
KEPT_BYTES = 200e6  # neighborhoods of all points are kept between fits and averages if they take no more


@dataclass(frozen=True)
class GradientField:
    """Gradients at all training points, one set per step: what the field strategy learns.

    Parameters
    ----------
    data : LocalData
    update : MetricUpdate
    gradients : tuple of ndarray of shape (n, K, D)
    loo_errors : tuple of ndarray of shape (n, 1)
        Squared residuals of the fits that gave the gradients, each without its own point, averaged over
        outputs.
    """

    data: LocalData
    update: MetricUpdate
    gradients: tuple[Array, ...] = ()
    loo_errors: tuple[Array, ...] = ()

    def follow(self, centers: Centers) -> Recursion:
        """Recursion that takes other centers through the learned gradients, without regressions."""
        stage = Stage.first(len(centers), self.data.dimension)
        return Recursion(FieldFollower(self, centers), self.update, self.data, stage)

    def shapes(self, centers: Centers, last: int) -> Iterator[Array]:
        """Shapes (center, D, D) of the neighborhoods of other centers, after 0, 1, ... ``last`` steps."""
        recursion = self.follow(centers)
        yield recursion.shape
        for _ in range(last):
            recursion.advance()
            yield recursion.shape


def learn_field(
    data: LocalData,
    update: MetricUpdate,
    ridges: tuple[float, ...],
    centers: Centers,
    n_iter: int,
    progress: Progress,
    *,
    onward: bool = True,
) -> tuple[GradientField, Array]:
    """Run the recursion at all training points: their gradients, and the shapes of the last step.

    With ``onward`` these are the shapes that the last gradients lead to.
    """
    learner = FieldLearner(data, ridges, centers, progress)
    recursion = Recursion(learner, update, data, Stage.first(len(centers), data.dimension))
    progress.expect((2 * n_iter - (not onward)) * len(centers))
    for t in range(n_iter):
        if onward or t < n_iter - 1:
            recursion.move(recursion.step(), reuse=True)
        else:
            learner.learn(*recursion.setting())
    field = GradientField(data, update, tuple(learner.gradients), tuple(learner.loo_errors))
    return field, recursion.shape


def wide_neighborhoods(data: LocalData, centers: Centers, shape: Array, widths: Widths) -> Neighborhoods:
    """Neighborhoods that AGOPs are averaged over, where gradients are fitted with these widths."""
    return data.localize(centers, shape, _widened(data, widths), keep=True).neighborhoods


def _widened(data: LocalData, widths: Widths) -> Widths:
    return widths.widen(AGOP_WIDENING, data.largest_size)


@dataclass(frozen=True)
class FieldFollower:
    """The field strategy at queries."""

    field: GradientField
    centers: Centers

    def step(self, t: int, shape: Array, widths: Widths) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        data = self.field.data
        around = wide_neighborhoods(data, self.centers, shape, widths)
        agop = np.empty_like(shape)
        around.outer_products(self.field.gradients[t], agop, data.threads)
        return Step(shape, widths, around.scale, around.effective_size, agop)

    def match(self, shape: Array, widths: Widths) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        return self.field.data.match(self.centers, shape, widths)


class FieldLearner:
    """The field strategy at training points: leave-one-out fits first, then averages of them.

    Parameters
    ----------
    data : LocalData
    ridges : tuple of float
        Each step takes the ridge with the smallest leave-one-out error over all points.
    centers : Centers
        The points of the data to learn at, each of which leaves itself out. Where they are not all, the
        gradients at the others have to come from elsewhere between :meth:`leave_one_out` and
        :meth:`averages`.
    progress : Progress

    Attributes
    ----------
    gradients, loo_errors : list of ndarray
        What was learned so far, by step; see :class:`GradientField`.
    """

    def __init__(
        self, data: LocalData, ridges: tuple[float, ...], centers: Centers, progress: Progress
    ) -> None:
        assert centers.left_out is not None
        self.data, self.ridges, self.centers, self.progress = data, ridges, centers, progress
        self.points: NDArray[np.int64] = centers.left_out
        self.gradients: list[Array] = []
        self.loo_errors: list[Array] = []
        self._kept: list[tuple[slice, Neighborhoods]] = []

    def step(self, t: int, shape: Array, widths: Widths) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`; steps are taken one after the other."""
        keep = 12 * self.data.max_visible * len(self.centers) <= KEPT_BYTES
        self.learn(shape, widths, keep=keep)
        return self.averages(self.gradients[t], shape, widths)

    def learn(self, shape: Array, widths: Widths, *, keep: bool = False) -> None:
        """Learn the gradients of the next step, where all points are learned at."""
        gradients, errors = self.leave_one_out(shape, widths, keep=keep)
        best = best_ridge([self.error_sums(errors)])
        self.gradients.append(np.ascontiguousarray(gradients[best]))
        self.loo_errors.append(np.ascontiguousarray(errors[best, :, None]))

    def leave_one_out(self, shape: Array, widths: Widths, *, keep: bool = False) -> tuple[Array, Array]:
        """Gradients (ridge, m, K, D) without each point's own label, and squared errors (ridge, m).

        With ``keep``, the neighborhoods for :meth:`averages` are made from the same distances.
        """
        data, ridges, m = self.data, self.ridges, len(self.centers)
        gradients = np.empty((len(ridges), m, data.outputs, data.dimension))
        errors = np.empty((len(ridges), m))
        self._kept = []
        for rows in chunks(m, 8 * data.dimension * (data.dimension + data.outputs * len(ridges))):
            batch = data.localize(
                self.centers[rows],
                shape[rows],
                widths[rows],
                degree=1,
                ridges=ridges,
                gradients=True,
                keep=keep,
                kept_widths=_widened(data, widths[rows]),
            )
            if keep:
                self._kept.append((rows, batch.neighborhoods))
            gradients[:, rows] = batch.gradient[:, 0, 0].swapaxes(0, 1)
            residual = data.labels[self.points[rows], None] - batch.value[:, 0, 0]
            errors[:, rows] = np.mean(residual**2, axis=2).T
            self.progress.advance(rows.stop - rows.start)
        return gradients, errors

    def error_sums(self, errors: Array) -> Array:
        """Add up squared errors (ridge, m), for :func:`best_ridge`."""
        return sum_columns((errors * self.data.sample_weight[self.points]).T)

    def averages(self, gradients: Array, shape: Array, widths: Widths) -> Step:
        """AGOPs of gradients (n, K, D) at all points of the data, around those to learn at."""
        m = len(self.centers)
        scale, effective, agop = np.empty(m), np.empty(m), np.empty_like(shape)
        for rows, around in self._neighborhoods(shape, widths):
            around.outer_products(gradients, agop[rows], self.data.threads)
            scale[rows], effective[rows] = around.scale, around.effective_size
            self.progress.advance(rows.stop - rows.start)
        return Step(shape, widths, scale, effective, agop)

    def _neighborhoods(self, shape: Array, widths: Widths) -> Iterator[tuple[slice, Neighborhoods]]:
        """Neighborhoods to average in, a part of the points at a time: those kept, or new ones."""
        if self._kept:
            while self._kept:
                yield self._kept.pop(0)
            return
        data = self.data
        for rows in chunks(len(self.centers), 8 * data.dimension**2 + 12 * data.max_visible):
            yield rows, wide_neighborhoods(data, self.centers[rows], shape[rows], widths[rows])

    def match(self, shape: Array, widths: Widths) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        return self.data.match(self.centers, shape, widths)


def best_ridge(error_sums: list[Array]) -> int:
    """Tell which ridge has the smallest error over all points, from sums over parts of them."""
    return int(np.argmin(merge_sums(error_sums)))
