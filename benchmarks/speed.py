"""How long fits and predictions take, against other methods in the same run.

``python benchmarks/speed.py [--sets] [--large] [--json FILE] [--page FILE]``. Every time is the median of
repetitions in which all methods take turns, each in a process of its own after a small fit that is not
timed. Ratios are our time over theirs. ``--sets`` adds the data sets of docs/benchmarks.md, ``--large``
200,000 and 1,000,000 rows with the peak of memory. Methods that are not installed are skipped with a line;
``--json FILE`` keeps results, and a second run goes on from there. Run it on a machine that is not busy.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from comparison.cells import Cell, measure
from comparison.datasets import DATASETS, SKIPPED, usual_sets
from comparison.runs import forms
from fresh import thread_variables
from records import Records
from sklearn.datasets import make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from stopwatch import time_fit
from turns import median, take_turns

from localegop.datasets import make_helix
from localegop.research.peers import METHODS, make_method
from localegop.research.runs.pages import markdown_table

OURS, GRID, RIDGE, TUNED = "local_egop", "kernel_ridge_grid", "kernel_ridge_fixed", ("xrfm", "lightgbm")
LABELS = {GRID: "kernel ridge, 16 settings in 3 folds", RIDGE: "kernel ridge, one setting"} | {
    name: METHODS[name].label for name in (OURS, *TUNED)
}
SETTINGS = {"alpha": [1e-6, 1e-4, 1e-2, 1.0], "gamma": [0.03, 0.1, 0.3, 1.0]}
MOST_ROWS = {GRID: 20_000, RIDGE: 20_000} | {name: METHODS[name].largest_n for name in TUNED}
TUNING_ROWS = forms()["full"].tuning_rows  # as in docs/benchmarks.md
QUERIES = 1000
FIT, PREDICT, MEMORY = "fit_seconds", "predict_seconds_per_1000", "memory_gb"

PAGE = """# Speed

How long fits and predictions of 1,000 rows take, against other methods in the same run. Times are medians
of repetitions ({repeats}; of many rows 1) in which all methods take turns, each in a process of its own,
after a small fit that is not timed; tuning is part of a fit. A ratio is our time over theirs: below 1, ours
is faster. Written by `python benchmarks/speed.py --page FILE` at commit {commit}; threads of each method:
{threads}, processors: {processors}.

Rows are drawn by scikit-learn's `make_friedman1` with noise 0.5, about a tenth of the standard deviation of
the labels (five columns matter, the others do not), and by `make_helix` with noise 0.1.

