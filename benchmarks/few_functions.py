"""What processes of few functions are worth: fits to published functions with and without them.

``python benchmarks/few_functions.py [--rows 6000] [--samples 2] [--page docs/algorithm.md]``. Errors are
mean squared errors at 1,500 fresh points, to labels without noise, over the label variance; seconds are
those of one processor. "Without" forbids the processes, and with them the axes that their slopes suggest.
"""

import argparse
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1

from localegop import LocalEGOPRegressor
from localegop._engine import settings
from localegop.datasets import make_engineering
from localegop.research.runs.pages import markdown_table, replace_block

QUERIES, FIRST_SEED = 1500, 4000
HEAD = ["function", "noise", "error without", "with", "ratio", "seconds without", "with", "final fit"]
FUNCTIONS = ("friedman1", "borehole", "otl_circuit", "piston", "wing_weight")


def draw(name, rows, noise, seed):
    """Points, noisy labels, and points with labels to test at."""
    if name == "friedman1":
        X, y = make_friedman1(rows + QUERIES, 10, random_state=seed)
    else:
        X, y, _ = make_engineering(name, rows + QUERIES, random_state=seed)
    noisy = y + noise * y.std() * np.random.default_rng(seed).standard_normal(len(y))
    return X[QUERIES:], noisy[QUERIES:], X[:QUERIES], y[:QUERIES]


@contextmanager
def without_functions():
    """No fit has so few rows that it may be made of functions."""
    most = settings.MOST_FUNCTION_ROWS
    settings.MOST_FUNCTION_ROWS = 0
    try:
        yield
    finally:
        settings.MOST_FUNCTION_ROWS = most


def measure(X, y, queries, truth):
    """Error, processor seconds and kind of the final fit."""
    begin = time.process_time()
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y)
    seconds = time.process_time() - begin
    error = np.mean((model.predict(queries) - truth) ** 2) / truth.var()
    return error, seconds, model.choice_.final.kind


def row(name, rows, noise, samples):
    """Line of the table about one function."""
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + samples):
        parts = draw(name, rows, noise, seed)
        with without_functions():
            before = measure(*parts)
        found.append((before, measure(*parts)))
    errors = np.array([[each[0] for each in pair] for pair in found])
    seconds = np.mean([[each[1] for each in pair] for pair in found], axis=0)
    old, new = errors.mean(axis=0)
    kinds = ", ".join(dict.fromkeys(pair[1][2] for pair in found))
    numbers = [f"{old:.2e}", f"{new:.2e}", f"{new / old:.2f}", f"{seconds[0]:.1f}", f"{seconds[1]:.1f}"]
    return [name.replace("_", " "), f"{noise:g}", *numbers, kinds]


def main(argv=None):
    """Print the table, and write it into a page if one is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--noises", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table between its markers")
    given = parser.parse_args(argv)
    rows = []
    for name in given.functions:
        for noise in given.noises:
            rows.append(row(name, given.rows, noise, given.samples))
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    if given.page:
        replace_block(given.page, "few-functions", markdown_table(HEAD, rows))


if __name__ == "__main__":
    main()
