"""Samples against the oracle: the covariances of Algorithm 1 next to those of the continuum recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localegop._arguments import Array, check_count, check_positive
from localegop.datasets.tube_function import TubeFunction
from localegop.datasets.tubes import sample_tube
from localegop.reference import Weighting, local_egop
from localegop.schedules import BandwidthSchedule, Geometric

from .problems import Problem
from .quadrature import gauss_hermite

# The profile exp(-x'Mx) is a Gaussian of covariance M^{-1} / 2.
_COVARIANCE_PER_INVERSE_METRIC = 0.5
_N_NODES = 5


@dataclass(frozen=True, eq=False)
class SampleComparison:
    """Eigenvalues of Sigma_t, smallest first, from samples and from the oracle.

    Parameters
    ----------
    bandwidth : array of shape (T,)
        h_t.
    sample : array of shape (T, D)
        Eigenvalues of the covariances of Algorithm 1.
    oracle : array of shape (T, D)
        Those of the recursion with the exact, smoothed gradient.
    effective_size : array of shape (T,)
        Effective sample size of the weights of Algorithm 1 at x*.
    """

    bandwidth: Array
    sample: Array
    oracle: Array
    effective_size: Array

    def largest_ratio(self, least_effective_size: float = 50.0) -> float:
        """Largest factor between two eigenvalues while the effective sample size is at least this."""
        enough = self.effective_size >= least_effective_size
        return float(np.exp(np.abs(np.log(self.sample / self.oracle))[enough].max()))


def compare_with_samples(
    problem: Problem,
    *,
    n_samples: int = 4000,
    n_iter: int = 12,
    schedule: BandwidthSchedule | None = None,
    initial_scale: float = 0.1,
    covariance_cap: float = 0.1,
    momentum: float = 0.7,
    n_subsamples: int = 300,
    weighting: Weighting = "unbiased",
    radius: float = 0.5,
    random_state: int = 0,
) -> SampleComparison:
    """Run Algorithm 1 on noise-free samples, and the recursion with the same schedule without samples.

    The recursion takes what is known about Algorithm 1 into account: it divides the EGOP by its trace,
    smooths gradients over the localization as local linear fits do, and halves bandwidth, initial scale
    and cap, because the weights exp(-x'Mx) have the covariance M^{-1} / 2.

    Parameters
    ----------
    problem : Problem
        The function and the point.
    n_samples : int, default 4000
        Number of samples: uniform in the tube of a manifold, or else in a cube around x*.
    n_iter : int, default 12
        Number of steps.
    schedule : callable, optional
        t -> h_t, by default 0.2 * 0.7^t.
    initial_scale, covariance_cap, momentum, n_subsamples : float, float, float and int
        As in Algorithm 1.
    weighting : {"unbiased", "uniform", "renormalized", "literal"}, default "unbiased"
        How Algorithm 1 averages over its subsample. Counting every drawn point once, "uniform", widens a
        localization of fewer than ``n_subsamples`` points, as the subsample then reaches into its tails.
    radius : float, default 0.5
        Radius of the tube, or half the side of the cube.
    random_state : int, default 0
        Seed of samples and subsamples.

    Returns
    -------
    SampleComparison
        The eigenvalues side by side.
    """
    n_samples, n_iter = check_count("n_samples", n_samples, 10), check_count("n_iter", n_iter)
    cap, radius = check_positive("covariance_cap", covariance_cap), check_positive("radius", radius)
    h = Geometric(scale=0.2, ratio=0.7) if schedule is None else schedule
    X = _sample(problem, n_samples, radius, np.random.default_rng(random_state))
    trim = problem.options.get("exclusion_radius", 2.0 * radius)
    fit = local_egop(
        X,
        problem.function(X),
        problem.query,
        n_iter=n_iter,
        n_subsamples=n_subsamples,
        schedule=h,
        momentum=momentum,
        initial_scale=initial_scale,
        exclusion_radius=trim,
        covariance_cap=cap,
        weighting=weighting,
        random_state=random_state,
    )
    half = _COVARIANCE_PER_INVERSE_METRIC
    oracle = problem.run(
        schedule=lambda t: half * h(t),
        momentum=momentum,
        initial_scale=half * check_positive("initial_scale", initial_scale),
        covariance_cap=half * cap,
        exclusion_radius=trim,
        n_iter=n_iter,
        smoothed=True,
        normalize_trace=True,
        # Smoothing nests one quadrature in another: few nodes per axis must do.
        rule=gauss_hermite(problem.dimension, _N_NODES),
    )
    # Eigenvalues of M rise where those of the covariance fall.
    sample: Array = half / np.asarray(np.linalg.eigvalsh(fit.trace.metric)[:, ::-1], dtype=np.float64)
    bandwidth = np.array([h(t) for t in range(n_iter)])
    return SampleComparison(bandwidth, sample, oracle.eigenvalues[:, ::-1], fit.trace.effective_size)


def _sample(problem: Problem, n_samples: int, radius: float, rng: np.random.Generator) -> Array:
    """Points uniform in the tube of the problem's manifold, or in a cube around x*, shape (n, D)."""
    if isinstance(problem.function, TubeFunction):
        return sample_tube(problem.function.manifold, n_samples, radius, rng).data
    return problem.query + rng.uniform(-radius, radius, size=(n_samples, problem.dimension))
