"""The grid of polynomial fits: steps, sizes, numbers of quadratic directions and ridges to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Logistic, Polynomial, SlopePolynomial
from localegop._engine.local_data import TrainingData
from localegop._engine.settings import Settings

SIZES = tuple(15.0 * 2**k for k in range(7))  # 15 .. 960
MOST_QUADRATIC_DIRECTIONS = 3
FEW_DIRECTIONS = 3  # numbers of them that are tried at sizes beyond the usual, from none on
MOST_TERMS = 60  # fits with more basis terms than this are not tried
POINTS_PER_TERM = 0.8  # at least, of the effective size
INFORMED_SIZES = 7.5, 3.75  # which fits to slopes have, too: a row brings D + 1 equations
FEWEST_INFORMED = 3.0  # rows that such a fit is made to
FINER = 2.0**0.5  # factor between the sizes of the last look
LOGISTIC_RIDGES = (0.003, 0.03)
MOST_LOGISTIC_TERMS = 60  # of all classes together: more would take most of the time of a fit
LARGE_RIDGES = (0.3, 1.0)  # which only the last look tries
COARSE = 6  # steps at most in a first look


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
    gradient_size : float or None
        See :class:`Choice`.
    slope_weight : float
        How much given slopes count, see :class:`SlopePolynomial`; 0 if they do not.
    """

    steps: tuple[int, ...]
    sizes: tuple[float, ...] | None
    linear: bool
    quadratic_directions: tuple[int, ...]
    ridges: tuple[float, ...]
    gradient_size: float | None = None
    slope_weight: float = 0.0

    def informed(self, slope_weight: float) -> SearchGrid:
        """Return the grid of fits to slopes, which may be to fewer rows."""
        sizes = self.sizes
        if sizes is not None and len(sizes) > 1:
            sizes = (*sizes, *INFORMED_SIZES)
        return replace(self, sizes=sizes, slope_weight=slope_weight)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of steps, sizes, quadratic directions and ridges."""
        sizes = 1 if self.sizes is None else len(self.sizes)
        return len(self.steps), sizes, len(self.quadratic_directions), len(self.ridges)

    @property
    def settled(self) -> bool:
        """Whether there is only one choice."""
        return max(self.counts) == 1

    def wide_enough(self, dimension: int) -> SearchGrid:
        """Grid without the sizes that are too small for linear fits in so many dimensions."""
        if self.sizes is None or not self.linear:
            return self
        enough = tuple(size for size in self.sizes if size >= self._points_for(dimension, dimension))
        return replace(self, sizes=enough or (max(self.sizes),))  # then the ridge must do

    def choices(self, dimension: int) -> list[Choice]:
        """List the choices that make sense: enough points for the terms, directions once there are any."""
        enough = self.wide_enough(dimension)
        found = []
        for step, size, b, r in product(
            self.steps,
            (None,) if enough.sizes is None else enough.sizes,
            range(len(self.quadratic_directions)),
            range(len(self.ridges)),
        ):
            terms = (1 + self.quadratic_directions[b]) * dimension * self.linear
            few = b > 0 and size is not None and size < self._points_for(terms, dimension)
            undirected = self.quadratic_directions[b] > 0 and step == 0 and max(self.steps) > 0
            if not (few or undirected):
                wide = self.gradient_size if step > 0 else None
                found.append(Choice(step, size, self._polynomial(b, r), gradient_size=wide))
        return found

    def _points_for(self, terms: int, dimension: int) -> float:
        """Effective size that is enough for so many terms."""
        if self.slope_weight == 0.0:
            return POINTS_PER_TERM * terms
        return max(POINTS_PER_TERM * terms / (1 + dimension), FEWEST_INFORMED)

    def coarse(self) -> SearchGrid:
        """Grid for a first look: every other step, number of directions and ridge."""
        steps = self.steps if len(self.steps) <= 2 else _thin(self.steps)
        return replace(
            self,
            steps=steps,
            quadratic_directions=_ends(self.quadratic_directions),
            ridges=self.ridges[::-2][::-1],
        )

    def around(self, choice: Choice) -> SearchGrid:
        """Grid of what lies around a choice from the coarse one."""
        coarse = self.coarse().steps
        at = coarse.index(choice.step)
        low, high = coarse[max(at - 1, 0)], coarse[min(at + 1, len(coarse) - 1)]
        between = tuple(t for t in self.steps if low < t < high or t == choice.step)
        sizes = self.sizes
        if sizes is not None and choice.size is not None:
            sizes = tuple(size for size in sizes if 0.4 < size / choice.size < 2.5)
        steps = _thin(between) if len(between) > COARSE else between
        grid = self if max(steps) > 0 else self._directed(0)
        return replace(grid, steps=steps, sizes=sizes)

    def finer(self, choice: Choice, largest_size: float) -> SearchGrid:
        """Grid for a last look, at the step of a choice: finer sizes and larger ridges."""
        sizes = None
        if choice.size is not None:
            near = [choice.size * factor for factor in (FINER, 1.0, 1.0 / FINER)]
            fitting = tuple(size for size in near if size <= largest_size)
            sizes = fitting if len(self.sizes or ()) > 1 and fitting else (choice.size,)
        grid = replace(self._directed(choice.step), gradient_size=choice.gradient_size)
        return replace(grid, steps=(choice.step,), sizes=sizes, ridges=self._and_large_ridges())

    def at_size(self, size: float, steps: Sequence[int], gradient_size: float | None = None) -> SearchGrid:
        """Grid of one size, after some of the steps, with gradients of a size and few directions."""
        grid = self if max(steps) > 0 else self._directed(0)
        few = grid.quadratic_directions[:FEW_DIRECTIONS]
        grid = replace(grid, quadratic_directions=few, ridges=self._and_large_ridges())
        return replace(grid, steps=tuple(steps), sizes=(size,), gradient_size=gradient_size)

    def _and_large_ridges(self) -> tuple[float, ...]:
        """Ridges, and large ones if there is a choice."""
        return self.ridges + LARGE_RIDGES if len(self.ridges) > 1 else self.ridges

    def _directed(self, step: int) -> SearchGrid:
        """Grid for a step: at the first one there are no leading directions yet."""
        undirected = step == 0 and max(self.steps) > 0
        return replace(self, quadratic_directions=self.quadratic_directions[: 1 if undirected else None])

    def default(self) -> Choice:
        """Return the choice where there is nothing to choose by."""
        size = None if self.sizes is None else self.sizes[0]
        return Choice(self.steps[-1], size, self._polynomial(0, -1))

    def _polynomial(self, b: int, r: int) -> Polynomial:
        directions = self.quadratic_directions[b]
        degree = 2 if directions > 0 else int(self.linear)
        if self.slope_weight > 0.0:
            return SlopePolynomial(degree, directions, self.ridges[r], self.slope_weight)
        return Polynomial(degree, directions, self.ridges[r])


def logistic_choices(like: Choice, largest_size: float, dimension: int, classes: int) -> list[Choice]:
    """List the logistic fits that may be as good as a polynomial, and linear ones of nearly all rows.

    Products are left out where they would be too many coefficients.
    """
    final = like.final
    assert isinstance(final, Polynomial)
    bent, degree = final.n_quadratic_directions, min(final.degree, 1)
    numbers = {0} if (1 + bent) * dimension * classes > MOST_LOGISTIC_TERMS else {0, bent}
    alike = [Logistic(2 if b else degree, b, r) for b in sorted(numbers) for r in LOGISTIC_RIDGES]
    found = [replace(like, final=one) for one in alike]
    if like.size is None or like.size == largest_size:
        return found
    straight = [Logistic(degree, 0, ridge) for ridge in LOGISTIC_RIDGES]
    return found + [replace(like, size=largest_size, final=one) for one in straight]


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


def _thin(steps: Sequence[int]) -> tuple[int, ...]:
    """Take some steps, the first and the last among them."""
    at = np.unique(np.linspace(0, len(steps) - 1, min(COARSE, 1 + len(steps) // 2)).round().astype(int))
    return tuple(steps[k] for k in at)


def _ends(directions: Sequence[int]) -> tuple[int, ...]:
    """Take the first two numbers of directions and the last."""
    return tuple(sorted({*directions[:2], directions[-1]}))
