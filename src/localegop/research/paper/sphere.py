"""Eigenvalues of the localization around the sphere S^2, from samples and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.datasets import make_noisy_sphere
from localegop.research.paper.drawing import BLUE, GREEN, VERMILION, Array, panels, slope_fit
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables, table_of_rows
from localegop.research.paper.tracing import covariance_eigenvalues, trace_query
from localegop.research.theory import problems
from localegop.schedules import PowerLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "The sphere"
CAPTIONS = {
    "sphere": (
        "Eigenvalues of the covariance Σ_t of the localization around the sphere S² in R³ against the "
        "bandwidth, which falls from left to right. Left: Algorithm 1 with the paper's settings on "
        "samples, median over data sets (lines) and from the lower to the upper quartile (bands). Right: "
        "the recursion with exact gradients, with a cap on the covariance. Gray lines have the slopes "
        "written at them."
    ),
}
_BASE: dict[str, Any] = {"radius": 0.5, "n_iter": 150, "n_subsamples": 300, "covariance_cap": 0.2}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE | {"n_samples": 400, "n_iter": 20, "n_subsamples": 50, "replicates": 1},
    "quick": _BASE | {"n_samples": 10000, "replicates": 7},
    "default": _BASE | {"n_samples": 20000, "replicates": 25},
    "full": _BASE | {"n_samples": 100000, "replicates": 50},
}
NAMES = ("smallest (gradient)", "middle (second tangent)", "largest (normal)")
_COLORS = (BLUE, VERMILION, GREEN)
LATE = 0.01  # bandwidth from which on slopes are taken
_HALF = 0.5  # covariance of the profile exp(-u) per inverse metric


def parts(parameters: Parameters) -> dict[str, float]:
    """Return the data sets, and the recursion without samples."""
    cost = parameters["n_samples"] * parameters["n_iter"] * parameters["n_subsamples"] / 3e8
    return {f"samples_rep={rep}": cost for rep in range(parameters["replicates"])} | {"exact": 2.0}


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Eigenvalues of the localization by step, smallest first."""
    schedule, problem = PowerLaw(), problems.sphere()
    if part == "exact":
        trace = problem.run(
            schedule=lambda t: _HALF * schedule(t),
            initial_scale=_HALF * parameters["covariance_cap"],
            covariance_cap=_HALF * parameters["covariance_cap"],
            n_iter=parameters["n_iter"],
            normalize_trace=True,
        )
        return _rows(schedule, trace.eigenvalues[:, ::-1] / _HALF)
    seed = 1000 * seed + int(part.removeprefix("samples_rep="))
    X, y = make_noisy_sphere(parameters["n_samples"], 3, radius=parameters["radius"], random_state=seed)
    settings = {key: parameters[key] for key in ("n_iter", "n_subsamples")}
    sampled = trace_query(X, y, problem.query, seed=seed, threads=threads, schedule=schedule, **settings)
    return _rows(schedule, covariance_eigenvalues(sampled.metric[:, 0]))


def _rows(schedule: PowerLaw, eigenvalues: Array) -> Table:
    return table_of_rows(
        {"step": t, "bandwidth": schedule(t), "smallest": low, "middle": middle, "largest": high}
        for t, (low, middle, high) in enumerate(eigenvalues)
    )


