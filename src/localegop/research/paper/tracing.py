"""Run Algorithm 1 with the paper's settings at one point and keep every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.regressor import LocalEGOPRegressor
from localegop.results import Trace

Array = NDArray[np.float64]


def trace_query(X: Array, y: Array, query: ArrayLike, *, seed: int, threads: int, **changes: Any) -> Trace:
    """Trace of the recursion at one point; ``changes`` to the paper's settings are the estimator's.

    Examples
    --------
    >>> from localegop.datasets import make_annulus
    >>> from localegop.research.paper.tracing import trace_query
    >>> X, y = make_annulus(300, random_state=0)
    >>> trace_query(X, y, [1.0, 0.0], seed=0, threads=1, n_iter=5).metric.shape
    (5, 1, 2, 2)
    """
    settings = LocalEGOPRegressor.paper_parameters() | changes
    model = LocalEGOPRegressor(**settings, random_state=seed, n_jobs=threads).fit(X, y)
    trace = model.localize(np.asarray(query, dtype=float)[None], trace=True).trace
    assert trace is not None
    return trace


def covariance_eigenvalues(metrics: Array) -> Array:
    """Eigenvalues of the inverses of metrics (T, D, D), smallest first, shape (T, D)."""
    values = np.linalg.eigvalsh(metrics)[:, ::-1]
    inverse: Array = 1.0 / np.maximum(values, np.finfo(float).tiny)
    return inverse


def metric_weights(X: Array, query: ArrayLike, metric: Array) -> Array:
    """Gaussian weights of the rows of X around a point, relative to the largest, shape (n,)."""
    offset = X - np.asarray(query, dtype=float)
    distance = np.einsum("ia,ab,ib->i", offset, metric, offset)
    weights: Array = np.exp(distance.min() - distance)
    return weights
