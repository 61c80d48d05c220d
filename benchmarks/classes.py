"""LocalEGOPClassifier against its peers: error, log loss, Brier score, calibration error and time.

``python benchmarks/classes.py --page docs/classification.md`` writes tables between the markers of a page
and a figure. Data ship with scikit-learn, are generated, or come from ``LOCALEGOP_DATA/class_*.npz``; those
that are not there are left out. ``--json FILE`` keeps results, so that a run can be interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets as toys
from sklearn.model_selection import train_test_split

from localegop.datasets import make_class_annulus, make_class_helix
from localegop.research.peers.classifiers import CLASSIFIERS
from localegop.research.peers.registry import Method
from localegop.research.runs.pages import markdown_table, replace_block, save_figures

REAL = ("digits", "breast_cancer", "wine", "iris", "banana", "phoneme", "vehicle", "segment", "ionosphere")
REAL += ("texture", "wdbc")
MADE = ("helix D=5", "helix D=20", "annulus", "ring")
SHIPPED = ("digits", "breast_cancer", "wine", "iris")
MOST_TEST, BINS = 1500, 15
COVERAGE, DRAWS = 0.9, 100  # of prediction sets; draws of labels from probabilities
MEASURES = ("error", "log loss", "Brier", "ECE", "seconds")
TITLES = {"seconds": "seconds of one processor for a fit, tuning included"}


def load(name: str, rows: int, seed: int) -> dict[str, Any] | None:
    """Training and test rows of a set, with the exact probabilities at the latter where they are known."""
    if name in MADE:
        return _make(name, rows, seed)
    if name in SHIPPED:
        X, y = getattr(toys, f"load_{name}")(return_X_y=True)
    else:
        folder = os.environ.get("LOCALEGOP_DATA")
        path = None if folder is None else Path(folder) / f"class_{name}.npz"
        if path is None or not path.exists():
            return None
        with np.load(path) as stored:
            X, y = stored["X"].astype(float), stored["y"]
    y = np.unique(y, return_inverse=True)[1]
    count = min(rows, int(0.7 * len(y)))
    rest = min(len(y) - count, MOST_TEST)
    parts = train_test_split(X, y, train_size=count, test_size=rest, stratify=y, random_state=seed)
    return dict(zip(("X", "X_test", "y", "y_test"), parts, strict=True)) | {"truth": None}


def _make(name: str, rows: int, seed: int) -> dict[str, Any]:
    total = rows + MOST_TEST
    if name == "ring":  # two normal classes in 20 dimensions, of one variance four times the other
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, total)
        X = rng.normal(size=(total, 20))
        X[y == 0] *= 2.0
        X[y == 1] += 2.0 / np.sqrt(20.0)
        wide = -0.5 * np.sum(X**2, axis=1) / 4.0 - 20.0 * np.log(2.0)
        narrow = -0.5 * np.sum((X - 2.0 / np.sqrt(20.0)) ** 2, axis=1)
        second = 1.0 / (1.0 + np.exp(np.clip(wide - narrow, -700.0, 700.0)))
        truth = np.column_stack([1.0 - second, second])
    else:
        options = {"random_state": seed, "return_bunch": True}
        made = (
            make_class_annulus(total, **options)
            if name == "annulus"
            else make_class_helix(total, int(name.split("=")[1]), **options)
        )
        X, y, truth = made.data, made.target, made.probabilities
    return {
        "X": X[:rows],
        "y": y[:rows],
        "X_test": X[rows:],
        "y_test": y[rows:],
        "truth": truth[rows:],
    }


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Mean log loss of probabilities (m, K), which are kept from 0 as scikit-learn does."""
    return float(-np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1.0))))


def excess_loss(p: np.ndarray, truth: np.ndarray) -> float:
    """Mean log loss of probabilities (m, K) beyond that of the true ones, whatever labels are drawn."""
    tiny = 1e-15
    logs = np.log(np.clip(truth, tiny, 1.0)) - np.log(np.clip(p, tiny, 1.0))
    return float(np.mean(np.sum(truth * logs, axis=1)))


