"""Learning curves of Algorithm 1 and field Local EGOP on helices in several dimensions, and slopes."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.research.paper._learning_curves import (
    helix_split,
    label_sizes,
    plot_curve,
    settings_of,
    slope,
)
from localegop.research.paper._methods import SIDE_BY_SIDE, make
from localegop.research.paper._side_by_side import predict
from localegop.research.paper.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    mean_and_error,
    panels,
)
from localegop.research.paper.experiment import (
    Finding,
    Parameters,
    Table,
    Tables,
    join_tables,
    select_rows,
    table_of_rows,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 3  # the three methods side by side
TITLE = "Learning rate in several dimensions"
CAPTIONS = {
    "dimensions": (
        "Test error on noisy helices in R^D against the number of training points: of Algorithm 1 with "
        "the paper's constants; of field Local EGOP with a linear fit, and with the fit that it chooses at "
        "held-out points; and of the latter where labels have noise, a tenth of their standard deviation, "
        "which the paper's experiment has not (not in quick runs). "
        "Error is the mean squared error to labels without noise over their variance, geometric mean over "
        "replicates, each with a random cubic of its own; bands are one standard error. The legend gives "
        "the slopes in the doubly logarithmic plot, mean over replicates and its standard error. Solid: "
        "odd D, where the curve winds up along the last axis; dashed: even D, where it closes to a circle."
    ),
}
_DIMENSIONS = [3, 4, 5, 6, 9, 10, 20]
_SIZES = [500, 1000, 2000, 4000, 8000, 16000]
# Without noise, slopes are fitted from slope_from points per dimension on: with fewer, errors fall faster
# than later. The number was chosen after looking at D = 20, so the report gives the slopes over all n too.
# With noise, the setting is that of `localegop.research.theory.learning`, at full size with its sizes.
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": {
        "dimensions": [3, 4],
        "settings": {
            "paper": {"sizes": [60, 120], "n_test": 2, "replicates": 1, "slope_from": 0},
            "linear": {"sizes": [60, 120], "n_test": 40, "replicates": 1, "slope_from": 0},
            "field": {"sizes": [60, 120], "n_test": 40, "replicates": 1, "slope_from": 0},
            "noisy": {"sizes": [60, 120], "n_test": 40, "replicates": 1, "slope_from": 0, "noise": 0.1},
        },
    },
    "quick": {
        "dimensions": [3, 4, 5, 6, 10],
        "settings": {
            "paper": {"sizes": [300, 600, 1200], "n_test": 50, "replicates": 2, "slope_from": 0},
            "linear": {"sizes": [300, 600, 1200], "n_test": 500, "replicates": 2, "slope_from": 0},
            "field": {"sizes": [300, 600, 1200], "n_test": 500, "replicates": 2, "slope_from": 0},
        },
    },
    "default": {
        "dimensions": _DIMENSIONS,
        "settings": {
            "paper": {"sizes": _SIZES[:3], "n_test": 200, "replicates": 3, "slope_from": 0},
            "linear": {"sizes": [1000, 4000, 8000], "n_test": 500, "replicates": 3, "slope_from": 200},
            "field": {"sizes": [1000, 4000, 8000], "n_test": 500, "replicates": 3, "slope_from": 200},
            "noisy": {"sizes": _SIZES[:5:2], "n_test": 500, "replicates": 6, "slope_from": 0, "noise": 0.1},
        },
    },
    "full": {
        "dimensions": _DIMENSIONS,
        "settings": {
            "paper": {"sizes": _SIZES[:5], "n_test": 500, "replicates": 10, "slope_from": 0},
            "linear": {"sizes": [*_SIZES[1:], 32000], "n_test": 500, "replicates": 10, "slope_from": 200},
            "field": {"sizes": [*_SIZES[1:], 32000], "n_test": 500, "replicates": 10, "slope_from": 200},
            "noisy": {"sizes": _SIZES, "n_test": 500, "replicates": 10, "slope_from": 0, "noise": 0.1},
        },
    },
}
_COLORS = {3: BLUE, 5: GREEN, 9: SKY, 4: VERMILION, 6: ORANGE, 10: PURPLE, 20: BLACK}
_LARGEST_ERROR = 0.3  # largest standard error of a slope that still tells slopes apart
_METHODS = {"paper": "paper_egop", "linear": "local_egop_linear"}
_METHODS |= dict.fromkeys(("field", "noisy"), "local_egop")
_TITLES = {setting: SIDE_BY_SIDE[method] for setting, method in _METHODS.items()} | {
    "noisy": "field Local EGOP, noise in labels"
}


def parts(parameters: Parameters) -> dict[str, float]:
    """One fit each: setting, dimension, sample size and replicate."""
    costs = {}
    for setting, options in parameters["settings"].items():
        for replicate, n, dimension in product(
            range(options["replicates"]), options["sizes"], parameters["dimensions"]
        ):
            field = min(n, 5000) / 500 * (0.7 + dimension / 8) * max(1.0, n / 16000)
            paper = options["n_test"] * (0.02 + n / 40000) * (1 + dimension / 10)
            costs[f"{setting}-D={dimension}-n={n}-rep={replicate}"] = paper if setting == "paper" else field
    return costs


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Test error of one fit."""
    setting, place = settings_of(part)
    options = parameters["settings"][setting]
    sizes, n_test, noise = options["sizes"], options["n_test"], options.get("noise", 0.0)
    split = helix_split(place["D"], place["n"], sizes, n_test, seed, place["rep"], noise)
    method = _METHODS[setting]
    model = make(method, random_state=seed, threads=threads).fit(split.X, split.y)
    squares = (predict(method, model, split.X_test)[0] - split.y_test) ** 2 / split.y_test.var()
    mse, error = mean_and_error(squares)
    return table_of_rows([{"setting": setting, **place, "n_test": n_test, "mse": mse, "error": error}])


