"""Where the recursion takes a batch of centers: the shapes of their neighborhoods, by either strategy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import Candidates
from localegop._engine.recursion import Recursion, Step, isotropic

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Neighborhoods that a batch of q centers ended in.

    Attributes
    ----------
    shape : ndarray of shape (q, D, D)
    scale : ndarray of shape (q,) or None
        None where the choice of the final fit gives the size.
    step : ndarray of shape (q,)
        Numbers of steps taken.
    agop : ndarray of shape (q, D, D) or None
    loo_error : ndarray of shape (q,) or None
        AGOPs and leave-one-out errors there, with the query strategy.
    steps : list of Step
        All steps, if they were to be kept.
    """

    shape: Array
    scale: Array | None
    step: NDArray[np.int64]
    agop: Array | None
    loo_error: Array | None
    steps: list[Step]


def followed(
    field: GradientField, centers: Array, candidates: Candidates | None, n_steps: int, keep: bool
) -> Place:
    """Field strategy: shapes after a number of steps."""
    recursion = field.follow(centers, candidates)
    steps: list[Step] = []
    for _ in range(n_steps):
        step = recursion.advance()
        if keep:
            steps.append(step)
    return Place(recursion.shape, None, np.full(len(centers), n_steps), None, None, steps)


def searched(recursion: Recursion, n_steps: int, keep: bool) -> Place:
    """Query strategy: shapes of the steps with the smallest leave-one-out errors (Alg. 1, lines 14-17)."""
    count, dimension = recursion.shape.shape[:2]
    best, chosen = np.full(count, np.inf), np.zeros(count, dtype=np.int64)
    shape, agop = isotropic(count, dimension), np.zeros((count, dimension, dimension))
    scale = np.ones(count)
    steps: list[Step] = []
    for t in range(max(n_steps, 1)):
        step = recursion.advance()
        assert step.loo_error is not None
        better = step.loo_error < best
        best[better], chosen[better], scale[better] = step.loo_error[better], t, step.scale[better]
        shape[better], agop[better] = step.shape[better], step.agop[better]
        if keep:
            steps.append(step)
    return Place(shape, scale, chosen, agop, best, steps)
