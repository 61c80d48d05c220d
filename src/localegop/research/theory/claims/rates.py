"""Claims about learning rates, from the recursion: decay exponents, and the best step for each n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localegop.research.theory.decay import decay_exponents
from localegop.research.theory.rates import oracle_rate, predicted_rate, rate_from_exponents, rate_from_rank
from localegop.research.theory.recursion import DEFAULT_RATIO

from .table import Claim, problem, show, trace, within

_TOLERANCE = 0.01
# Problem, and the setting whose rate the paper gives for it.
_CASES: tuple[tuple[str, str | None, str], ...] = (
    ("full_rank", "full_rank", "4/(D + 5)"),
    ("random_surface", "noisy_manifold", "4/(2d + 5)"),
    ("flat", "multi_index", "4/(d + 5)"),
    ("circle", "single_index", "2/3"),
    ("helix", "single_index", "2/3"),
    ("sphere", None, ""),
    ("torus", None, ""),
)


@dataclass(frozen=True)
class RateCase:
    """Exponents r of n^{-r} for one problem.

    Parameters
    ----------
    name : str
        Name of the problem.
    formula : str
        The paper's formula, if it gives one.
    paper : float or None
        Its value.
    rank : float
        4 / (6 + rank of the Hessian across the gradient).
    slopes : float
        1 / (1 + q/2), q the sum of the measured decay exponents.
    balanced : float
        Slope in log n of the least bound 1 / (n sqrt(det Sigma_t)) + W(mu_t) over t.
    """

    name: str
    formula: str
    paper: float | None
    rank: float
    slopes: float
    balanced: float


def rate_cases() -> list[RateCase]:
    """Predicted and measured exponents for every problem."""
    cases = []
    for name, setting, formula in _CASES:
        task, run, parts = problem(name), trace(name), problem(name).directions
        d, every = (
            task.intrinsic_dimension,
            np.hstack([parts.gradient, parts.curved, parts.straight, parts.null]),
        )
        cases.append(
            RateCase(
                task.name,
                formula,
                None if setting is None else predicted_rate(task.dimension, d, setting),
                rate_from_rank(parts.curved.shape[1]),
                rate_from_exponents(decay_exponents(run, every).slope),
                oracle_rate(run)[0],
            )
        )
    return cases


def rate_claims() -> list[Claim]:
    """Check the rates of the theorems and examples, and the number of steps to run."""
    cases = rate_cases()
    rows = [_stated_claim(case, case.paper) for case in cases if case.paper is not None]
    rows.append(_rank_claim(cases))
    D, steps = problem("full_rank").dimension, oracle_rate(trace("full_rank"))[1]
    paper = 4.0 / ((D + 5) * np.log(1.0 / np.sqrt(DEFAULT_RATIO)))
    rows.append(
        Claim(
            "Number of steps for n samples, full rank D = 4 (Thm. Second Order Anisotropy)",
            "t_n = 4 log n/((D + 5) log(1/r)), √h_t ~ r^t: slope of the best t in log n, ± 2 %",
            f"paper {show(paper, 3)}, measured {show(steps, 3)}",
            within([steps / paper], 1.0, 0.02),
            "Since h_t ~ r^{2t}, balancing needs half as many, 2 log n/((D + 5) log(1/r)) = "
            f"{show(paper / 2.0, 3)}. With twice as many the variance term grows with n for D > 3.",
        )
    )
    return rows


def _stated_claim(case: RateCase, stated: float) -> Claim:
    """Judge a rate of the paper, an upper bound for the error: the measured exponent must reach it."""
    slack = min(case.slopes, case.balanced) - stated
    note = ""
    if slack > _TOLERANCE:
        note = (
            "True as an upper bound, but not sharp, as one direction less contracts than the theorem says: "
            f"the bound falls like n^-{show(case.rank, 3)}, with exponent 4/(6 + rank of π_g⊥ H π_g⊥) = "
            "4/(2d + 4)."
        )
    return Claim(
        f"Rate, {case.name}",
        f"1/(n√det Σ_t) + W(μ_t) = O(n^-r), r = {case.formula} = {show(stated, 3)}: exponent at least "
        f"r - {_TOLERANCE}",
        f"from the decay exponents {show(case.slopes, 3)}, from the best step {show(case.balanced, 3)}",
        slack >= -_TOLERANCE,
        note,
    )


def _rank_claim(cases: list[RateCase]) -> Claim:
    """Judge the one formula that covers all settings."""
    worst = max(abs(value - case.rank) for case in cases for value in (case.slopes, case.balanced))
    listed = "; ".join(f"{case.name} {show(case.balanced, 3)} ({show(case.rank, 3)})" for case in cases)
    return Claim(
        "One formula for all rates, not in the paper",
        f"r = 4/(6 + rank of π_g⊥ H π_g⊥): exponents equal to {_TOLERANCE}",
        f"measured (formula): {listed}; largest difference {worst:.0e}",
        worst <= _TOLERANCE,
        "Exponent 1 along g, 1/2 on the range of the Hessian across g, 0 elsewhere. It gives 4/(D + 5) for "
        "an invertible Hessian, 4/(d + 5) for a flat manifold and 2/3 for a curve, as the paper does; for "
        "a curved manifold of dimension d in D ≥ 2d dimensions 2/(d + 2).",
    )
