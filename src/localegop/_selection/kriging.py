"""The processes that kriging may choose from: correlation length, ridge, trend and roughness.

A linear fit is right where the neighborhood is small against the bends of f. Where data are few, it is not:
then a process whose covariance falls with the learned distance makes more of the same neighbors. A linear
trend helps where labels are precise, and costs a coefficient for each dimension; a Gaussian covariance
makes f smooth. So where errors are large, processes without a trend and rough ones, of exponential
covariance, compete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging

SIZE = 60.0  # effective size of the neighborhood whose width is the unit of the lengths
LENGTHS = (1.0, 2.0, 4.0, 8.0)
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # with a trend
NOISY_RIDGES = (1e-2, 1e-1, 1.0)  # without one
ROUGH_LENGTHS = (4.0, 8.0, 16.0)
ROUGH_RIDGES = (1e-3, 1e-2, 1e-1)
LATER = 3  # kinds that are tried after some steps too
PRECISE = 1e-3  # errors up to this share of the label variance leave no doubt about trend and kind
DEFAULT = Kriging(2.0, 1e-2)  # where there are too few points to choose by


def smooth_processes(steps: Sequence[int], largest_size: float) -> list[Choice]:
    """List processes with a trend, after these steps."""
    return _choices(steps, largest_size, [Kriging(*each) for each in product(LENGTHS, RIDGES)])


def noisy_processes(steps: Sequence[int], largest_size: float) -> list[Choice]:
    """List processes without a trend, and rough ones, after these steps."""
    flat = [Kriging(*each, trend=False) for each in product(LENGTHS, NOISY_RIDGES)]
    rough = [Kriging(*each, rough=True) for each in product(ROUGH_LENGTHS, ROUGH_RIDGES)]
    return _choices(steps, largest_size, flat + rough)


def later_processes(ranked: Sequence[Choice], steps: Sequence[int]) -> list[Choice]:
    """List the processes that did best before any step, and others near the best, after these steps."""
    best = ranked[0].final
    assert isinstance(best, Kriging)
    near = [replace(best, length=best.length * factor) for factor in (0.5, 2.0)]
    finals = [choice.final for choice in ranked[:LATER]]
    return [replace(ranked[0], step=step, final=one) for step in steps for one in (*finals, *near)]


def default_kriging(step: int, largest_size: float) -> Choice:
    """Kriging where there are too few points to choose by."""
    return Choice(step, _size(largest_size), DEFAULT)


def _choices(steps: Sequence[int], largest_size: float, processes: Sequence[Kriging]) -> list[Choice]:
    return [Choice(step, _size(largest_size), one) for step, one in product(steps, processes)]


def _size(largest_size: float) -> float:
    """Effective size that sets the unit of lengths, if such sizes can be had."""
    return min(SIZE, largest_size)
