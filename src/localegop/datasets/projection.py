"""Nearest points of a manifold by Newton's method."""

from __future__ import annotations

import numpy as np

from localegop._arguments import Array

from .manifolds import Manifold

_MAX_STEPS = 100
_MAX_HALVINGS = 20
_STEP_TOLERANCE = 1e-12
_LOST_TOLERANCE = 1e-6


def nearest_coordinates(manifold: Manifold, X: Array, start: Array) -> Array:
    """Coordinates of the nearest points, shape (n, d), by Newton's method from ``start``."""
    u = start.copy()
    active = np.arange(len(X))
    size = np.zeros(len(X))
    for _ in range(_MAX_STEPS):
        step = _descent_step(manifold, X[active], u[active])
        u[active] += step
        size = np.abs(step).max(axis=1) / (1.0 + np.abs(u[active]).max(axis=1))
        active, size = active[size > _STEP_TOLERANCE], size[size > _STEP_TOLERANCE]
        if len(active) == 0:
            break
    n_lost = int((size > _LOST_TOLERANCE).sum())
    if n_lost:
        raise ValueError(
            f"The nearest points of {n_lost} of {len(X)} rows of X were not found: give points "
            f"closer to the manifold than its reach, {manifold.reach:.6g}."
        )
    return u


def _descent_step(manifold: Manifold, x: Array, u: Array) -> Array:
    """Newton steps, halved until the distance to x does not grow, shape (n, d)."""
    offset = x - manifold.point(u)
    slopes = np.einsum("nka,nk->na", manifold.jacobian(u), offset)
    curvatures, axes = np.linalg.eigh(manifold.tube_form(u, offset))
    # Beyond a center of curvature a Newton step would lead uphill: turn it around.
    curvatures = np.abs(curvatures)
    curvatures = np.maximum(curvatures, 1e-9 * curvatures[:, -1:] + np.finfo(float).tiny)
    rates = np.einsum("nab,na->nb", axes, slopes) / curvatures
    step: Array = np.einsum("nab,nb->na", axes, rates)
    allowed = (1.0 + 1e-12) * np.linalg.norm(offset, axis=1) + 1e-15
    for _ in range(_MAX_HALVINGS):
        grew = np.linalg.norm(x - manifold.point(u + step), axis=1) > allowed
        if not grew.any():
            break
        step[grew] *= 0.5
    return step
