"""How fast the localization shrinks: exponents of its variances in the bandwidth, and oscillation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_count

from .recursion import Trace


@dataclass(frozen=True, eq=False)
class DecayExponents:
    """Exponents s in v'Sigma_t v ~ h_t^s, one per direction.

    Parameters
    ----------
    slope : array of shape (k,)
        Log-log slopes.
    stderr : array of shape (k,)
        Their standard errors.
    """

    slope: Array
    stderr: Array


def decay_exponents(trace: Trace, basis: ArrayLike) -> DecayExponents:
    """Log-log slopes of v'Sigma_t v against h_t over the later half of the steps.

    Parameters
    ----------
    trace : Trace
        Result of `oracle_recursion`, of at least six steps.
    basis : array-like of shape (D, k) or (D,)
        The directions v, one per column.

    Returns
    -------
    DecayExponents
        With ``slope`` and ``stderr``, one per column.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory import decay_exponents, oracle_recursion
    >>> H = np.diag([1.0, 2.0])
    >>> gradient = lambda X: np.array([1.0, 0.0]) + X @ H
    >>> trace = oracle_recursion(gradient, np.zeros(2), initial_scale=0.05, n_iter=60)
    >>> decay_exponents(trace, [1.0, 0.0]).slope.round(2).tolist()
    [1.0]
    """
    if len(trace) < 6:
        raise ValueError(f"trace has {len(trace)} steps: run oracle_recursion with n_iter of at least 6.")
    later = slice(len(trace) // 2, None)
    return fit_slopes(np.log(trace.bandwidth[later]), np.log(trace.variance(basis)[later]))


def local_exponents(trace: Trace, basis: ArrayLike, *, n_steps: int = 15) -> tuple[Array, Array]:
    """Slopes over a sliding window of ``n_steps`` steps: bandwidths (w,) and slopes (w, k)."""
    n_steps = check_count("n_steps", n_steps, 3)
    if len(trace) < n_steps:
        raise ValueError(f"n_steps={n_steps} exceeds the {len(trace)} steps of the trace.")
    return local_slopes(np.log(trace.bandwidth), np.log(trace.variance(basis)), n_steps)


def local_slopes(log_h: Array, log_variance: Array, n_steps: int) -> tuple[Array, Array]:
    """Slopes of windows of a series, and the bandwidths at the middle of the windows."""
    starts = range(len(log_h) - n_steps + 1)
    windows = [slice(start, start + n_steps) for start in starts]
    slopes = np.array([fit_slopes(log_h[w], log_variance[w]).slope for w in windows])
    centers = np.exp(np.array([log_h[w].mean() for w in windows]))
    return centers, slopes


def fit_slopes(x: Array, y: Array) -> DecayExponents:
    """Least squares slopes of the columns of y, shape (n, k), on x, shape (n,)."""
    centered = x - x.mean()
    spread = np.sum(centered**2)
    slope = centered @ (y - y.mean(axis=0)) / spread
    residual = y - y.mean(axis=0) - centered[:, None] * slope
    stderr = np.sqrt(np.sum(residual**2, axis=0) / max(len(x) - 2, 1) / spread)
    return DecayExponents(slope, stderr)


def autocorrelation(series: ArrayLike, lag: int) -> float:
    """Autocorrelation of a series at a lag, about its mean; zero for a constant series.

    Examples
    --------
    >>> from localegop.research.theory.decay import autocorrelation
    >>> autocorrelation([1.0, -1.0] * 50, 1), autocorrelation([1.0, -1.0] * 50, 2)
    (-0.99, 0.98)
    """
    values = np.asarray(series, dtype=np.float64)
    lag = check_count("lag", lag)
    if values.ndim != 1 or len(values) <= lag:
        raise ValueError(f"series has shape {values.shape}: give more than lag={lag} numbers.")
    deviation = values - values.mean()
    total = float(deviation @ deviation)
    return float(deviation[:-lag] @ deviation[lag:]) / total if total > 0.0 else 0.0


def log_increments(trace: Trace, index: int = 1) -> Array:
    """Increments of the logarithm of an eigenvalue of Sigma_t / sqrt(h_t), smallest eigenvalue first.

    Index 1 is the second smallest, the first to fall like sqrt(h_t): its increments vanish in the limit
    unless it oscillates.
    """
    eigenvalue = trace.eigenvalues[:, ::-1][:, index]
    return np.diff(np.log(eigenvalue / np.sqrt(trace.bandwidth)))
