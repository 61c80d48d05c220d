"""Variances of the localization around the sphere S^2 by direction, from samples and without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.datasets import make_noisy_sphere
from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.drawing import BLUE, GREEN, VERMILION, Array, panels, slope_fit
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables, table_of_rows
from localegop.research.paper.tracing import trace_query
from localegop.research.theory import problems
from localegop.schedules import PowerLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 3  # lines 12 and 13 of Algorithm 1 as printed, and directions
TITLE = "The sphere"
CAPTIONS = {
    "sphere": (
        "Variance v'Σ_t v of the localization around the sphere S² in R³ along three directions v that are "
        "known there (solid): the gradient, the tangent across it, and the normal; against the bandwidth, "
        "which falls from left to right. Dashed are the eigenvalues of Σ_t in order of size, as the paper "
        "draws them. Left: Algorithm 1 with the paper's constants on samples, median over data sets "
        "(lines) and "
        "from the lower to the upper quartile (bands). Middle: the same with the cap on the covariance "
        "that the paper's theory assumes. Right: the recursion with exact gradients and that cap. There "
        "each eigenvector is one of the directions. From samples without a cap it is not: the largest "
        "eigenvector mixes "
        "tangent and normal, and its decay is not that of the normal. Gray lines have the slopes "
        "written at them."
    ),
}
_BASE: dict[str, Any] = {"radius": 0.5, "n_iter": 150, "n_subsamples": 300, "covariance_cap": 0.2}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE
    | {"n_samples": 400, "n_iter": 20, "n_subsamples": 50, "replicates": 1}
    | {"errors": {"n_train": 80, "n_test": 4}},
    "quick": _BASE | {"n_samples": 10000, "replicates": 7, "errors": {"n_train": 1000, "n_test": 100}},
    "default": _BASE | {"n_samples": 20000, "replicates": 25, "errors": {"n_train": 2000, "n_test": 300}},
    "full": _BASE | {"n_samples": 100000, "replicates": 50, "errors": {"n_train": 10000, "n_test": 500}},
}
NAMES = ("gradient", "second tangent", "normal")
DIRECTIONS = ("gradient", "tangent", "normal")
EIGENVALUES = ("smallest", "middle", "largest")
_COLORS = (BLUE, VERMILION, GREEN)
KINDS = {"samples": "no cap", "capped": "with the cap"}
LATE = 0.01  # bandwidth from which on slopes are taken
_HALF = 0.5  # covariance of the profile exp(-u) per inverse metric


def parts(parameters: Parameters) -> dict[str, float]:
    """Return the data sets, the recursion without samples, and errors."""
    cost = parameters["n_samples"] * parameters["n_iter"] * parameters["n_subsamples"] / 3e8
    samples = {f"{kind}_rep={rep}": cost for kind in KINDS for rep in range(parameters["replicates"])}
    return samples | {"exact": 2.0} | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Variances of the localization by step, along known directions and as eigenvalues, smallest first."""
    if side_by_side.is_error_part(part):
        X, y = make_noisy_sphere(
            side_by_side.n_rows(parameters), 3, radius=parameters["radius"], random_state=seed
        )
        return side_by_side.measure(
            part, side_by_side.split_off_queries(X, y, y, parameters), seed, threads
        )
    schedule, problem = PowerLaw(), problems.sphere()
    if part == "exact":
        trace = problem.run(
            schedule=lambda t: _HALF * schedule(t),
            initial_scale=_HALF * parameters["covariance_cap"],
            covariance_cap=_HALF * parameters["covariance_cap"],
            n_iter=parameters["n_iter"],
            normalize_trace=True,
        )
        basis = directions(problem.function.gradient(problem.query[None])[0], problem.query)
        turned = np.swapaxes(trace.factor, 1, 2) @ basis  # variances by factors keep their digits
        leading = trace.factor[np.arange(len(trace)), :, np.argmax(np.sum(trace.factor**2, axis=1), axis=1)]
        cosine = np.abs(leading @ basis[:, 2]) / np.linalg.norm(leading, axis=1)
        return _rows(
            schedule, np.sum(turned**2, axis=1) / _HALF, trace.eigenvalues[:, ::-1] / _HALF, cosine
        )
    kind, replicate = part.split("_rep=")
    seed = 1000 * seed + int(replicate)
    sample = make_noisy_sphere(
        parameters["n_samples"], 3, radius=parameters["radius"], random_state=seed, return_bunch=True
    )
    settings = {key: parameters[key] for key in ("n_iter", "n_subsamples")}
    if kind == "capped":
        settings["covariance_cap"] = parameters["covariance_cap"]
    sampled = trace_query(
        sample.data, sample.target, problem.query, seed=seed, threads=threads, schedule=schedule, **settings
    )
    basis = directions(sample.function.gradient(problem.query[None])[0], problem.query)
    values, vectors = np.linalg.eigh(sampled.metric[:, 0])
    inverse = 1.0 / np.maximum(values, np.finfo(float).tiny)
    along = np.einsum("tk,tkv->tv", inverse, (np.swapaxes(vectors, 1, 2) @ basis) ** 2)
    cosine = np.abs(vectors[:, :, 0] @ basis[:, 2])
    return _rows(schedule, along, inverse[:, ::-1], cosine)


