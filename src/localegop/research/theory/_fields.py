"""Checks that only the theory needs: gradient fields, falling bandwidths, momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from localegop._arguments import ROUNDING, Array, check_real, refusal
from localegop.schedules import BandwidthSchedule

VectorField: TypeAlias = Callable[[Array], Array]  # (k, D) points -> (k, D) gradients
ScalarField: TypeAlias = Callable[[Array], Array]  # (k, D) points -> (k,) values


def check_momentum(value: Any, name: str = "momentum") -> float:
    """Return the weight of the newest EGOP as a float in (0, 1]."""
    return check_real(name, value, above=0.0, most=1.0, why=", the weight of the newest EGOP")


def falling_bandwidths(schedule: BandwidthSchedule, n_iter: int) -> Array:
    """Return h_0 .. h_{n_iter - 1}, which must be positive and fall strictly."""
    if not callable(schedule):
        raise refusal("schedule", schedule, "a callable t -> h_t")
    h = np.array([float(schedule(t)) for t in range(n_iter)])
    bad = ~(np.isfinite(h) & (h > 0.0))
    if bad.any():
        t = int(bad.argmax())
        raise refusal(f"schedule({t})", float(h[t]), "bandwidths that are positive and finite")
    rising = np.flatnonzero(np.diff(h) >= 0.0)
    if len(rising):
        t = int(rising[0])
        raise ValueError(
            f"schedule does not fall: schedule({t}) is {h[t]:.6g} and schedule({t + 1}) is "
            f"{h[t + 1]:.6g}. Give bandwidths that fall strictly, such as Geometric(ratio=0.8)."
        )
    return h


def evaluate_gradient(gradient: VectorField, points: Array) -> Array:
    """Return gradients of shape (k, D) at points of shape (k, D), which must be finite."""
    values = np.asarray(gradient(points), dtype=np.float64)
    if values.shape != points.shape:
        raise ValueError(
            f"gradient returned shape {values.shape} for points of shape {points.shape}: it must map "
            "(k, D) points to (k, D) gradients."
        )
    if not np.isfinite(values).all():
        raise ValueError("gradient returned NaN or infinite values: keep the points in its domain.")
    return values


def check_nonzero_gradient(gradient: VectorField, x0: Array, typical: float) -> Array:
    """Return the gradient at x0; the theory assumes that it is not zero.

    Parameters
    ----------
    gradient : callable
        The vector field.
    x0 : array of shape (D,)
        The point.
    typical : float
        Root mean squared length of gradients around x0, against which zero is judged.
    """
    g: Array = evaluate_gradient(gradient, x0[None])[0]
    length = float(np.linalg.norm(g))
    if length <= ROUNDING * typical:
        raise ValueError(
            f"gradient vanishes at x0={x0}, its length is {length:.3g}: the theory assumes a gradient "
            "that is not zero; give another point x0."
        )
    return g
