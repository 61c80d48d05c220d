"""The continuum recursion Sigma_{t+1} = h_{t+1} [beta L(mu_t) + (1 - beta) L(mu_{t-1})]^{-1}.

This is what Algorithm 1 tends to with exact gradients and infinite data, mu_t = N(x*, Sigma_t).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localegop._arguments import Array, check_count, check_optional_positive, check_point, check_positive
from localegop.schedules import BandwidthSchedule, Geometric

from ._fields import VectorField, check_momentum, check_nonzero_gradient, falling_bandwidths
from .outer_product import form_of, outer_product_at
from .quadrature import Rule, check_rule

DEFAULT_RATIO = 0.7


@dataclass(frozen=True, eq=False)
class Trace:
    """What the recursion went through; the leading axis of each array is the step t.

    Parameters
    ----------
    bandwidth : array of shape (T,)
        h_t.
    factor : array of shape (T, D, D)
        F_t with F_t F_t' = Sigma_t; its columns are orthogonal. Read small variances off it, as
        ``variance`` does: in ``covariance`` they drown in the rounding of the large ones.
    root : array of shape (T, D, D)
        R_t with R_t'R_t = L(mu_t).
    error : array of shape (T,)
        Estimated error of each EGOP in the spectral norm.
    gradient : array of shape (D,)
        The gradient g at x*.
    """

    bandwidth: Array
    factor: Array
    root: Array
    error: Array
    gradient: Array

    def __len__(self) -> int:
        return len(self.bandwidth)

    @property
    def covariance(self) -> Array:
        """Covariances Sigma_t, shape (T, D, D)."""
        product: Array = self.factor @ np.swapaxes(self.factor, 1, 2)
        return product

    @property
    def egop(self) -> Array:
        """EGOPs L(mu_t), shape (T, D, D)."""
        product: Array = np.swapaxes(self.root, 1, 2) @ self.root
        return product

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of Sigma_t, largest first, shape (T, D)."""
        return -np.sort(-np.sum(self.factor**2, axis=1), axis=1)

    @property
    def log_det(self) -> Array:
        """Logarithm of det Sigma_t, shape (T,)."""
        total: Array = np.log(self.eigenvalues).sum(axis=1)
        return total

    @property
    def form(self) -> Array:
        """EGOP forms W(mu_t) = tr(L(mu_t) Sigma_t), shape (T,)."""
        return np.array([form_of(r, f) for r, f in zip(self.root, self.factor, strict=True)])

    def variance(self, basis: ArrayLike) -> Array:
        """Variances v'Sigma_t v for each column v of ``basis``, shape (T, k)."""
        columns = np.asarray(basis, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        dimension = self.factor.shape[1]
        if columns.ndim != 2 or len(columns) != dimension:
            raise ValueError(f"basis has shape {columns.shape}: give columns of shape ({dimension}, k).")
        along: Array = np.swapaxes(self.factor, 1, 2) @ columns
        variances: Array = np.sum(along**2, axis=1)
        return variances


def oracle_recursion(
    gradient: VectorField,
    x0: ArrayLike,
    *,
    schedule: BandwidthSchedule | None = None,
    momentum: float = 0.7,
    initial_scale: float,
    covariance_cap: float | Callable[[int], float] | None = None,
    n_iter: int,
    exclusion_radius: float | None = None,
    smoothed: bool = False,
    normalize_trace: bool = False,
    rule: Rule | None = None,
) -> Trace:
    """Run the recursion with exact gradients from Sigma_0 = initial_scale * I.

    Parameters
    ----------
    gradient : callable
        Maps (k, D) points to (k, D) gradients.
    x0 : array-like of shape (D,)
        The point x*; its gradient must not vanish.
    schedule : callable, optional
        t -> h_t, positive and falling strictly. By default the geometric schedule of the theorems,
        h_t = initial_scale^2 * 0.7^t.
    momentum : float, default 0.7
        Weight beta in (0, 1] of the newest EGOP against the one before; at t = 0 there is only one.
    initial_scale : float
        alpha; the first covariance is alpha times the identity.
    covariance_cap : float or callable, optional
        zeta, or t -> zeta_t; eigenvalues of a covariance above it are lowered to it. Needed where f does
        not vary.
    n_iter : int
        Number T of localizations, Sigma_0 to Sigma_{T-1}.
    exclusion_radius : float, optional
        Condition each mu_t on this distance from x* ("sample trimming" of the paper), which keeps a
        tube function away from the points where the nearest point jumps.
    smoothed : bool, default False
        Replace the gradient by its average over N(x, Sigma_t), as local linear regression does.
    normalize_trace : bool, default False
        Divide the averaged EGOP by its trace, as Algorithm 1 does.
    rule : Rule, optional
        The quadrature, as in `egop`.

    Returns
    -------
    Trace
        With ``bandwidth``, ``covariance``, ``egop``, ``eigenvalues``, ``form`` and more.

    Examples
    --------
    A function with invertible Hessian: variance falls like h along the gradient, like sqrt(h) across.

    >>> import numpy as np
    >>> from localegop.research.theory import decay_exponents, oracle_recursion
    >>> H = np.diag([1.0, 2.0, -1.0])
    >>> gradient = lambda X: np.array([1.0, 0.0, 0.0]) + X @ H
    >>> trace = oracle_recursion(gradient, np.zeros(3), initial_scale=0.05, n_iter=60)
    >>> decay_exponents(trace, np.eye(3)).slope.round(2).tolist()
    [1.0, 0.5, 0.5]
    """
    center = check_point("x0", x0)
    alpha, n_iter = check_positive("initial_scale", initial_scale), check_count("n_iter", n_iter)
    beta, cap_at = check_momentum(momentum), _caps(covariance_cap)
    radius = check_optional_positive("exclusion_radius", exclusion_radius)
    default = Geometric(scale=alpha**2, ratio=DEFAULT_RATIO)
    h = falling_bandwidths(default if schedule is None else schedule, n_iter)
    nodes = check_rule(rule, len(center))

    factor = np.sqrt(alpha) * np.eye(len(center))
    previous: Array | None = None
    factors, roots, errors = [], [], []
    for t in range(n_iter):
        product = outer_product_at(gradient, center, factor, nodes, radius, smoothed=smoothed)
        factors.append(factor)
        roots.append(product.root)
        errors.append(product.error)
        if t == 0:
            g = check_nonzero_gradient(gradient, center, float(np.linalg.norm(product.root)))
        if t + 1 < n_iter:
            mixed = _mix(product.root, previous, beta)
            previous = product.root
            scale = h[t + 1] * (np.sum(mixed**2) if normalize_trace else 1.0)
            factor = _next_factor(mixed, float(scale), cap_at(t + 1), t + 1)
    return Trace(h, np.array(factors), np.array(roots), np.array(errors), g)


def _caps(given: float | Callable[[int], float] | None) -> Callable[[int], float | None]:
    """Caps by step, checked."""
    if callable(given):
        return lambda t: check_positive(f"covariance_cap({t})", given(t))
    fixed = check_optional_positive("covariance_cap", given)
    return lambda t: fixed


def _mix(current: Array, previous: Array | None, beta: float) -> Array:
    """Root, of shape (D, D) or (2D, D), of beta L_t + (1 - beta) L_{t-1}."""
    if previous is None:
        return current
    return np.vstack([np.sqrt(beta) * current, np.sqrt(1.0 - beta) * previous])


def _next_factor(root: Array, scale: float, cap: float | None, t: int) -> Array:
    """Factor of scale * L^{-1}, its eigenvalues capped, from the root of L."""
    singular, vectors = np.linalg.svd(root, full_matrices=False)[1:]
    # Singular values below this are rounding errors; under a cap their size does not matter.
    noise = len(vectors) * np.finfo(float).eps * singular[0]
    if cap is None and singular[-1] <= noise:
        raise ValueError(
            f"the EGOP before step {t} is singular to rounding (singular values of its root from "
            f"{singular[0]:.3g} to {singular[-1]:.3g}), so the covariance is unbounded: give "
            "covariance_cap, or fewer steps."
        )
    deviation = np.sqrt(scale) / np.maximum(singular, noise)
    if cap is not None:
        deviation = np.minimum(deviation, np.sqrt(cap))
    factor: Array = vectors.T * deviation
    return factor
