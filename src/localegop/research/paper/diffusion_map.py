"""Rings of equal diffusion distance on the annulus: what a metric looks like that has not seen labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from localegop.datasets import make_annulus
from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.annulus import data_seed, error_rows
from localegop.research.paper.diffusion import diffusion_map
from localegop.research.paper.drawing import BLACK, VERMILION, Array, panels
from localegop.research.paper.experiment import Finding, Parameters, Table, Tables, select_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Diffusion distance on the annulus"
CAPTIONS = {
    "diffusion_map": (
        "Rings (orange) of equal distance from the cross, (1, 0), in a diffusion map with two "
        "coordinates, evenly spaced. Labels depend on the angle only (color), but the map has not seen "
        "them. Left the sector of the experiment above, right the whole annulus. If the distance depended "
        "on the angle only, rings would be straight lines through the origin. The verdict rests on the "
        "sector; on the whole annulus, which the paper may have drawn, the rings are nearly such lines."
    ),
}
_BASE: dict[str, Any] = {
    "radius_range": [0.6, 1.8],
    "noise_std": 0.05,
    "query": [1.0, 0.0],
    "angles": {"sector": 25.0, "whole": 360.0},
    "n_components": 2,
    "n_neighbors": 64,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE | {"n_samples": 200, "n_neighbors": 20, "errors": {"n_train": 80, "n_test": 4}},
    "quick": _BASE | {"n_samples": 4000, "errors": {"n_train": 1000, "n_test": 100}},
    "default": _BASE | {"n_samples": 10000, "errors": {"n_train": 2000, "n_test": 300}},
    "full": _BASE | {"n_samples": 50000, "errors": {"n_train": 10000, "n_test": 500}},
}
_RINGS = 10
_GRID = 60
_AVERAGED = 8  # nearest samples whose coordinates a point of the grid takes


def parts(parameters: Parameters) -> dict[str, float]:
    """Return the sector and the whole annulus, and errors on the latter."""
    maps = dict.fromkeys(parameters["angles"], parameters["n_samples"] / 2000)
    return maps | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Diffusion distances from the query, at samples and on a polar grid to draw rings on."""
    if side_by_side.is_error_part(part):
        whole = parameters["angles"]["whole"]
        return side_by_side.measure(part, error_rows(parameters, whole, seed), seed, threads)
    angle, (inner, outer) = parameters["angles"][part], parameters["radius_range"]
    state = data_seed(
        seed, parameters["angles"]["sector"], parameters["noise_std"]
    )  # one polynomial for all
    X, y = make_annulus(
        parameters["n_samples"], angle=angle, radius_range=(inner, outer), random_state=state
    )
    embedding = diffusion_map(
        X, n_components=parameters["n_components"], n_neighbors=parameters["n_neighbors"]
    )
    grid = _polar_grid(angle, inner, outer)
    nearest = NearestNeighbors(n_neighbors=_AVERAGED).fit(X)
    origin, *extended = (
        embedding[nearest.kneighbors(points, return_distance=False)].mean(axis=1)
        for points in ([parameters["query"]], grid)
    )
    places = np.vstack([X, grid])
    distance = np.linalg.norm(np.vstack([embedding, *extended]) - origin, axis=1)
    return {
        "kind": np.repeat(["sample", "grid"], [len(X), len(grid)]),
        "x1": places[:, 0],
        "x2": places[:, 1],
        "label": np.concatenate([y, np.full(len(grid), np.nan)]),
        "distance": distance,
    }


def _polar_grid(angle: float, inner: float, outer: float) -> Array:
    """Points by radius and angle, shape (_GRID * _GRID, 2)."""
    half = np.deg2rad(angle) / 2.0
    radius, phi = np.meshgrid(
        np.linspace(inner, outer, _GRID), np.linspace(-half, half, _GRID), indexing="ij"
    )
    return np.column_stack([(radius * np.cos(phi)).ravel(), (radius * np.sin(phi)).ravel()])


def share_of_angle(table: Table, n_bins: int = 40) -> float:
    """Share of the variance of the distance that the angle explains, by bins of equal numbers."""
    table = select_rows(table, kind="sample")
    angle, distance = np.arctan2(table["x2"], table["x1"]), table["distance"]
    bins = np.array_split(np.argsort(angle), min(n_bins, len(angle) // 5))
    within = sum(float(distance[rows].var()) * len(rows) for rows in bins) / len(distance)
    return 1.0 - within / float(distance.var())


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the rings."""
    from matplotlib.cm import ScalarMappable

    shown = {part: tables[part] for part in parameters["angles"] if part in tables}
    if not shown:
        return {}
    figure, axes = panels(1, len(shown), width=4.0, height=3.3)
    for axis, table in zip(axes[0], shown.values(), strict=True):
        samples, grid = select_rows(table, kind="sample"), select_rows(table, kind="grid")
        points = axis.scatter(
            samples["x1"], samples["x2"], c=samples["label"], s=3, cmap="viridis", linewidths=0, alpha=0.4
        )
        x1, x2, distance = (grid[key].reshape(_GRID, _GRID) for key in ("x1", "x2", "distance"))
        levels = np.linspace(0.0, distance.max(), _RINGS + 2)[1:-1]
        axis.contour(x1, x2, distance, levels=levels, colors=VERMILION, linewidths=1.5)
        axis.plot(*parameters["query"], marker="+", color=BLACK, ms=11, mew=2.2)
        title = f"angle explains {share_of_angle(table):.0%} of the distance"
        axis.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        axis.set_title(title, fontsize=10)
        opaque = ScalarMappable(points.norm, points.cmap)
        figure.colorbar(opaque, ax=axis, shrink=0.7, label="label $y$")
    return {"diffusion_map": figure}


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on the whole annulus."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Say how much of the distance the angle explains."""
    names = {"sector": "on the sector", "whole": "on the whole annulus"}
    shares = {part: share_of_angle(tables[part]) for part in names if part in tables}
    if "sector" not in shares:
        return side_by_side.error_findings(tables)
    shown = ", ".join(f"{share:.1%} {names[part]}" for part, share in shares.items())
    return [
        Finding(
            "diffusion maps do not find exactly the structure that the labels have",
            "rings of equal distance are not lines of equal angle",
            f"share of the variance of the distance that the angle explains: {shown}",
            "yes" if shares["sector"] < 0.9 else "no",
        ),
        *side_by_side.error_findings(tables),
    ]
