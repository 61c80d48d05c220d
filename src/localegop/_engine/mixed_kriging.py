"""The mean of several processes of all rows, each in axes of its own.

Where noise is most of every error, processes in other axes, smooth or rough, do about equally well, and
which of them is the best is chance. Their mean is as good or better, and moves less with what chance
decides. It is linear in the labels as each of them is, so what it predicts without a row, its gradient and
its variance follow in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import rotate
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One process of a mean.

    Parameters
    ----------
    share : float
        All shares sum to one.
    process : GlobalKriging
    axes : tuple of tuple of float
        Its axes (r, s), relative to those of the fit.
    """

    share: float
    process: GlobalKriging
    axes: tuple[tuple[float, ...], ...] = field(repr=False)

    @classmethod
    def in_axes(cls, share: float, process: GlobalKriging, axes: Array) -> Part:
        """Make a part whose axes are an array."""
        return cls(share, process, tuple(tuple(row) for row in axes.tolist()))


@dataclass(frozen=True)
class MixedKriging(GlobalKriging):
    """The mean of several Gaussian processes of all rows.

    Parameters
    ----------
    length, ridge, rough
        Those of the part with the largest share, in whose axes the fit is; see :class:`GlobalKriging`.
    parts : tuple of Part
        That of the largest share first.
    """

    kind: ClassVar[str] = "mixture"

    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> MixedKriging:
        """Make the mean of some parts, that of the largest share first."""
        first = parts[0].process
        return cls(first.length, first.ridge, first.rough, parts)

    @property
    def leading(self) -> GlobalKriging:
        """The process of the largest share."""
        return self.parts[0].process


class SolvedMixture(SolvedProcess):
    """All processes of a mean, solved for the labels of all rows."""

    def __init__(self, process: MixedKriging, rows: Array, labels: Array, sample_weight: Array) -> None:
        self.process, self.rows, self.sample_weight = process, rows, sample_weight
        self.shares = [part.share for part in process.parts]
        self.frames = [np.array(part.axes) for part in process.parts]
        self.solved = [
            SolvedProcess(part.process, rotate(rows, frame), labels, sample_weight)
            for part, frame in zip(process.parts, self.frames, strict=True)
        ]
        self.means, self.labels = self.solved[0].means, self.solved[0].labels

    @property
    def loo_residuals(self) -> Array:
        """Labels minus predictions (n, K) without each row, all of whose weight is taken away."""
        return self._mean([each.loo_residuals for each in self.solved])

    def _answer(self, block: Array, gradients: bool, variances: bool) -> tuple[Array, ...]:
        found = [
            each._answer(rotate(block, frame), gradients, variances)
            for each, frame in zip(self.solved, self.frames, strict=True)
        ]
        value, gradient, smoother, size = zip(*found, strict=True)
        slopes = self._gradient(gradient) if gradients else gradient[0]
        return self._mean(value), slopes, self._mean(smoother), self._mean(size)

    def _left_out(self, own: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        smoother, gradient, size = zip(*(each._left_out(own) for each in self.solved), strict=True)
        return self._mean(smoother), self._gradient(gradient), self._mean(size)

    def _smoother_without(self, out: NDArray[np.int64]) -> Array:
        return self._mean([each._smoother_without(out) for each in self.solved])

    def _gradient(self, gradients: tuple[Array, ...]) -> Array:
        """Mean of gradients (q, K, s) that are in the axes of the parts, in those of the fit (q, K, r)."""
        turned = (
            np.einsum("qks,rs->qkr", gradient, frame, optimize=False)
            for gradient, frame in zip(gradients, self.frames, strict=True)
        )
        return self._mean(list(turned))

    def _mean(self, values: list[Array] | tuple[Array, ...]) -> Array:
        """Mean of what the parts say, by their shares, in fixed order."""
        total = self.shares[0] * values[0]
        for share, value in zip(self.shares[1:], values[1:], strict=True):
            total = total + share * value
        return total
