"""Axes for the recursion to start from: turned and scaled by the slopes that f has over all data.

The eigenvectors of the averaged outer product of gradients over all data, scaled by the roots of its
eigenvalues, are axes along which f varies alike. Gradients fitted in neighborhoods that are round in those
axes are better than the ones before, so a few rounds sharpen them. Where the gradients are those of final
fits, directions in which f varies nowhere can be left out: columns of pure noise, and whatever f does not
see of the features, cost nothing from then on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._engine.metric import spectrum
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.pilot_fits import run_pilot

Array = NDArray[np.float64]

MOST_ROUNDS = 8
GAIN = 0.99  # a round must lower the leave-one-out error to this share to be followed by another
NEGLIGIBLE = 1e-5  # share of the squared slopes below which a direction is left out
KEPT_SCALE = 0.05  # shortest axis as a share of the longest: what looks flat at first may not be


def find_first_axes(
    backend: Backend[D, M_co],
    data: D,
    ridges: tuple[float, ...],
    held_out: NDArray[np.intp] | None = None,
) -> Array:
    """Axes (D, D) from rounds of pilot fits, without some points if given.

    They stay as they are if slopes do not help.
    """

    def seen(some: D) -> D:
        return some if held_out is None else some.without(held_out)

    axes = best = np.eye(data.dimension)
    rotated, error = seen(data), np.inf
    found = backend.extent(rotated)
    for _ in range(MOST_ROUNDS):
        pilot = run_pilot(backend, rotated, ridges, gradients=True)
        if pilot.error < error:
            best = axes
        if not 0.0 < pilot.error < GAIN * error:
            break
        error = pilot.error
        axes = axes_from(found, global_agop(axes, pilot.gradients, pilot.sample_weight), leave_out=False)
        rotated = seen(data.rotated(axes))
    return best


def global_agop(axes: Array, gradients: Array, sample_weight: Array) -> Array:
    """Average outer product (D, D) of gradients (m, K, r) found in some axes, in the units before them."""
    there = np.einsum("ab,nkb->nka", axes, gradients)
    # without BLAS, whose sums may depend on the number of threads
    weight = sample_weight / sample_weight.sum()
    agop: Array = np.einsum("n,nka,nkb->ab", weight, there, there, optimize=False)
    return agop


def axes_from(found: Extent, agop: Array, *, leave_out: bool) -> Array:
    """Axes (D, r) by which rows are to be multiplied, for the AGOP (D, D) over all data."""
    scale = np.where(found.constant, 0.0, found.std)
    values, vectors = spectrum(agop * scale * scale[:, None])
    if not values[0] > 0.0:
        return np.eye(len(scale))
    kept = values > NEGLIGIBLE * values.sum() if leave_out else values > -1.0
    lengths = np.maximum(np.sqrt(values[kept] / values[0]), KEPT_SCALE)
    per_unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    axes: Array = per_unit[:, None] * vectors[:, kept] * lengths
    return axes
