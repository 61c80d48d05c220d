"""From Algorithm 1 to field Local EGOP in ten steps: what each difference does to error and time.

Row 0 is Algorithm 1 with the paper's constants; every row changes one thing more, and row 10 is the
estimator with its defaults. All rows of a data set are fitted to the same points and predict the same
queries, on one thread. Run with ``python benchmarks/ablation.py [--rows N] [--queries Q] [--seeds S]
[--sets ...]``; concrete and revised MD17 are read from LOCALEGOP_DATA, and without it the frames of
malonaldehyde that ship with the package are taken and concrete is left out. ``--json FILE`` keeps all
results, and a second run goes on from there; ``--page FILE`` puts the tables between two comments of that
page, in place of older ones.
"""

import argparse
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from records import Records

from localegop import LocalEGOPRegressor
from localegop.datasets import fetch_rmd17, load_malonaldehyde, make_helix, prepare_molecule
from localegop.research.runs.pages import markdown_table, replace_block

DATA = os.environ.get("LOCALEGOP_DATA")
NOISE = 0.1  # of noisy labels, in standard deviations of the clean ones
PAPER = LocalEGOPRegressor.paper_parameters()
FIELD = {"strategy": "field", "n_subsamples": 300, "momentum": 0.5, "final": "polynomial", "degree": 1}


@dataclass(frozen=True)
class Stage:
    """One row of the table: what is changed, and whether predictions are blended."""

    what: str
    changes: dict[str, Any] = field(default_factory=dict)
    keep_units: bool = False
    exact: bool = True


STAGES = (
    Stage("Algorithm 1"),
    Stage("weights of the sample without bias", {"weighting": "unbiased"}),
    Stage("ridge chosen by error", {"ridge": "auto"}),
    Stage("nearest 1,000 rows, no radius", {"exclusion_radius": None, "max_neighbors": "auto"}),
    Stage("units chosen by error", {"initial_metric": "auto"}),
    Stage("four effective sizes", {"schedule": "effective_size", "n_iter": None, "momentum": 0.5}),
    Stage("gradients learned once", FIELD, keep_units=True),
    Stage("axes from slopes", {}),
    Stage("products of leading directions", {"degree": "auto"}),
    Stage("kriging competes", {"final": "auto"}),
    Stage("blended predictions", {}, exact=False),
)


def helix(dimension, noise):
    """Return a function (rows, seed) -> points, labels to fit and labels to predict."""

    def sample(rows, seed):
        X, clean = make_helix(rows, dimension, random_state=seed)
        return X, clean + noise * clean.std() * np.random.default_rng(seed).normal(size=rows), clean

    return sample


def malonaldehyde(rows, seed):
    """Frames in random order: of revised MD17 if there are any, else those that ship with the package."""
    if DATA:
        X, y = prepare_molecule(fetch_rmd17("malonaldehyde", DATA).positions, (4, 0, 1, 6))
    else:
        X, y = load_malonaldehyde(return_X_y=True)
    return _some(X, y, rows, seed)


def concrete(rows, seed):
    """Rows of the table in random order, features standardized: the paper's constants are lengths."""
    table = np.load(Path(DATA) / "uci_concrete.npz")
    X = table["X"].astype(float)
    return _some((X - X.mean(axis=0)) / X.std(axis=0), table["y"].astype(float), rows, seed)


def _some(X, y, rows, seed):
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    return X[order], y[order], y[order]


SETS = {
    "helix D=5": helix(5, 0.0),
    "helix D=5, noise": helix(5, NOISE),
    "helix D=20": helix(20, 0.0),
    "helix D=20, noise": helix(20, NOISE),
    "malonaldehyde": malonaldehyde,
    "concrete": concrete,
}


def parameters_of(number, units):
    """Parameters of row ``number``: all changes up to it; ``units`` are those that queries alone had."""
    changed = dict(PAPER)
    for stage in STAGES[: number + 1]:
        changed |= stage.changes
    if STAGES[number].keep_units:
        changed["initial_metric"] = units
    return changed


