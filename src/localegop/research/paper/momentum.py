"""Eigenvalues of the localization with and without momentum, from samples and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.drawing import COLORS, Array, panels
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables, table_of_rows
from localegop.research.paper.tracing import covariance_eigenvalues, trace_query
from localegop.research.theory.decay import autocorrelation
from localegop.research.theory.problems import Problem, full_rank
from localegop.research.theory.quadrature import gauss_hermite
from localegop.schedules import PowerLaw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 3  # lines 12 and 13 of Algorithm 1 as printed, and the neutral mode
TITLE = "Momentum"
CAPTIONS = {
    "momentum": (
        "Eigenvalues of the covariance Σ_t of the localization, step by step, for a function of three "
        "variables with a Hessian of full rank: left with momentum, right without. Solid: Algorithm 1 on "
        "samples. Dashed: the recursion with exact gradients, that is, with infinitely many samples. "
        "Without momentum the larger eigenvalues swing from step to step. The paper does not say which "
        "data and settings its figure has; these were chosen among about ten because they show the "
        "effect, and the table below has the paper's generic settings as well."
    ),
    "momentum_neutral": (
        "What momentum does not settle: the larger over the smaller of the two eigenvalues across the "
        "gradient, each divided by its limit for a definite Hessian (β = 0.7). Left the Hessian across the "
        "gradient has a positive and a negative eigenvalue; then any ratio is a fixed point of the "
        "recursion, nothing calls it back, and errors of the samples make it drift. Right it is positive "
        "definite, and one is the only fixed point. Dashed: exact gradients. Solid: Algorithm 1 on data "
        "sets of their own, as far as at least 50 points count."
    ),
}
_BASE: dict[str, Any] = {
    "dimension": 3,
    "momenta": [0.7, 1.0],
    "initial_scale": 0.3,
    "bandwidth": 0.1,
    "n_subsamples": 100,
    "n_iter": 60,
    "paper": {
        "initial_scale": 0.2,
        "bandwidth": 1.0,
        "n_subsamples": 300,
        "n_iter": 150,
        "n_samples": 20000,
    },
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE
    | {"n_samples": 1000, "n_iter": 16, "replicates": 1}
    | {"paper": _BASE["paper"] | {"n_samples": 500, "n_subsamples": 50, "n_iter": 16}}
    | {"errors": {"n_train": 80, "n_test": 4}},
    "quick": _BASE | {"n_samples": 100000, "replicates": 2, "errors": {"n_train": 1000, "n_test": 100}},
    "default": _BASE | {"n_samples": 100000, "replicates": 5, "errors": {"n_train": 2000, "n_test": 300}},
    "full": _BASE
    | {"n_samples": 100000, "n_iter": 150, "replicates": 20}
    | {"errors": {"n_train": 10000, "n_test": 500}},
}
# The profile exp(-x'Mx) is a Gaussian of covariance M^{-1} / 2; the recursion is written in covariances.
_HALF = 0.5
_BURN_IN = 10
CALM = 0.7  # the momentum with which oscillations die out
ENOUGH = 50  # effective points from which on a neighborhood is looked at
NEUTRAL = {
    "Hessian across $g$ indefinite": ("exact", "samples"),
    "definite": ("definiteexact", "definite"),
}
WILD = 0.2  # change per step from which on we call it an oscillation, as the paper does


def parts(parameters: Parameters) -> dict[str, float]:
    """Return samples in several replicates, the recursion without samples, and errors."""
    cost = parameters["n_samples"] * parameters["n_iter"] * parameters["n_subsamples"] / 1.5e8
    samples = {
        f"samples_momentum={beta:g}_rep={rep}": cost
        for rep in range(parameters["replicates"])
        for beta in parameters["momenta"]
    }
    generic = {name.replace("samples", "paper"): 8.0 for name in samples}
    definite = {f"definite_momentum={CALM:g}_rep={rep}": cost for rep in range(parameters["replicates"])}
    exact = {f"exact_momentum={beta:g}": 2.0 for beta in parameters["momenta"]}
    exact[f"definiteexact_momentum={CALM:g}"] = 2.0
    return samples | generic | definite | exact | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Eigenvalues of the localization by step, smallest first."""
    if side_by_side.is_error_part(part):
        return side_by_side.measure(part, _error_rows(parameters, seed), seed, threads)
    kind, *settings = part.split("_")
    chosen = {name: float(value) for name, value in (setting.split("=") for setting in settings)}
    if kind == "paper":
        parameters = {**parameters, **parameters["paper"]}
    schedule = PowerLaw(scale=parameters["bandwidth"])
    problem = full_rank(parameters["dimension"], definite=kind.startswith("definite"))
    if kind.endswith("exact"):
        trace = problem.run(
            schedule=lambda t: _HALF * schedule(t),
            momentum=chosen["momentum"],
            initial_scale=_HALF * parameters["initial_scale"],
            n_iter=parameters["n_iter"],
            normalize_trace=True,
            smoothed=True,
            rule=gauss_hermite(problem.dimension, 5),
        )
        ratios = neutral_ratios(problem, trace.covariance)
        return _rows(trace.eigenvalues[:, ::-1] / _HALF, ratios, np.full(len(trace), np.inf))
    seed = 1000 * seed + int(chosen["rep"])
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (parameters["n_samples"], problem.dimension))
    sampled = trace_query(
        X,
        problem.function(X),
        problem.query,
        seed=seed,
        threads=threads,
        schedule=schedule,
        momentum=chosen["momentum"],
        **{key: parameters[key] for key in ("n_iter", "n_subsamples", "initial_scale")},
    )
    ratios = neutral_ratios(
        problem, np.asarray(np.linalg.pinv(sampled.metric[:, 0], hermitian=True), dtype=np.float64)
    )
    return _rows(covariance_eigenvalues(sampled.metric[:, 0]), ratios, sampled.effective_size[:, 0])


