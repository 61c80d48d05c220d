"""Algorithm 1 of *Local EGOP for Continuous Index Learning*, line by line in plain NumPy.

This module is the yardstick for everything fast: it imports nothing from the rest of the package and
prefers clarity to speed. Comments of the form "Alg. 1, line k" cite the lines as the paper prints them,
where its three-word comments are numbered too. Where the paper is silent or has a typo, the resolution
is stated next to the line.

Letters of the paper: X, y data; x* ``query``; T ``n_iter``; m ``n_subsamples``; h_t ``schedule``;
beta ``momentum``; alpha ``initial_scale``; epsilon ``exclusion_radius``; zeta ``covariance_cap``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Profile = Callable[[Array], Array]
Weighting = Literal["literal", "renormalized", "uniform", "unbiased"]

# Radial profiles k(u) of the squared Mahalanobis distance u.
KERNELS: dict[str, Profile] = {
    "gaussian": lambda u: np.exp(-u),
    "epanechnikov": lambda u: np.maximum(1.0 - u, 0.0),
    "biweight": lambda u: np.maximum(1.0 - u, 0.0) ** 2,
    "triweight": lambda u: np.maximum(1.0 - u, 0.0) ** 3,
    "laplace": lambda u: np.exp(-np.sqrt(u)),
    "student": lambda u: (1.0 + u) ** -2.0,
}


def paper_bandwidth(t: int) -> float:
    """Bandwidth h_t = (1 + t)^-1.2 of the paper's experiments.

    Examples
    --------
    >>> from localegop.reference import paper_bandwidth
    >>> paper_bandwidth(0), round(paper_bandwidth(149), 5)
    (1.0, 0.00245)
    """
    return float((1.0 + t) ** -1.2)


@dataclass(frozen=True)
class Trace:
    """What happened at every step; the leading axis of each array is the step t.

    Attributes
    ----------
    metric : ndarray of shape (T, D, D)
        Metric M_t that defined the neighborhood.
    agop : ndarray of shape (T, D, D)
        Averaged gradient outer product L_t found in it, the sum of line 12.
    loo_error : ndarray of shape (T,)
        Leave-one-out squared error of step t, the sum of line 13.
    estimate : ndarray of shape (T,)
        Local linear estimate of f(x*) at step t.
    gradient : ndarray of shape (T, D)
        Gradient of the same fit.
    effective_size : ndarray of shape (T,)
        (sum w)^2 / sum w^2 of the weights at x*.

    Examples
    --------
    >>> from localegop.datasets import make_annulus
    >>> from localegop.reference import local_egop
    >>> X, y = make_annulus(200, random_state=0)
    >>> trace = local_egop(X, y, [1.0, 0.0], n_iter=3, random_state=0).trace
    >>> trace.metric.shape, len(trace.estimate)
    ((3, 2, 2), 3)
    """

    metric: Array
    agop: Array
    loo_error: Array
    estimate: Array
    gradient: Array
    effective_size: Array


@dataclass(frozen=True)
class ReferenceFit:
    """Result of :func:`local_egop`: estimate, its gradient, the chosen step and the whole trace.

    Examples
    --------
    >>> from localegop.datasets import make_annulus
    >>> from localegop.reference import local_egop
    >>> X, y = make_annulus(200, random_state=0)
    >>> fit = local_egop(X, y, [1.0, 0.0], n_iter=3, random_state=0)
    >>> bool(fit.value == fit.trace.estimate[fit.best_step])
    True
    """

    value: float
    gradient: Array
    best_step: int
    trace: Trace


def local_egop(
    X: ArrayLike,
    y: ArrayLike,
    query: ArrayLike,
    *,
    n_iter: int = 150,
    n_subsamples: int = 300,
    schedule: Any = paper_bandwidth,
    momentum: float = 0.7,
    initial_scale: float = 0.2,
    exclusion_radius: float | None = 1.6,
    covariance_cap: float | None = None,
    kernel: str | Profile = "gaussian",
    weighting: Weighting = "literal",
    ridge: float = 1e-8,
    random_state: int | np.random.Generator | None = None,
) -> ReferenceFit:
    """Estimate f(query) and its gradient with Algorithm 1, Local EGOP Learning.

    Parameters
    ----------
    X : array-like of shape (n, D)
        Training points.
    y : array-like of shape (n,)
        Labels.
    query : array-like of shape (D,)
        The point x*.
    n_iter : int, default=150
        Number of steps T.
    n_subsamples : int, default=300
        Number m of local regressions per step, drawn without replacement.
    schedule : callable or object, default=paper_bandwidth
        ``schedule(t)`` returns the bandwidth h_t > 0. An object with a method ``effective_size(t)``
        instead has the metric rescaled, at every step, until the weights at x* have that effective
        sample size; ``initial_scale`` then plays no role.
    momentum : float, default=0.7
        Weight beta in (0, 1] of the newest AGOP against the one before.
    initial_scale : float, default=0.2
        alpha; the first metric is the identity divided by alpha.
    exclusion_radius : float or None, default=1.6
        Points farther than this from x* (Euclidean) count nowhere. None keeps all.
    covariance_cap : float or None, default=None
        zeta; no direction of the localization gets a variance 1/eigenvalue(M) above it.
    kernel : str or callable, default="gaussian"
        One of ``KERNELS`` or a profile k(u) of the squared distance.
    weighting : {"literal", "renormalized", "uniform", "unbiased"}, default="literal"
        What the m sampled outer products and squared errors count in the sums of lines 12 and 13.
        "literal" is what the paper prints: w_i, which sums to one over all points, and over the sample to
        less. So errors of early steps, whose weight is spread over many points of which few are drawn,
        look smaller than they are, and the step chosen is an early one under noise. "renormalized"
        divides by the sum over the sample. Both count a point that is drawn with probability w_i like
        w_i^2. "uniform" counts every drawn point once; "unbiased" divides w_i by the chance of having been
        drawn, which is the w-weighted average in the limits m << n (then equal to "uniform") and m >= n,
        where all but "uniform" are the same.
    ridge : float, default=1e-8
        Ridge of the local regressions, relative to the mean local variance of the features.
    random_state : int, Generator or None, default=None
        Seed of the subsampling.

    Returns
    -------
    ReferenceFit
        With ``value``, ``gradient``, ``best_step`` and ``trace``.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.reference import local_egop
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> fit = local_egop(X, 3.0 * X[:, 0], [0.2, 0.1], n_iter=5, random_state=0)
    >>> round(fit.value, 6), np.round(fit.gradient, 5).tolist()
    (0.6, [3.0, 0.0])
    """
    X, y, query = _checked_data(X, y, query)
    _check_positive(
        n_iter=n_iter,
        n_subsamples=n_subsamples,
        initial_scale=initial_scale,
        exclusion_radius=exclusion_radius,
        covariance_cap=covariance_cap,
    )
    _check_choices(momentum, ridge, weighting)
    profile = _profile(kernel)
    rng = np.random.default_rng(random_state)

    X, y = _trim(X, y, query, exclusion_radius)  # appendix "Sample Trimming"
    metric = np.eye(X.shape[1]) / initial_scale  # M_0
    if _targets_effective_size(schedule):
        metric = _rescaled(metric, X, query, profile, schedule, 0)

    best_error, best_step = math.inf, 0  # Alg. 1, line 1
    previous_agop = None
    history: dict[str, list[Any]] = {field.name: [] for field in fields(Trace)}
    for t in range(n_iter):  # Alg. 1, line 2
        weights = kernel_weights(X, query, metric, profile)  # Alg. 1, line 4

        # Alg. 1, line 5: S without replacement, at most as many as have a positive weight.
        sample, inclusion = _subsample(weights, n_subsamples, rng)

        values = np.empty(len(sample))
        gradients = np.empty((len(sample), X.shape[1]))
        for k, i in enumerate(sample):  # Alg. 1, line 7
            # Alg. 1, lines 8-9: local linear regression at x_i without (x_i, y_i), weights from M_t.
            others = np.arange(len(X)) != i
            values[k], gradients[k] = local_linear(X[others], y[others], X[i], metric, profile, ridge)

        share = _averaging_weights(weights[sample], inclusion, weighting)
        # Alg. 1, lines 12 and 13: w is normalized over all n points in line 5, and not again over S.
        agop = np.einsum("i,ia,ib->ab", share, gradients, gradients)  # Alg. 1, line 12
        loo_error = float(share @ (y[sample] - values) ** 2)  # Alg. 1, line 13

        # Alg. 1, lines 14-17. The estimate is computed at every step, for the trace.
        estimate, gradient = local_linear(X, y, query, metric, profile, ridge)
        if loo_error < best_error:
            best_error, best_step = loo_error, t

        history["metric"].append(metric)
        history["agop"].append(agop)
        history["loo_error"].append(loo_error)
        history["estimate"].append(estimate)
        history["gradient"].append(gradient)
        history["effective_size"].append(1.0 / np.sum(weights**2))

        # Alg. 1, line 19: momentum, with beta = 1 at t = 0.
        mixed = agop if previous_agop is None else momentum * agop + (1 - momentum) * previous_agop
        previous_agop = agop
        if t + 1 < n_iter:
            # Alg. 1, line 20, where "t_{t+1}" is a typo for h_{t+1}.
            metric = _rescaled(mixed, X, query, profile, schedule, t + 1)
            if covariance_cap is not None:
                metric = _capped(metric, covariance_cap)

    trace = Trace(**{name: np.array(values) for name, values in history.items()})
    return ReferenceFit(  # Alg. 1, line 22
        value=float(trace.estimate[best_step]),
        gradient=trace.gradient[best_step],
        best_step=best_step,
        trace=trace,
    )


def squared_distances(X: Array, center: Array, metric: Array) -> Array:
    """Squared Mahalanobis distances u_i = (x_i - c)' M (x_i - c).

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.reference import squared_distances
    >>> squared_distances(np.eye(2), np.zeros(2), np.diag([4.0, 1.0])).tolist()
    [4.0, 1.0]
    """
    difference = X - center
    u: Array = np.einsum("ia,ia->i", difference @ metric, difference)
    return np.maximum(u, 0.0)  # rounding can leave -1e-17


def kernel_weights(X: Array, center: Array, metric: Array, profile: Profile) -> Array:
    """Weights k(u_i), summing to one.

    The Gaussian is invariant to a shift of u, so the smallest u is subtracted and far queries do not
    underflow. For the other kernels, if no point has a positive weight, all weight goes to the nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.reference import KERNELS, kernel_weights
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> kernel_weights(X, np.zeros(1), np.eye(1), KERNELS["gaussian"]).round(3).tolist()
    [0.721, 0.265, 0.013]
    """
    return _weights_of(squared_distances(X, center, metric), profile)


def local_linear(
    X: Array, y: Array, center: Array, metric: Array, profile: Profile, ridge: float
) -> tuple[float, Array]:
    """Weighted local linear regression at ``center``: value there, and gradient.

    Centered form: subtract the weighted means, then solve the D x D system
    (C + ridge * tr(C)/D * I) gradient = c with C the weighted covariance of X and c that of X and y.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.reference import KERNELS, local_linear
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = local_linear(X, 3.0 * X[:, 0], np.ones(1), np.eye(1), KERNELS["gaussian"], 0.0)
    >>> round(value, 6), gradient.round(6).tolist()
    (3.0, [3.0])
    """
    weights = kernel_weights(X, center, metric, profile)
    mean_x, mean_y = weights @ X, weights @ y
    deviation = X - mean_x
    covariance = deviation.T @ (weights[:, None] * deviation)
    cross = deviation.T @ (weights * (y - mean_y))
    dimension = X.shape[1]
    system = covariance + ridge * np.trace(covariance) / dimension * np.eye(dimension)
    gradient: Array = np.linalg.lstsq(system, cross, rcond=None)[0]
    return float(mean_y + gradient @ (center - mean_x)), gradient


def _weights_of(u: Array, profile: Profile) -> Array:
    if profile is KERNELS["gaussian"]:
        u = u - u.min()
    weights = profile(u)
    if not weights.sum() > 0.0:
        weights = (u == u.min()).astype(float)
    normalized: Array = weights / weights.sum()
    return normalized


def _subsample(weights: Array, m: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
    """Draw S by an exponential race, and the chance each of its members had to be in it.

    Clock i rings after an exponential time of rate w_i; the first m to ring are S. That is drawing one
    after another without replacement with probabilities w. Given the time tau at which the next clock
    rings, i was in S with probability 1 - exp(-w_i tau), which is what an unbiased average needs.
    """
    positive = np.flatnonzero(weights > 0.0)
    # Logarithms, because a time may exceed the largest float where a weight is near the smallest.
    log_times = np.log(rng.exponential(size=len(positive))) - np.log(weights[positive])
    order = np.argsort(log_times)
    sample = np.sort(positive[order[:m]])
    if len(positive) <= m:
        return sample, np.ones(len(sample))
    return sample, -np.expm1(-np.exp(np.log(weights[sample]) + log_times[order[m]]))


def _averaging_weights(weights: Array, inclusion: Array, weighting: str) -> Array:
    if weighting == "literal":
        return weights
    share = {
        "renormalized": weights,
        "uniform": np.ones_like(weights),
        "unbiased": weights / inclusion,
    }[weighting]
    normalized: Array = share / share.sum()
    return normalized


def _targets_effective_size(schedule: Any) -> bool:
    return hasattr(schedule, "effective_size")


def _rescaled(direction: Array, X: Array, query: Array, profile: Profile, schedule: Any, t: int) -> Array:
    """Give the metric its size: trace 1/h_t, or the scale that meets the effective sample size."""
    dimension = len(direction)
    trace = np.trace(direction)
    # No slope anywhere: no direction matters more than another.
    direction = direction / trace if trace > 0.0 else np.eye(dimension) / dimension
    if not _targets_effective_size(schedule):
        return direction / _bandwidth(schedule, t)
    u = squared_distances(X, query, direction)
    return direction * scale_for_effective_size(u, float(schedule.effective_size(t)), profile)


def _bandwidth(schedule: Any, t: int) -> float:
    h = float(schedule(t))
    if not (h > 0.0 and math.isfinite(h)):
        raise ValueError(f"schedule must return positive finite bandwidths, but schedule({t}) is {h}")
    return h


def scale_for_effective_size(u: Array, target: float, profile: Profile) -> float:
    """Scale s for which the weights k(s u) have the target effective size, by bisection on log s.

    The effective size falls from n (s = 0) towards one (or the number of nearest ties) as s grows; a target
    outside what the profile can reach gives the nearest end.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.reference import KERNELS, scale_for_effective_size
    >>> u = np.linspace(0, 1, 1000)
    >>> weights = KERNELS["gaussian"](scale_for_effective_size(u, 50.0, KERNELS["gaussian"]) * u)
    >>> round(float(weights.sum() ** 2 / np.sum(weights**2)), 6)
    50.0
    """
    if not (target > 0.0 and math.isfinite(target)):
        raise ValueError(f"target must be positive and finite, got {target!r}")
    typical = float(np.median(u[u > 0.0])) if np.any(u > 0.0) else 1.0
    low, high = -40.0, 40.0  # s = exp(low..high) / typical; the effective size falls as s grows
    for _ in range(200):
        middle = 0.5 * (low + high)
        weights = _weights_of(np.exp(middle) / typical * u, profile)
        if 1.0 / np.sum(weights**2) > target:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high)) / typical


def _capped(metric: Array, cap: float) -> Array:
    """Raise eigenvalues of M below 1/cap to 1/cap, so that no variance of M^-1 exceeds the cap."""
    values, vectors = np.linalg.eigh(metric)
    capped: Array = (vectors * np.maximum(values, 1.0 / cap)) @ vectors.T
    return capped


def _trim(X: Array, y: Array, query: Array, radius: float | None) -> tuple[Array, Array]:
    if radius is None:
        return X, y
    distance = np.linalg.norm(X - query, axis=1)
    near = distance <= radius
    if near.sum() < 2:
        raise ValueError(
            f"exclusion_radius={radius} leaves {near.sum()} of {len(X)} points near the query, but at "
            f"least 2 are needed; the two nearest are within {np.sort(distance)[1]:.4g}: "
            "use a larger radius, or None to keep all points"
        )
    return X[near], y[near]


def _profile(kernel: str | Profile) -> Profile:
    if callable(kernel):
        return kernel
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel must be one of {sorted(KERNELS)} or a callable of the squared distance, got {kernel!r}"
        )
    return KERNELS[kernel]


def _checked_data(X: ArrayLike, y: ArrayLike, query: ArrayLike) -> tuple[Array, Array, Array]:
    X, y, query = (np.asarray(a, dtype=float) for a in (X, y, query))
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"X must be two-dimensional (n, D), got shape {X.shape}")
    if len(X) < 2:
        raise ValueError(f"X must have at least two points, got {len(X)}")
    if y.shape != (len(X),):
        raise ValueError(f"y must have one label per row of X, shape ({len(X)},), got {y.shape}")
    if query.shape != (X.shape[1],):
        raise ValueError(
            f"query must be one point of the width of X, shape ({X.shape[1]},), got {query.shape}"
        )
    for name, array in (("X", X), ("y", y), ("query", query)):
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} must be finite, but holds NaN or infinite values")
    return X, y, query


def _check_positive(**parameters: float | None) -> None:
    for name, given in parameters.items():
        if given is None and name in ("exclusion_radius", "covariance_cap"):
            continue
        if not (isinstance(given, numbers.Real) and given > 0.0):
            raise ValueError(f"{name} must be positive, got {given!r}")
        if name.startswith("n_") and not isinstance(given, numbers.Integral):
            raise ValueError(f"{name} must be a whole number of at least 1, got {given!r}")


def _check_choices(momentum: float, ridge: float, weighting: str) -> None:
    if not 0.0 < momentum <= 1.0:
        raise ValueError(f"momentum must lie in (0, 1], got {momentum!r}")
    if not 0.0 <= ridge < math.inf:
        raise ValueError(f"ridge must be non-negative and finite, got {ridge!r}")
    if weighting not in get_args(Weighting):
        raise ValueError(f"weighting must be one of {list(get_args(Weighting))}, got {weighting!r}")
