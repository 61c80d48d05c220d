"""Answers one can use, measured: coverage of intervals, standard errors, gradients, columns of noise.

Run with ``python benchmarks/answers.py [--only NAME ...]``. Parts that need data from outside read the
folder LOCALEGOP_DATA and are skipped with a line where it is not set.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from bars import HEAD, Table
from engine import DATA, molecule

from localegop import LocalEGOPRegressor
from localegop.datasets import load_malonaldehyde, make_helix

COVERAGES = np.array([0.5, 0.8, 0.9, 0.95])


def are_covered(X, y, train, test):
    """Whether the intervals of each coverage (test rows, 4) hold the labels of the test rows."""
    intervals = LocalEGOPRegressor().fit(X[train], y[train]).predict_interval(X[test], COVERAGES)
    return (intervals[..., 0] <= y[test, None]) & (y[test, None] <= intervals[..., 1])


def report(table, what, inside, bar=0.03):
    found = ", ".join(f"{c:g}: {v:.3f}" for c, v in zip(COVERAGES, inside.mean(axis=0), strict=True))
    print(f"<!-- {what}: {found} -->")
    largest = np.abs(inside.mean(axis=0) - COVERAGES).max()
    table.add(f"coverage, {what} ({len(inside)} rows): largest departure", largest, bar)


def coverage(table):
    """Coverage of intervals on rows that took no part in fitting."""
    n, test = 2000, 2000
    for noise in (0.1, 0.5):
        inside = []
        for seed in range(3):
            X, y = make_helix(n + test, 5, noise=noise, random_state=seed)
            inside.append(are_covered(X, y, np.arange(n), np.arange(n, n + test)))
        report(table, f"helix, noise {noise}", np.concatenate(inside))
    inside, along = [], []
    for seed in range(3):
        bunch = make_helix(n + test, 5, random_state=seed, return_bunch=True)
        t = bunch.coordinates[:, 0]
        t = (t - t.min()) / (t.max() - t.min())
        level = (0.1 + 0.4 * t) * bunch.target.std()  # the noise grows fivefold along the curve
        y = bunch.target + level * np.random.default_rng(100 + seed).standard_normal(len(t))
        inside.append(are_covered(bunch.data, y, np.arange(n), np.arange(n, n + test)))
        along.append(t[n:])
    inside, along = np.concatenate(inside), np.concatenate(along)
    report(table, "noise growing fivefold", inside)
    for k in range(5):
        part = inside[np.minimum((5 * along).astype(int), 4) == k]
        report(table, f"noise growing fivefold, fifth {k + 1} of the curve", part, 0.06)


def tables(table):
    """The same on open data."""
    if not DATA:
        print("<!-- tables skipped: LOCALEGOP_DATA is not set -->")
        return
    for name, splits, share in (("power", 2, 0.3), ("naval", 2, 0.3), ("concrete", 10, 0.1)):
        stored = np.load(Path(DATA) / f"uci_{name}.npz")
        split_and_report(table, f"uci {name}", stored["X"], stored["y"].ravel(), splits, share)
    X, y = molecule()
    split_and_report(table, "malonaldehyde", X, y, 2, 0.1)


def airfoils(table):
    """The same for lift and drag of airfoils, with few rows of 18 features."""
    if not DATA:
        print("<!-- airfoils skipped: LOCALEGOP_DATA is not set -->")
        return
    stored = np.load(Path(DATA) / "naca0012.npz")
    for name in ("lift", "drag"):
        split_and_report(table, f"airfoils, {name}", stored["X"], stored[name], 4, 0.25)


def torsions(table, rows=1000, splits=3):
    """The same for the torsions that ship with the package, where 50 features are learned from few rows."""
    for name in ("tau1", "tau2"):
        X, y = load_malonaldehyde(torsion=name, return_X_y=True)
        parts = np.split(np.random.default_rng(0).permutation(len(y))[: (splits + 1) * rows], splits + 1)
        inside = [are_covered(X, y, *pair) for pair in pairwise(parts)]  # the rows tested train the next
        report(table, f"malonaldehyde {name}, {rows} rows", np.concatenate(inside))


def split_and_report(table, what, X, y, splits, share):
    X, y = X.astype(float), y.astype(float)
    order, size = np.random.default_rng(0).permutation(len(y)), int(share * len(y))
    parts = [order[k * size : (k + 1) * size] for k in range(splits)]  # no row is tested twice
    inside = [are_covered(X, y, np.setdiff1d(order, part), part) for part in parts]
    report(table, what, np.concatenate(inside))


def deviation(table, n=500, refits=200):
    """Reported standard errors against those seen when the noise is drawn anew."""
    bunch = make_helix(n + 100, 5, random_state=0, return_bunch=True)
    X, clean = bunch.data[:n], bunch.noise_free_target[:n]
    rng = np.random.default_rng(1)
    values, reported = [], []
    for _ in range(refits):
        y = clean + 0.3 * clean.std() * rng.standard_normal(n)
        value, error = LocalEGOPRegressor().fit(X, y).predict(bunch.data[n:], return_std=True)
        values.append(value)
        reported.append(error)
    ratio = np.mean(reported) / np.mean(np.std(values, axis=0, ddof=1))
    table.add(f"reported / true standard error, helix n={n} noise 0.3, {refits} refits", ratio, 1.25)
    table.add("the same, from below", ratio, 0.8, at_least=True)


def gradients(table):
    """Gradients and directions against the exact ones; ten columns of pure noise."""
    n = 4000
    bunch = make_helix(n + 200, 5, random_state=0, return_bunch=True)
    X, y = bunch.data, bunch.target
    truth, tangent = bunch.gradients[n:], bunch.tangent[n:, :, 0]
    fits = LocalEGOPRegressor().fit(X[:n], y[:n]).localize(X[n:])
    lengths = np.linalg.norm(fits.gradient, axis=1) * np.linalg.norm(truth, axis=1)
    cosine = np.sum(fits.gradient * truth, axis=1) / lengths
    table.add("gradient, helix n=4000 D=5: median cosine", np.median(cosine), 0.999, at_least=True)
    leading = fits.spectrum[1][:, :, 0]
    angle = np.degrees(np.arccos(np.minimum(np.abs(np.sum(leading * tangent, axis=1)), 1.0)))
    table.add("first eigenvector: angle to the tangent, 95 % of 200", np.quantile(angle, 0.95), 2.0, " deg")
    noise = np.random.default_rng(1).standard_normal((len(X), 10))
    wide = np.hstack([X, noise])
    model = LocalEGOPRegressor().fit(wide[:n], y[:n])
    more = model.localize(wide[n:])
    table.add(
        "largest importance of a column of noise, over 200 queries", more.importance[:, 5:].max(), 0.01
    )
    table.add("the same, global", model.global_importance()[5:].max(), 0.01)
    before, after = (np.sqrt(np.mean((f.value - y[n:]) ** 2)) for f in (fits, more))
    print(
        f"<!-- RMSE / label sd: {before / y.std():.2e}, with ten columns of noise {after / y.std():.2e} -->"
    )
    table.add("RMSE with ten columns of noise / without", after / before, 2.0, " x")


PARTS = {f.__name__: f for f in (coverage, tables, airfoils, torsions, deviation, gradients)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    table = Table()
    print(HEAD, flush=True)
    for name in parser.parse_args().only:
        PARTS[name](table)


if __name__ == "__main__":
    main()
