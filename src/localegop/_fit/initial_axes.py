"""Axes for the recursion to start from: turned and scaled by the slopes that f has over all data.

The eigenvectors of the averaged outer product of gradients over all data, scaled by the roots of its
eigenvalues, are axes along which f varies alike. Gradients fitted in neighborhoods that are round in those
axes are better than the ones before, so a few rounds sharpen them. Where the gradients are those of final
fits, directions in which f varies nowhere can be left out: columns of pure noise, and whatever f does not
see of the features, cost nothing from then on.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent, extent
from localegop._engine.local_data import LocalData
from localegop._engine.metric import spectrum
from localegop._fit.pilot_fits import isotropic_trial

Array = NDArray[np.float64]

MOST_ROUNDS = 8
GAIN = 0.99  # a round must lower the leave-one-out error to this share to be followed by another
NEGLIGIBLE = 1e-5  # share of the squared slopes below which a direction is left out
KEPT_SCALE = 0.05  # shortest axis as a share of the longest: what looks flat at first may not be


def first_axes(data: LocalData, ridges: tuple[float, ...]) -> Array:
    """Axes (D, D) from rounds of isotropic fits; as they are if slopes do not help."""
    axes = best = np.eye(data.dimension)
    turned, error = data, np.inf
    found = extent_in(data)
    for _ in range(MOST_ROUNDS):
        trial = isotropic_trial(turned, ridges, gradients=True)
        if trial.error < error:
            best = axes
        if not 0.0 < trial.error < GAIN * error:
            break
        error = trial.error
        axes = axes_from(found, global_agop(axes, trial.gradients, trial.share), leave_out=False)
        turned = data.turned(axes)
    return best


def global_agop(axes: Array, gradients: Array, share: Array) -> Array:
    """Average outer product (D, D) of gradients (m, K, r) found in some axes, in the units before them."""
    there = np.einsum("ab,nkb->nka", axes, gradients)
    # without BLAS, whose sums may depend on the number of threads
    agop: Array = np.einsum("n,nka,nkb->ab", share / share.sum(), there, there, optimize=False)
    return agop


@singledispatch
def extent_in(data: LocalData | Any) -> Extent:
    """Extent of the rows."""
    return extent(data.rows, data.share)


def axes_from(found: Extent, agop: Array, *, leave_out: bool) -> Array:
    """Axes (D, r) by which rows are to be multiplied, for the AGOP (D, D) over all data."""
    scale = np.where(found.constant, 0.0, found.spread)
    values, vectors = spectrum(agop * scale * scale[:, None])
    if not values[0] > 0.0:
        return np.eye(len(scale))
    kept = values > NEGLIGIBLE * values.sum() if leave_out else values > -1.0
    lengths = np.maximum(np.sqrt(values[kept] / values[0]), KEPT_SCALE)
    per_unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    axes: Array = per_unit[:, None] * vectors[:, kept] * lengths
    return axes
