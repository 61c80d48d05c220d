"""Means of several processes of all rows: where they err differently, their mean errs less than each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from localegop._engine.global_kriging import GlobalFits, GlobalKriging, SolvedProcess

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture(GlobalKriging):
    """The mean of several processes of all rows.

    Parameters
    ----------
    length, ridge, rough
        Those of the first part, see :class:`GlobalKriging`.
    parts : tuple of GlobalKriging
        Two or more processes, which count alike.
    """

    kind: ClassVar[str] = "mixture"

    parts: tuple[GlobalKriging, ...] = ()

    @classmethod
    def of(cls, *parts: GlobalKriging) -> Self:
        """Return the mean of some processes."""
        first = parts[0]
        return cls(first.length, first.ridge, first.rough, parts)


class SolvedMixture(SolvedProcess):
    """The mean of processes that are solved for the same rows."""

    def __init__(self, process: Mixture, parts: Sequence[SolvedProcess]) -> None:
        first = parts[0]
        self.process, self.parts = process, parts
        self.rows, self.labels, self.sample_weight = first.rows, first.labels, first.sample_weight

    def at(self, queries: Array, *, gradients: bool = False, variances: bool = False) -> GlobalFits:
        """See :class:`SolvedProcess`."""
        return _mean([one.at(queries, gradients=gradients, variances=variances) for one in self.parts])

    def without_own(self, own: NDArray[np.int64]) -> GlobalFits:
        """See :class:`SolvedProcess`."""
        return _mean([one.without_own(own) for one in self.parts])

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """See :class:`SolvedProcess`."""
        values, factors = zip(*(one.without_blocks(own, blocks) for one in self.parts), strict=True)
        return np.mean(values, axis=0), _mean_factors(factors)


def _mean(found: Sequence[GlobalFits]) -> GlobalFits:
    """Average the fits of the parts."""
    means = {
        entry.name: np.mean([getattr(one, entry.name) for one in found], axis=0)
        for entry in fields(GlobalFits)
    }
    means["variance_factor"] = _mean_factors([one.variance_factor for one in found])
    return GlobalFits(**means)


def _mean_factors(factors: Sequence[Array]) -> Array:
    """Variance factors (q,) of a mean, at most: that of parts which err alike."""
    found: Array = np.mean(np.sqrt(factors), axis=0) ** 2
    return found
