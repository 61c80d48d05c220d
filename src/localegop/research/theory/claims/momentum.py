"""Claims about momentum and about the reduced recurrences behind the theorems."""

from __future__ import annotations

import numpy as np

from localegop._arguments import Array
from localegop.research.theory.decay import autocorrelation, log_increments
from localegop.research.theory.recurrences import (
    autonomous_recurrence,
    scalar_recurrence,
    thompson_distance,
)
from localegop.research.theory.recursion import Trace

from .table import Claim, problem, show, trace, within


def oscillation(momentum: float) -> tuple[Trace, Array]:
    """Run full rank, D = 4, and return it with the increments of its second log eigenvalue."""
    run = trace("full_rank") if momentum == 0.7 else problem("full_rank").run(momentum=momentum)
    return run, log_increments(run)


def momentum_claims() -> list[Claim]:
    """Check the example "Momentum" on the matrix recursion and on the scalar recurrence."""
    rows = []
    for momentum in (1.0, 0.7):
        increments = oscillation(momentum)[1]
        lags = [autocorrelation(increments, lag) for lag in (1, 2)]
        late = float(np.abs(increments[len(increments) // 2 :]).max())
        oscillates = lags[0] < 0.0 < lags[1] and late > 0.1
        rows.append(
            Claim(
                f"Momentum {momentum:g}: the second eigenvalue "
                + ("oscillates with period two" if momentum == 1.0 else "does not oscillate")
                + " (Ex. Momentum)",
                "autocorrelation of log increments negative at lag 1, positive at lag 2, lasting"
                if momentum == 1.0
                else "not so: lag 2 not positive, increments die out",
                f"lags 1, 2: {show(lags)}; largest late increment {late:.1e}",
                oscillates if momentum == 1.0 else not oscillates and late < 1e-3,
            )
        )
    return [*rows, *scalar_claims()]


def scalar_claims() -> list[Claim]:
    """Check the examples "Scalar Recurrence" and "Momentum", Proposition "Autonomous Recurrence"."""
    free = scalar_recurrence(200, momentum=0.7, ratio=0.7, initial=5.0)
    pure = scalar_recurrence(200, momentum=1.0, ratio=0.7, initial=5.0)
    shifted = scalar_recurrence(200, momentum=0.7, ratio=0.7, initial=5.0, constant=2.0)
    ratio = pure.value / pure.limit
    alternates = within(ratio[::2] / ratio[0], 1.0, 1e-9) and within(ratio[1::2] * ratio[0], 1.0, 1e-9)
    return [
        Claim(
            "Scalar recurrence: limit (Ex. Scalar Recurrence, Prop. Autonomous Recurrence)",
            "a_t → √(c h_t), c = 1/(β/r + (1-β)/r²); b_t → h_t/const: ratios 1 ± 1e-6",
            f"ratios {show(free.value[-1] / free.limit[-1], 6)} and "
            f"{show(shifted.value[-1] / shifted.limit[-1], 6)}",
            within([free.value[-1] / free.limit[-1], shifted.value[-1] / shifted.limit[-1]], 1.0, 1e-6),
            "The paper writes η = (β/r)/c; it must be (β/r)·c, so that η and 1 - η are weights.",
        ),
        Claim(
            "Scalar recurrence, β = 1: no limit (Ex. Momentum)",
            "a_t/√(r h_t) alternates between q and 1/q: to 1e-9",
            f"q = {show(ratio[0], 4)}, 1/q = {show(ratio[1], 4)} over 200 steps",
            alternates and abs(ratio[0] - 1.0) > 0.1,
        ),
        *autonomous_claims(),
    ]


def autonomous_claims() -> list[Claim]:
    """Check the lemmas "Non-Expansive", "Definite Hessian" and "Generic J" on random matrices."""
    rng = np.random.default_rng(0)
    growth, definite, involution = -np.inf, 0.0, 0.0
    for case in range(50):
        signs = np.where(np.arange(4) < case % 5, -1.0, 1.0)
        seeds = [random_positive_definite(4, rng) for _ in range(4)]
        X, Y = (autonomous_recurrence(seeds[k], seeds[k + 1], signs, weight=0.7, n_iter=80) for k in (0, 2))
        distance = np.array([thompson_distance(a, b) for a, b in zip(X, Y, strict=True)])
        growth = max(growth, float((distance[2:] - np.maximum(distance[1:-1], distance[:-2])).max()))
        if abs(signs.sum()) == 4:
            definite = max(definite, float(np.abs(X[-1] - np.eye(4)).max()))
        step = X[-1] * signs  # X J
        involution = max(involution, float(np.abs(step @ step - np.eye(4)).max()))
    return [
        Claim(
            "The reduced recurrence does not expand Thompson's distance, 50 pairs (Lemma Non-Expansive)",
            "d(X_{t+1}, Y_{t+1}) ≤ max{d(X_t, Y_t), d(X_{t-1}, Y_{t-1})}: excess below 1e-9",
            f"largest excess {max(growth, 0.0):.0e}",
            growth < 1e-9,
        ),
        Claim(
            "The reduced recurrence converges (Lemmas Definite Hessian, Generic J)",
            "X_t → I for definite H, (XJ)² = I otherwise: to 1e-6",
            f"largest deviations {definite:.0e} and {involution:.0e}",
            definite < 1e-6 and involution < 1e-6,
        ),
    ]


def random_positive_definite(dimension: int, rng: np.random.Generator) -> Array:
    """Random matrix with eigenvalues between 0.05 and 20."""
    axes = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    values = np.exp(rng.uniform(-3.0, 3.0, size=dimension))
    matrix: Array = (axes * values) @ axes.T
    return 0.5 * (matrix + matrix.T)
