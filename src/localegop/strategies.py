"""Where gradients come from: learned once for all training points, or sampled anew for each query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import Candidates, LocalData
from localegop.progress import Progress
from localegop.recursion import Recursion, Rules, Step

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

    def learn(self, n_iter: int, candidates: Candidates | None, progress: Progress) -> Array:
        """Run the recursion for all training points; return the shapes after the last step."""
        data = self.data
        learner = _FieldLearner(self, candidates, progress)
        recursion = Recursion(learner, self.rules, data.n, data.dimension, data.reachable)
        for _ in range(n_iter):
            recursion.advance()
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
        self,
        t: int,
        centers: Array,
        shape: Array,
        size: Array | None,
        scale: Array | None,
        candidates: Candidates | None,
        left_out: NDArray[np.int64] | None,
    ) -> Step:
        """AGOP of the stored gradients of step t around each center."""
        data = self.data
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
        agop = batch.neighborhoods.outer_products(self.gradients[t], data.threads)
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
        return self.field.averaged(t, self.centers, shape, size, scale, self.candidates, self.left_out)

    def match(self, shape: Array, size: Array) -> Array:
        """See :class:`localegop.recursion.Strategy`."""
        return self.field.data.match(self.centers, shape, self.candidates, size, self.left_out)


@dataclass
class _FieldLearner:
    """The field strategy at the training points: leave-one-out fits first, then averages of them."""

    field: GradientField
    candidates: Candidates | None
    progress: Progress

    def step(self, t: int, shape: Array, size: Array | None, scale: Array | None) -> Step:
        data, learned = self.field.data, self.field
        del learned.gradients[t:], learned.loo_errors[t:]
        gradient, error = self._leave_one_out(shape, size, scale)
        learned.gradients.append(gradient)
        learned.loo_errors.append(error)
        found, effective, agop = np.empty(data.n), np.empty(data.n), np.empty_like(shape)
        for rows in data.chunks(data.n, 8 * data.dimension**2 + 12 * data.reachable):
            part = learned.averaged(
                t,
                data.rows[rows],
                shape[rows],
                None if size is None else size[rows],
                None if scale is None else scale[rows],
                None if self.candidates is None else self.candidates[rows],
                np.arange(rows.start, rows.stop),
            )
            found[rows], effective[rows], agop[rows] = part.scale, part.effective_size, part.agop
            self.progress.advance(rows.stop - rows.start)
        return Step(shape, found, effective, agop)

    def match(self, shape: Array, size: Array) -> Array:
        data = self.field.data
        return data.match(data.rows, shape, self.candidates, size, np.arange(data.n))

    def _leave_one_out(self, shape: Array, size: Array | None, scale: Array | None) -> tuple[Array, Array]:
        """Gradients (n, K, D) without each point's own label, for the best ridge, and its errors (n, 1)."""
        data, ridges = self.field.data, self.field.ridges
        outputs = data.labels.shape[1]
        gradients = np.empty((len(ridges), data.n, outputs, data.dimension))
        errors = np.empty((len(ridges), data.n))
        each = 8 * data.dimension * (data.dimension + outputs * len(ridges))
        for rows in data.chunks(data.n, each):
            batch = data.localize(
                data.rows[rows],
                shape[rows],
                None if self.candidates is None else self.candidates[rows],
                sizes=None if size is None else size[rows, None],
                scales=None if scale is None else scale[rows, None],
                left_out=np.arange(rows.start, rows.stop),
                degree=1,
                ridges=ridges,
                gradients=True,
            )
            gradients[:, rows] = batch.gradient[:, 0, 0].swapaxes(0, 1)
            residual = data.labels[rows, None] - batch.value[:, 0, 0]
            errors[:, rows] = np.mean(residual**2, axis=2).T
            self.progress.advance(rows.stop - rows.start)
        best = int(np.argmin((errors * data.share).sum(axis=1)))
        return np.ascontiguousarray(gradients[best]), np.ascontiguousarray(errors[best, :, None])


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
