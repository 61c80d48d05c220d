"""Localizations on the annulus: Algorithm 1 by steps, and the embedding of a transformer in training."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.datasets import make_annulus
from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.drawing import VERMILION, Array, panels
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables
from localegop.research.paper.tracing import metric_weights, trace_query

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 2  # lines 12 and 13 of Algorithm 1 as printed
TITLE = "Localizations on the annulus, and those of a transformer"
CAPTIONS = {
    "annulus": (
        "Labels on a sector of an annulus depend on the angle only (color). Points are as opaque as their "
        "weight around the orange cross, (1, 0). Top: Algorithm 1 after some steps, weights exp(-d²) with "
        "d the distance in the learned metric. Bottom: weights exp(-d²/8) with d the distance in the last "
        "embedding of an FT-Transformer after some batches of training. Numbers are the deviations of the "
        "localization along and across the radius through the cross. The polynomial is the first random "
        "one whose labels vary by more than twice the noise. The rule for the verdict, the ratio of the "
        "two deviations, was settled after first runs: the embedding of the untrained network is already "
        "narrow, so it grows longer rather than thinner."
    ),
    "annulus_layers": (
        "The same localizations laid over each other: points of at least half the largest weight, later "
        "steps on top and darker."
    ),
}
_BASE: dict[str, Any] = {"angle": 25.0, "radius_range": [0.6, 1.8], "noise_std": 0.05, "query": [1.0, 0.0]}
_TRAINING: dict[str, Any] = {"batch_size": 1024, "learning_rate": 2e-3, "every": 50, "n_blocks": 3}
_LOCAL: dict[str, Any] = _BASE | {
    "n_samples": 50000,
    "steps": [0, 1, 10, 40, 149],
    "n_subsamples": 300,
    "errors": {"n_train": 2000, "n_test": 300},
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _LOCAL
    | {"n_samples": 400, "steps": [0, 1, 4], "n_subsamples": 30, "errors": {"n_train": 80, "n_test": 4}}
    | {"network": _TRAINING | {"n_samples": 200, "epochs": 2, "batch_size": 50, "every": 2, "n_blocks": 1}},
    "quick": _LOCAL
    | {"n_samples": 10000, "errors": {"n_train": 1000, "n_test": 100}}
    | {"network": _TRAINING | {"n_samples": 6000, "epochs": 6, "batch_size": 256, "every": 20}},
    "default": _LOCAL | {"network": _TRAINING | {"n_samples": 50000, "epochs": 20}},
    "full": _LOCAL | {"network": _TRAINING | {"n_samples": 50000, "epochs": 40}},
}
KINDS = {"local_egop": ("Algorithm 1", "step"), "transformer": ("FT-Transformer", "batch")}
SECTOR = 25.0  # degrees; the polynomial is the first that varies enough there
_SHOWN = 6000  # points drawn
_DIGITS = 6  # of the stored weights: they are drawn as opacities


def needs(part: str) -> tuple[str, ...]:
    """Only the transformer needs more."""
    return ("torch", "rtdl_revisiting_models") if part == "transformer" else ()


def parts(parameters: Parameters) -> dict[str, float]:
    """Both methods, and errors."""
    network = parameters["network"]
    batches = network["epochs"] * network["n_samples"] / network["batch_size"]
    return {
        "local_egop": parameters["n_samples"] * max(parameters["steps"]) / 3.7e5,
        "transformer": batches * network["batch_size"] * network["n_blocks"] / 6e3,
    } | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Points, labels, and weights relative to the largest at the chosen steps, a column each."""
    if side_by_side.is_error_part(part):
        return side_by_side.measure(part, error_rows(parameters, parameters["angle"], seed), seed, threads)
    if part == "local_egop":
        X, y = _data(parameters["n_samples"], parameters, seed)
        trace = trace_query(
            X,
            y,
            parameters["query"],
            seed=seed,
            threads=threads,
            n_iter=max(parameters["steps"]) + 1,
            n_subsamples=parameters["n_subsamples"],
        )
        weights = {
            t: metric_weights(X, parameters["query"], trace.metric[t, 0]) for t in parameters["steps"]
        }
        return _table(X, y, weights)
    from localegop.research.paper._transformer import embedding_weights

    # One thread: PyTorch's threads get in each other's way with matrices this small, and results would
    # depend on their number.
    network = dict(parameters["network"], threads=1)
    X, y = _data(network.pop("n_samples"), parameters, seed)
    found = embedding_weights(X, y, parameters["query"], seed=seed, **network)
    chosen = _spread(len(found["step"]), len(parameters["steps"]))
    return _table(X, y, {found["step"][k]: found["weights"][k] / found["weights"][k].max() for k in chosen})


def _data(n_samples: int, parameters: Parameters, seed: int) -> tuple[Array, Array]:
    X, y = make_annulus(
        n_samples,
        angle=parameters["angle"],
        radius_range=tuple(parameters["radius_range"]),
        noise_std=parameters["noise_std"],
        random_state=data_seed(seed, parameters["angle"], parameters["noise_std"]),
    )
    return X, y


def error_rows(parameters: Parameters, angle: float, seed: int) -> side_by_side.Rows:
    """Rows with noisy labels on a sector, and queries with labels without noise."""
    sample = make_annulus(
        side_by_side.n_rows(parameters),
        angle=angle,
        radius_range=tuple(parameters["radius_range"]),
        noise_std=parameters["noise_std"],
        random_state=data_seed(seed, SECTOR, parameters["noise_std"]),
        return_bunch=True,
    )
    truth = sample.noise_free_target
    return side_by_side.split_off_queries(sample.data, sample.target, truth, parameters)


