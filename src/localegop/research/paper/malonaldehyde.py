"""Torsions of malonaldehyde: errors of Algorithm 1, field Local EGOP and others, and pictures."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.datasets import make_helix
from localegop.research.paper._malonaldehyde_figures import draw_errors, draw_helix, draw_maps
from localegop.research.paper._malonaldehyde_findings import (
    METHODS,
    PAPER_CASE,
    PAPER_MSE,
    VARIANTS,
    compare,
    make_molecule_method,
    shown_mse,
)
from localegop.research.paper._methods import LABELS, SIDE_BY_SIDE
from localegop.research.paper._molecules import SOURCES, TORSIONS, molecule, split_rows
from localegop.research.paper._side_by_side import predict
from localegop.research.paper.diffusion import diffusion_map
from localegop.research.paper.drawing import mean_and_error
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

REVISION = 3  # the three methods side by side, and settings of Algorithm 1
TITLE = "Torsions of malonaldehyde"
CAPTIONS = {
    "malonaldehyde": (
        "Mean squared test error for the two torsions of malonaldehyde, in squared radians, by method: "
        "frames that ship with the package and revised MD17, split at random as in the paper and by blocks "
        "of time, which is harder, since no test frame then has its neighbors in time among the training "
        "rows. Algorithm 1 is run with the printed settings and, where a radius or ridge is named, with "
        "these instead; its queries are fewer than those of the others. Bars are one standard error over "
        "test points. Lines mark what the paper reports for Local EGOP and for Nadaraya-Watson."
    ),
    "malonaldehyde_map": (
        "Frames of malonaldehyde in the first two coordinates of a diffusion map of their 50 features, "
        "colored by the torsions: they lie near a surface that the torsions parametrize."
    ),
    "malonaldehyde_helix": (
        "The noisy helix in R^3 of the learning curves. A label belongs to the nearest point of the curve "
        "(black), so it varies along the curve and not across."
    ),
}


def _cases(sources: list[str], torsions: list[str], **options: Any) -> list[dict[str, Any]]:
    """All splits of these sources and torsions; n_train None takes all rows that are not for testing."""
    return [
        {"source": source, "split": split, "torsion": torsion, **options}
        for source, split, torsion in product(sources, ("random", "blocks"), torsions)
    ]


def _with_replicates(cases: list[dict[str, Any]], replicates: dict[str, int]) -> list[dict[str, Any]]:
    """Repeat methods over several splits in the case that the paper reports."""
    return [
        case | {"replicates": replicates} if PAPER_CASE.items() <= case.items() else case for case in cases
    ]


_EVERY = {"n_train": None, "methods": list(METHODS)}
_SOME = {"n_train": None, "methods": [*SIDE_BY_SIDE, "nadaraya_watson", "kernel_ridge", "xrfm"]}
_BOTH = ["shipped", "rmd17"]
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": {
        "cases": [
            *_cases(["shipped"], ["tau2"], n_train=60, methods=["nadaraya_watson", "xrfm"]),
            {
                "source": "shipped",
                "split": "random",
                "torsion": "tau1",
                "n_train": 60,
                "methods": ["local_egop"],
            },
        ],
        "n_test": {"default": 40},
        "tuning_rows": 60,
        "n_map": 300,
        "n_helix": 200,
    },
    "quick": {
        "cases": [
            PAPER_CASE | {"n_train": None, "methods": [*SIDE_BY_SIDE, *VARIANTS, "nadaraya_watson"]},
            *_cases(["shipped"], ["tau1"], n_train=400, methods=list(LABELS)),
        ],
        "n_test": {
            "default": 500,
            "local_egop_query": 40,
            "paper_egop": 150,
            "paper_egop_ridge": 150,
            "paper_egop_middle": 60,
            "paper_egop_wide": 30,
        },
        "tuning_rows": 400,
        "n_map": 3000,
        "n_helix": 1500,
    },
    "default": {
        "cases": _with_replicates(
            [
                case | _EVERY if PAPER_CASE.items() <= case.items() else case
                for case in _cases(_BOTH, list(TORSIONS), **_SOME)
            ],
            {"local_egop": 3, "nadaraya_watson": 3},
        ),
        "n_test": {
            "default": 500,
            "local_egop_query": 100,
            "paper_egop": 300,
            "paper_egop_ridge": 300,
            "paper_egop_middle": 200,
            "paper_egop_wide": 200,
        },
        "tuning_rows": 1000,
        "n_map": 6000,
        "n_helix": 1500,
    },
    "full": {
        "cases": _with_replicates(_cases(_BOTH, list(TORSIONS), **_EVERY), dict.fromkeys(METHODS, 8)),
        "n_test": {"default": 500},
        "tuning_rows": 2000,
        "n_map": 10000,
        "n_helix": 1500,
    },
}


# Of 9,133 frames on one processor: the more points within the radius, the longer.
_SECONDS_PER_QUERY = {
    "local_egop_query": 0.1,
    "paper_egop": 0.27,
    "paper_egop_ridge": 0.27,
    "paper_egop_middle": 1.3,
    "paper_egop_wide": 7.0,
}


def parts(parameters: Parameters) -> dict[str, float]:
    """One fit each, and the pictures."""
    costs = {f"map-{source}": 2.0 for source in _sources(parameters)} | {"helix": 0.1}
    for case in parameters["cases"]:
        for method in case["methods"]:
            for replicate in range(case.get("replicates", {}).get(method, 1)):
                name = f"{case['source']}-{case['split']}-{case['torsion']}-{method}-rep={replicate}"
                costs[name] = _seconds(method, case["n_train"] or 8000, parameters)
    return costs


def _sources(parameters: Parameters) -> list[str]:
    return list(dict.fromkeys(case["source"] for case in parameters["cases"]))


def _seconds(method: str, n: int, parameters: Parameters) -> float:
    """Rough time of one part."""
    if method == "local_egop":
        return 5.0 + n / 250
    if method in _SECONDS_PER_QUERY:
        return 3.0 + _SECONDS_PER_QUERY[method] * _n_test(method, parameters) * n / 9000
    return {"nadaraya_watson": 1.0, "local_linear": n / 1000}.get(method, 1.0 + n / 500)


def needs(part: str) -> tuple[str, ...]:
    """Only xRFM needs more than the package itself."""
    return ("torch", "xrfm") if "-xrfm-" in part else ()


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Test error of one method, or the points of a picture."""
    kind, *rest = part.split("-")
    if kind == "helix":
        return _helix(parameters["n_helix"], seed)
    if kind == "map":
        return _map(rest[0], parameters["n_map"], seed)
    split, torsion, method, replicate = rest
    case = {"source": kind, "split": split, "torsion": torsion}
    settings = next(each for each in parameters["cases"] if case.items() <= each.items())
    rep = int(replicate.removeprefix("rep="))
    data = molecule(kind)
    train, test = split_rows(
        data, split, settings["n_train"], parameters["n_test"]["default"], 1000 * seed + rep
    )
    test = test[: _n_test(method, parameters)]
    labels = data.torsions[torsion]
    tuning_rows = parameters["tuning_rows"]
    model = make_molecule_method(method, tuning_rows=tuning_rows, random_state=seed, threads=threads)
    model.fit(data.X[train], labels[train])
    predictions, isolated = predict(method, model, data.X[test])
    squares = (predictions - labels[test]) ** 2
    mse, error = mean_and_error(squares)
    row = case | {"method": method, "rep": rep, "n_train": len(train), "n_test": len(test)}
    row |= {"mse": mse, "error": error, "median": float(np.median(squares)), "isolated": isolated}
    return table_of_rows([row])


