"""Learning curves on the helix in R^5: Algorithm 1, field Local EGOP, networks, and other methods."""

from __future__ import annotations

import textwrap
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.research.paper._learning_curves import (
    Split,
    curve,
    helix_split,
    label_sizes,
    plot_curve,
    settings_of,
)
from localegop.research.paper._methods import LABELS, PEERS, SIDE_BY_SIDE, make
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
from localegop.research.peers.networks import FAMILIES, SMALL_START, Family, TunedNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 3  # both starts of the output layer; training until patience acts where there is time
TITLE = "Against networks, kernels and trees"
CAPTIONS = {
    "networks": (
        "Test error on the noisy helix in R^5 against the number of training points. Left: Algorithm 1, "
        "field Local EGOP with a linear fit and with the fit that it chooses, and the paper's families of "
        "two-layer networks, whose output layer starts with variance 1/sqrt(m), as the paper prints "
        "(filled), or 1/m (open). Curves show the network of the grid with the least test error, which is "
        "the paper's practice and flatters the networks; the table has the one chosen on validation "
        "rows. Right: methods that the paper does not compare with. Error is the mean "
        "squared error over the variance of the labels, geometric mean over replicates, each with a random "
        "cubic of its own; bands are one standard error."
    ),
}
_QUICK = {"widths": [256], "learning_rates": [3e-3], "weight_decays": [0.0, 1e-4], "batch_sizes": [64]}
_MIDDLE = {**_QUICK, "learning_rates": [1e-3, 3e-3]}
_TINY = {**_QUICK, "widths": [16], "weight_decays": [0.0]}
_BASE: dict[str, Any] = {
    "dimension": 5,
    "methods": [*SIDE_BY_SIDE, *FAMILIES, *(k for k in PEERS if k != "nadaraya_watson")],
    "n_test": 500,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE
    | {
        "methods": [*SIDE_BY_SIDE, *FAMILIES, "local_linear", "kernel_ridge", "xrfm"],
        "sizes": [60, 120],
        "replicates": 1,
        "n_test": 40,
        "n_test_paper": 2,
        "grids": {"relu": _TINY, "gelu": _TINY, "multi_index": _TINY, "wide": {"widths": [64]}},
        "max_epochs": [2, 2],
        "tuning_rows": 60,
    },
    "quick": _BASE
    | {
        "sizes": [500, 1600, 5200],
        "replicates": 1,
        "n_test_paper": 100,
        "grids": {"relu": _QUICK, "gelu": _QUICK, "multi_index": _QUICK, "wide": {"widths": [2048]}},
        "max_epochs": [200, 60, 60],
        "tuning_rows": 500,
    },
    "default": _BASE
    | {
        "sizes": [500, 1400, 4000],
        "replicates": 3,
        "n_test_paper": 300,
        "grids": {"relu": _MIDDLE, "gelu": _MIDDLE, "multi_index": _MIDDLE, "wide": {"widths": [4096]}},
        "max_epochs": [5000, 400, 400],  # at the smallest n until patience acts
        "tuning_rows": 1000,
    },
    "full": _BASE
    | {
        "sizes": [500, 1000, 2000, 4000, 8000],
        "replicates": 10,
        "n_test_paper": 500,
        "grids": {family: {} for family in FAMILIES},
        "max_epochs": [5000] * 5,
        "tuning_rows": 2000,
    },
}
_LABELS = LABELS | {name: family.label for name, family in FAMILIES.items()}
_STYLES = {
    "local_egop": (BLACK, "o"),
    "local_egop_linear": ("0.35", "X"),
    "paper_egop": (PURPLE, "*"),
    "relu": (BLUE, "s"),
    "gelu": (VERMILION, "D"),
    "wide": (GREEN, "^"),
    "multi_index": (ORANGE, "v"),
    "local_linear": (SKY, "s"),
    "kernel_ridge": (VERMILION, "D"),
    "kernel_ridge_laplace": (ORANGE, "v"),
    "boosting": (GREEN, "^"),
    "xrfm": (BLUE, "P"),
}


def parts(parameters: Parameters) -> dict[str, float]:
    """One fit each: method, sample size and replicate."""
    axes = (range(parameters["replicates"]), parameters["sizes"], parameters["methods"])
    return {
        f"{method}-n={n}-rep={replicate}": _seconds(method, n, parameters)
        for replicate, n, method in product(*axes)
    }


def _seconds(method: str, n: int, parameters: Parameters) -> float:
    """Rough time of one part."""
    if method in FAMILIES:
        family = _family(method, parameters)
        work = sum(family.widths) * family.n_members / len(family.widths)
        steps = _epochs(n, parameters) * n * 0.8 * float(np.mean(1.0 / np.array(family.batch_sizes)))
        return float(steps * (4e-4 + 6e-7 * work))
    if method == "paper_egop":
        return float(parameters["n_test_paper"] * (0.02 + n / 40000))
    if method in ("local_egop", "local_egop_linear", "local_linear"):
        return n / {"local_egop": 500, "local_egop_linear": 900, "local_linear": 4000}[method]
    return float((parameters["tuning_rows"] / 400) ** 2 + n / 1000)


