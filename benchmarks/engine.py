"""The engine measured: agreement with the reference, speed as ratios in one run, accuracy of defaults.

Run with ``python benchmarks/engine.py [--only NAME ...] [--json FILE] [--markdown FILE]``. Parts that need
data from outside read the folder LOCALEGOP_DATA and are skipped with a line where it is not set.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from bars import HEAD, Table
from sklearn.datasets import make_friedman1
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

from localegop import LocalEGOPRegressor, _core
from localegop.datasets import fetch_rmd17, load_malonaldehyde, make_helix, prepare_molecule
from localegop.reference import local_egop
from localegop.schedules import Geometric

DATA = os.environ.get("LOCALEGOP_DATA")
PAPER = LocalEGOPRegressor.paper_parameters()
TORSION = (4, 0, 1, 6)


def seconds(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


def processor_seconds(call, repeats=5):
    """Least time that this process computed for a call, which other processes do not lengthen much."""
    least, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


def molecule():
    frames = fetch_rmd17("malonaldehyde")
    return prepare_molecule(frames.positions, TORSION)


def agreement(table):
    """Query strategy with everything drawn against the reference."""
    problems = [
        (f"helix D={d}", *make_helix(303, d, random_state=1), 1.6 if d < 20 else None) for d in (2, 5, 20)
    ]
    if DATA:
        X, y = molecule()
        rows = np.random.default_rng(0).permutation(len(y))[:503]
        problems.append(("malonaldehyde n=500", X[rows], y[rows], None))
    for name, X, y, radius in problems:
        changed = {"n_iter": 20, "exclusion_radius": radius, "ridge": 1e-6}
        if name.startswith("malon"):
            changed |= {"schedule": Geometric(2.0, 0.8), "n_iter": 10, "ridge": 1e-3}
        model = LocalEGOPRegressor(**PAPER | changed | {"n_subsamples": 10**6}).fit(X[3:], y[3:])
        theirs = np.array(
            [
                local_egop(
                    X[3:],
                    y[3:],
                    q,
                    n_subsamples=10**6,
                    **({"schedule": changed["schedule"]} if "schedule" in changed else {}),
                    **{k: changed[k] for k in ("n_iter", "exclusion_radius", "ridge")},
                ).value
                for q in X[:3]
            ]
        )
        gap = np.max(np.abs(model.predict(X[:3]) - theirs) / np.abs(theirs))
        table.add(f"{name}: relative difference from the reference", gap, 1e-8)


def strategies(table):
    """Query strategy against the reference, field against query, per query."""
    X, y = make_helix(4040, 5, random_state=0)
    X, y, queries = X[40:], y[40:], X[:40]
    query = LocalEGOPRegressor(**PAPER).fit(X, y)
    field = LocalEGOPRegressor().fit(X, y)
    query.predict(queries[:2]), field.predict(queries[:2])
    with threadpool_limits(1):
        slow, _ = seconds(lambda: local_egop(X, y, queries[0], random_state=0))
    fast = seconds(query.predict, queries)[0] / len(queries)
    learned = min(seconds(field.predict, queries)[0] for _ in range(3)) / len(queries)
    print(f"<!-- reference {slow:.2f} s, query {fast:.4f} s, field {learned * 1e3:.3f} ms a query -->")
    table.add(
        "query strategy against the reference, paper's settings, helix n=4000 D=5",
        slow / fast,
        100,
        " x",
        True,
    )
    table.add("field predict against query predict, per query", fast / learned, 50, " x", True)


def gram(table):
    """Weighted Gram of the core against dgemm, one thread, half-counted against fully counted."""
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        for dimension in (20, 50):
            columns = rng.normal(size=(dimension, 1024))
            other = np.ascontiguousarray(columns.T)
            ours = (
                min(seconds(lambda c=columns: [_core.gram(c) for _ in range(500)])[0] for _ in range(5))
                / 500
            )
            theirs = (
                min(seconds(lambda c=columns, o=other: [c @ o for _ in range(500)])[0] for _ in range(5))
                / 500
            )
            square = rng.normal(size=(1000, 1000))
            peak = 2e9 / min(seconds(lambda s=square: s @ s)[0] for _ in range(5)) / 1e9
            rate = dimension * (dimension + 1) * 1024 / ours / 1e9
            same = 2 * dimension**2 * 1024 / theirs / 1e9
            print(
                f"<!-- D={dimension}: core {rate:.1f}, dgemm same shape {same:.1f}, "
                f"dgemm 1000x1000 {peak:.1f} GF/s -->"
            )
            table.add(
                f"Gram of the core against dgemm of the same shape, D={dimension}",
                rate / same,
                0.5,
                " x",
                True,
            )


def threads(table):
    """Two threads against one."""
    X, y = make_helix(7000, 10, random_state=0)
    timing = {}
    for jobs in (1, 2):
        model = LocalEGOPRegressor(n_jobs=jobs)
        timing["fit", jobs], _ = seconds(model.fit, X[:3000], y[:3000])
        timing["predict", jobs], _ = seconds(lambda m=model: m.predict(X[3000:], exact=True))
    for what in ("fit", "predict"):
        table.add(
            f"two threads against one, {what}, helix D=10",
            timing[what, 1] / timing[what, 2],
            1.6,
            " x",
            True,
        )


def blend(table):
    """Blended predictions against kernel ridge of 5,000 rows, one thread, and against exact ones."""
    helix, heights = make_helix(5000, 5, noise=0.1, random_state=0)
    cubes, sums = make_friedman1(3000, 8, noise=1.0, random_state=0)
    frames = load_malonaldehyde()
    rows = np.random.default_rng(0).permutation(len(frames.target))[:3500]
    for name, X, y in (
        ("helix D=5, n=4000, noise 0.1", helix, heights),
        ("friedman1 D=8, n=2000", cubes, sums),
        ("malonaldehyde D=50, n=2500", frames.data[rows], frames.target[rows]),
    ):
        model = LocalEGOPRegressor(n_jobs=1).fit(X[:-1000], y[:-1000])
        again = np.random.default_rng(0).integers(0, len(X) - 1000, 5000)
        ridge = KernelRidge(kernel="rbf", alpha=1.0).fit(X[again], y[again])
        with threadpool_limits(1):
            theirs, _ = processor_seconds(lambda r=ridge, q=X[-1000:]: r.predict(q))
            blended, near = processor_seconds(lambda m=model, q=X[-1000:]: m.predict(q))
            exact, own = processor_seconds(lambda m=model, q=X[-1000:]: m.predict(q, exact=True))
        print(
            f"<!-- {name}: kernel ridge {1e3 * theirs:.1f} ms, blended {1e3 * blended:.1f} ms, "
            f"exact {1e3 * exact:.1f} ms; {model.choice_.final} -->"
        )
        table.add(f"{name}: 1,000 predictions against kernel ridge", blended / theirs, 1.0, " x")
        errors = [np.mean((guess - y[-1000:]) ** 2) for guess in (near, own)]
        table.add(f"{name}: error of predictions against exact ones", errors[0] / errors[1], 1.02, " x")


def malonaldehyde(table):
    """Speed and memory against kernel ridge, in its own process; accuracy on three splits."""
    if not DATA:
        print("<!-- malonaldehyde skipped: LOCALEGOP_DATA is not set -->")
        return
    done = subprocess.run(
        [sys.executable, __file__, "--molecule-only"], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"<!-- kernel ridge fit {result['ridge']:.1f} s; {result['choices']} -->")
    table.add(
        "malonaldehyde: fit + predict of 500 against one KernelRidge fit",
        result["ours"] / result["ridge"],
        8,
        " x",
    )
    table.add("malonaldehyde: peak memory", result["memory"], 1.5, " GB")
    table.add("malonaldehyde: MSE, mean of 3 splits", np.mean(result["errors"]), 3.0e-4)


def molecule_only():
    X, y = molecule()
    errors, times, choices = [], [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[:500], order[500:]
        model = LocalEGOPRegressor()
        took, guess = seconds(lambda m=model, a=train, b=test: m.fit(X[a], y[a]).predict(X[b]))
        errors.append(float(np.mean((guess - y[test]) ** 2)))
        times.append(took)
        choices.append(str(model.choice_))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    ridge, _ = seconds(KernelRidge(kernel="rbf", gamma=0.05, alpha=1e-4).fit, X[train], y[train])
    print(
        json.dumps(
            {
                "errors": errors,
                "ours": np.median(times),
                "ridge": ridge,
                "memory": memory,
                "choices": choices,
            }
        )
    )


def growth(table):
    """Cost per point from 10^4 to 10^5 points at fixed max_neighbors."""
    cost = {}
    for n in (10_000, 100_000):
        X, y = make_helix(n, 10, random_state=0)
        model = LocalEGOPRegressor()
        took, _ = seconds(model.fit, X, y)
        cost[n] = took / n
        print(
            f"<!-- n={n}: fit {took:.1f} s, {cost[n] * 1e3:.3f} ms a point, {model.choice_} -->", flush=True
        )
    table.add("cost per point, n = 10^4 to 10^5, helix D=10", cost[100_000] / cost[10_000], 1.3, " x")


def large(table):
    """200,000 points in ten dimensions, in its own process."""
    done = subprocess.run(
        [sys.executable, __file__, "--large-only"], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"<!-- {result} -->")
    table.add("helix n=200,000 D=10: fit", result["fit"] / 60, 60, " min")
    table.add("helix n=200,000 D=10: peak memory", result["memory"], 6, " GB")


def large_only():
    X, y = make_helix(201_000, 10, random_state=0)
    model = LocalEGOPRegressor()
    fit, _ = seconds(model.fit, X[1000:], y[1000:])
    predict, guess = seconds(model.predict, X[:1000])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    error = float(np.mean((guess - y[:1000]) ** 2) / y.var())
    result = {
        "fit": fit,
        "predict_ms": predict,
        "memory": memory,
        "error": error,
        "choice": str(model.choice_),
    }
    print(json.dumps(result))


def accuracy(table):
    """Accuracy of the defaults on generated data and open tables."""
    for dimension, n, noise, bar in ((5, 4000, 0.0, 5e-7), (5, 4000, 0.1, 2.5e-4), (20, 2000, 0.0, 4e-5)):
        errors = []
        for seed in range(3):
            bunch = make_helix(n + 1000, dimension, noise=noise, random_state=seed, return_bunch=True)
            model = LocalEGOPRegressor().fit(bunch.data[:n], bunch.target[:n])
            truth = bunch.noise_free_target
            errors.append(np.mean((model.predict(bunch.data[n:]) - truth[n:]) ** 2) / truth.var())
        table.add(
            f"helix D={dimension}, n={n}, noise {noise}: MSE / label variance, 3 seeds",
            np.mean(errors),
            bar,
        )
    if not DATA:
        print("<!-- tables skipped: LOCALEGOP_DATA is not set -->")
        return
    for name, bar in (("power", 0.215), ("energy", 0.05), ("concrete", 0.34)):
        table_data = np.load(Path(DATA) / f"uci_{name}.npz")
        X, y = table_data["X"].astype(float), table_data["y"].astype(float)
        errors = []
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(y))
            test, train = order[: len(y) // 10], order[len(y) // 10 :]
            guess = LocalEGOPRegressor().fit(X[train], y[train]).predict(X[test])
            errors.append(np.sqrt(np.mean((guess - y[test]) ** 2)) / y.std())
        table.add(f"uci {name}: RMSE / label sd, mean of 5 splits", np.mean(errors), bar)


PARTS = {
    f.__name__: f
    for f in (agreement, strategies, gram, threads, blend, malonaldehyde, growth, large, accuracy)
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--json", help="also write the rows here")
    parser.add_argument("--markdown", help="also write the table here")
    parser.add_argument("--molecule-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--large-only", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.molecule_only:
        return molecule_only()
    if arguments.large_only:
        return large_only()
    table = Table()
    print(f"instruction set {_core.instruction_set}, {os.cpu_count()} processors\n\n{HEAD}", flush=True)
    for name in arguments.only:
        PARTS[name](table)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(table.rows, indent=1) + "\n")
    if arguments.markdown:
        text = "# The engine, measured\n\nWritten by `python benchmarks/engine.py --markdown FILE`."
        Path(arguments.markdown).write_text(f"{text}\n\n{table.markdown()}\n")
    return None


if __name__ == "__main__":
    main()
