"""Claims about estimated EGOPs: rates of gradients, the recursion with smoothed gradients, operations."""

from __future__ import annotations

from functools import lru_cache
from unittest.mock import patch

import numpy as np

from localegop import reference
from localegop._arguments import Array
from localegop.reference import KERNELS, local_egop, local_linear
from localegop.research.theory.decay import decay_exponents
from localegop.research.theory.outer_product import smoothed_at
from localegop.research.theory.problems import full_rank
from localegop.research.theory.quadrature import gauss_hermite

from .expansions import log_slope
from .table import Claim, problem, show, within

_NOISE, _REPLICATES, _N_POINTS = 1.0, 20, 12
_SIZES = np.array([1000, 2000, 4000, 8000])
_VARIANCES = np.array([0.01, 0.02, 0.04])


@lru_cache(maxsize=16)
def gradient_error(n: int, variance: float) -> tuple[float, float, float]:
    """Errors of gradients by local linear fits to n points of a square, D = 2, Sigma = variance I.

    Returns the root mean square over points drawn from the localization of the difference to the smoothed
    gradient, the difference of the AGOPs in the spectral norm, and the bound that the proof has for it.
    """
    task = full_rank(2, random_state=1)
    factor, metric = np.sqrt(variance) * np.eye(2), np.eye(2) / (2.0 * variance)  # weights exp(-u)
    squares, gaps, bounds = [], [], []
    for replicate in range(_REPLICATES):
        rng = np.random.default_rng(1000 * n + replicate)
        X = task.query + rng.uniform(-1.0, 1.0, size=(n, 2))
        y = task.function(X) + _NOISE * rng.standard_normal(n)
        at = task.query + rng.standard_normal((_N_POINTS, 2)) @ factor.T
        exact = smoothed_at(task.function.gradient, at, factor, gauss_hermite(2, 9))
        found = np.array([local_linear(X, y, x, metric, KERNELS["gaussian"], 0.0)[1] for x in at])
        difference = np.linalg.norm(found - exact, axis=1)
        squares.append(np.mean(difference**2))
        gaps.append(np.linalg.norm(found.T @ found - exact.T @ exact, 2) / _N_POINTS)
        lengths = np.linalg.norm(found, axis=1) + np.linalg.norm(exact, axis=1)
        bounds.append(np.mean(difference * lengths))
    return float(np.sqrt(np.mean(squares))), float(np.mean(gaps)), float(np.mean(bounds))


def gradient_rates() -> tuple[float, float]:
    """Slopes of the error of gradients in n, and of its square in the variance of the localization."""
    by_n = np.array([gradient_error(int(n), 0.02)[0] for n in _SIZES])
    by_variance = np.array([gradient_error(8000, float(v))[0] ** 2 for v in _VARIANCES])
    return log_slope(_SIZES.astype(float), by_n), log_slope(_VARIANCES, by_variance)


def smoothed_exponents(name: str) -> dict[str, Array]:
    """Exponents of the recursion with smoothed gradients, by kind of direction."""
    task = problem(name)
    rule = gauss_hermite(task.dimension, 5)
    run = task.run(smoothed=True, rule=rule, n_iter=60, initial_scale=0.002)
    parts = ("gradient", "curved", "straight", "null")
    bases = {part: getattr(task.directions, part) for part in parts}
    return {part: decay_exponents(run, basis).slope for part, basis in bases.items() if basis.shape[1]}


def count_operations(n: int, dimension: int, n_subsamples: int, n_iter: int) -> tuple[int, int]:
    """Multiplications of the reference: counted while it runs, and the formula of the paper.

    Counted are products of the n x D differences with a D x D metric (n D^2) wherever distances are taken,
    the Gram matrix of every fit (n D^2) and its solution (D^3).
    """
    rng, counted = np.random.default_rng(0), 0
    X = rng.uniform(-1.0, 1.0, size=(n, dimension))
    distances, fit = reference.squared_distances, reference.local_linear

    def counting_distances(rows: Array, center: Array, metric: Array) -> Array:
        nonlocal counted
        counted += rows.size * len(metric)
        return distances(rows, center, metric)

    def counting_fit(
        rows: Array, y: Array, center: Array, metric: Array, profile: reference.Profile, ridge: float
    ) -> tuple[float, Array]:
        nonlocal counted
        counted += rows.size * len(metric) + len(metric) ** 3
        return fit(rows, y, center, metric, profile, ridge)

    with (
        patch.object(reference, "squared_distances", counting_distances),
        patch.object(reference, "local_linear", counting_fit),
    ):
        local_egop(X, X[:, 0], np.zeros(dimension), n_iter=n_iter, n_subsamples=n_subsamples,
                   exclusion_radius=None, random_state=0)  # fmt: skip
    m = n_subsamples
    return counted, n_iter * ((m + 2) * n * dimension**2 + (m + 1) * dimension**3)