def _epochs(n: int, parameters: Parameters) -> int:
    """Most epochs at this sample size."""
    return int(parameters["max_epochs"][parameters["sizes"].index(n)])


def needs(part: str) -> tuple[str, ...]:
    """Networks need torch; xRFM needs torch and xrfm."""
    method, _ = settings_of(part)
    if method in FAMILIES:
        return ("torch",)
    return ("torch", "xrfm") if method == "xrfm" else ()


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Test error of one method."""
    method, place = settings_of(part)
    sizes, n_test = parameters["sizes"], parameters["n_test"]
    split = helix_split(parameters["dimension"], place["n"], sizes, n_test, seed, place["rep"])
    if method == "paper_egop":  # every query costs a recursion, so fewer of them
        n_test = parameters["n_test_paper"]
        split = Split(split.X, split.y, split.X_test[:n_test], split.y_test[:n_test])
    row = {"method": method, **place, "n_test": len(split.y_test)}
    if method in FAMILIES:
        return table_of_rows([row | _network_errors(method, place["n"], split, parameters, seed)])
    tuning_rows = parameters["tuning_rows"]
    model = make(method, tuning_rows=tuning_rows, random_state=seed, threads=threads)
    model.fit(split.X, split.y)
    squares = (predict(method, model, split.X_test)[0] - split.y_test) ** 2 / split.y_test.var()
    mse, error = mean_and_error(squares)
    found = {"mse": mse, "error": error, "best_test_mse": mse, "chosen": "", "patience_acted": -1.0}
    return table_of_rows([row | found])


def _family(method: str, parameters: Parameters) -> Family:
    grid = parameters["grids"][method.removesuffix(SMALL_START)]
    return FAMILIES[method].restrict(**grid)


def _network_errors(method: str, n: int, split: Split, parameters: Parameters, seed: int) -> dict[str, Any]:
    """Errors of the network chosen on validation rows, and of the best one on the test rows."""
    model = TunedNetwork(_family(method, parameters), max_epochs=_epochs(n, parameters), random_state=seed)
    predictions = model.fit(split.X, split.y).predict_all(split.X_test)
    errors = split.mse(predictions)
    squares = (predictions[model.best_] - split.y_test) ** 2 / split.y_test.var()
    best = model.members_[model.best_]
    chosen = (
        f"width {best.width}, rate {best.learning_rate:g}, decay {best.weight_decay:g}, "
        f"batch {best.batch_size}, epoch {best.epochs}"
    )
    return {
        "mse": float(errors[model.best_]),
        "error": mean_and_error(squares)[1],
        "best_test_mse": float(errors.min()),
        "chosen": chosen,
        "patience_acted": float(np.mean([member.patience_acted for member in model.members_])),
    }


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw networks left and other methods right."""
    rows = join_tables(tables.values())
    figure, axes = panels(1, 2, width=4.4, height=4.4, sharey=True)
    groups: tuple[Any, Any] = (FAMILIES, PEERS)
    for axis, group in zip(axes[0], groups, strict=True):
        for method in (*SIDE_BY_SIDE, *group):
            own = select_rows(rows, method=method)
            if not len(own["n"]):
                continue
            small = method.endswith(SMALL_START)
            color, marker = _STYLES[method.removesuffix(SMALL_START)]
            label = _LABELS[method]
            if method == "wide":
                label += f", width {_family(method, parameters).widths[0]:,}"
            style = {"mfc": "white", "ls": "--", "lw": 1.0} if small else {"lw": 1.5}
            plot_curve(
                axis, own, color, column="best_test_mse", marker=marker, ms=4.5, label=label, **style
            )
        label_sizes(axis, parameters["sizes"])
        if axis.lines:
            axis.legend(
                frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2
            )
    axes[0, 0].set(ylabel="mean squared error / variance of labels", title="networks of the paper")
    axes[0, 1].set_title("other methods")
    figure.supxlabel(textwrap.fill(_note(parameters), 120), fontsize=7)
    return {"networks": figure}


