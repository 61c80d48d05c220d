"""Claims about one step: the Poincare bound and the log-det problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from localegop._arguments import Array
from localegop.datasets.polynomials import make_cubic
from localegop.research.theory._fields import ScalarField, VectorField
from localegop.research.theory.bounds import (
    PoincareGap,
    alternating_minimum,
    feasible_covariances,
    poincare_gap,
    solve_log_det,
)
from localegop.research.theory.quadrature import gauss_hermite

from .momentum import random_positive_definite
from .table import Claim

_ORDERS = {1: 60, 2: 40, 3: 18}  # nodes per axis: both sides to eight digits or more


@lru_cache(maxsize=1)
def poincare_cases(n_cases: int = 200) -> tuple[PoincareGap, ...]:
    """Both sides of the bound for random functions, metrics and densities in one to three dimensions."""
    rng = np.random.default_rng(0)
    return tuple(_poincare_case(1 + case % 3, rng) for case in range(n_cases))


def _poincare_case(dimension: int, rng: np.random.Generator) -> PoincareGap:
    scale = 10.0 ** rng.uniform(-2.0, 0.0)
    axes = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    covariance = (axes * scale * rng.uniform(0.05, 1.0, size=dimension)) @ axes.T
    function, gradient = _random_function(dimension, rng)
    density = _random_density(dimension, rng)
    mean = rng.uniform(-0.5, 0.5, size=dimension)
    rule = gauss_hermite(dimension, _ORDERS[dimension])
    return poincare_gap(function, gradient, density, mean, covariance, rule=rule)


def _random_function(dimension: int, rng: np.random.Generator) -> tuple[ScalarField, VectorField]:
    """Random cubic or a random sum of waves, each half of the time."""
    if rng.uniform() < 0.5:
        cubic = make_cubic(dimension, random_state=rng)
        return cubic, cubic.gradient
    frequency, phase = rng.uniform(-2.0, 2.0, size=(dimension, 5)), rng.uniform(0.0, 7.0, size=5)
    size = rng.uniform(-1.0, 1.0, size=5)

    def function(X: Array) -> Array:
        values: Array = np.sin(X @ frequency + phase) @ size
        return values

    def gradient(X: Array) -> Array:
        slopes: Array = (np.cos(X @ frequency + phase) * size) @ frequency.T
        return slopes

    return function, gradient


def _random_density(dimension: int, rng: np.random.Generator) -> ScalarField:
    """Mixture of three Gaussian bumps, not normalized."""
    centers, width = rng.uniform(-1.0, 1.0, size=(3, dimension)), rng.uniform(0.5, 1.5, size=3)
    share = rng.dirichlet(np.ones(3))

    def density(X: Array) -> Array:
        squared = np.sum((X[:, None] - centers) ** 2, axis=2)
        values: Array = np.exp(-0.5 * squared / width**2) @ share
        return values

    return density


@dataclass(frozen=True)
class LogDetTrial:
    """The closed form of the log-det problem against rivals.

    Parameters
    ----------
    margin : float
        Least amount by which its log determinant exceeds that of a random feasible matrix.
    bound_margin : float
        The same for the error bound tr(L Sigma) + 1 / (n sqrt(det Sigma)), relative to its optimum.
    solver_excess : float
        Most by which a numerical solver exceeds it.
    solver_distance : float
        Largest relative distance of the solver's matrix from it.
    n_rivals : int
        Number of random matrices, over all L.
    """

    margin: float
    bound_margin: float
    solver_excess: float
    solver_distance: float
    n_rivals: int


@lru_cache(maxsize=1)
def log_det_trial(n_matrices: int = 50, n_rivals: int = 1000, n_solved: int = 10) -> LogDetTrial:
    """Let the closed form compete on random L of dimension two to six."""
    rng, n_samples = np.random.default_rng(0), 100.0
    margins, bound_margins, excesses, distances = [], [], [], []
    for case in range(n_matrices):
        L = random_positive_definite(2 + case % 5, rng)
        h = float(10.0 ** rng.uniform(-3.0, 0.0))
        best = alternating_minimum(L, h)
        log_dets = np.linalg.slogdet(feasible_covariances(L, h, n_rivals, rng))[1]
        margins.append(float(best.log_det - log_dets.max()))
        # On the boundary tr(L Sigma) = h, so that only the second term differs.
        optimum, rivals = (h + np.exp(-0.5 * d) / n_samples for d in (best.log_det, log_dets))
        bound_margins.append(float(rivals.min() / optimum - 1.0))
        if case < n_solved:
            solved = solve_log_det(L, h)
            excesses.append(float(np.linalg.slogdet(solved)[1] - best.log_det))
            distances.append(
                float(np.linalg.norm(solved - best.covariance) / np.linalg.norm(best.covariance))
            )
    return LogDetTrial(
        min(margins), min(bound_margins), max(excesses), max(distances), n_matrices * n_rivals
    )


def one_step_claims() -> list[Claim]:
    """Check the lemma "Poincare Inequality" and Proposition "Alternating Minimization"."""
    cases = poincare_cases()
    ratios = np.array([case.bias / case.bound for case in cases])
    trial = log_det_trial()
    return [
        Claim(
            "Poincaré bound, 200 random (f, M, density), D = 1, 2, 3 (Lemma Poincaré Inequality)",
            "∫(P_M f - f)² dμ ≤ (1 + Var p/(E p)²) W(μ) in every case",
            f"{int((ratios <= 1.0).sum())} of {len(cases)}; left/right from {ratios.min():.3f} to "
            f"{ratios.max():.3f}",
            bool((ratios <= 1.0).all()),
        ),
        Claim(
            "Log-det problem, 50 random L, 1,000 feasible Σ each (Prop. Alternating Minimization)",
            "Σ = h L⁻¹/D maximizes log det Σ subject to tr(LΣ) ≤ h",
            f"least margin {trial.margin:.1e} over {trial.n_rivals:,} rivals; a solver ends within "
            f"{trial.solver_distance:.0e}, at most {max(trial.solver_excess, 0.0):.0e} above",
            trial.margin > 0.0 and trial.solver_excess < 1e-9 and trial.solver_distance < 1e-3,
            "The proof calls log det convex; it is concave, which is what is needed.",
        ),
        Claim(
            "The same Σ minimizes the error bound on the boundary (Prop. Alternating Minimization)",
            "tr(LΣ) + 1/(n√det Σ) subject to tr(LΣ) = h, n = 100",
            f"least relative margin {trial.bound_margin:.1e}",
            trial.bound_margin > 0.0,
        ),
    ]
