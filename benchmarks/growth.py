"""Error and time against the number of rows: helices in several dimensions, with and without label noise.

``python benchmarks/growth.py [--largest N] [--samples S] [--methods ...] [--json FILE] [--page FILE]``.
Each sample is a helix with a label function of its own; predictions are compared with the labels, before
noise, of 1,000 fresh points. Every fit runs in a process of its own. The slope of log error in log n is
found for each sample, its standard error from how slopes differ between samples. ``--json FILE`` keeps
results, and a second run goes on from there.
"""

import argparse
import os
from dataclasses import asdict, dataclass
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
from fresh import measure_fresh, thread_variables
from growth_page import write_page
from records import Records
from stopwatch import time_fit

from localegop.datasets import make_helix
from localegop.research.peers import METHODS, make_method

SIZES = (500, 1000, 4000, 20_000, 64_000, 200_000, 1_000_000)
DIMENSIONS, NOISES = (2, 5, 10, 20), (0.0, 0.1, 0.5)
QUERIES, TUNING_ROWS = 1000, 1000
FIRST_SEED, FIRST_FRESH_SEED = 7000, 8000  # far from those of the other benchmarks, which begin at 0


@dataclass(frozen=True)
class Fit:
    """What is measured at once; noise is in standard deviations of the clean labels."""

    method: str
    noise: float
    dimension: int
    n: int
    sample: int

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.method}/noise {self.noise:g}/D={self.dimension}/n={self.n}/sample {self.sample}"


def draw(fit):
    """Points and labels to fit to; fresh points and their clean labels."""
    seed, fresh_seed = FIRST_SEED + fit.sample, FIRST_FRESH_SEED + fit.sample
    function = make_helix(2, fit.dimension, random_state=seed, return_bunch=True).polynomial
    X, y = make_helix(fit.n, fit.dimension, noise=fit.noise, polynomial=function, random_state=seed)
    return X, y, *make_helix(QUERIES, fit.dimension, polynomial=function, random_state=fresh_seed)


def measure(fit, threads):
    """Record of a fit: error over variance, times, memory; runs in its own process."""
    X, y, queries, truth = draw(fit)
    options = {"tuning_rows": TUNING_ROWS, "random_state": fit.sample, "threads": threads}
    record = time_fit(lambda: make_method(fit.method, **options), X, y, queries)
    error = np.mean((record.pop("values") - truth) ** 2) / np.var(truth)
    return asdict(fit) | {"mse_over_variance": float(error), "threads": threads} | record


def plan(given):
    """Fits in the order in which they run: small ones first, so that a run cut short has all of these."""
    sizes = [n for n in given.sizes if n <= given.largest]
    asked = product(sizes, range(given.samples), given.noises, given.dimensions, given.methods)
    return [
        Fit(method, noise, dimension, n, sample)
        for n, sample, noise, dimension, method in asked
        if n <= (METHODS[method].largest_n or n)
    ]


def run(given, store):
    """Measure what is not there yet, a line for each; return the records of fits that ended well."""
    found, fits = [], plan(given)
    for i, fit in enumerate(fits, 1):
        work = (measure, fit, given.threads)
        key = f"{fit.key}/{given.threads} threads"
        record = store.take(key, lambda work=work: measure_fresh(*work, time_limit=given.time_limit))
        if "error" not in record:
            found.append(record)
        print(f"[{i}/{len(fits)}] {fit.key}: {describe(record)}", flush=True)
    return found


def describe(record):
    """A record in a few words."""
    if "error" in record:
        return record["error"]
    fit, predict = record["fit_seconds"], record["predict_seconds_per_1000"]
    seconds = f"fit {fit:.3g} s, predict {predict:.3g} s per 1,000"
    return f"error {record['mse_over_variance']:.3g}, {seconds}, {record['memory_gb']:.2f} GB"


def usable(names):
    """Methods that are installed; a line says what the others need."""
    for each in [METHODS[name] for name in names if not METHODS[name].available]:
        print(f"{each.label} skipped: it needs {each.module}: pip install 'localegop[{each.extra}]'")
    return [name for name in names if METHODS[name].available]


def arguments(given=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--largest", type=int, default=20_000, metavar="N", help="leave out larger sizes")
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS, metavar="D")
    parser.add_argument("--noises", type=float, nargs="+", default=NOISES, metavar="SD")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["local_egop"])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--time-limit", type=float, default=inf, metavar="SECONDS", help="of one fit")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep results, and go on from them")
    parser.add_argument("--busy", action="store_true", help="the page is to say that the machine was busy")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page, and a figure beside it")
    return parser.parse_args(given)


def main():
    """Measure, then write the page."""
    given = arguments()
    given.methods = usable(given.methods)
    os.environ.update(thread_variables(given.threads))  # read by the processes that are timed
    store = Records(given.json)
    store.tell_of_other_commits()
    found = run(given, store)
    if given.page and found:
        write_page(given.page, found, store.commits_taken, busy=given.busy)


if __name__ == "__main__":
    main()