def quartiles(tables: Tables) -> tuple[Array, Array] | None:
    """Bandwidths (T,) and quartiles of the eigenvalues over data sets, shape (3, T, 3)."""
    samples = [table for part, table in tables.items() if part.startswith("samples")]
    if not samples:
        return None
    values = [np.column_stack([table[k] for k in ("smallest", "middle", "largest")]) for table in samples]
    return samples[0]["bandwidth"], np.quantile(values, [0.25, 0.5, 0.75], axis=0)


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the eigenvalues against the bandwidth, from samples and without."""
    figure, axes = panels(1, 2, width=3.8, height=3.6, sharex=True, sharey=True)
    found = quartiles(tables)
    if found is not None:
        h, (low, middle, high) = found
        for k, color in enumerate(_COLORS):
            axes[0, 0].fill_between(h, low[:, k], high[:, k], color=color, alpha=0.25, linewidth=0)
            axes[0, 0].loglog(h, middle[:, k], color=color, lw=1.6, label=NAMES[k])
        _slope_marks(axes[0, 0], h, middle)
    if "exact" in tables:
        h, values = tables["exact"]["bandwidth"], _eigenvalues(tables["exact"])
        for k, color in enumerate(_COLORS):
            axes[0, 1].loglog(h, values[:, k], color=color, lw=1.6, label=NAMES[k])
    samples = sum(part.startswith("samples") for part in tables)
    axes[0, 0].set_title(f"{samples} data sets of {parameters['n_samples']:,} samples", fontsize=10)
    axes[0, 1].set_title(f"exact gradients, cap {parameters['covariance_cap']:g}", fontsize=10)
    axes[0, 0].set_ylabel("eigenvalues of $\\Sigma_t$ (squared units of $x$)")
    axes[0, 0].invert_xaxis()
    for axis in axes[0]:
        axis.set_xlabel("bandwidth $h_t$")
    handles = axes[0, 0 if found is not None else 1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return {"sphere": figure}


def _eigenvalues(table: Table) -> Array:
    return np.column_stack([table[k] for k in ("smallest", "middle", "largest")])


def _slope_marks(axis: Axes, h: Array, values: Array) -> None:
    """Gray lines of slopes 1 and 1/2 just below the curves of the later half."""
    late = slice(len(h) // 2, None)
    for k, slope, text in ((0, 1.0, "slope 1"), (1, 0.5, "slope 1/2")):
        line = 0.45 * values[late, k].min() * (h[late] / h[-1]) ** slope
        axis.loglog(h[late], line, color="0.5", lw=1.0)
        axis.annotate(
            text, (h[late][0], line[0]), xytext=(-3, 0), textcoords="offset points",
            ha="right", va="center", fontsize=8, color="0.35",
        )  # fmt: skip


def late_slopes(table: Table) -> Array:
    """Log-log slopes of the eigenvalues against the bandwidth below LATE."""
    h, values = table["bandwidth"], _eigenvalues(table)
    late = h <= max(LATE, float(np.median(h)))
    return np.array([slope_fit(h[late], values[late, k])[0] for k in range(values.shape[1])])


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare slopes with those that the paper expects."""
    lines = []
    slopes = [late_slopes(table) for part, table in tables.items() if part.startswith("samples")]
    if slopes:
        low, (gradient, tangent, normal), high = np.quantile(slopes, [0.25, 0.5, 0.75], axis=0)
        shown = ", ".join(
            f"{middle:.2f} ({first:.2f} to {last:.2f})"
            for first, middle, last in zip(low, (gradient, tangent, normal), high, strict=True)
        )
        as_expected = (
            abs(gradient - 1.0) < 0.15 and abs(tangent - 0.5) < 0.25 and low[2] > 0.0 and high[2] < 1.0
        )
        lines.append(
            Finding(
                "samples: the normal eigenvalue decays lightly, toward the rate of the second tangent",
                "slopes 1 along the gradient, 1/2 for the second tangent; the normal decays lightly and "
                "approaches 1/2",
                f"slopes for h below {LATE:g}, median and quartiles over data sets: {shown} for gradient, "
                "second tangent and normal",
                "yes" if as_expected else "in part" if normal > 0.05 else "no",
            )
        )
    if "exact" in tables:
        exact = late_slopes(tables["exact"])
        lines.append(
            Finding(
                "exact gradients: the normal approaches second-order anisotropy",
                "slope 1/2 in the limit",
                f"slopes {exact[0]:.2f}, {exact[1]:.2f} and {exact[2]:.2f}; docs/theory.md says why",
                "yes" if exact[2] > 0.3 else "no",
            )
        )
    return lines
