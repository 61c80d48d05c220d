"""The grid of polynomial fits, and the rule by which one of them is picked.

The leave-one-out error of a training point is honest only at the first step: later its neighborhood has
been shaped by gradients that knew its label, and under noise that flatters small neighborhoods. So the
choice is made at points whose labels took no part at all: several folds where data are few, one where
they are many. Among choices that the held-out points cannot tell apart, the one with the least variance
is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.local_data import TrainingData
from localegop._engine.settings import Settings

Array = NDArray[np.float64]

SIZES = tuple(15.0 * 2**k for k in range(7))  # 15 .. 960
MOST_QUADRATIC_DIRECTIONS = 3
MOST_TERMS = 60  # fits with more basis terms than this are not tried
POINTS_PER_TERM = 0.8  # at least, of the effective size
STANDARD_ERRORS = 1.0


@dataclass(frozen=True)
class SearchGrid:
    """What there is to choose from.

    Parameters
    ----------
    steps : tuple of int
    sizes : tuple of float or None
        Effective sizes; None for that of the schedule at each step.
    linear : bool
        Whether fits have slopes; else they are local means.
    quadratic_directions : tuple of int
        Numbers of leading directions with quadratic terms.
    ridges : tuple of float
    """

    steps: tuple[int, ...]
    sizes: tuple[float, ...] | None
    linear: bool
    quadratic_directions: tuple[int, ...]
    ridges: tuple[float, ...]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of steps, sizes, quadratic directions and ridges."""
        sizes = 1 if self.sizes is None else len(self.sizes)
        return len(self.steps), sizes, len(self.quadratic_directions), len(self.ridges)

    @property
    def settled(self) -> bool:
        """Whether there is only one choice."""
        return max(self.counts) == 1

    def at_steps(self, steps: Sequence[int]) -> SearchGrid:
        """Grid with none but these steps."""
        return replace(self, steps=tuple(t for t in self.steps if t in steps))

    def wide_enough(self, dimension: int) -> SearchGrid:
        """Grid without the sizes that are too small for linear fits in so many dimensions."""
        if self.sizes is None or not self.linear:
            return self
        enough = tuple(size for size in self.sizes if size >= POINTS_PER_TERM * dimension)
        return replace(self, sizes=enough or (max(self.sizes),))  # then the ridge must do

    def choice(self, at: tuple[int, ...], error: float) -> Choice:
        """Return the choice at these places of the four lists."""
        t, s, b, r = at
        size = None if self.sizes is None else self.sizes[s]
        return Choice(self.steps[t], size, self._polynomial(b, r), error)

    def default(self) -> Choice:
        """Return the choice where there is nothing to choose by."""
        size = None if self.sizes is None else self.sizes[0]
        return Choice(self.steps[-1], size, self._polynomial(0, -1))

    def _polynomial(self, b: int, r: int) -> Polynomial:
        directions = self.quadratic_directions[b]
        degree = 2 if directions > 0 else int(self.linear)
        return Polynomial(degree, directions, self.ridges[r])

    def allowed(self, dimension: int) -> NDArray[np.bool_]:
        """Which choices make sense: enough points for the terms, directions only once there are any."""
        sizes = np.full(1, np.inf) if self.sizes is None else np.array(self.sizes)
        steps, directions = np.array(self.steps), np.array(self.quadratic_directions)
        terms = (1 + directions) * dimension * self.linear
        enough = sizes[:, None] >= POINTS_PER_TERM * terms
        enough[:, 0] = np.isin(sizes, self.wide_enough(dimension).sizes or sizes)
        directed = (steps[:, None] > 0) | (directions == 0) | (steps.max() == 0)
        allowed = enough[None] & directed[:, None]
        return np.repeat(allowed[..., None], len(self.ridges), axis=-1)

    def variance_rank(self, at: tuple[int, ...], dimension: int) -> tuple[float, int, float]:
        """Order choices by how much they vary with the noise, as far as terms and sizes tell."""
        t, s, b, r = at
        size = 1.0 if self.sizes is None else self.sizes[s]
        terms = 1 + (1 + self.quadratic_directions[b]) * dimension
        return (terms / size, self.steps[t], -self.ridges[r])


def grid_for(settings: Settings, data: TrainingData) -> SearchGrid:
    """Return what the final fit of the field strategy is chosen from."""
    degree, known = settings.degree, quadratic_directions_for(data.dimension)
    directions = {"auto": known, 0: (0,), 1: (0,)}.get(degree) or tuple(b for b in known if b > 0)
    return SearchGrid(
        steps=tuple(range(settings.n_steps + 1)),
        sizes=sizes_for(data) if settings.by_size else None,
        linear=degree != 0,
        quadratic_directions=directions or (1,),
        ridges=settings.ridges,
    )


def sizes_for(data: TrainingData) -> tuple[float, ...]:
    """Effective sizes to try, falling."""
    fitting = [size for size in SIZES if size <= data.largest_size]
    return tuple(fitting[::-1]) or (data.largest_size,)


def quadratic_directions_for(dimension: int) -> tuple[int, ...]:
    """Numbers of quadratic directions to try."""
    most = min(MOST_QUADRATIC_DIRECTIONS, dimension)
    return tuple(b for b in range(most + 1) if b == 0 or (1 + b) * dimension <= MOST_TERMS)


def pick_choice(grid: SearchGrid, errors: Array, sample_weight: Array, dimension: int) -> Choice:
    """Choice of least variance among those within a standard error of the best."""
    means, close = close_to_best(errors, sample_weight, grid.allowed(dimension), STANDARD_ERRORS)
    candidates = zip(*np.nonzero(close), strict=True)
    best = min(candidates, key=lambda at: grid.variance_rank(at, dimension))
    return grid.choice(best, float(means[best]))


def close_to_best(
    errors: Array, sample_weight: Array, allowed: NDArray[np.bool_], standard_errors: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Mean errors (step, size, directions, ridge), and which are hardly larger than the least allowed."""
    weight = sample_weight / sample_weight.sum()
    means: Array = errors @ weight
    means[~allowed] = np.inf
    best = np.unravel_index(np.argmin(means), means.shape)
    gap = errors - errors[best]
    std = np.sqrt(((gap - (gap @ weight)[..., None]) ** 2) @ weight / len(weight))
    return means, np.isfinite(means) & (means - means[best] <= standard_errors * std)