def directions(gradient: Array, query: Array) -> Array:
    """Columns (3, 3): the gradient, the tangent across it and the normal of the sphere through a point."""
    normal = query / np.linalg.norm(query)
    along = gradient - (gradient @ normal) * normal
    along = along / np.linalg.norm(along)
    return np.column_stack([along, np.cross(normal, along), normal])


def _rows(schedule: PowerLaw, along: Array, eigenvalues: Array, cosine: Array) -> Table:
    return table_of_rows(
        {
            "step": t,
            "bandwidth": schedule(t),
            **dict(zip(DIRECTIONS, along[t], strict=True)),
            **dict(zip(EIGENVALUES, eigenvalues[t], strict=True)),
            "cosine": cosine[t],
        }
        for t in range(len(along))
    )


def quartiles(tables: Tables, kind: str, columns: Sequence[str] = DIRECTIONS) -> tuple[Array, Array] | None:
    """Bandwidths (T,) and quartiles over data sets of some columns, shape (3, T, k)."""
    samples = _of_kind(tables, kind)
    if not samples:
        return None
    values = [_columns(table, columns) for table in samples]
    return samples[0]["bandwidth"], np.quantile(values, [0.25, 0.5, 0.75], axis=0)


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw variances and eigenvalues against the bandwidth, from samples and without."""
    figure, axes = panels(1, 3, width=3.2, height=3.6, sharex=True, sharey=True)
    for axis, (kind, name) in zip(axes[0], KINDS.items(), strict=False):
        found, ranked = quartiles(tables, kind), quartiles(tables, kind, EIGENVALUES)
        count = len(_of_kind(tables, kind))
        axis.set_title(f"{count} data sets of {parameters['n_samples']:,}, {name}", fontsize=10)
        if found is None or ranked is None:
            continue
        h, (low, middle, high) = found
        for k, color in enumerate(_COLORS):
            axis.fill_between(h, low[:, k], high[:, k], color=color, alpha=0.25, linewidth=0)
            axis.loglog(h, middle[:, k], color=color, lw=1.6)
        axis.loglog(h, ranked[1][1], color="0.2", lw=0.9, ls="--")
    if "exact" in tables:
        exact = tables["exact"]
        for k, color in enumerate(_COLORS):
            axes[0, 2].loglog(exact["bandwidth"], exact[DIRECTIONS[k]], color=color, lw=1.6)
        axes[0, 2].loglog(exact["bandwidth"], _columns(exact, EIGENVALUES), color="0.2", lw=0.9, ls="--")
        _slope_marks(axes[0, 2], exact["bandwidth"], _columns(exact, DIRECTIONS))
    axes[0, 2].set_title(f"exact gradients, cap {parameters['covariance_cap']:g}", fontsize=10)
    axes[0, 0].set_ylabel("variance $v'\\Sigma_t v$ (squared units of $x$)")
    axes[0, 0].invert_xaxis()
    for axis in axes[0]:
        axis.set_xlabel("bandwidth $h_t$")
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, lw=1.6) for color in _COLORS]
    handles.append(Line2D([], [], color="0.2", lw=0.9, ls="--"))
    figure.legend(
        handles,
        [*NAMES, "eigenvalues"],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
    )
    return {"sphere": figure}


def _of_kind(tables: Tables, kind: str) -> list[Table]:
    return [table for part, table in tables.items() if part.startswith(kind)]


def _columns(table: Table, columns: Sequence[str]) -> Array:
    return np.column_stack([table[name] for name in columns])


def _slope_marks(axis: Axes, h: Array, values: Array) -> None:
    """Gray lines of slopes 1 and 1/2 just below the curves of the later half."""
    late = slice(len(h) // 2, None)
    for k, slope, text in ((0, 1.0, "slope 1"), (1, 0.5, "slope 1/2")):
        line = 0.3 * values[late, k].min() * (h[late] / h[-1]) ** slope
        axis.loglog(h[late], line, color="0.5", lw=1.0)
        axis.annotate(
            text, (h[-1], line[-1]), xytext=(0, -3), textcoords="offset points",
            ha="right", va="top", fontsize=8, color="0.35",
        )  # fmt: skip


def late_slopes(table: Table, columns: Sequence[str] = DIRECTIONS) -> Array:
    """Log-log slopes of variances against the bandwidth below LATE."""
    h, values = table["bandwidth"], _columns(table, columns)
    late = h <= max(LATE, float(np.median(h)))
    return np.array([slope_fit(h[late], values[late, k])[0] for k in range(values.shape[1])])


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on these data."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare slopes with those that the paper expects."""
    lines = []
    for kind, name in KINDS.items():
        samples = _of_kind(tables, kind)
        if samples:
            lines += [_direction_finding(samples, name), _rank_finding(samples, name)]
    if "exact" in tables:
        exact = late_slopes(tables["exact"])
        lines.append(
            Finding(
                "exact gradients: the normal approaches second-order anisotropy",
                "slope 1/2 in the limit",
                f"slopes {exact[0]:.2f}, {exact[1]:.2f} and {exact[2]:.2f} along gradient, second tangent "
                "and normal; docs/theory.md says why",
                "yes" if exact[2] > 0.3 else "no",
            )
        )
    return [*lines, *side_by_side.error_findings(tables)]


