"""Errors of Algorithm 1 and of field Local EGOP on the data of an experiment: like with like.

An experiment that draws localizations has parts ``errors-METHOD`` as well, one for each method of
`SIDE_BY_SIDE`: the same training rows, the same queries, labels without noise to compare with.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from localegop.research.paper._methods import SIDE_BY_SIDE, make
from localegop.research.paper.drawing import Array, mean_and_error
from localegop.research.paper.experiment import (
    Finding,
    Parameters,
    Table,
    Tables,
    join_tables,
    select_rows,
    table_of_rows,
)
from localegop.results import Status

PREFIX = "errors-"
PRECISE = 0.2  # largest standard error, as a fraction of the error, that still tells errors apart


@dataclass(frozen=True)
class Rows:
    """Training rows, and queries with labels that have no noise."""

    X: Array
    y: Array
    queries: Array
    truth: Array


def split_off_queries(X: Array, y: Array, truth: Array, parameters: Parameters) -> Rows:
    """Take the first rows as queries and the others to learn from."""
    q = parameters["errors"]["n_test"]
    return Rows(X[q:], y[q:], X[:q], truth[:q])


def n_rows(parameters: Parameters) -> int:
    """How many rows `split_off_queries` divides."""
    return int(parameters["errors"]["n_train"] + parameters["errors"]["n_test"])


def error_parts(parameters: Parameters) -> dict[str, float]:
    """Names of the parts and rough seconds."""
    n, q = parameters["errors"]["n_train"], parameters["errors"]["n_test"]
    seconds = {"paper_egop": 0.01 + q * (0.02 + n / 40000), "local_egop_linear": n / 900}
    return {PREFIX + method: seconds.get(method, 0.01 + n / 500) for method in SIDE_BY_SIDE}


def is_error_part(part: str) -> bool:
    """Whether a part is one of `error_parts`."""
    return part.startswith(PREFIX)


def without_errors(tables: Tables) -> dict[str, Table]:
    """Return the tables of all other parts."""
    return {part: table for part, table in tables.items() if not is_error_part(part)}


def measure(part: str, rows: Rows, seed: int, threads: int) -> Table:
    """Fit one method and compare its predictions with labels without noise."""
    method = part.removeprefix(PREFIX)
    model = make(method, random_state=seed, threads=threads).fit(rows.X, rows.y)
    predictions, isolated = predict(method, model, rows.queries)
    squares = (predictions - rows.truth) ** 2 / rows.truth.var()
    mse, error = mean_and_error(squares)
    sizes = {"n_train": len(rows.X), "n_test": len(rows.queries)}
    found = {"mse": mse, "error": error, "median": float(np.median(squares)), "isolated": isolated}
    return table_of_rows([{"method": method, **sizes, **found}])


def predict(method: str, model: Any, X: Array) -> tuple[Array, int]:
    """Predictions, and how many had too few points within the paper's exclusion radius."""
    if not method.startswith("paper_egop"):
        return model.predict(X), 0
    with warnings.catch_warnings():  # counted instead
        warnings.filterwarnings("ignore", message=".*exclusion_radius", category=UserWarning)
        fits = model.localize(X)
    return fits.value, int(np.sum(fits.status == int(Status.FEW_NEIGHBORS)))


def error_summary(tables: Tables) -> Table:
    """Table for the report: the three methods, one below the other."""
    rows = join_tables(table for part, table in tables.items() if is_error_part(part))
    return table_of_rows(_line(own) for own in _by_method(rows)) if rows else {}


def _by_method(rows: Table) -> list[Table]:
    return [select_rows(rows, method=method) for method in SIDE_BY_SIDE if method in rows["method"]]


def _line(own: Table) -> dict[str, str]:
    return {
        "method": SIDE_BY_SIDE[own["method"][0]],
        "training rows": f"{own['n_train'][0]:,}",
        "queries": f"{own['n_test'][0]:,}",
        "MSE / variance": f"{own['mse'][0]:.1e} ± {own['error'][0]:.0e}",
        "median": f"{own['median'][0]:.1e}",
    }


def error_findings(tables: Tables) -> list[Finding]:
    """One line: the paper gives no errors here, so what can be said is how the methods compare."""
    rows = join_tables(table for part, table in tables.items() if is_error_part(part))
    if not rows or "paper_egop" not in rows["method"]:
        return []
    theirs = select_rows(rows, method="paper_egop")
    shown = "; ".join(f"{line['method']} {line['MSE / variance']}" for line in map(_line, _by_method(rows)))
    precise = theirs["error"][0] <= PRECISE * theirs["mse"][0]
    return [
        Finding(
            "errors on these data",
            "none given",
            f"{shown} of the variance" + ("" if precise else "; errors of Algorithm 1 are far from even"),
            "not compared",
        )
    ]