def calibration_error(p: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error: how far shares of right answers are from the probabilities of these."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(float(np.sum(right[bins == b] - sure[bins == b]))) for b in range(BINS)]
    return sum(gaps) / len(y)


def chance_error(p: np.ndarray) -> float:
    """Mean calibration error of probabilities (m, K) if they are right: few rows never show just these."""
    rng, sure = np.random.default_rng(0), p.max(axis=1)
    drawn = rng.random((DRAWS, len(sure))) < sure
    return float(np.mean([calibration_error(p, np.where(right, p.argmax(axis=1), -1)) for right in drawn]))


def chance_of_coverage(n: int, n_test: int, seeds: int, coverage: float = COVERAGE) -> float:
    """Standard deviation of the share that exact sets cover, calibrated and tested at so many rows."""
    return float(np.sqrt(coverage * (1.0 - coverage) * (1.0 / n + 1.0 / n_test) / seeds))


def measure(method: Method, data: dict[str, Any], seed: int) -> dict[str, float]:
    """Fit a method and measure its probabilities at the test rows; time is that of the processor."""
    X, y = data["X"], data["y"]
    if method.largest_n is not None and len(y) > method.largest_n:
        X, _, y, _ = train_test_split(X, y, train_size=method.largest_n, stratify=y, random_state=seed)
    start = time.process_time()
    model = method.make(len(y), seed, 1).fit(X, y)
    seconds = time.process_time() - start
    p, truth = np.asarray(model.predict_proba(data["X_test"])), data["y_test"]
    found = {
        "error": float(np.mean(p.argmax(axis=1) != truth)),
        "log loss": log_loss(p, truth),
        "Brier": float(np.mean(np.sum((p - np.eye(p.shape[1])[truth]) ** 2, axis=1))),
        "ECE": calibration_error(p, truth),
        "seconds": seconds,
        "n_test": len(truth),
    }
    if data["truth"] is not None:
        found["excess"] = excess_loss(p, data["truth"])
    if hasattr(model, "predict_set"):
        sets = model.predict_set(data["X_test"], COVERAGE)
        found["covered"] = float(np.mean(sets[np.arange(len(truth)), truth]))
        found["ECE by chance"] = chance_error(p)
    return found


def run(
    names: list[str], rows: int, seeds: Iterable[int], kept: Path | None, methods: list[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Measure methods, all if none are named, on some sets, going on with what a file holds."""
    results: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for seed in seeds:
        for name in names:
            data = load(name, rows, seed)
            if data is None:
                print(f"{name}: not there; set LOCALEGOP_DATA to a folder with class_{name}.npz")
                continue
            for key in methods or CLASSIFIERS:
                method = CLASSIFIERS[key]
                cell = f"{name}|{key}|{rows}|{seed}"
                if cell in results or not method.available:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results[cell] = measure(method, data, seed) | {"n": len(data["y"])}
                print(cell, {k: round(v, 4) for k, v in results[cell].items()}, flush=True)
                if kept:
                    kept.write_text(json.dumps(results, indent=1))
    return results


def means(results: dict[str, dict[str, Any]], rows: int, measure: str) -> dict[str, dict[str, float]]:
    """Means over seeds of a measure, by set and method."""
    cells: dict[str, dict[str, list[float]]] = {}
    for cell, found in results.items():
        name, key, n, _ = cell.split("|")
        if int(n) == rows and measure in found:
            cells.setdefault(name, {}).setdefault(key, []).append(found[measure])
    return {name: {key: float(np.mean(v)) for key, v in each.items()} for name, each in cells.items()}


def mean_ranks(table: dict[str, dict[str, float]], methods: list[str]) -> dict[str, float]:
    """Mean rank of each method over the real sets that all have been run on; ties share their ranks."""
    real = [each for name, each in table.items() if name in REAL and set(methods) <= set(each)]
    ranks = [rankdata([each[key] for key in methods]) for each in real]
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True)) if ranks else {}


def time_ratio(table: dict[str, dict[str, float]]) -> float:
    """Geometric mean over sets of our seconds over those of xRFM."""
    both = [each for each in table.values() if {"local_egop", "xrfm"} <= set(each)]
    return float(np.exp(np.mean([np.log(each["local_egop"] / each["xrfm"]) for each in both])))


def report(results: dict[str, dict[str, Any]], rows: int) -> list[str]:
    """Tables of all measures and ranks, as lines of Markdown."""
    losses = means(results, rows, "log loss")
    keys = [key for key in CLASSIFIERS if any(key in each for each in losses.values())]
    labels = [CLASSIFIERS[key].label for key in keys]
    parts: list[str] = []
    for what in MEASURES:
        table = means(results, rows, what)
        lines = [
            [name, *(f"{table[name][k]:.3g}" if k in table[name] else "" for k in keys)] for name in table
        ]
        ranks = mean_ranks(table, keys)
        if ranks and what != "seconds":
            lines.append(["**mean rank, real sets**", *(f"{ranks[key]:.2f}" for key in keys)])
        if what == "seconds" and {"local_egop", "xrfm"} <= set(keys):
            lines.append(
                [f"**ours over xRFM's, geometric mean: {time_ratio(table):.2f}**", *([""] * len(keys))]
            )
        title, header = TITLES.get(what, what), ["set", *labels]
        if what == "ECE" and "local_egop" in keys:
            by_chance = means(results, rows, "ECE by chance")
            header.append("LocalEGOPClassifier, if its probabilities were right")
            lines = [[*line, *_cell(by_chance, line[0])] for line in lines]
        parts += [f"{title[0].upper()}{title[1:]}:", "", *markdown_table(header, lines), ""]
    excess, covered = means(results, rows, "excess"), means(results, rows, "covered")
    if excess:
        lines = [[name, *(f"{excess[name].get(k, np.nan):.3g}" for k in keys)] for name in excess]
        title = "Log loss beyond that of the true probabilities, where these are known:"
        parts += [title, "", *markdown_table(["set", *labels], lines), ""]
    return [*parts, *_coverage_table(results, rows, covered)]


def _coverage_table(
    results: dict[str, dict[str, Any]], rows: int, covered: dict[str, dict[str, float]]
) -> list[str]:
    """Table of the shares that prediction sets cover."""
    sizes, tested = means(results, rows, "n"), means(results, rows, "n_test")
    seeds = len({cell.split("|")[3] for cell in results})
    lines = []
    for name, each in covered.items():
        doubt = chance_of_coverage(sizes[name]["local_egop"], tested[name]["local_egop"], seeds)
        lines.append([name, f"{each['local_egop']:.3f}", f"{doubt:.3f}"])
    title = (
        "Share of test rows whose class is in `predict_set(X, coverage=0.9)`, and what it varies by chance:"
    )
    return [title, "", *markdown_table(["set", "covered", "by chance"], lines)]


def _cell(table: dict[str, dict[str, float]], name: str) -> list[str]:
    """Return ours for a set; nothing for a line of ranks."""
    return [f"{table[name]['local_egop']:.3g}" if name in table else ""]


def draw(results: dict[str, dict[str, Any]], rows: int) -> Any:
    """Draw log losses over that of the best method on each set."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    losses = means(results, rows, "log loss")
    figure, axes = plt.subplots(figsize=(8.0, 0.4 * len(losses) + 1.4), layout="constrained")
    for key, method in CLASSIFIERS.items():
        at = [(each[key] / min(each.values()), i) for i, each in enumerate(losses.values()) if key in each]
        ours = key == "local_egop"
        style = {"s": 60, "zorder": 3, "color": "black"} if ours else {"s": 28, "alpha": 0.8}
        axes.scatter(*zip(*at, strict=True), label=method.label, marker="D" if ours else "o", **style)
    axes.set_xscale("log")
    axes.set_yticks(range(len(losses)), list(losses))
    axes.invert_yaxis()
    axes.axvline(1.0, color="0.7", lw=0.8)
    axes.set_xticks([1, 1.5, 2, 3, 5, 10], ["1", "1.5", "2", "3", "5", "10"])
    axes.minorticks_off()
    axes.set_xlabel("log loss over that of the best method")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def main() -> None:
    """Run what is asked for and print tables, into a page if one is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500, help="training rows, or 70 %% of what there is")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sets", nargs="+", default=[*REAL, *MADE], choices=[*REAL, *MADE])
    parser.add_argument("--methods", nargs="+", default=list(CLASSIFIERS), choices=list(CLASSIFIERS))
    parser.add_argument("--block", default="classes", help="which block of the page; others have no figure")
    parser.add_argument("--json", type=Path, help="file of results, to go on with")
    parser.add_argument("--page", type=Path, help="page to write the tables into, between its markers")
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    results = run(args.sets, args.rows, seeds, args.json, args.methods)
    asked = {
        cell: found
        for cell, found in results.items()
        if cell.split("|")[1] in args.methods
        and cell.split("|")[0] in args.sets
        and int(cell.split("|")[3]) in seeds
    }
    lines = report(asked, args.rows)
    print("\n".join(lines))
    if args.page:
        some = "" if args.sets == [*REAL, *MADE] else f" --sets {shlex.join(args.sets)}"
        options = f"--rows {args.rows} --seeds {args.seeds} --first-seed {args.first_seed}{some}"
        if args.json:
            options += f" --json {args.json}"
        if args.methods != list(CLASSIFIERS):
            options += f" --methods {shlex.join(args.methods)}"
        if args.block != "classes":
            options += f" --block {args.block}"
        command = f"python benchmarks/classes.py {options} --page {args.page}"
        note = (
            f"At most {args.rows:,} training and {MOST_TEST:,} test rows, seeds {seeds[0]} to {seeds[-1]}."
        )
        replace_block(args.page, args.block, [note, "", *lines, "", f"Written by `{command}`."])
        if args.block == "classes":
            save_figures({"classification": draw(asked, args.rows)}, args.page.parent / "figures")


if __name__ == "__main__":
    main()
