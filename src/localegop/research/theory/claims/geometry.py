"""Claims about gradients of tube functions, Taylor expansions and smoothed gradients."""

from __future__ import annotations

import numpy as np

from localegop._arguments import Array
from localegop.datasets.curves import Circle
from localegop.datasets.manifolds import Manifold
from localegop.datasets.polynomials import Polynomial, make_cubic
from localegop.datasets.surfaces import Torus
from localegop.datasets.tube_function import TubeFunction
from localegop.research.theory.geometry import finite_difference_gradient, tube_gradient
from localegop.research.theory.outer_product import egop, least_squares_gradient, smoothed_gradient
from localegop.research.theory.problems import full_rank

from .momentum import random_positive_definite
from .table import Claim, problem, show, within


def gradient_formula_error(manifold: Manifold, n_points: int = 200) -> float:
    """Largest difference, relative to the largest gradient, between formula and finite differences."""
    rng = np.random.default_rng(0)
    function = make_cubic(manifold.n_features, random_state=0)
    u = manifold.sample(n_points, rng)
    normal = manifold.normal_noise(u, 0.6 * manifold.reach, rng)
    formula = tube_gradient(manifold, function, u, normal)
    measured = finite_difference_gradient(TubeFunction(manifold, function), manifold.point(u) + normal)
    return float(np.abs(formula - measured).max() / np.abs(measured).max())


def null_variation() -> tuple[float, float]:
    """Change of the gradient and of Hessian times Null along Null in R^8, relative to their size."""
    task = problem("random_surface")
    null = task.directions.null
    steps = np.random.default_rng(0).uniform(-0.1, 0.1, size=(50, null.shape[1])) @ null.T
    at = task.function.gradient(task.query[None])[0]
    gradients = task.function.gradient(task.query + steps)
    hessians = task.function.hessian(task.query + steps)
    change = np.abs(gradients - at).max() / np.abs(at).max()
    return float(change), float(np.abs(hessians @ null).max() / np.abs(hessians).max())


def taylor_slope() -> float:
    """Slope in ||Sigma|| of the remainder of the generic Taylor expansion, D = 3."""
    task = full_rank(3)
    f = task.function
    assert isinstance(f, Polynomial)
    g, H = f.gradient(task.query[None])[0], f.hessian(task.query[None])[0]
    shape = random_positive_definite(3, np.random.default_rng(0))
    scales = np.geomspace(1e-4, 1e-2, 5)
    remainders = []
    for scale in scales:
        sigma = scale * shape / np.linalg.norm(shape, 2)
        T = 3.0 * np.einsum("ijk,jk->i", f.cubic, sigma)  # half the third derivatives 6 * cubic
        expansion = np.outer(g, g) + H @ sigma @ H + np.outer(g, T) + np.outer(T, g)
        remainders.append(np.linalg.norm(egop(f.gradient, task.query, sigma).matrix - expansion, 2))
    return float(np.polyfit(np.log(scales), np.log(remainders), 1)[0])


def normal_remainder_slope() -> float:
    """Slope in the tangent variance of the remainder n'R n around the circle, normal variance fixed."""
    task = problem("circle")
    tangent, normal = task.directions.gradient[:, 0], task.directions.straight[:, 0]
    H = task.function.hessian(task.query[None])[0]
    scales = np.geomspace(1e-6, 1e-4, 5)
    remainders = []
    for scale in scales:
        sigma = scale * np.outer(tangent, tangent) + 0.01 * np.outer(normal, normal)
        L = egop(task.function.gradient, task.query, sigma).matrix
        remainders.append(normal @ (L - H @ sigma @ H) @ normal)  # n'g = 0
    return float(np.polyfit(np.log(scales), np.log(remainders), 1)[0])


def null_entry_slope() -> float:
    """Slope in the variance on Null-perp of the EGOP's largest eigenvalue on Null, R^8, Null fixed."""
    task = problem("random_surface")
    null = task.directions.null
    inside = null @ null.T
    scales = np.geomspace(1e-6, 1e-4, 5)
    entries = []
    for scale in scales:
        sigma = scale * (np.eye(8) - inside) + 0.005 * inside
        root = egop(task.function.gradient, task.query, sigma).root
        entries.append(np.linalg.norm(root @ null, 2) ** 2)
    return float(np.polyfit(np.log(scales), np.log(entries), 1)[0])


def stein_error() -> float:
    """Largest difference between the averaged gradient and the least squares slope, 20 random cases."""
    rng, worst = np.random.default_rng(0), 0.0
    for case in range(20):
        f = make_cubic(3, random_state=case)
        sigma = 0.02 * random_positive_definite(3, rng)
        at: Array = rng.uniform(-1.0, 1.0, size=3)
        slope = least_squares_gradient(f, at, sigma)
        smooth = smoothed_gradient(f.gradient, at[None], sigma)[0]
        worst = max(worst, float(np.abs(slope - smooth).max() / np.abs(slope).max()))
    return worst


def geometry_claims() -> list[Claim]:
    """Check the lemmas on gradients of tube functions, Taylor expansions and smoothed gradients."""
    torus, circle = gradient_formula_error(Torus()), gradient_formula_error(Circle(1.0))
    gradient_change, hessian_on_null = null_variation()
    generic, refined, on_null, stein = (
        taylor_slope(),
        normal_remainder_slope(),
        null_entry_slope(),
        stein_error(),
    )
    return [
        Claim(
            "Gradient of a tube function, torus and circle (Lemma Gradient Geometry)",
            "∇f(p + η) = (I - S_p(η))⁻¹ ∇f(p): agrees with finite differences to 1e-6",
            f"{torus:.0e} and {circle:.0e}",
            max(torus, circle) < 1e-6,
        ),
        Claim(
            "Along Null the gradient is constant and the Hessian vanishes, R^8 (Lemma Gradient Geometry)",
            "∇f(x + v) = ∇f(x), ∇²f(x + v) z = 0 for v, z in Null: to 1e-9",
            f"{gradient_change:.0e} and {hessian_on_null:.0e}",
            max(gradient_change, hessian_on_null) < 1e-9,
        ),
        Claim(
            "Taylor expansion of the EGOP, D = 3 (Lemma Generic Taylor Expansion)",
            "L = gg' + HΣH + gT' + Tg' + O(‖Σ‖²): slope of the remainder 2.00 ± 0.05",
            f"slope {show(generic)}",
            within([generic], 2.0, 0.05),
        ),
        Claim(
            "Remainder in the normal directions, circle (Lemma Noisy Manifold Taylor Expansion)",
            "‖π_N R π_N‖ ≤ C‖π_T Σ π_T‖²: slope 2 in the tangent variance, normal variance fixed",
            f"slope {show(refined)}",
            within([refined], 2.0, 0.1),
            "The proof bounds E‖π_T x‖² = tr(π_T Σ π_T) by its square. The power is one; what the theorem "
            "uses is the next row, on Null instead of all normals.",
        ),
        Claim(
            "The EGOP on Null, R^8 (used in the proof of Lemma Filtered Null)",
            "‖π_Null L π_Null‖ = O(‖Σ_Null⊥‖²), Null variance fixed: slope 2.00 ± 0.05",
            f"slope {show(on_null)}",
            within([on_null], 2.0, 0.05),
        ),
        Claim(
            "The smoothed gradient is the least squares slope, 20 random cases (Stein's identity)",
            "Σ⁻¹ Cov(X, f(X)) = E ∇f(X) under N(x, Σ): to 1e-9",
            f"{stein:.0e}",
            stein < 1e-9,
        ),
    ]
