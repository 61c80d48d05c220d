"""Learning rates: what the theorems predict, and what a run of the recursion implies.

Everything rests on the local MSE bound O(1 / (n sqrt(det Sigma_t)) + W(mu_t)). If W ~ h and
det Sigma ~ h^q, balancing the two terms gives n^{-1/(1 + q/2)}, where q is the sum of the decay exponents.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_choice, check_count

from .recursion import Trace

_SETTINGS: dict[str, Callable[[int, int], float]] = {
    "full_rank": lambda D, d: 4.0 / (D + 5.0),
    "noisy_manifold": lambda D, d: 4.0 / (2.0 * d + 5.0),
    "multi_index": lambda D, d: 4.0 / (d + 5.0),
    "single_index": lambda D, d: 2.0 / 3.0,
    "isotropic": lambda D, d: 4.0 / (D + 4.0),
}


def predicted_rate(dimension: int, intrinsic_dimension: int, setting: str) -> float:
    """Exponent r of the mean squared error n^{-r} as the paper states it.

    Parameters
    ----------
    dimension : int
        Dimension D of the features.
    intrinsic_dimension : int
        Dimension d of the manifold or number of indices, at most D. "full_rank" and "isotropic" do not
        depend on it.
    setting : {"full_rank", "noisy_manifold", "multi_index", "single_index", "isotropic"}
        Invertible Hessian, 4 / (D + 5); noisy manifold with D >= 2d and Hessian of rank 2d,
        4 / (2d + 5); flat manifold, 4 / (d + 5); curve, 2 / 3; or, to compare with, the minimax rate of
        local linear regression with an isotropic kernel for twice differentiable f, 4 / (D + 4).

    Returns
    -------
    float
        The exponent r.

    Examples
    --------
    >>> from localegop.research.theory import predicted_rate
    >>> predicted_rate(15, 2, "full_rank"), round(predicted_rate(15, 2, "noisy_manifold"), 3)
    (0.2, 0.444)
    """
    dimension = check_count("dimension", dimension)
    d = check_count("intrinsic_dimension", intrinsic_dimension)
    check_choice("setting", setting, _SETTINGS)
    if d > dimension:
        raise ValueError(f"intrinsic_dimension={d} exceeds dimension={dimension}: give at most that.")
    if setting == "noisy_manifold" and dimension < 2 * d:
        raise ValueError(
            f"dimension={dimension} is not allowed for setting='noisy_manifold' with "
            f"intrinsic_dimension={d}: the theorem needs dimension >= {2 * d}."
        )
    if setting == "single_index" and d != 1:
        raise ValueError(
            f"intrinsic_dimension={d} is not allowed for setting='single_index': a curve has dimension 1."
        )
    return _SETTINGS[setting](dimension, d)


def rate_from_exponents(slopes: ArrayLike) -> float:
    """Exponent 1 / (1 + q/2) of the local MSE bound, q the sum of the decay exponents of all directions.

    Examples
    --------
    One direction of exponent 1 and three of 1/2 give the full-rank rate 4 / (D + 5) for D = 4.

    >>> from localegop.research.theory import predicted_rate, rate_from_exponents
    >>> rate_from_exponents([1.0, 0.5, 0.5, 0.5]) == predicted_rate(4, 4, "full_rank")
    True
    """
    return float(1.0 / (1.0 + np.sum(np.asarray(slopes, dtype=np.float64)) / 2.0))


def rate_from_rank(rank: int) -> float:
    """Exponent 4 / (6 + rank) if the Hessian, restricted to the complement of g, has this rank.

    The gradient direction has exponent 1, those in the range of the restricted Hessian 1/2, others 0.

    Examples
    --------
    >>> from localegop.research.theory import rate_from_rank
    >>> round(rate_from_rank(0), 3)  # a curve
    0.667
    """
    return 4.0 / (6.0 + check_count("rank", rank, 0))


def error_bound(trace: Trace, n_samples: ArrayLike) -> Array:
    """Bound 1 / (n sqrt(det Sigma_t)) + W(mu_t), without constants, shape (len(n_samples), T)."""
    n = np.atleast_1d(np.asarray(n_samples, dtype=np.float64))
    bound: Array = np.exp(-0.5 * trace.log_det) / n[:, None] + trace.form
    return bound


def oracle_rate(trace: Trace, *, n_sizes: int = 40) -> tuple[float, float]:
    """Rate at which the best bound over t falls with n, and how the best t grows with log n.

    The sizes are those whose best step lies in the later half of the trace, before its last few steps.

    Returns
    -------
    (float, float)
        Exponent r of n^{-r}, and the slope of the best step in log n.
    """
    log_variance, log_bias = -0.5 * trace.log_det, np.log(trace.form)
    first, last = len(trace) // 2, len(trace) - 4
    # At a step t the two terms are equal for n = exp(balance).
    balance = log_variance - log_bias
    log_n = np.linspace(balance[first], balance[last], n_sizes)
    bounds = np.logaddexp(log_variance - log_n[:, None], log_bias)
    best = _interpolated_minimum(bounds)
    exponent = -np.polyfit(log_n, bounds.min(axis=1), 1)[0]
    return float(exponent), float(np.polyfit(log_n, best, 1)[0])


def _interpolated_minimum(rows: Array) -> Array:
    """Position of the minimum of each row, between the grid points by a parabola."""
    at = np.clip(rows.argmin(axis=1), 1, rows.shape[1] - 2)
    left, middle, right = (np.take_along_axis(rows, (at + k)[:, None], 1)[:, 0] for k in (-1, 0, 1))
    curvature = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / np.where(curvature > 0.0, curvature, np.inf)
    position: Array = at + np.clip(shift, -1.0, 1.0)
    return position
