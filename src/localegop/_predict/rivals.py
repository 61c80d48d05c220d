"""Rivals: the choices that a fit might as well have made, and how likely each of them was.

Under noise several choices are about equally good at the held-out points, and which of them is taken is
chance. A prediction hardly depends on it, but an explanation may. So a fit remembers what it would have
chosen by the held-out points of either half of the rows, for several such pairs of halves: explanations are
averaged over these choices, and repeated on the halves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice

Array = NDArray[np.float64]
# Of axes: none, from slopes, from slopes but less unequal, features stretched one by one, from pilot fits,
# from the choice itself, from given gradients, from these but less unequal, features stretched one by one
# for a partly jagged function.
Origin = Literal[
    "initial", "slopes", "gentle", "features", "pilots", "refined", "given", "given gently", "jagged"
]

ORIGINS: tuple[Origin, ...] = (
    *("initial", "slopes", "gentle", "features", "pilots", "refined"),
    *("given", "given gently", "jagged"),
)
PAIRS = 8  # of halves of the rows


@dataclass(frozen=True)
class Rival:
    """A choice in axes of some origin."""

    choice: Choice
    origin: Origin


@dataclass(frozen=True)
class Rivals:
    """What a fit remembers of the choices that came close.

    Parameters
    ----------
    transform : ndarray of shape (D, D)
        Initial units, before any axes.
    every : tuple of Rival
        The one that was taken first.
    picks : tuple of int
        Which of them the points of each half of the rows would have led to; two halves make a pair.
    """

    transform: Array
    every: tuple[Rival, ...]
    picks: tuple[int, ...]

    @classmethod
    def none(cls, transform: Array, choice: Choice) -> Rivals:
        """Return what there is to remember where nothing was compared."""
        return cls(transform, (Rival(choice, "initial"),), (0,) * (2 * PAIRS))


def in_half(numbers: NDArray[np.integer], half: int, seed: int) -> NDArray[np.bool_]:
    """Whether rows of these numbers belong to a half of all rows; halves 2p and 2p + 1 are complementary.

    It is decided by a hash of the number, so it takes no permutation of all rows.
    """
    mask = (1 << 64) - 1
    key = np.uint64((seed * 0x9E3779B97F4A7C15 + (half // 2 + 1) * 0xD1B54A32D192ED03) & mask)
    with np.errstate(over="ignore"):
        bits = np.asarray(numbers).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    first: NDArray[np.bool_] = (bits >> np.uint64(63)).astype(bool)
    return first if half % 2 == 0 else ~first
