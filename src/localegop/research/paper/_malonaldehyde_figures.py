"""Pictures of `malonaldehyde`: errors by method, diffusion maps, the helix. Needs matplotlib to draw."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.research.paper._molecules import SOURCES, TORSIONS
from localegop.research.paper.drawing import BLUE, ORANGE, mean_and_error, panels
from localegop.research.paper.experiment import Table, select_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TORSION_STYLES = {"tau1": (BLUE, "o", 0.13), "tau2": (ORANGE, "s", -0.13)}


def draw_errors(
    rows: Table, labels: Mapping[str, str], paper: Mapping[str, float], paper_case: Mapping[str, str]
) -> Figure:
    """Draw errors by method, a panel for every source and split."""
    cases = [
        (source, split)
        for source, split in product(SOURCES, ("random", "blocks"))
        if len(select_rows(rows, source=source, split=split)["mse"])
    ]
    width = max(2.2, 6.5 / len(cases))
    figure, axes = panels(1, len(cases), width=width, height=3.6, sharey=True, sharex=True)
    shown = [method for method in labels if method in rows["method"]]
    places = {method: -i for i, method in enumerate(shown)}
    for axis, (source, split) in zip(axes[0], cases, strict=True):
        own = select_rows(rows, source=source, split=split)
        several = len(np.unique(rows["torsion"])) > 1
        for torsion, (color, marker, shift) in _TORSION_STYLES.items():
            one = select_rows(own, torsion=torsion)
            _draw_series(axis, one, places, torsion, color, marker, shift if several else 0.0)
        if (source, split) == (paper_case["source"], paper_case["split"]):
            for method, value in ((name, paper[name]) for name in paper if name in places):
                axis.plot(2 * [value], [places[method] - 0.45, places[method] + 0.45], color="0.3", lw=1.5)
            axis.plot([], [], color="0.3", lw=1.5, label="reported in the paper")
        axis.set_title(
            f"{SOURCES[source]}\n{_split(split)}, $n$ = {int(own['n_train'].max()):,}", fontsize=8.5
        )
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    _whole_decades(axes[0, 0], np.concatenate([rows["mse"], rows["mse"] + rows["error"]]))
    axes[0, 0].set_yticks(list(places.values()), [labels[method] for method in places], fontsize=8)
    figure.supxlabel("mean squared error (rad$^2$)", fontsize=10)
    found = [axis.get_legend_handles_labels() for axis in axes[0]]
    unique = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    figure.legend(
        unique.values(), unique.keys(), loc="outside upper center", ncols=3, frameon=False, fontsize=9
    )
    return figure


def _draw_series(
    axis: Any, rows: Table, places: Mapping[str, int], torsion: str, color: str, marker: str, shift: float
) -> None:
    """Draw the errors for one torsion: means over replicates, or the only one."""
    for method in places:
        own = select_rows(rows, method=method)
        if not len(own["mse"]):
            continue
        mean, error = mean_and_error(own["mse"])
        axis.errorbar(
            mean, places[method] + shift, xerr=error if len(own["mse"]) > 1 else own["error"], fmt=marker,
            ms=4.5, color=color, lw=1,
        )  # fmt: skip
    if len(rows["mse"]):
        axis.plot([], [], marker, ms=4.5, color=color, label=f"$|\\tau_{torsion[-1]}|$")


def _whole_decades(axis: Any, values: Any) -> None:
    """Use a logarithmic axis from one power of ten to another: labels in between would overlap."""
    low, high = np.floor(np.log10(values.min())), np.ceil(np.log10(values.max()))
    axis.set(xscale="log", xlim=(10.0**low, 10.0**high))
    axis.set_xticks(10.0 ** np.arange(low, high + 1))
    axis.tick_params(axis="x", which="minor", labelbottom=False)


def _split(split: str) -> str:
    return {"random": "random split", "blocks": "blocks of time"}[split]


def draw_maps(maps: Mapping[str, Table]) -> Figure:
    """Draw frames in diffusion coordinates, colored by the torsions, a row for every source."""
    figure, axes = panels(len(maps), 2, width=3.5, height=2.9)
    for row, (source, table) in zip(axes, maps.items(), strict=True):
        for axis, torsion in zip(row, TORSIONS, strict=True):
            points = axis.scatter(
                table["first"], table["second"], c=table[torsion], s=2, lw=0, cmap="viridis", vmin=0,
                vmax=np.pi,
            )  # fmt: skip
            axis.set(xticks=[], yticks=[], xlabel="first diffusion coordinate")
            axis.set_title(f"{SOURCES[source]}, $|\\tau_{torsion[-1]}|$", fontsize=10)
        row[0].set_ylabel("second diffusion coordinate")
    bar = figure.colorbar(points, ax=axes, ticks=[0, np.pi / 2, np.pi], label="torsion (rad)", shrink=0.8)
    bar.ax.set_yticklabels(["0", "π/2", "π"])
    return figure


def draw_helix(table: Table) -> Figure:
    """Draw the helix in R^3, colored by the labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 3.8), layout="constrained")
    axis: Any = figure.add_subplot(projection="3d")
    points = axis.scatter(
        table["x"], table["y"], table["z"], c=table["label"], s=5, lw=0, cmap="viridis", depthshade=False
    )
    axis.plot(table["clean_x"], table["clean_y"], table["clean_z"], color="black", lw=2, zorder=10)
    axis.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axis.set_box_aspect((1, 1, 1.4))
    figure.colorbar(points, ax=axis, label="label $f$", shrink=0.7, pad=0.12)
    return figure
