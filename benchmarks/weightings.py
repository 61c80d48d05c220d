"""What lines 12 and 13 of Algorithm 1 do as printed, and with three other weightings of the sample.

Helix in five dimensions with labels of growing noise: which step is chosen, and the error there. Run with
``python benchmarks/weightings.py [--rows N] [--queries Q]``; ``--page FILE`` puts the table between two
comments of that page, in place of an older one.
"""

import argparse
from pathlib import Path

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._engine.query_sampling import WEIGHTINGS
from localegop.datasets import make_helix
from localegop.research.runs.pages import markdown_table, replace_block

HEADER = ("noise", "weighting", "quartiles of the steps chosen", "mean error", "median error")


def measure(noise, weighting, rows, queries):
    """Return a row: chosen steps, and squared errors over the variance of the labels."""
    X, clean = make_helix(rows + queries, 5, random_state=0)
    y = clean + noise * clean.std() * np.random.default_rng(0).normal(size=len(clean))
    parameters = LocalEGOPRegressor.paper_parameters() | {"weighting": weighting}
    fits = LocalEGOPRegressor(**parameters, n_jobs=1).fit(X[queries:], y[queries:]).localize(X[:queries])
    errors = (fits.value - clean[:queries]) ** 2 / clean.var()
    steps = ", ".join(f"{step:.0f}" for step in np.percentile(fits.step, [25, 50, 75]))
    return [f"{noise:g}", weighting, steps, f"{errors.mean():.1e}", f"{np.median(errors):.1e}"]


def main():
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    rows = [
        measure(noise, weighting, given.rows, given.queries)
        for noise in (0.0, 0.1, 0.5)
        for weighting in reversed(WEIGHTINGS)
    ]
    table = markdown_table(HEADER, rows)
    print("\n".join(table))
    if given.page:
        about = f"Helix, D = 5, {given.rows:,} rows, {given.queries} queries, error over label variance."
        replace_block(given.page, "weightings", [*table, "", about])


if __name__ == "__main__":
    main()
