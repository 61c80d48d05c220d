"""Where the recursion takes a batch of centers: shapes and widths, by either strategy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.choice import Choice
from localegop._engine.gradient_field import GradientField
from localegop._engine.query_sampling import QuerySampler
from localegop._engine.recursion import Recursion, Step, isotropic_shapes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Neighborhoods that a batch of q centers ended in.

    Attributes
    ----------
    centers : Centers
    shape : ndarray of shape (q, D, D)
    widths : Widths
        Of the final fit.
    step : ndarray of shape (q,)
        Numbers of steps taken.
    agop : ndarray of shape (q, D, D) or None
    loo_error : ndarray of shape (q,) or None
        AGOPs and leave-one-out errors there, with the query strategy.
    steps : list of Step
        All steps, if they were to be kept.
    """

    centers: Centers
    shape: Array
    widths: Widths
    step: NDArray[np.int64]
    agop: Array | None
    loo_error: Array | None
    steps: list[Step]


def follow_field(field: GradientField, centers: Centers, choice: Choice, *, keep: bool) -> Place:
    """Field strategy: shapes and widths of the final fit that was chosen."""
    count, steps = len(centers), list[Step]()
    shape = isotropic_shapes(count, field.dimension)
    if choice.step > 0:  # otherwise without a search for the anchors around
        recursion = field.follow(centers.rows)
        for _ in range(choice.step):
            step = recursion.advance()
            if keep:
                steps.append(step)
        shape = recursion.shape
    widths = choice.widths(field.update, count, field)
    return Place(centers, shape, widths, np.full(count, choice.step), None, None, steps)


def search_steps(
    recursion: Recursion[QuerySampler], centers: Centers, n_steps: int, *, keep: bool
) -> Place:
    """Query strategy: shapes of the steps with the smallest leave-one-out errors (Alg. 1, lines 14-17).

    Errors are compared as they are summed; those returned, and the AGOPs, are means.
    """
    count, dimension = recursion.shape.shape[:2]
    best, chosen, total = np.full(count, np.inf), np.zeros(count, dtype=np.int64), np.ones(count)
    shape, agop = isotropic_shapes(count, dimension), np.zeros((count, dimension, dimension))
    scale = np.ones(count)
    steps: list[Step] = []
    for t in range(max(n_steps, 1)):
        step = recursion.advance()
        assert step.loo_error is not None
        better = step.loo_error < best
        best[better], chosen[better], scale[better] = step.loo_error[better], t, step.scale[better]
        shape[better], agop[better] = step.shape[better], step.agop[better]
        if step.total_weight is not None:
            total[better] = step.total_weight[better]
        if keep:
            steps.append(step)
    agop /= total[:, None, None]
    return Place(centers, shape, Widths.of_scale(scale, count), chosen, agop, best / total, steps)
