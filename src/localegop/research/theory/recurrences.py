"""The reduced recurrences behind the theorems: the scalar one, the autonomous one, Thompson's metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from localegop._arguments import (
    Array,
    check_count,
    check_positive,
    check_positive_definite,
    check_real,
    refusal,
)

from ._fields import check_momentum


@dataclass(frozen=True, eq=False)
class ScalarTrace:
    """A run of the scalar recurrence.

    Parameters
    ----------
    bandwidth : array of shape (T,)
        h_t.
    value : array of shape (T,)
        a_t.
    limit : array of shape (T,)
        What a_t approaches: sqrt(c h_t) without a constant, h_t / constant with one.
    """

    bandwidth: Array
    value: Array
    limit: Array


def scalar_recurrence(
    n_iter: int,
    *,
    momentum: float = 0.7,
    ratio: float = 0.81,
    initial: float = 1.0,
    constant: float = 0.0,
) -> ScalarTrace:
    """Run a_{t+1} = h_{t+1} / (constant + beta a_t + (1 - beta) a_{t-1}) with h_t = ratio^t.

    Without a constant it stands for directions in which the gradient varies, with one for the direction
    of the gradient itself. For beta = 1 it oscillates forever: a_t / sqrt(c h_t) alternates between two
    reciprocal numbers; for beta < 1 it tends to one. Here c = 1 / (beta / r + (1 - beta) / r^2) with
    r = sqrt(ratio).

    Parameters
    ----------
    n_iter : int
        Number of values.
    momentum : float, default 0.7
        beta in (0, 1].
    ratio : float, default 0.81
        Ratio h_{t+1} / h_t in (0, 1).
    initial : float, default 1.0
        a_0; the first step knows no a_{-1} and uses a_0 alone.
    constant : float, default 0.0
        Non-negative.

    Returns
    -------
    ScalarTrace
        With ``bandwidth``, ``value`` and ``limit``.

    Examples
    --------
    >>> from localegop.research.theory import scalar_recurrence
    >>> run = scalar_recurrence(60, momentum=1.0, initial=3.0)
    >>> (run.value / run.limit)[[0, 1, 58, 59]].round(6).tolist()
    [3.162278, 0.316228, 3.162278, 0.316228]
    >>> run = scalar_recurrence(60, momentum=0.7, initial=3.0)
    >>> (run.value / run.limit)[[58, 59]].round(6).tolist()
    [1.0, 1.0]
    """
    n_iter, beta = check_count("n_iter", n_iter), check_momentum(momentum)
    initial, constant = check_positive("initial", initial), check_real("constant", constant, least=0.0)
    ratio = check_real("ratio", ratio, above=0.0, below=1.0, why=", so that h_t falls")
    h = ratio ** np.arange(n_iter, dtype=np.float64)
    a = np.full(n_iter, initial)
    for t in range(n_iter - 1):
        mixed = beta * a[t] + (1.0 - beta) * a[max(t - 1, 0)]
        a[t + 1] = h[t + 1] / (constant + mixed)
    limit = h / constant if constant > 0.0 else np.sqrt(limit_constant(beta, ratio) * h)
    return ScalarTrace(h, a, limit)


def limit_constant(momentum: float, ratio: float) -> float:
    """Return c = 1 / (beta / r + (1 - beta) / r^2), r = sqrt(ratio): a_t tends to sqrt(c h_t)."""
    beta, r = check_momentum(momentum), np.sqrt(check_positive("ratio", ratio))
    return float(1.0 / (beta / r + (1.0 - beta) / r**2))


def autonomous_recurrence(
    first: ArrayLike, second: ArrayLike, signature: ArrayLike, *, weight: float, n_iter: int
) -> Array:
    """Run X_{t+1} = J (w X_t + (1 - w) X_{t-1})^{-1} J with J = diag(signature), shape (n_iter, D, D).

    After rescaling by sqrt(c h_t) and by the Hessian, this is what remains of the recursion across the
    gradient; the signature holds the signs of the eigenvalues of the Hessian.
    """
    weight, n_iter = check_momentum(weight, "weight"), check_count("n_iter", n_iter, 2)
    signs = np.asarray(signature, dtype=np.float64)
    if signs.ndim != 1 or not np.isin(signs, (-1.0, 1.0)).all():
        raise refusal("signature", signature, "a vector of signs, -1 or 1")
    X = [check_positive_definite("first", first), check_positive_definite("second", second)]
    if not X[0].shape == X[1].shape == (len(signs), len(signs)):
        raise ValueError(
            f"first, second and signature have shapes {X[0].shape}, {X[1].shape} and {signs.shape}: "
            "give matrices and signs of one dimension."
        )
    while len(X) < n_iter:
        inverse = np.linalg.inv(weight * X[-1] + (1.0 - weight) * X[-2])
        X.append(signs[:, None] * 0.5 * (inverse + inverse.T) * signs)
    return np.array(X)


def thompson_distance(A: ArrayLike, B: ArrayLike) -> float:
    """Thompson's distance log max{M(A/B), M(B/A)}, M(A/B) = inf{c : A <= c B}.

    Parameters
    ----------
    A, B : array-like of shape (D, D)
        Symmetric positive definite matrices.

    Returns
    -------
    float
        The largest |log| of a generalized eigenvalue of the pair. It is unchanged by inversion and by
        congruence, and averaging does not increase it.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.theory import thompson_distance
    >>> round(thompson_distance(np.diag([1.0, np.e**2]), np.eye(2)), 12)
    2.0
    """
    left, right = check_positive_definite("A", A), check_positive_definite("B", B)
    if left.shape != right.shape:
        raise ValueError(f"A has shape {left.shape} and B has shape {right.shape}: give equal shapes.")
    return float(np.abs(np.log(eigh(left, right, eigvals_only=True))).max())