def _note(parameters: Parameters) -> str:
    """Say which grids were searched; families that share one are named together."""
    replicates, epochs = parameters["replicates"], parameters["max_epochs"]
    sharing: dict[str, list[str]] = {}
    for method in parameters["grids"]:
        family = _family(method, parameters)
        grid = (
            f"width {_list_numbers(family.widths)}, rate {_list_numbers(family.learning_rates)}, decay "
            f"{_list_numbers(family.weight_decays)}, batch {_list_numbers(family.batch_sizes)}"
        )
        sharing.setdefault(grid, []).append(family.label)
    words = [f"{', '.join(labels)}: {grid}" for grid, labels in sharing.items()]
    smaller = " (smaller than the paper's)" if any(parameters["grids"].values()) else ""
    return (
        f"{replicates} replicate{'s' if replicates > 1 else ''}. Grids of the networks"
        f"{smaller}, at most {', '.join(f'{most:,}' for most in epochs)} "
        f"epochs by n: {'; '.join(words)}."
    )


def _list_numbers(values: tuple[float, ...]) -> str:
    return "/".join(f"{value:g}" for value in values)


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors by method and sample size, and the largest standard error over queries."""
    rows = join_tables(tables.values())
    lines = []
    for method in parameters["methods"]:
        own = select_rows(rows, method=method)
        if not len(own["n"]):
            continue
        found = curve(own)
        means = dict(zip(found.n.tolist(), found.mean.tolist(), strict=True))
        cells = {f"n = {n:,}": f"{means[n]:.1e}" if n in means else "" for n in parameters["sizes"]}
        share = float(np.max(own["error"] / own["mse"]))
        more = {
            "queries": f"{own['n_test'][0]:,}",
            "largest standard error": f"{share:.0%}",
            "stopped by patience": _patience(own),
        }
        lines.append({"method": _LABELS[method], **cells, **more})
    return table_of_rows(lines)


def _patience(own: Table) -> str:
    """Share of the networks whose training ended for want of progress, by sample size."""
    shares = [(n, select_rows(own, n=n)["patience_acted"].mean()) for n in np.unique(own["n"])]
    return ", ".join(f"{share:.0%} (n = {n:,})" for n, share in shares if share >= 0.0)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare with the networks, with one another and with the other methods at the largest n."""
    rows = join_tables(tables.values())
    rows = select_rows(rows, n=max(parameters["sizes"]))
    found = [
        *(_against_networks(rows, parameters, method) for method in SIDE_BY_SIDE),
        _wide_and_multi_index(rows, parameters),
        _against_peers(rows),
    ]
    return [each for each in found if each is not None]


def _mean(rows: Table, method: str, column: str = "mse") -> float:
    """Geometric mean over replicates, NaN if there is none."""
    values = select_rows(rows, method=method)[column]
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


def _best(rows: Table, methods: Any, column: str) -> tuple[str, float]:
    """Return the method of least error among those that ran, with that error."""
    errors = {method: _mean(rows, method, column) for method in methods if method in rows["method"]}
    best = min(errors, key=errors.__getitem__, default="")
    return best, errors.get(best, float("nan"))


def _against_networks(rows: Table, parameters: Parameters, method: str) -> Finding | None:
    """Only Algorithm 1 is what the paper compares with networks."""
    name, network = _best(rows, FAMILIES, "best_test_mse")
    ours = _mean(rows, method)
    if not name or np.isnan(ours):
        return None
    ratio = network / ours
    return Finding(
        f"at n = {max(parameters['sizes']):,} {SIDE_BY_SIDE[method]} is far below networks (10 times or "
        "more)",
        "vastly smaller error for moderate to large n; no numbers given",
        f"{ours:.1e} against {network:.1e} of the best network ({_LABELS[name]}, least test error of its "
        f"grid): {_times(ratio)} times below",
        "not compared" if method != "paper_egop" else "yes" if ratio >= 10.0 else "no",
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10.0 else f"{ratio:.1f}"


def _wide_and_multi_index(rows: Table, parameters: Parameters) -> Finding | None:
    starts = {name: (name, name + SMALL_START) for name in ("wide", "multi_index")}
    wide, multi = (_best(rows, names, "best_test_mse")[1] for names in starts.values())
    if np.isnan(wide + multi):
        return None
    width = _family("wide", parameters).widths[0]
    comparable = 1 / 3 <= wide / multi <= 3
    narrow = width < FAMILIES["wide"].widths[0]
    return Finding(
        "the overparameterized network does about as well as the multi-index one",
        f"comparable error, width {FAMILIES['wide'].widths[0]:,}",
        f"{wide:.1e} with width {width:,}, {multi:.1e} for the multi-index network, each with the better "
        "start of the output layer",
        "no" if not comparable else "in part" if narrow else "yes",
    )


def _against_peers(rows: Table) -> Finding | None:
    name, error = _best(rows, PEERS, "mse")
    ours = _mean(rows, "local_egop")
    if not name or np.isnan(ours):
        return None
    return Finding(
        "field Local EGOP is also below kernel, tree and isotropic methods",
        "not compared",
        f"{ours:.1e} against {error:.1e} of the best of them ({_LABELS[name]})",
        "not compared",
    )