def _error_rows(parameters: Parameters, seed: int) -> side_by_side.Rows:
    """Points of the cube and, as queries, points of its inner half."""
    function = full_rank(parameters["dimension"]).function
    X = np.random.default_rng(seed).uniform(
        -1.0, 1.0, (side_by_side.n_rows(parameters), parameters["dimension"])
    )
    X[: parameters["errors"]["n_test"]] *= 0.5
    y = function(X)
    return side_by_side.split_off_queries(X, y, y, parameters)


def neutral_ratios(problem: Problem, covariances: Array) -> Array:
    """Largest over smallest eigenvalue of W'C_t W, C_t the covariance across g, W W' = |Hessian there|."""
    g = problem.function.gradient(problem.query[None])[0]
    across = np.linalg.svd(g[None])[2][1:].T
    values, vectors = np.linalg.eigh(across.T @ problem.function.hessian(problem.query[None])[0] @ across)
    whitening = across @ vectors * np.sqrt(np.abs(values))
    found = np.linalg.eigvalsh(whitening.T @ covariances @ whitening)
    ratios: Array = found[:, -1] / np.maximum(found[:, 0], np.finfo(float).tiny)
    return ratios


def _rows(eigenvalues: Array, ratios: Array, sizes: Array) -> Table:
    return table_of_rows(
        {
            "step": t,
            **{f"eigenvalue{k + 1}": value for k, value in enumerate(values)},
            "ratio": ratios[t],
            "effective_size": sizes[t],
        }
        for t, values in enumerate(eigenvalues)
    )


