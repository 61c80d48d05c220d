"""A function around a closed curve that does not vary along the normals, exact and learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from localegop.datasets import make_noisy_curve
from localegop.regressor import LocalEGOPRegressor
from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.drawing import BLACK, VERMILION, Array, panels
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "A noisy manifold in the plane"
CAPTIONS = {
    "noisy_manifold": (
        "A function around a closed curve (black) that takes, at every point, its value at the nearest "
        "point of the curve, so that it does not vary along the normals (white). Arrows are gradients at "
        "random points, the longer the steeper. Left the exact function, right what field Local EGOP "
        "learns from samples, drawn with the same scales."
    ),
}
_BASE: dict[str, Any] = {"lobes": 3, "amplitude": 0.25, "radius": 0.25, "normals": 36, "arrows": 50}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE | {"n_samples": 100, "grid": 20, "arrows": 10, "errors": {"n_train": 80, "n_test": 4}},
    "quick": _BASE | {"n_samples": 2000, "grid": 160, "errors": {"n_train": 1000, "n_test": 100}},
    "default": _BASE | {"n_samples": 5000, "grid": 240, "errors": {"n_train": 2000, "n_test": 300}},
    "full": _BASE | {"n_samples": 20000, "grid": 400, "errors": {"n_train": 10000, "n_test": 500}},
}
_STRIDE = 50  # points of the drawn curve from one drawn normal to the next


def parts(parameters: Parameters) -> dict[str, float]:
    """Curve and normals, the heat maps, the gradients, and errors."""
    return {"curve": 0.1, "heat": 10.0, "gradients": 3.0} | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Tabulate the geometry, or f and its gradient as they are and as learned."""
    shape = {key: parameters[key] for key in ("lobes", "amplitude", "radius")}
    if side_by_side.is_error_part(part):
        X, y = make_noisy_curve(side_by_side.n_rows(parameters), **shape, random_state=seed)
        rows = side_by_side.split_off_queries(X, y, y, parameters)
        return side_by_side.measure(part, rows, seed, threads)
    sample = make_noisy_curve(parameters["n_samples"], **shape, random_state=seed, return_bunch=True)
    if part == "curve":
        return _curve(sample.manifold, parameters)
    model = LocalEGOPRegressor(n_jobs=threads, random_state=seed).fit(sample.data, sample.target)
    return (
        _heat(sample, model, parameters) if part == "heat" else _gradients(sample, model, parameters, seed)
    )


def _curve(manifold: Any, parameters: Parameters) -> Table:
    """Points of the curve once around, and normals of the length of the noise."""
    t = np.linspace(0.0, 2.0 * np.pi, _STRIDE * parameters["normals"] + 1)[:, None]
    points, normals = manifold.point(t), parameters["radius"] * manifold.normal_basis(t)[:, :, 0]
    return {"x": points[:, 0], "y": points[:, 1], "normal_x": normals[:, 0], "normal_y": normals[:, 1]}


def _heat(sample: Any, model: LocalEGOPRegressor, parameters: Parameters) -> Table:
    """Values of f on the points of a square grid that lie within the radius of the curve."""
    side = np.linspace(-_half_side(parameters), _half_side(parameters), parameters["grid"])
    rows, columns = (index.ravel() for index in np.indices((len(side), len(side))))
    grid = np.column_stack([side[columns], side[rows]])
    polygon = sample.manifold.point(np.linspace(0.0, 2.0 * np.pi, 4000)[:, None])
    near = cKDTree(polygon).query(grid)[0] < parameters["radius"]
    values = {"exact": sample.function(grid[near]), "learned": model.predict(grid[near])}
    return {"row": rows[near], "column": columns[near]} | values


def _gradients(sample: Any, model: LocalEGOPRegressor, parameters: Parameters, seed: int) -> Table:
    """Gradients halfway between random samples and the curve: at points that the model has not seen."""
    chosen = np.random.default_rng(seed).choice(len(sample.data), parameters["arrows"], replace=False)
    points = 0.5 * (sample.data[chosen] + sample.clean[chosen])
    vectors = {
        "point": points,
        "exact": sample.gradient(points),
        "learned": model.localize(points, errors=False).gradient,
        "normal": sample.normal[chosen][:, :, 0],
    }
    return {f"{name}_{axis}": rows[:, k] for name, rows in vectors.items() for k, axis in enumerate("xy")}