def _direction_finding(samples: Sequence[Table], name: str) -> Finding:
    slopes = [late_slopes(table) for table in samples]
    gradient, tangent, normal = np.median(slopes, axis=0)
    as_expected = abs(gradient - 1.0) < 0.15 and abs(tangent - 0.5) < 0.15 and 0.05 < normal < 0.5
    return Finding(
        f"samples, {name}, by direction: the normal decays lightly, toward the rate of the second tangent",
        "slopes 1 along the gradient, 1/2 for the second tangent; the normal decays lightly and approaches "
        "1/2",
        f"slopes for h below {LATE:g}, median and quartiles over data sets: {_spread(slopes)} for "
        "gradient, second tangent and normal",
        "yes" if as_expected else "in part" if normal > 0.05 else "no",
    )


def _rank_finding(samples: Sequence[Table], name: str) -> Finding:
    slopes = [late_slopes(table, EIGENVALUES) for table in samples]
    h = samples[0]["bandwidth"]
    late = np.concatenate([table["cosine"][h <= max(LATE, float(np.median(h)))] for table in samples])
    cosines = np.quantile(late, [0.25, 0.5, 0.75])
    return Finding(
        f"samples, {name}, by rank: the largest eigenvalue is that of the normal",
        "the orthogonal is one of the eigenvalues drawn",
        f"its eigenvector makes a cosine of {cosines[1]:.2f} with the normal (quartiles {cosines[0]:.2f} "
        f"to {cosines[2]:.2f}, all steps with h below {LATE:g}); eigenvalues have slopes {_spread(slopes)}",
        "yes" if cosines[0] > 0.9 else "in part" if cosines[1] > 0.9 else "no",
    )


def _spread(slopes: Sequence[Array]) -> str:
    """Median and quartiles of each slope over data sets."""
    quantiles = np.quantile(slopes, [0.25, 0.5, 0.75], axis=0).T
    return ", ".join(f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in quantiles)