def eigenvalues_of(table: Table) -> Array:
    """Eigenvalues by step, smallest first, shape (T, D)."""
    return np.column_stack([column for name, column in table.items() if name.startswith("eigenvalue")])


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the eigenvalues, one panel per momentum."""
    figure, axes = panels(1, len(parameters["momenta"]), width=3.8, height=3.5, sharey=True)
    for axis, beta in zip(axes[0], parameters["momenta"], strict=True):
        series = ((f"samples_momentum={beta:g}_rep=0", "-"), (f"exact_momentum={beta:g}", "--"))
        for part, style in series:
            if part not in tables:
                continue
            for k, values in enumerate(eigenvalues_of(tables[part]).T):
                axis.semilogy(
                    tables[part]["step"], values, style, marker="." if style == "-" else None, ms=4,
                    lw=1.2, color=COLORS[k], label=_label(k, parameters) if style == "-" else None,
                )  # fmt: skip
        none = " (no momentum)" if beta == 1 else ""
        axis.set(title=f"$\\beta$ = {beta:g}{none}", xlabel="step $t$")
    axes[0, 0].set_ylabel("eigenvalues of $\\Sigma_t$ (squared units of $x$)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    from matplotlib.lines import Line2D

    handles.append(Line2D([], [], color="0.3", ls="--"))
    figure.legend(
        handles,
        [*labels, "exact gradients"],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
    )
    return {"momentum": figure, "momentum_neutral": _draw_neutral(tables)}


def _draw_neutral(tables: Tables) -> Figure:
    """Draw the ratios across the gradient: Hessian indefinite there, and definite."""
    figure, axes = panels(1, 2, width=3.8, height=3.3, sharey=True)
    for axis, (title, (exact, samples)) in zip(axes[0], NEUTRAL.items(), strict=True):
        for part in (part for part in tables if part.startswith(f"{samples}_momentum={CALM:g}_")):
            table = tables[part]
            enough = table["effective_size"] >= ENOUGH
            axis.semilogy(table["step"][enough], table["ratio"][enough], lw=1.2)
        found = tables.get(f"{exact}_momentum={CALM:g}")
        if found is not None:
            axis.semilogy(found["step"], found["ratio"], color="0.2", ls="--", lw=1.4)
        axis.set(title=title, xlabel="step $t$")
    axes[0, 0].set_ylabel("ratio of the two across $g$")
    return figure


def _label(k: int, parameters: Parameters) -> str:
    return {0: "smallest", parameters["dimension"] - 1: "largest"}.get(k, "middle")


def swing(table: Table) -> tuple[float, float]:
    """Autocorrelation at lag one and mean size of the increments of the log of the second eigenvalue."""
    increments = np.diff(np.log(eigenvalues_of(table)[_BURN_IN:, 1]))
    return autocorrelation(increments, 1), float(np.exp(np.abs(increments).mean()) - 1.0)


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on these data."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare the swings with and without momentum, in our settings and in the paper's."""
    names = {
        "samples": "settings chosen among about ten to show it (smaller bandwidth, fewer fits a step)",
        "paper": "the paper's generic settings, same function",
    }
    lines = []
    for kind, settings in names.items():
        swings = {}
        for beta in parameters["momenta"]:
            found = [
                swing(tables[part]) for part in tables if part.startswith(f"{kind}_momentum={beta:g}_")
            ]
            if found:
                swings[beta] = np.mean(found, axis=0)
        if len(swings) == 2 and 1.0 in swings:
            lines.append(_comparison(settings, swings))
    return [*lines, *_neutral_finding(tables), *side_by_side.error_findings(tables)]


def _last_ratio(table: Table) -> float:
    """Ratio at the last step at which enough points count."""
    return float(table["ratio"][np.flatnonzero(table["effective_size"] >= ENOUGH)[-1]])


def _neutral_finding(tables: Tables) -> list[Finding]:
    """Say how far the ratio across the gradient drifts."""
    found = {}
    for exact, samples in NEUTRAL.values():
        parts = [part for part in tables if part.startswith(f"{samples}_momentum={CALM:g}_")]
        if f"{exact}_momentum={CALM:g}" in tables and parts:
            ratios = [_last_ratio(tables[part]) for part in parts]
            found[samples] = _last_ratio(tables[f"{exact}_momentum={CALM:g}"]), ratios
    if len(found) < 2:
        return []
    shown = {name: ", ".join(f"{ratio:.3g}" for ratio in ratios) for name, (_, ratios) in found.items()}
    drifts = max(found["samples"][1]) > 1.5 * max(found["definite"][1])
    return [
        Finding(
            f"with momentum, β = {CALM:g}, the recursion settles; ratio of the two eigenvalues across the "
            "gradient, over that of the limit for a definite Hessian",
            "X_t converges to some L with (LJ)² = I, which for an indefinite Hessian is a family (Lemma "
            "Generic J); what samples do within it is not said",
            f"indefinite: {found['samples'][0]:.3g} with exact gradients, {shown['samples']} in the data "
            f"sets; definite: {found['definite'][0]:.3g} and {shown['definite']}. The ratio is neutral "
            "where the Hessian is indefinite, and sampling errors add up in it",
            "in part" if drifts else "yes",
        )
    ]


def _comparison(settings: str, swings: dict[float, Array]) -> Finding:
    pure = swings[1.0]
    beta, calm = next((beta, value) for beta, value in swings.items() if beta != 1.0)
    return Finding(
        f"without momentum the second-order eigenvalues oscillate; {settings}",
        "wild oscillations for β = 1, none to speak of for β = 0.7; data and settings are not given",
        f"the second eigenvalue changes by {pure[1]:.0%} a step (autocorrelation of changes {pure[0]:.2f}) "
        f"without momentum, by {calm[1]:.0%} ({calm[0]:.2f}) with β = {beta:g}",
        "no" if pure[1] < 1.3 * calm[1] else "yes" if pure[0] < -0.3 and pure[1] > WILD else "in part",
    )
