"""Means of several processes of all rows: where they err differently, their mean errs less than each.

Which of several processes that do about equally well is the best is chance, too, and their mean moves less
with what chance decides. Parts may have axes of their own, and be of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import rotate
from localegop._engine.global_kriging import GlobalFits, GlobalKriging, SolvedProcess

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One process of a mean.

    Parameters
    ----------
    share : float
        All shares sum to one.
    process : GlobalKriging
    axes : tuple of tuple of float, or None
        Its axes (r, s), relative to those of the fit; None if they are these.
    """

    share: float
    process: GlobalKriging
    axes: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)

    @classmethod
    def in_axes(cls, share: float, process: GlobalKriging, axes: Array) -> Self:
        """Make a part whose axes are an array."""
        return cls(share, process, tuple(tuple(row) for row in axes.tolist()))

    def turned(self, rows: Array) -> Array:
        """Take rows (m, r) into its axes."""
        return rows if self.axes is None else rotate(rows, np.array(self.axes))


@dataclass(frozen=True)
class Mixture(GlobalKriging):
    """The mean of several processes of all rows.

    Parameters
    ----------
    length, ridge, rough
        Those of the first part, see :class:`GlobalKriging`.
    parts : tuple of Part
        That of the largest share first, whose axes are those of the fit.
    """

    kind: ClassVar[str] = "mixture"

    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, *parts: Part) -> Self:
        """Make the mean of some parts, that of the largest share first."""
        first = parts[0].process
        return cls(first.length, first.ridge, first.rough, parts)

    @classmethod
    def equal(cls, *processes: GlobalKriging) -> Self:
        """Make the mean of some processes in the axes of the fit, which count alike."""
        return cls.of(*(Part(1.0 / len(processes), one) for one in processes))

    @property
    def in_one_metric(self) -> bool:
        """Whether all parts are in the axes of the fit."""
        return all(part.axes is None for part in self.parts)

    def changed(self, change: Callable[[GlobalKriging], GlobalKriging]) -> GlobalKriging:
        """Return the mean of changed processes; of the first one alone if others have other axes."""
        if not self.in_one_metric:
            return change(self.parts[0].process)
        return type(self).of(*(replace(part, process=change(part.process)) for part in self.parts))


class SolvedMixture(SolvedProcess):
    """The mean of processes that are solved for the same rows, each in its axes."""

    def __init__(self, process: Mixture, rows: Array, solved: Sequence[SolvedProcess]) -> None:
        self.process, self.parts, self.solved = process, process.parts, solved
        self.rows, self.labels, self.sample_weight = rows, solved[0].labels, solved[0].sample_weight

    def at(self, queries: Array, *, gradients: bool = False, variances: bool = False) -> GlobalFits:
        """See :class:`SolvedProcess`."""
        return self._mean_of(
            [
                one.at(part.turned(queries), gradients=gradients, variances=variances)
                for part, one in zip(self.parts, self.solved, strict=True)
            ]
        )

    def without_own(self, own: NDArray[np.int64]) -> GlobalFits:
        """See :class:`SolvedProcess`."""
        return self._mean_of([one.without_own(own) for one in self.solved])

    def gradients_without_own(self) -> Array:
        """See :class:`SolvedProcess`."""
        return self.without_own(np.arange(len(self.rows))).gradient

    def without_blocks(
        self, own: NDArray[np.int64], blocks: Sequence[NDArray[np.int32]]
    ) -> tuple[Array, Array]:
        """See :class:`SolvedProcess`."""
        values, factors = zip(*(one.without_blocks(own, blocks) for one in self.solved), strict=True)
        return self._mean(values), self._mean_factors(factors)

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K) without each row, all of whose weight is taken away."""
        return self._mean([one.loo_residuals for one in self.solved])

    def _mean_of(self, found: Sequence[GlobalFits]) -> GlobalFits:
        """Average the fits of the parts."""
        gradients = [
            self._gradient(part, one.gradient) for part, one in zip(self.parts, found, strict=True)
        ]
        return GlobalFits(
            self._mean([one.value for one in found]),
            self._mean(gradients),
            self._mean_factors([one.variance_factor for one in found]),
            self._mean([one.effective_size for one in found]),
        )

    def _gradient(self, part: Part, gradient: Array) -> Array:
        """Take gradients (q, K, s) of a part, empty unless asked for, into the axes of the fit."""
        if part.axes is None or not gradient.shape[2]:
            return gradient
        turned: Array = np.einsum("qks,rs->qkr", gradient, np.array(part.axes), optimize=False)
        return turned

    def _mean(self, values: Sequence[Array]) -> Array:
        """Mean of what the parts say, by their shares, in fixed order."""
        total = self.parts[0].share * values[0]
        for part, value in zip(self.parts[1:], values[1:], strict=True):
            total = total + part.share * value
        return total

    def _mean_factors(self, factors: Sequence[Array]) -> Array:
        """Variance factors (q,) of a mean, at most: that of parts which err alike."""
        found: Array = self._mean([np.sqrt(each) for each in factors]) ** 2
        return found