def data_seed(seed: int, angle: float, noise_std: float) -> int:
    """Seed of the first random polynomial whose values on the arc are not drowned by the noise."""
    states = itertools.count(1000 * seed)
    return next(
        state
        for state in states
        if make_annulus(500, angle=angle, random_state=state)[1].std() > 2.0 * noise_std
    )


def _table(X: Array, y: Array, weights: dict[int, Array]) -> Table:
    columns = {f"weight_{step}": np.round(values, _DIGITS) for step, values in weights.items()}
    return {"x1": X[:, 0], "x2": X[:, 1], "label": y} | columns


def _spread(available: int, wanted: int) -> list[int]:
    """Return indices from first to last, denser at the beginning, where training moves fast."""
    wanted = min(wanted, available)
    fractions = np.linspace(0.0, 1.0, wanted) ** 2
    indices = np.rint(fractions * (available - 1)).astype(int)
    different = np.maximum(indices, np.arange(wanted))
    return [int(index) for index in different]


def steps_of(table: Table) -> list[int]:
    """Return the steps at which a table has weights."""
    return [int(name.removeprefix("weight_")) for name in table if name.startswith("weight_")]


def deviations(table: Table, step: int) -> tuple[float, float]:
    """Weighted standard deviations along the first axis, the radius through (1, 0), and across."""
    weights = table[f"weight_{step}"] / table[f"weight_{step}"].sum()
    along, across = (
        float(np.sqrt(weights @ (table[axis] - weights @ table[axis]) ** 2)) for axis in ("x1", "x2")
    )
    return along, across


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw one row of panels per method, and the layered picture."""
    shown = {kind: _first_rows(tables[kind]) for kind in KINDS if kind in tables}
    if not shown:
        return {}
    columns = max(len(steps_of(table)) for table in shown.values())
    figure, axes = panels(len(shown), columns, width=1.85, height=1.55, sharex=True, sharey=True)
    for row, (kind, table) in zip(axes, shown.items(), strict=True):
        name, unit = KINDS[kind]
        for axis in row[len(steps_of(table)) :]:
            axis.set_visible(False)
        for axis, step in zip(row, steps_of(table), strict=False):
            image = _draw_weights(axis, table, step, parameters["query"])
            along, across = deviations(tables[kind], step)
            axis.set_title(f"{unit} {step}\n{along:.2f} along, {across:.3f} across", fontsize=8)
        row[0].set_ylabel(f"{name}\n$x_2$")
    for axis in axes[-1]:
        axis.set_xlabel("$x_1$")
    figure.colorbar(image, ax=axes, shrink=0.8, label="label $y$", aspect=25)
    return {"annulus": figure, "annulus_layers": _draw_layers(shown, parameters)}


def _first_rows(table: Table) -> Table:
    """Leave out rows: many points on top of each other would look opaque whatever their weight."""
    return {key: column[:_SHOWN] for key, column in table.items()}


def _draw_weights(axis: Any, table: Table, step: int, query: Any) -> Any:
    """Draw points with the opacity of their weight; return what a color bar needs."""
    from matplotlib.cm import ScalarMappable

    weight, label = table[f"weight_{step}"], table["label"]
    order = np.argsort(weight, kind="stable")
    order = order[weight[order] > 0.02]
    low, high = np.quantile(label, [0.01, 0.99])
    axis.scatter(table["x1"], table["x2"], s=2.0, color="0.9", linewidths=0)
    points = axis.scatter(
        table["x1"][order], table["x2"][order], s=2.0, c=label[order], alpha=weight[order], linewidths=0,
        cmap="viridis", vmin=low, vmax=high,
    )  # fmt: skip
    axis.plot(*query, marker="+", color=VERMILION, ms=9, mew=1.8)
    axis.set(aspect="equal")
    return ScalarMappable(points.norm, points.cmap)


def _draw_layers(shown: Tables, parameters: Parameters) -> Figure:
    from matplotlib import colormaps

    figure, axes = panels(len(shown), 1, width=4.4, height=2.3, sharex=True)
    for axis, (kind, table) in zip(axes[:, 0], shown.items(), strict=True):
        steps = steps_of(table)
        colors = colormaps["viridis_r"](np.linspace(0.1, 1.0, len(steps)))
        axis.scatter(table["x1"], table["x2"], s=4, color="0.9", linewidths=0)
        for step, color in zip(steps, colors, strict=True):
            near = table[f"weight_{step}"] >= 0.5
            axis.scatter(
                table["x1"][near], table["x2"][near], s=4, color=color, linewidths=0, label=f"{step}"
            )
        axis.plot(*parameters["query"], marker="+", color=VERMILION, ms=10, mew=2)
        axis.set(aspect="equal", ylabel="$x_2$")
        name, unit = KINDS[kind]
        axis.set_title(name, fontsize=10)
        axis.legend(title=unit, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, markerscale=4)
    axes[-1, 0].set_xlabel("$x_1$")
    return figure


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on these data."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Say how long and thin the localizations become."""
    lines = []
    for kind, name in (("local_egop", "Algorithm 1"), ("transformer", "the transformer's embedding")):
        if kind not in tables:
            continue
        steps = steps_of(tables[kind])
        first, last = deviations(tables[kind], steps[0]), deviations(tables[kind], steps[-1])
        before, after = first[0] / first[1], last[0] / last[1]
        lines.append(
            Finding(
                f"localizations of {name} become long along the radius and thin across",
                "shown as a picture",
                f"deviations along and across: {first[0]:.2f} and {first[1]:.3f} at step {steps[0]}, "
                f"{last[0]:.2f} and {last[1]:.3f} at step {steps[-1]}; "
                f"their ratio goes from {before:.1f} to {after:.1f}",
                "yes" if after > max(3.0, 1.4 * before) else "in part" if after > 1.1 * before else "no",
            )
        )
    return [*lines, *side_by_side.error_findings(tables)]
