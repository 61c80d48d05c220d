"""The query strategy: each query samples points around it and fits at them, as in Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Step

Array = NDArray[np.float64]

# What a drawn point counts: its weight divided by the probability of having been drawn; one; its weight
# among those drawn; its weight among all points, as lines 12 and 13 of Algorithm 1 have it.
WEIGHTINGS = ("unbiased", "uniform", "renormalized", "literal")


@dataclass(frozen=True)
class QuerySampler:
    """Steps as those of Algorithm 1, for a batch of queries.

    Parameters
    ----------
    data : LocalData
    centers : Centers
    seeds : ndarray of shape (q,)
        One seed a query, so that results depend neither on order nor on chunks.
    n_subsamples : int
    ridge : float
    weighting : str
        What a drawn point counts in the sums of lines 12 and 13: one of ``WEIGHTINGS``.
    """

    data: LocalData
    centers: Centers
    seeds: NDArray[np.uint64]
    n_subsamples: int
    ridge: float
    weighting: str

    def step(self, t: int, shape: Array, widths: Widths) -> Step:
        """See :class:`localegop._engine.recursion.Strategy`."""
        found = self.data.sample_step(
            self.centers,
            shape,
            widths,
            seeds=self.seeds,
            step=t,
            n_subsamples=self.n_subsamples,
            ridge=self.ridge,
            weighting="renormalized" if self.weighting == "literal" else self.weighting,
        )
        matched = Widths.of_scale(found.scale, len(shape))
        # A sum over the sample with weights that sum to one over all points is a mean times this.
        part = found.drawn_weight if self.weighting == "literal" else np.ones(len(shape))
        return Step(
            shape,
            matched,
            found.scale,
            found.effective_size,
            found.agop * part[:, None, None],
            found.loo_error * part,
            part,
        )

    def match(self, shape: Array, widths: Widths) -> Array:
        """See :class:`localegop._engine.recursion.Strategy`."""
        return self.data.match(self.centers, shape, widths)


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