def _helix(n_points: int, seed: int) -> Table:
    """Points, labels and nearest points of the curve, in the order of the latter."""
    helix = make_helix(n_points, 3, random_state=seed, return_bunch=True)
    order = np.argsort(helix.clean[:, 2])
    noisy = dict(zip("xyz", helix.data[order].T, strict=True))
    clean = {f"clean_{axis}": values for axis, values in zip("xyz", helix.clean[order].T, strict=True)}
    return noisy | clean | {"label": helix.target[order]}


def _map(source: str, n_points: int, seed: int) -> Table:
    data = molecule(source)
    rows = np.random.default_rng(seed).permutation(len(data.X))[:n_points]
    first, second = diffusion_map(data.X[rows]).T
    return {"first": first, "second": second, **{name: y[rows] for name, y in data.torsions.items()}}


def _n_test(method: str, parameters: Parameters) -> int:
    """Test points: fewer where every one costs a recursion."""
    return int(parameters["n_test"].get(method, parameters["n_test"]["default"]))


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the errors, the diffusion maps and the helix."""
    figures = {}
    rows = _errors(tables)
    if rows:
        figures["malonaldehyde"] = draw_errors(rows, METHODS, PAPER_MSE, PAPER_CASE)
    maps = {source: tables[f"map-{source}"] for source in SOURCES if f"map-{source}" in tables}
    if maps:
        figures["malonaldehyde_map"] = draw_maps(maps)
    if "helix" in tables:
        figures["malonaldehyde_helix"] = draw_helix(tables["helix"])
    return figures


def _errors(tables: Tables) -> Table:
    return join_tables(table for table in tables.values() if "mse" in table)


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Mean squared errors with standard errors by method, one column per case."""
    rows = _errors(tables)
    columns = [(case["source"], case["split"], case["torsion"]) for case in parameters["cases"]]
    lines = []
    for method, label in METHODS.items():
        cells = {}
        for source, split, torsion in columns:
            own = select_rows(rows, method=method, source=source, split=split, torsion=torsion)
            cells[f"{SOURCES[source]}, {split}, {torsion}"] = shown_mse(own)
        if any(cells.values()):
            lines.append({"method": label, **cells})
    return table_of_rows(lines) if lines else {}


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare with the two numbers of the paper, with the other methods, and between the splits."""
    rows = _errors(tables)
    return compare(rows) if rows else []
