"""Metric of a classifier from AGOPs of probabilities against that from AGOPs of log-odds.

Gradients of log-odds are those of probabilities divided by these, less their mean over classes:
d log p_k - mean of d log p_j. Both are fitted to the same parts of training rows (``benchmarks/classes.py``
loads them) and compared by log loss at the other parts, or at fresh rows where data are generated; no test
row is touched. Axes of trials come from slopes of probabilities in both. ``--page FILE`` writes the table
between two comments of a page.
"""

from __future__ import annotations

import argparse
import shlex
import warnings
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from classes import MADE, REAL, load, log_loss
from sklearn.model_selection import train_test_split

from localegop import LocalEGOPClassifier
from localegop._engine import gradient_field
from localegop._engine.work import PolynomialFits
from localegop.research.runs.pages import markdown_table, replace_block

SETS = ["banana", "phoneme", "vehicle", *MADE]
LEAST = 0.02  # probabilities are held above, or gradients of log-odds would be mostly those at 0 and 1
INNER_SEED = 1000  # of generated sets: other samples than those of benchmarks/classes.py


def log_odds_gradients(value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Gradients (m, K, D) of centered log-odds, from values (m, K) of probabilities and their gradients."""
    logs = gradient / np.clip(value, LEAST, 1.0)[:, :, None]
    return logs - logs.mean(axis=1, keepdims=True)


def _leave_one_out(site: Any, ridges: tuple[float, ...], shape: Any, widths: Any) -> Any:
    """As that of the gradient field, with gradients of log-odds in place of those of probabilities."""
    value, gradient = site.run(PolynomialFits(ridges, gradients=True), shape, widths)
    errors = np.mean((site.labels[:, None] - value[:, 0, 0]) ** 2, axis=2)
    best = gradient_field.best_ridge(gradient_field.sum_columns(errors * site.sample_weight[:, None]))
    found = log_odds_gradients(value[:, 0, 0, best], gradient[:, 0, 0, best])
    return np.ascontiguousarray(found), np.ascontiguousarray(errors[:, best, None])


def of_log_odds() -> AbstractContextManager[Any]:
    """While this lasts, fields are learned from AGOPs of log-odds."""
    return patch.object(gradient_field, "_leave_one_out", _leave_one_out)


def parts_of(name: str, rows: int, seed: int) -> tuple[Any, Any, Any, Any] | None:
    """Rows and labels to fit to, and to compare at, none of them test rows."""
    if name in MADE:
        data = load(name, rows, INNER_SEED + seed)
        return None if data is None else (data["X"], data["X_test"], data["y"], data["y_test"])
    data = load(name, rows, 0)
    if data is None:
        return None
    X, y = data["X"], data["y"]
    return tuple(train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed))  # type: ignore[return-value]


def compare(name: str, rows: int, seeds: int, final: str) -> list[tuple[float, float, int]]:
    """Log losses by both metrics, and the step chosen with the second, for each seed."""
    found = []
    for seed in range(seeds):
        parts = parts_of(name, rows, seed)
        if parts is None:
            print(f"{name}: not there; set LOCALEGOP_DATA to a folder with class_{name}.npz")
            break
        X, Z, y, truth = parts
        losses = []
        for context in (nullcontext(), of_log_odds()):
            with context:
                model = LocalEGOPClassifier(final=final, n_jobs=1).fit(X, y)
            losses.append(log_loss(np.asarray(model.predict_proba(Z, exact=True)), truth))
        found.append((losses[0], losses[1], model.choice_.step))
    return found


def row(name: str, final: str, runs: list[tuple[float, float, int]]) -> tuple[list[str], float]:
    """Cells of a row of the table, and the logarithm of the ratio of the losses."""
    ours, other = (np.array([run[k] for run in runs]) for k in (0, 1))
    ratio = float(np.mean(np.log(other / ours)))
    steps = ", ".join(str(run[2]) for run in runs)
    return [name, final, f"{ours.mean():.4f}", f"{other.mean():.4f}", f"{np.exp(ratio):.3f}", steps], ratio


def main() -> None:
    """Run what is asked for and print a table, into a page if one is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--final", nargs="+", default=["polynomial", "auto"])
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*REAL, *MADE])
    parser.add_argument("--page", type=Path, help="page to write the table into, between its markers")
    args = parser.parse_args()
    lines, ratios = [], []
    for final, name in product(args.final, args.sets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = compare(name, args.rows, args.seeds, final)
        if runs:
            line, ratio = row(name, final, runs)
            lines.append(line)
            ratios.append(ratio)
            print(line, flush=True)
    head = ["set", "final fit", "probabilities", "log-odds", "ratio", "steps with log-odds"]
    mean = float(np.exp(np.mean(ratios))) if ratios else np.nan
    table = markdown_table(head, [*lines, ["**geometric mean**", "", "", "", f"{mean:.3f}", ""]])
    print("\n".join(table))
    if args.page:
        sets = "" if args.sets == SETS else f" --sets {shlex.join(args.sets)}"
        options = f"--rows {args.rows} --seeds {args.seeds} --final {' '.join(args.final)}{sets}"
        command = f"python benchmarks/log_odds.py {options} --page {args.page}"
        replace_block(args.page, "log-odds", [*table, "", f"Written by `{command}`."])


if __name__ == "__main__":
    main()