def measure(name, number, rows, queries, seed, units):
    """Fit, predict, and compare with labels without noise."""
    X, y, clean = SETS[name](rows + queries, seed)
    model = LocalEGOPRegressor(**parameters_of(number, units), random_state=seed, n_jobs=1)
    start = time.process_time()
    model.fit(X[queries:], y[queries:])
    fitted = time.process_time()
    values = model.predict(X[:queries], exact=STAGES[number].exact)
    seconds = time.process_time() - fitted
    found = model.initial_metric_
    return {
        "mse": float(np.mean((values - clean[:queries]) ** 2) / clean.var()),
        "median": float(np.median((values - clean[:queries]) ** 2) / clean.var()),
        "fit_seconds": fitted - start,
        "query_ms": 1e3 * seconds / queries,
        "units": found if isinstance(found, str) else "axes",
    }


def compute(given, records):
    """Records by set and row, each the mean over seeds."""
    found = {}
    for name in given.sets:
        for seed in range(given.seeds):
            units = "identity"
            for number, stage in enumerate(STAGES):
                of = f"{given.rows} rows, {given.queries} queries, seed {seed}"
                key = f"{name}, {number} {stage.what}, {of}"
                arguments = (name, number, given.rows, given.queries, seed, units)
                record = records.take(key, lambda arguments=arguments: measure(*arguments))
                if number == 4:
                    units = record["units"]
                found.setdefault((name, number), []).append(record)
                print(f"{key}: {record['mse']:.1e}, {record['query_ms']:.3g} ms", flush=True)
    return found


def mean(records, entry):
    """Mean over seeds."""
    return float(np.mean([record[entry] for record in records]))


def tables(given, found):
    """Markdown: errors, and times."""
    names = [name for name in given.sets if (name, 0) in found]
    rows = [[str(k), stage.what] for k, stage in enumerate(STAGES)]
    errors = [row + [f"{mean(found[name, k], 'mse'):.1e}" for name in names] for k, row in enumerate(rows)]
    times = [
        row
        + [
            f"{mean(found[name, k], 'fit_seconds'):.2g} s, {mean(found[name, k], 'query_ms'):.2g} ms"
            for name in names
        ]
        for k, row in enumerate(rows)
    ]
    medians = [
        row + [f"{mean(found[name, k], 'median'):.1e}" for name in names] for k, row in enumerate(rows)
    ]
    options = f"--rows {given.rows} --queries {given.queries} --seeds {given.seeds}"
    rows_given = f"{given.rows:,} rows (concrete: what there is)"
    what = f"{rows_given}, {given.queries} queries, {given.seeds} seed{'s' * (given.seeds > 1)}"
    return [
        f"Mean squared error over the variance of the labels, which have no noise at queries; {what}:",
        "",
        *markdown_table(["", "up to here", *names], errors),
        "",
        "The same, median over queries (a mean is often that of the few worst):",
        "",
        *markdown_table(["", "up to here", *names], medians),
        "",
        "Time of the processor for a fit, and for a query, on one thread:",
        "",
        *markdown_table(["", "up to here", *names], times),
        "",
        f"Written by `python benchmarks/ablation.py {options} --page docs/algorithm.md`.",
    ]


def usable_sets():
    """Names of the sets whose data are there."""
    if not DATA:
        print("<!-- concrete skipped: LOCALEGOP_DATA is not set -->")
    return [name for name in SETS if DATA or name != "concrete"]


def main(arguments=None):
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args(arguments)
    given.sets = given.sets or usable_sets()
    warnings.simplefilter("ignore")
    records = Records(given.json)
    lines = tables(given, compute(given, records))
    records.tell_of_other_commits()
    print("\n".join(lines))
    if given.page:
        replace_block(given.page, "ablation", lines)


if __name__ == "__main__":
    main()
