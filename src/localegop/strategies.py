"""Where gradients come from: learned once for all training points, or sampled anew for each query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import Candidates, Lists, LocalData
from localegop.progress import Progress
from localegop.recursion import Recursion, Rules, Step
from localegop.sums import partial_sums, total

Array = NDArray[np.float64]

# AGOPs are averaged over neighborhoods this many times the size of those the gradients are fitted in: a
# gradient field turns slowly, and the average of few gradients is noisy.
AGOP_WIDENING = 3.0


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
                recursion.advance()
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


def averaged(
    data: LocalData,
    gradients: Array,
    centers: Array,
    shape: Array,
    size: Array | None,
    scale: Array | None,
    candidates: Candidates | None,
    left_out: NDArray[np.int64] | None,
) -> Step:
    """AGOP of gradients (n, K, D) at all points of the data around each center."""
    if size is not None:
        size = np.minimum(AGOP_WIDENING * size, max(0.5 * data.reachable, 1.0))[:, None]
    batch = data.localize(
        centers,
        shape,
        candidates,
        sizes=size,
        scales=None if scale is None else scale[:, None],
        left_out=left_out,
        keep=True,
    )
    agop = batch.neighborhoods.outer_products(gradients, data.threads)
    return Step(shape, batch.scale[:, 0], batch.effective_size[:, 0], agop)


@dataclass
class FieldFollower:
    """The field strategy at queries."""

    field: GradientField
    centers: Array
    candidates: Candidates | None
    left_out: NDArray[np.int64] | None

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """See :class:`localegop.recursion.Strategy`."""
        field = self.field
        return averaged(
            field.data, field.gradients[t], self.centers, shape, size, scale, self.candidates, self.left_out
        )

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop.recursion.Strategy`."""
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

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        """See :class:`localegop.recursion.Strategy`."""
        self.learn(t, shape, size, scale)
        return self.averages(self.field.gradients[t], shape, size, scale)

    def learn(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> None:
        """Store the gradients of step t, where all points are learned at."""
        learned = self.field
        del learned.gradients[t:], learned.loo_errors[t:]
        gradients, errors = self.leave_one_out(shape, size, scale)
        best = best_ridge([self.error_sums(errors)])
        learned.gradients.append(np.ascontiguousarray(gradients[best]))
        learned.loo_errors.append(np.ascontiguousarray(errors[best, :, None]))

    def leave_one_out(self, shape: Array, size: Array | None, scale: Array | None) -> tuple[Array, Array]:
        """Gradients (ridge, m, K, D) without each point's own label, and squared errors (ridge, m)."""
        data, ridges = self.field.data, self.field.ridges
        outputs = data.labels.shape[1]
        gradients = np.empty((len(ridges), len(self.own), outputs, data.dimension))
        errors = np.empty((len(ridges), len(self.own)))
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
            )
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
        for rows in data.chunks(m, 8 * data.dimension**2 + 12 * data.reachable):
            here = self.own[rows]
            part = averaged(
                data,
                gradients,
                data.rows[here],
                shape[rows],
                None if size is None else size[rows],
                None if scale is None else scale[rows],
                None if self.candidates is None else self.candidates[rows],
                here,
            )
            found[rows], effective[rows], agop[rows] = part.scale, part.effective_size, part.agop
            self.progress.advance(rows.stop - rows.start)
        return Step(shape, found, effective, agop)

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop.recursion.Strategy`."""
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
        """See :class:`localegop.recursion.Strategy`."""
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
        """See :class:`localegop.recursion.Strategy`."""
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
