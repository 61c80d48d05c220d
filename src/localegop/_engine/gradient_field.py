"""Where gradients come from: learned once for all training points, or sampled anew for each query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localegop._core import Neighborhoods
from localegop._data.sums import partial_sums, total
from localegop._engine.local_data import Candidates, Lists, LocalData
from localegop._engine.recursion import Recursion, Rules, Step
from localegop._progress import Progress

Array = NDArray[np.float64]

# AGOPs are averaged over neighborhoods this many times the size of those the gradients are fitted in: a
# gradient field turns slowly, and the average of few gradients is noisy.
AGOP_WIDENING = 3.0
KEPT_BYTES = 200e6  # neighborhoods of all points are kept between fits and averages if they take no more


@dataclass
class GradientField:
    """Gradients at all training points, one set per step: what the field strategy learns.

    Parameters
    ----------
    data : LocalData
    rules : Rules
    ridges : tuple of float
        Each step takes the ridge with the smallest leave-one-out error over all points.
    gradients : list of ndarray of shape (n, K, D)
    loo_errors : list of ndarray of shape (n, 1)
        Squared residuals of the fits that gave the gradients, each without its own point, averaged over
        outputs.
    """

    data: LocalData
    rules: Rules
    ridges: tuple[float, ...]
    gradients: list[Array] = field(default_factory=list)
    loo_errors: list[Array] = field(default_factory=list)

    def learn(
        self, n_iter: int, candidates: Lists | None, progress: Progress, *, onward: bool = True
    ) -> Array:
        """Run the recursion for all training points; return the shapes of the last step.

        With ``onward`` they are those that the last gradients lead to.
        """
        data = self.data
        learner = FieldLearner(self, np.arange(data.n), candidates, progress)
        recursion = Recursion(learner, self.rules, data.n, data.dimension, data.reachable)
        for t in range(n_iter):
            if onward or t < n_iter - 1:
                recursion.move(recursion.step(), reuse=True)
            else:
                learner.learn(t, *recursion.setting())
        return recursion.shape

    def follow(
        self,
        centers: Array,
        candidates: Candidates | None,
        left_out: NDArray[np.int64] | None = None,
    ) -> Recursion:
        """Recursion that takes other centers through the learned gradients, without regressions."""
        follower = FieldFollower(self, centers, candidates, left_out)
        return Recursion(follower, self.rules, len(centers), self.data.dimension, self.data.reachable)

    def shapes(self, centers: Array, candidates: Candidates | None, last: int) -> Iterator[Array]:
        """Shapes (center, D, D) of the neighborhoods of other centers, after 0, 1, ... ``last`` steps."""
        recursion = self.follow(centers, candidates)
        yield recursion.shape
        for _ in range(last):
            recursion.advance()
            yield recursion.shape


def widened(data: LocalData, size: Array) -> Array:
    """Effective sizes that AGOPs are averaged over where gradients are fitted with these."""
    return np.minimum(AGOP_WIDENING * size, max(0.5 * data.reachable, 1.0))


def surroundings(
    data: LocalData,
    centers: Array,
    shape: Array,
    size: Array | None,
    scale: Array | None,
    candidates: Candidates | None,
    left_out: NDArray[np.int64] | None,
) -> Neighborhoods:
    """Neighborhoods that AGOPs are averaged over, of effective sizes for ``size`` or as scaled."""
    return data.localize(
        centers,
        shape,
        candidates,
        sizes=None if size is None else widened(data, size)[:, None],
        scales=None if scale is None else scale[:, None],
        left_out=left_out,
        keep=True,
    ).neighborhoods


def averaged(
    data: LocalData, gradients: Array, shape: Array, around: Neighborhoods, agop: Array | None = None
) -> Step:
    """AGOP of gradients (n, K, D) at all points of the data in each neighborhood, put into ``agop``."""
    agop = np.empty_like(shape) if agop is None else agop
    around.outer_products(gradients, agop, data.threads)
    return Step(shape, around.scale, around.effective_size, agop)


@dataclass
class FieldFollower:
    """The field strategy at queries."""

    field: GradientField
    centers: Array
    candidates: Candidates | None
    left_out: NDArray[np.int64] | None

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        data = self.field.data
        around = surroundings(data, self.centers, shape, size, scale, self.candidates, self.left_out)
        return averaged(data, self.field.gradients[t], shape, around)

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        return self.field.data.match(self.centers, shape, self.candidates, size, self.left_out)


@dataclass
class FieldLearner:
    """The field strategy at training points: leave-one-out fits first, then averages of them.

    Parameters
    ----------
    field : GradientField
    own : ndarray of shape (m,)
        The points of its data to learn at. Where they are not all, the gradients at the others have to
        come from elsewhere between :meth:`leave_one_out` and :meth:`averages`.
    candidates : Lists or None
        The points that they may look at.
    progress : Progress
    """

    field: GradientField
    own: NDArray[np.int64]
    candidates: Lists | None
    progress: Progress

    def __post_init__(self) -> None:
        self._kept: list[tuple[slice, Neighborhoods]] = []

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        keep = 12 * self.field.data.reachable * len(self.own) <= KEPT_BYTES
        self.learn(t, shape, size, scale, keep=keep)
        return self.averages(self.field.gradients[t], shape, size, scale)

    def learn(
        self, t: int, shape: Array, size: Array | None, scale: Array | None, *, keep: bool = False
    ) -> None:
        """Store the gradients of step t, where all points are learned at."""
        learned = self.field
        del learned.gradients[t:], learned.loo_errors[t:]
        gradients, errors = self.leave_one_out(shape, size, scale, keep=keep)
        best = best_ridge([self.error_sums(errors)])
        learned.gradients.append(np.ascontiguousarray(gradients[best]))
        learned.loo_errors.append(np.ascontiguousarray(errors[best, :, None]))

    def leave_one_out(
        self, shape: Array, size: Array | None, scale: Array | None, *, keep: bool = False
    ) -> tuple[Array, Array]:
        """Gradients (ridge, m, K, D) without each point's own label, and squared errors (ridge, m).

        With ``keep``, the neighborhoods for :meth:`averages` are made from the same distances.
        """
        data, ridges = self.field.data, self.field.ridges
        outputs = data.labels.shape[1]
        gradients = np.empty((len(ridges), len(self.own), outputs, data.dimension))
        errors = np.empty((len(ridges), len(self.own)))
        self._kept = []
        each = 8 * data.dimension * (data.dimension + outputs * len(ridges))
        for rows in data.chunks(len(self.own), each):
            here = self.own[rows]
            batch = data.localize(
                data.rows[here],
                shape[rows],
                None if self.candidates is None else self.candidates[rows],
                sizes=None if size is None else size[rows, None],
                scales=None if scale is None else scale[rows, None],
                left_out=here,
                degree=1,
                ridges=ridges,
                gradients=True,
                keep=keep,
                kept_sizes=None if size is None else widened(data, size[rows]),
            )
            if keep:
                self._kept.append((rows, batch.neighborhoods))
            gradients[:, rows] = batch.gradient[:, 0, 0].swapaxes(0, 1)
            residual = data.labels[here, None] - batch.value[:, 0, 0]
            errors[:, rows] = np.mean(residual**2, axis=2).T
            self.progress.advance(rows.stop - rows.start)
        return gradients, errors

    def error_sums(self, errors: Array) -> Array:
        """Add up squared errors (ridge, m), for :func:`best_ridge`."""
        return partial_sums((errors * self.field.data.share[self.own]).T)

    def averages(self, gradients: Array, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """AGOPs of gradients (n, K, D) at all points of the data, around those to learn at."""
        data, m = self.field.data, len(self.own)
        found, effective, agop = np.empty(m), np.empty(m), np.empty_like(shape)
        for rows, around in self._surroundings(shape, size, scale):
            part = averaged(data, gradients, shape[rows], around, agop[rows])
            found[rows], effective[rows] = part.scale, part.effective_size
            self.progress.advance(rows.stop - rows.start)
        return Step(shape, found, effective, agop)

    def _surroundings(
        self, shape: Array, size: Array | None, scale: Array | None
    ) -> Iterator[tuple[slice, Neighborhoods]]:
        """Neighborhoods to average in, a part of the points at a time: those kept, or new ones."""
        if self._kept:
            while self._kept:
                yield self._kept.pop(0)
            return
        data = self.field.data
        for rows in data.chunks(len(self.own), 8 * data.dimension**2 + 12 * data.reachable):
            here = self.own[rows]
            yield (
                rows,
                surroundings(
                    data,
                    data.rows[here],
                    shape[rows],
                    None if size is None else size[rows],
                    None if scale is None else scale[rows],
                    None if self.candidates is None else self.candidates[rows],
                    here,
                ),
            )

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        data = self.field.data
        return data.match(data.rows[self.own], shape, self.candidates, size, self.own)


def best_ridge(error_sums: list[Array]) -> int:
    """Tell which ridge has the smallest error over all points, from sums over parts of them."""
    return int(np.argmin(total(error_sums)))


@dataclass
class QuerySampler:
    """The query strategy, Algorithm 1: each query samples points around it and fits at them.

    Parameters
    ----------
    data : LocalData
    centers : ndarray of shape (q, D)
    candidates : Candidates or None
    seeds : ndarray of shape (q,)
        One seed a query, so that results depend neither on order nor on chunks.
    n_subsamples : int
    ridge : float
    """

    data: LocalData
    centers: Array
    candidates: Candidates | None
    seeds: NDArray[np.uint64]
    n_subsamples: int
    ridge: float

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        agop, error, value, gradient, found, effective = self.data.sampled_steps(
            self.centers,
            shape,
            self.candidates,
            sizes=size,
            scales=scale,
            seeds=self.seeds,
            step=t,
            n_subsamples=self.n_subsamples,
            ridge=self.ridge,
        )
        return Step(shape, found, effective, agop, error, value, gradient)

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        return self.data.match(self.centers, shape, self.candidates, size)


def query_seeds(centers: Array, seed: int) -> NDArray[np.uint64]:
    """Seeds that depend on the coordinates of each query and on nothing else."""
    bits = np.ascontiguousarray(centers + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    state = np.full(len(centers), np.uint64(seed))
    with np.errstate(over="ignore"):
        for column in bits.T:  # splitmix64
            state = state + column + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