def approximation_claims() -> list[Claim]:
    """Check the lemma "EGOP Approximation", the propositions after it, and the complexity."""
    in_n, in_variance = gradient_rates()
    gaps = [gradient_error(int(n), 0.02)[1:] for n in _SIZES]
    return [
        Claim(
            "From gradients to the EGOP, D = 2 (Lemma EGOP Approximation)",
            "‖L̂ - L‖ ≤ ∫‖∇f̂ - ∇f‖(‖∇f̂‖ + ‖∇f‖) dμ, n = 1,000 to 8,000",
            "; ".join(f"{gap:.3f} ≤ {bound:.3f}" for gap, bound in gaps),
            all(gap <= bound for gap, bound in gaps),
        ),
        Claim(
            "Rate of gradients that both propositions assume, D = 2",
            "‖∇_Σ f̂ - ∇_Σ f‖_L²(μ) = O(1/(n√det Σ)): slope in n of -1.0 ± 0.1 with Σ fixed",
            f"slope {show(in_n)}",
            within([in_n], -1.0, 0.1),
            "That is the order of the square. A mean of n noisy labels errs by n^-1/2, and a slope over a "
            "width √λ by 1/√λ times that: ‖·‖² = O(1/(n√det Σ λ_min(Σ))), next row. At the t_n of the "
            "theorems, where 1/(n√det Σ) is of the order of h, the error of L̂ along g is then not small; "
            "the assumption asks for about the square of the samples, or for averages over many fits, "
            "which gain only where fits share few points.",
        ),
        Claim(
            "Rate of gradients, corrected, D = 2",
            "‖∇_Σ f̂ - ∇_Σ f‖² = O(1/(n√det Σ λ_min)): slope in n of -0.5 ± 0.1; of the square in the "
            "variance at n = 8,000 of -D/2 - 1 = -2.0 ± 0.3",
            f"slopes {show(in_n)} and {show(in_variance)}",
            within([in_n], -0.5, 0.1) and within([in_variance], -2.0, 0.3),
        ),
        *(_smoothed_claim(name) for name in ("circle", "helix", "torus", "sphere")),
        operations_claim(),
    ]


def _smoothed_claim(name: str) -> Claim:
    """Check the proposition "Continuous Index Empirical Guarantee" without the sampling error."""
    found = smoothed_exponents(name)
    expected = {"gradient": 1.0, "curved": 0.5, "straight": 0.0, "null": 0.0}
    listed = "; ".join(f"{part} {show(slope)}" for part, slope in found.items())
    return Claim(
        f"The recursion with smoothed gradients, {problem(name).name} (Prop. Continuous Index Empirical)",
        "the exponents of exact gradients: 1 along g, 1/2 on the range of the Hessian across g, 0 else, "
        "± 0.07",
        listed,
        all(within(slope, expected[part], 0.07) for part, slope in found.items()),
    )


def operations_claim() -> Claim:
    """Check the complexity that is stated after Algorithm 1."""
    cases = ((200, 4, 20, 3), (400, 4, 20, 3), (200, 12, 20, 3), (200, 4, 80, 3), (200, 4, 20, 9))
    ratios = [counted / formula for counted, formula in (count_operations(*case) for case in cases)]
    return Claim(
        "Operations of Algorithm 1 (after its listing)",
        "O(T((m+2)nD² + (m+1)D³)) multiplications: counted over formula within a factor 1.3 as n, D, m, T "
        "grow one by one",
        f"ratios {show(ratios)}",
        max(ratios) / min(ratios) < 1.3,
        "Two passes of n D² for each fit: distances and Gram matrix. Memory is n D + m D + D² here, less "
        "than the n D² + m² D² + m D³ of the paper.",
    )
