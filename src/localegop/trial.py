"""Isotropic linear fits at some of the points, each without its own: what is known before the recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import LocalData
from localegop.recursion import isotropic
from localegop.selection import sizes_for

Array = NDArray[np.float64]

CENTERS = 1000  # about as many points are tried


@dataclass(frozen=True)
class Trial:
    """Leave-one-out errors (size, ridge) of isotropic fits, and the gradients (m, K, D) of the best."""

    errors: Array
    gradients: Array
    share: Array

    @property
    def error(self) -> float:
        """The smallest error."""
        return float(self.errors.min())


def some_points(data: LocalData) -> NDArray[np.int64]:
    """Every so manieth point."""
    return np.arange(0, data.n, max(1, data.n // CENTERS))


def isotropic_trial(data: LocalData, ridges: tuple[float, ...], *, gradients: bool = False) -> Trial:
    """Fit at some points, for all sizes and ridges."""
    tried = some_points(data)
    sizes = sizes_for(data.reachable)
    errors, slopes = np.zeros((len(sizes), len(ridges))), []
    each = 8 * data.dimension * (data.dimension + gradients * len(sizes) * len(ridges))
    for rows in data.chunks(len(tried), each + 12 * data.reachable):
        here = tried[rows]
        batch = data.localize(
            data.rows[here],
            isotropic(len(here), data.dimension),
            data.candidates(data.rows[here]),
            sizes=np.tile(sizes, (len(here), 1)),
            left_out=here.astype(np.int64),
            degree=1,
            ridges=ridges,
            gradients=gradients,
        )
        residual = data.labels[here, None, None] - batch.value[:, :, 0]
        errors += np.einsum("i,isrk->sr", data.share[here], residual**2)
        slopes.append(batch.gradient[:, :, 0])
    share = data.share[tried]
    if not gradients:
        return Trial(errors / share.sum(), np.zeros((0, data.labels.shape[1], data.dimension)), share)
    size, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    best = np.concatenate([part[:, size, ridge] for part in slopes])
    return Trial(errors / share.sum(), best, share)
