"""Claims about the shape of the localization: full rank, noisy manifolds, flat manifolds."""

from __future__ import annotations

import numpy as np

from localegop._arguments import Array
from localegop.research.theory.decay import decay_exponents, fit_slopes
from localegop.research.theory.problems import full_rank, random_surface
from localegop.research.theory.quadrature import gauss_hermite

from .table import Claim, problem, show, slopes, trace, within


def full_rank_claims() -> list[Claim]:
    """Check the theorem "Second Order Anisotropy" for an invertible Hessian in D = 4."""
    run, g = trace("full_rank"), trace("full_rank").gradient
    along, across = slopes("full_rank", "gradient"), slopes("full_rank", "curved")
    half = slice(len(run) // 2, None)
    form = fit_slopes(np.log(run.bandwidth[half]), np.log(run.form[half])[:, None]).slope
    constant = run.variance(g)[-1, 0] / run.bandwidth[-1]
    return [
        Claim(
            "Full-rank Hessian, D = 4: variance along the gradient (Thm. Second Order Anisotropy)",
            "g'Σ_t g = Θ(h_t): slope 1.00 ± 0.05",
            f"slope {show(along)}",
            within(along, 1.0, 0.05),
        ),
        Claim(
            "Full-rank Hessian, D = 4: variance across the gradient",
            "v'Σ_t v = Θ(√h_t), v ⊥ g: slope 0.50 ± 0.05",
            f"slopes {show(across)}",
            within(across, 0.5, 0.05),
        ),
        Claim(
            "Full rank: the constant along the gradient (proof of the theorem)",
            "u'Σ_t u = h_t/‖g‖² + O(h_t^1.5), u = g/‖g‖: ratio 1 ± 0.01",
            f"ratio {show(constant, 4)}",
            within([constant], 1.0, 0.01),
        ),
        Claim(
            "Full rank: the EGOP form falls with the bandwidth",
            "W(μ_t) = tr(L Σ_t) = Θ(h_t): slope 1.00 ± 0.05",
            f"slope {show(form)}",
            within(form, 1.0, 0.05),
        ),
        smoothed_claim(),
    ]


def smoothed_slopes(initial_scale: float) -> tuple[Array, Array]:
    """Exponents along and across g of the recursion with smoothed gradients, D = 2."""
    task = full_rank(2)
    run = task.run(smoothed=True, rule=gauss_hermite(2, 5), n_iter=60, initial_scale=initial_scale)
    along, across = (decay_exponents(run, b) for b in (task.directions.gradient, task.directions.curved))
    return along.slope, across.slope


def smoothed_claim() -> Claim:
    """Check the proposition "Full Rank Empirical Guarantee", without the sampling error."""
    along, across = smoothed_slopes(0.002)
    return Claim(
        "The recursion with smoothed gradients has the same exponents, D = 2 (Lemma Smoothed Gradient)",
        "slopes 1.00 and 0.50 ± 0.05, from alpha = 0.002",
        f"slopes {show(along)} and {show(across)}",
        within(along, 1.0, 0.05) and within(across, 0.5, 0.05),
        "“alpha sufficiently small” is needed: from alpha = 0.02 the same recursion never settles, "
        f"slope across {show(smoothed_slopes(0.02)[1])}.",
    )


def curve_claims() -> list[Claim]:
    """Check the example "Continuous Single-Index": no normal direction contracts."""
    rows = []
    for name, parts in (("circle", ("straight",)), ("helix", ("straight", "null"))):
        normal = np.concatenate([slopes(name, part) for part in parts])
        rows.append(
            Claim(
                f"Noisy curve, {problem(name).name}: normal directions (Ex. Continuous Single-Index)",
                "v'Σ_t v = Θ(1), v normal: slope 0.00 ± 0.05",
                f"slopes {show(normal)}; along g {show(slopes(name, 'gradient'))}",
                within(normal, 0.0, 0.05),
            )
        )
    return rows


def surface_claims() -> list[Claim]:
    """Check the theorem "Intrinsic Learning Rate" on a random surface in R^8."""
    task, directions = problem("random_surface"), problem("random_surface").directions
    curved, straight, null = (slopes("random_surface", part) for part in ("curved", "straight", "null"))
    ranks = restricted_ranks()
    return [
        Claim(
            "Random 2-manifold in R^8: rank of the Hessian and dimension of Null (Lemma Gradient Geometry)",
            "rank H = 2d = 4, dim Null = D - 2d = 4",
            f"rank {task.hessian_rank}, dim Null {directions.null.shape[1]}",
            task.hessian_rank == 4 and directions.null.shape[1] == 4,
        ),
        Claim(
            "Random 2-manifold in R^8: along g and on Null (Thm. Intrinsic Learning Rate)",
            "slope 1 along g (± 0.05), below 0.05 on Null",
            f"{show(slopes('random_surface', 'gradient'))} along g; {show(null)} on Null",
            within(slopes("random_surface", "gradient"), 1.0, 0.05) and bool((np.abs(null) < 0.05).all()),
        ),
        Claim(
            "Random 2-manifold in R^8: on the range of π_g⊥ H π_g⊥, within Null-perp",
            "slope 0.50 ± 0.07",
            f"slopes {show(curved)} ({len(curved)} directions)",
            within(curved, 0.5, 0.07) and len(curved) == 2,
        ),
        Claim(
            "Random 2-manifold in R^8: on all of Null-perp ∩ g-perp (Thm. Intrinsic Learning Rate)",
            "v'Σ_t v = Θ(√h_t) on all 2d - 1 = 3 directions: slope 0.50 ± 0.07",
            f"slopes {show(curved)} and {show(straight)}",
            within(np.concatenate([curved, straight]), 0.5, 0.07),
            "H vanishes on pairs of normals, so across g it is [[T, B], [B', 0]] with only d - 1 tangent "
            "rows: its rank is at most 2(d - 1), one less than the 2d - 1 that the proof inverts. The "
            "direction left over (normal, orthogonal to II(g, w) for all tangent w ⊥ g) stays of order "
            "one. For d = 1 this is what the paper's own single-index example says.",
        ),
        Claim(
            "Rank of the Hessian across the gradient, 20 random surfaces in R^8",
            "rank π_g⊥ H π_g⊥ = 2(d - 1) = 2",
            f"ranks {sorted(set(ranks))}",
            set(ranks) == {2},
        ),
    ]


def restricted_ranks(n_surfaces: int = 20) -> list[int]:
    """Ranks of the Hessian across the gradient for random surfaces in R^8."""
    return [random_surface(random_state=seed).directions.curved.shape[1] for seed in range(n_surfaces)]


def flat_claims() -> list[Claim]:
    """Check the example "Multi-Index Learning", and the torus, a surface whose normal does contract."""
    across, null = slopes("flat", "curved"), slopes("flat", "null")
    torus = slopes("torus", "curved")
    return [
        Claim(
            "Flat manifold, two indices in R^4 (Ex. Multi-Index Learning)",
            "slope 0.50 ± 0.05 on the second index, 0.00 ± 0.05 elsewhere",
            f"{show(across)} and {show(null)}",
            within(across, 0.5, 0.05) and within(null, 0.0, 0.05),
        ),
        Claim(
            "Torus in R^3 (D < 2d): second tangent and normal",
            "slope 0.50 ± 0.07 on both, as π_g⊥ H π_g⊥ has full rank 2",
            f"slopes {show(torus)}",
            within(torus, 0.5, 0.07) and len(torus) == 2,
            "The behavior that the paper ascribes to the sphere; it needs II(g, w) ≠ 0 for w ⊥ g.",
        ),
    ]