def slopes(
    rows: Table, setting: str, parameters: Parameters, slope_from: int | None = None
) -> dict[int, tuple[float, float]]:
    """Slopes and their standard errors by dimension, from enough points per dimension on."""
    least = parameters["settings"][setting]["slope_from"] if slope_from is None else slope_from
    found = {}
    for dimension in parameters["dimensions"]:
        own = select_rows(rows, setting=setting, D=dimension)
        enough = own["n"] >= least * dimension
        straight = {key: column[enough] for key, column in own.items()}
        if len(np.unique(straight["n"])) > 1:
            found[dimension] = slope(straight)
    return found


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the curves, one panel for each setting."""
    rows = join_tables(tables.values())
    settings = [each for each in parameters["settings"] if each in rows["setting"]]
    figure, axes = panels(1, len(settings), width=4.2, height=5.0)
    for axis, setting in zip(axes[0], settings, strict=True):
        _draw_setting(axis, rows, setting, parameters)
    axes[0, 0].set_ylabel("mean squared error / variance of labels")
    return {"dimensions": figure}


def _draw_setting(axis: Any, rows: Table, setting: str, parameters: Parameters) -> None:
    options, found = parameters["settings"][setting], slopes(rows, setting, parameters)
    for dimension in parameters["dimensions"]:
        own = select_rows(rows, setting=setting, D=dimension)
        if not len(own["n"]):
            continue
        legend = f"{found[dimension][0]:.2f} ± {found[dimension][1]:.2f}" if dimension in found else "-"
        plot_curve(
            axis,
            own,
            _COLORS.get(dimension, BLACK),
            ls="-" if dimension % 2 else "--",
            marker="o" if dimension % 2 else "s",
            ms=4,
            label=f"$D$ = {dimension}: {legend}",
        )
    label_sizes(axis, options["sizes"])
    replicates = options["replicates"]
    axis.set_title(
        f"{_TITLES[setting]}, {replicates} replicate{'s' if replicates > 1 else ''}, "
        f"{options['n_test']} test points",
        fontsize=9,
    )
    title = f"slope for $n$ ≥ {options['slope_from']} $D$" if options["slope_from"] else "slope"
    axis.legend(
        frameon=False,
        fontsize=8,
        title=title,
        title_fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncols=2,
    )


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Slopes and the errors at the largest sample size."""
    rows = join_tables(tables.values())
    lines = []
    for setting, options in parameters["settings"].items():
        for dimension, (value, error) in slopes(rows, setting, parameters).items():
            own = select_rows(rows, setting=setting, D=dimension)
            at_end = select_rows(own, n=own["n"].max())
            lines.append(
                {
                    "settings": _TITLES[setting],
                    "D": str(dimension),
                    "slope": f"{value:.2f} ± {error:.2f}",
                    "largest n": f"{own['n'].max():,}",
                    "MSE / variance there": f"{np.exp(np.mean(np.log(at_end['mse']))):.1e}",
                    "standard error of one fit": f"{np.median(at_end['error'] / at_end['mse']):.0%}",
                    "queries": str(options["n_test"]),
                }
            )
    return table_of_rows(lines) if lines else {}


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare slopes among odd and among even dimensions."""
    rows = join_tables(tables.values())
    found = []
    for setting in parameters["settings"]:
        by_dimension = slopes(rows, setting, parameters)
        over_all_n = slopes(rows, setting, parameters, slope_from=0)
        for parity, name in ((0, "even"), (1, "odd")):
            own = {D: value for D, value in by_dimension.items() if parity == D % 2}
            if len(own) > 1 and not np.isnan([error for _, error in own.values()]).any():
                everywhere = {D: over_all_n[D] for D in own}
                found.append(_agreement(setting, name, own, everywhere, parameters))
    return found


def _agreement(
    setting: str,
    parity: str,
    late: dict[int, tuple[float, float]],
    everywhere: dict[int, tuple[float, float]],
    parameters: Parameters,
) -> Finding:
    """Say whether slopes agree, and whether the answer depends on the range of n they are fitted over."""
    slope_from, apart = parameters["settings"][setting]["slope_from"], _pairs_apart(late)
    words = f"slopes {_list_slopes(late)}: {_verdict(apart)}"
    if slope_from:
        words = (
            f"for n ≥ {slope_from} D, {words}; over all n, slopes {_list_slopes(everywhere)}: "
            f"{_verdict(_pairs_apart(everywhere))}"
        )
    agree = [not apart, not _pairs_apart(everywhere)]
    if max(error for _, error in late.values()) > _LARGEST_ERROR:  # then agreement says nothing
        words, agree = f"{words}, but the standard errors are too large to tell", [not apart, False]
    return Finding(
        f"the learning rate does not depend on D among {parity} D ({_TITLES[setting]}, "
        f"{parameters['settings'][setting]['replicates']} replicates)",
        "little dependence of the asymptotic rate on D, but on whether D is even or odd; no numbers given",
        words,
        "not compared"
        if setting != "paper"
        else "yes"
        if all(agree)
        else "in part"
        if any(agree) or len(apart) < _n_pairs(late)
        else "no",
    )


def _pairs_apart(slopes: dict[int, tuple[float, float]]) -> list[str]:
    """Pairs of dimensions whose slopes differ by more than two standard errors of their difference."""
    return [
        f"{a} and {b}"
        for a, b in combinations(slopes, 2)
        if abs(slopes[a][0] - slopes[b][0]) > 2.0 * np.hypot(slopes[a][1], slopes[b][1])
    ]


def _n_pairs(slopes: dict[int, tuple[float, float]]) -> int:
    return len(slopes) * (len(slopes) - 1) // 2


def _verdict(apart: list[str]) -> str:
    return f"not so for D = {'; '.join(apart)}" if apart else "all pairs agree within two standard errors"


def _list_slopes(slopes: dict[int, tuple[float, float]]) -> str:
    return ", ".join(f"{value:.2f} ± {error:.2f} (D = {D})" for D, (value, error) in slopes.items())