{tables}
"""


@dataclass(frozen=True)
class Problem:
    """Generated rows of one size, and the methods that we take turns with."""

    data: str
    rows: int
    columns: int
    peers: tuple[str, ...]

    @property
    def label(self) -> str:
        """For tables."""
        return f"{self.data}, {self.rows:,} x {self.columns}"


FITS = [
    Problem("Friedman", rows, columns, (GRID, *TUNED))
    for rows, columns in ((20, 5), (300, 13), (1300, 5), (2000, 8), (2000, 18))
]
PREDICTIONS = [Problem("Friedman", 5000, 8, (RIDGE, *TUNED))]
LARGE = [Problem("helix", rows, 10, (GRID, *TUNED)) for rows in (200_000, 1_000_000)]


@dataclass(frozen=True)
class Run:
    """What all comparisons of a run have in common."""

    store: Records
    usable: frozenset[str]
    threads: int
    repeats: int


def draw(problem):
    """Points, labels, and points to predict at."""
    count = problem.rows + QUERIES
    if problem.data == "helix":
        X, y = make_helix(count, problem.columns, noise=0.1, random_state=0)
    else:
        X, y = make_friedman1(count, problem.columns, noise=0.5, random_state=0)
    return X[QUERIES:], y[QUERIES:], X[:QUERIES]


def make(method, threads):
    """Return a fresh estimator."""
    if method == GRID:
        return GridSearchCV(KernelRidge(kernel="rbf"), SETTINGS, cv=3)
    if method == RIDGE:
        return KernelRidge(kernel="rbf", alpha=1e-2, gamma=0.3)
    return make_method(method, tuning_rows=TUNING_ROWS, threads=threads)


def time_generated(method, problem, threads):
    """Times of one method on generated rows; runs in its own process."""
    record = time_fit(lambda: make(method, threads), *draw(problem))
    return {column: record[column] for column in (FIT, PREDICT, MEMORY)}


def time_on_set(method, name, threads):
    """Times of one method on a set of the benchmark, at its largest size; runs in its own process."""
    sizes = DATASETS[name].full
    record = measure(Cell(name, method, max(sizes.train), 0, sizes.test, TUNING_ROWS, threads))
    if record["status"] != "ok":
        raise RuntimeError(record["error"])
    return {column: record[column] for column in (FIT, PREDICT, MEMORY)}


def compare(run, label, work, peers, repeats, *others):
    """Times of ours and of the peers that are installed, which take turns."""
    methods = [OURS, *(name for name in peers if name in run.usable)]
    key = f"{label}/{'+'.join(methods)}/{run.threads} threads/{repeats} times"
    record = run.store.take(
        key, lambda: {"times": take_turns(work, methods, repeats, *others, run.threads)}
    )
    for name, found in record["times"].items():
        if isinstance(found, str):
            print(f"<!-- {label}: {LABELS[name]} failed: {found} -->", flush=True)
    return record["times"]


def generated_table(run, problems, column, repeats, *, memory=False):
    """Lines of a table: for each problem and peer our time, theirs and the ratio."""
    rows = []
    for problem in problems:
        able = [name for name in problem.peers if problem.rows <= (MOST_ROWS[name] or problem.rows)]
        for name in set(problem.peers) - set(able):
            print(f"<!-- {problem.label}: too many rows for {LABELS[name]} -->", flush=True)
        times = compare(run, problem.label, time_generated, able, repeats, problem)
        for peer in [name for name in able if name in times] or [""]:
            rows.append([problem.label, *_show(times, peer, column, memory)])
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    head = ["data", "ours", "peer", "theirs", "ours / theirs"]
    return markdown_table([*head, "memory, ours", "theirs"] if memory else head, rows)


def _show(times, peer, column, memory):
    ours, theirs = (median(times, name, column) for name in (OURS, peer))
    shown = [_number(ours, " s"), LABELS.get(peer, "-"), _number(theirs, " s"), _number(ours / theirs)]
    return shown + [_number(median(times, name, MEMORY), " GB") for name in (OURS, peer) if memory]


def _number(value, unit=""):
    return "-" if np.isnan(value) else f"{value:.3g}{unit}"


def sets_table(run, names):
    """Lines of a table: for each peer geometric means of fit times, over the sets that both were run on."""
    found = {}
    for name in names:
        peers = [peer for peer in TUNED if peer in (DATASETS[name].methods or TUNED)]
        found[name] = compare(run, f"set {name}", time_on_set, peers, run.repeats, name)
        shown = ", ".join(f"{LABELS[m]} {_number(median(found[name], m, FIT), ' s')}" for m in found[name])
        print(f"<!-- {name}: {shown} -->", flush=True)
    rows = [row for peer in TUNED if (row := _mean_row(found, peer))]
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    head = ["peer", "sets", "ours, geometric mean", "theirs", "ours / theirs", "worst set"]
    return markdown_table(head, rows)


def _mean_row(found, peer):
    """Row about one peer; None if there is no set that both were run on."""
    times = {name: [median(each, method, FIT) for method in (OURS, peer)] for name, each in found.items()}
    times = {name: pair for name, pair in times.items() if not np.isnan(pair).any()}
    if not times:
        return None
    ours, theirs = np.exp(np.mean(np.log(list(times.values())), axis=0))
    ratios = {name: pair[0] / pair[1] for name, pair in times.items()}
    worst = max(ratios, key=ratios.__getitem__)
    last = f"{_number(ratios[worst])} ({DATASETS[worst].label})"
    return [
        LABELS[peer],
        str(len(times)),
        _number(ours, " s"),
        _number(theirs, " s"),
        _number(ours / theirs),
        last,
    ]


def usable_methods():
    """Methods that are installed; a line says what the others need."""
    missing = [METHODS[name] for name in TUNED if not METHODS[name].available]
    for each in missing:
        print(f"{each.label} skipped: it needs {each.module}: pip install 'localegop[{each.extra}]'")
    return frozenset({GRID, RIDGE} | {name for name in TUNED if METHODS[name].available})


def tables(run, *, large, sets):
    """Tables by title, printed row by row as they grow."""
    found = {
        "Fits": generated_table(run, FITS, FIT, run.repeats),
        "Predictions of 1,000 rows": generated_table(run, PREDICTIONS, PREDICT, run.repeats),
    }
    if large:
        found["Fits of many rows"] = generated_table(run, LARGE, FIT, 1, memory=True)
    if sets:
        # Sets that some methods only are run on are the large ones.
        names = [name for name in (*usual_sets(), *SKIPPED) if large or not DATASETS[name].methods]
        found["Fits of the sets of the benchmark"] = sets_table(run, names)
    return found


def page(found, run):
    """Text of the page."""
    parts = [f"## {title}\n\n" + "\n".join(lines) for title, lines in found.items()]
    commits = " and ".join(sorted(run.store.commits_taken))
    facts = {"commit": commits, "threads": run.threads, "repeats": run.repeats}
    return PAGE.format(**facts, processors=os.cpu_count(), tables="\n\n".join(parts))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", action="store_true", help="also the data sets of docs/benchmarks.md")
    parser.add_argument("--large", action="store_true", help="also 200,000 and 1,000,000 rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep results, and go on from them")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page to this file")
    given = parser.parse_args()
    os.environ.update(thread_variables(given.threads))  # read by the processes that are timed
    store = Records(given.json)
    store.tell_of_other_commits()
    run = Run(store, usable_methods(), given.threads, given.repeats)
    found = tables(run, large=given.large, sets=given.sets)
    if given.page:
        given.page.write_text(page(found, run), encoding="utf-8")


if __name__ == "__main__":
    main()
