"""A claim, what was measured, and the verdict; and the runs of the recursion that claims share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from localegop._arguments import Array
from localegop.research.theory.decay import decay_exponents
from localegop.research.theory.problems import PROBLEMS, Problem
from localegop.research.theory.recursion import Trace


@dataclass(frozen=True)
class Claim:
    """One row of the page.

    Parameters
    ----------
    claim : str
        What is claimed, and where the paper does so.
    formula : str
        The same as a formula, with the tolerance it is checked to.
    measured : str
        The numbers found.
    holds : bool
        Whether they confirm the claim.
    note : str
        Why, where the answer is no, or what was corrected.
    """

    claim: str
    formula: str
    measured: str
    holds: bool
    note: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "**does not hold as stated**"


@lru_cache(maxsize=16)
def problem(name: str) -> Problem:
    """Return the problem of that name."""
    return PROBLEMS[name]()


@lru_cache(maxsize=16)
def trace(name: str) -> Trace:
    """Return the run of the recursion on the problem of that name."""
    return problem(name).run()


def slopes(name: str, part: str) -> Array:
    """Decay exponents on one part of the directions of a problem, such as "gradient" or "null"."""
    return decay_exponents(trace(name), getattr(problem(name).directions, part)).slope


def within(values: Iterable[float] | Array, target: float, tolerance: float) -> bool:
    """Whether all values are within the tolerance of the target."""
    return bool(np.all(np.abs(np.asarray(list(values)) - target) <= tolerance))


def show(values: float | Iterable[float] | Array, digits: int = 2) -> str:
    """Numbers with a fixed number of digits, without a negative zero."""
    listed = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return ", ".join(f"{np.round(value, digits) + 0.0:.{digits}f}" for value in listed)