def _half_side(parameters: Parameters) -> float:
    """Half the side of a square that holds the tube."""
    return float(1.0 + parameters["amplitude"] + parameters["radius"])


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the function and its gradients, exact and learned."""
    if "heat" not in tables:
        return {}
    figure, axes = panels(1, 2, width=3.6, height=4.3, sharex=True, sharey=True)
    heat, half = tables["heat"], _half_side(parameters)
    for axis, kind in zip(axes[0], ("exact", "learned"), strict=True):
        picture = np.full((parameters["grid"], parameters["grid"]), np.nan)
        picture[heat["row"], heat["column"]] = heat[kind]
        image = axis.imshow(
            picture,
            origin="lower",
            extent=(-half, half, -half, half),
            cmap="viridis",
            vmin=heat["exact"].min(),
            vmax=heat["exact"].max(),
        )
        _draw_geometry(axis, tables)
        _draw_arrows(axis, tables, kind)
        title = "exact" if kind == "exact" else f"learned from {parameters['n_samples']:,} samples"
        axis.set(title=title, xlabel="$x_1$", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes[0, 0].set_ylabel("$x_2$")
    figure.colorbar(image, ax=axes[0], orientation="horizontal", shrink=0.6, label="label $f(x)$")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, facecolor="0.8")
    return {"noisy_manifold": figure}


def _draw_geometry(axis: Axes, tables: Tables) -> None:
    if "curve" not in tables:
        return
    curve = tables["curve"]
    for k in range(0, len(curve["x"]) - 1, _STRIDE):
        ends = [
            (curve[c][k] - curve[f"normal_{c}"][k], curve[c][k] + curve[f"normal_{c}"][k]) for c in "xy"
        ]
        axis.plot(*ends, color="white", lw=1.0, label="normals" if k == 0 else None)
    axis.plot(curve["x"], curve["y"], color=BLACK, lw=1.8, label="curve")


def _draw_arrows(axis: Axes, tables: Tables, kind: str) -> None:
    if "gradients" not in tables:
        return
    table = tables["gradients"]
    steepest = np.hypot(table["exact_x"], table["exact_y"]).max()
    axis.quiver(
        table["point_x"],
        table["point_y"],
        table[f"{kind}_x"],
        table[f"{kind}_y"],
        angles="xy",
        scale_units="xy",
        scale=steepest / 0.6,
        width=0.007,
        color=VERMILION,
        label="gradients",
        zorder=3,
    )


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on these data."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Say how much f varies along normals, and how well this is learned."""
    if "gradients" not in tables or "heat" not in tables:
        return side_by_side.error_findings(tables)
    table, heat = tables["gradients"], tables["heat"]
    normal = np.column_stack([table["normal_x"], table["normal_y"]])
    slopes = {k: np.column_stack([table[f"{k}_x"], table[f"{k}_y"]]) for k in ("exact", "learned")}
    along = {k: _share_along(slope, normal) for k, slope in slopes.items()}
    error = float(np.mean((heat["learned"] - heat["exact"]) ** 2) / heat["exact"].var())
    deviations = _angles(slopes["exact"], slopes["learned"])
    return [
        Finding(
            "f does not vary along normals",
            "by construction, shown as a picture",
            f"the normal part of the exact gradient is at most {along['exact'].max():.0e} of it; of the "
            f"learned one {np.median(along['learned']):.1e} at the median point",
            "yes" if along["exact"].max() < 1e-8 and np.median(along["learned"]) < 0.1 else "no",
        ),
        Finding(
            "field Local EGOP learns such a function",
            "not in this figure",
            f"error {error:.1e} of the variance of f over the whole tube; learned gradients are off by "
            f"{np.median(deviations):.2g} degrees at the median point",
            "not compared",
        ),
        *side_by_side.error_findings(tables),
    ]


def _share_along(slopes: Array, direction: Array) -> Array:
    """Length of the part of each vector along unit vectors, relative to its length."""
    part: Array = np.abs(np.sum(slopes * direction, axis=1)) / np.linalg.norm(slopes, axis=1)
    return part


def _angles(first: Array, second: Array) -> Array:
    """Angles between vectors, in degrees."""
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    angles: Array = np.degrees(np.abs(np.arctan2(cross, np.sum(first * second, axis=1))))
    return angles
