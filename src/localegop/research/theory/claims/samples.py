"""Claims about samples: Algorithm 1 on data against the recursion without data."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from localegop.reference import Weighting
from localegop.research.theory.decay import fit_slopes
from localegop.research.theory.empirical import SampleComparison, compare_with_samples
from localegop.research.theory.problems import Problem, circle, full_rank, sphere

from .table import Claim, show

_SETTINGS: dict[str, tuple[Problem, dict[str, Any]]] = {
    "full rank, D = 2": (
        full_rank(2, random_state=1),
        {"radius": 1.5, "covariance_cap": 0.5, "n_samples": 6000, "n_iter": 14},
    ),
    "circle in R^2": (circle(), {"radius": 0.5}),
    "sphere in R^3": (sphere(), {"radius": 0.5, "n_samples": 6000}),
}
NAMES = tuple(_SETTINGS)


@lru_cache(maxsize=8)
def comparison(name: str, weighting: Weighting = "unbiased") -> SampleComparison:
    """Algorithm 1 on samples of one of the three problems, and the recursion."""
    task, options = _SETTINGS[name]
    return compare_with_samples(task, weighting=weighting, **options)


def second_slope(result: SampleComparison) -> float:
    """Exponent of the second smallest eigenvalue of the samples' covariances over the later half."""
    half = slice(len(result.bandwidth) // 2, None)
    log_h, log_value = np.log(result.bandwidth[half]), np.log(result.sample[half, 1:2])
    return float(fit_slopes(log_h, log_value).slope[0])


def sample_claims() -> list[Claim]:
    """Compare eigenvalues of Sigma_t from samples and from the oracle."""
    rows = []
    for name in NAMES:
        result = comparison(name)
        ratio = result.largest_ratio()
        rows.append(
            Claim(
                f"Samples against oracle, {name}: eigenvalues of Σ_t",
                "largest factor between the two, while at least 50 points count: below 1.5",
                f"factor {show(ratio)} over {int((result.effective_size >= 50).sum())} steps",
                ratio < 1.5,
            )
        )
    weightings: tuple[Weighting, ...] = ("unbiased", "uniform", "literal")
    spread = {w: second_slope(comparison(NAMES[0], w)) for w in weightings}
    rows.append(
        Claim(
            "Samples, full rank, D = 2: second eigenvalue (300 subsamples of 6,000 points)",
            "slope 0.50 ± 0.10 with unbiased averaging of the subsample",
            f"slope {show(spread['unbiased'])}; {show(spread['uniform'])} if drawn points count alike, "
            f"{show(spread['literal'])} with lines 12 and 13 as printed",
            abs(spread["unbiased"] - 0.5) <= 0.1,
            "Drawing without replacement more points than the localization effectively has, and counting "
            "them alike, widens it: the neighborhood then contracts too fast across the gradient.",
        )
    )
    return rows
