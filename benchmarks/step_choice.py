"""Ablation: how to choose step, size, quadratic terms and ridge of the final fit.

Every rule chooses from the same grid over the same learned gradients; the table shows the test error of its
choice, as MSE / label variance. Run with ``python benchmarks/step_choice.py [--quick]``; tables and
molecules are read from LOCALEGOP_DATA.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from localegop._data.rows import merge_rows
from localegop._engine.centers import Widths
from localegop._engine.gradient_field import learn_field, spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate, isotropic_shapes
from localegop._engine.sites import LocalSite
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import FOLD_ANCHORS
from localegop._progress import SILENT
from localegop._selection.folds import draw_folds
from localegop._selection.holdout import LearnedFold, _polynomials, errors_at, variances_at
from localegop._selection.race import MANY_VARIANCES, expected_errors
from localegop._selection.search_grid import SearchGrid, quadratic_directions_for, sizes_for
from localegop.datasets import fetch_rmd17, make_helix, prepare_molecule
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
N_ITER = 4


def values_at(field, site, choices, own=None):
    """Values (point, choice) at the centers of a site; ``own`` if they are the anchors."""
    values = np.empty((len(site), len(choices)))
    for step, shapes in enumerate(field.shapes(site.rows, N_ITER, own)):
        numbers = [k for k, choice in enumerate(choices) if choice.step == step]
        some = [choices[k] for k in numbers]
        values[:, numbers] = _polynomials(field, site, step, shapes, some, variances=False)[..., 0]
    return values


def learn(backend, data, update, points):
    """Field of some of the points, and the site of these."""
    site = backend.own_site(data, points)
    return learn_field(site, backend.as_data(site), update, RIDGES, N_ITER, SILENT), site


def held_out_errors(backend, data, update, choices):
    """Squared errors (point, choice) at held-out points, and variance factors (choice,)."""
    errors, variances = [], []
    for fold in draw_folds(data.n, 0):
        rest, site = backend.hold_out(data, fold)
        field, own = learn(backend, rest, update, spread_points(rest.n, FOLD_ANCHORS))
        learned = LearnedFold(field, site, own, lambda _, f=field: f, lambda s=site: s, lambda r=rest: r)
        errors.append(errors_at(learned, site, choices))
        some = np.arange(min(MANY_VARIANCES, len(site)))
        variances.append(variances_at(learned, site.pick(some), choices).mean(axis=0))
    return np.concatenate(errors), np.mean(variances, axis=0)


def smoothed(data, errors, queries, size):
    """Squared errors (point, choice) averaged over Euclidean neighborhoods of the queries."""
    hoods = data.localize(
        data.centers(queries),
        isotropic_shapes(len(queries), data.dimension),
        Widths.of_sizes((min(size, 0.4 * data.max_visible),), len(queries)),
        keep=True,
    ).neighborhoods
    return hoods.means(np.ascontiguousarray(errors), data.threads)


def prepare(X, y, queries):
    """Data and queries in units of standard deviations."""
    scaler = StandardScaler().fit(X)
    data = LocalData(
        np.ascontiguousarray(scaler.transform(X)),
        np.ascontiguousarray((y - y.mean())[:, None] / y.std()),
        np.ones(len(y)),
        kernel=as_kernel("gaussian"),
        max_neighbors=1000,
        radius=None,
        threads=os.cpu_count() or 1,
    )
    return data, np.ascontiguousarray(scaler.transform(queries))


def compare(name, X, y, queries, truth):
    """One row of the table."""
    data, centers = prepare(X, y, queries)
    target = (truth - y.mean()) / y.std()
    backend = ProcessBackend(merge_rows(data.rows, data.labels, data.sample_weight))
    stop = 2.0 * data.dimension + 10.0
    update = MetricUpdate(EffectiveSampleSize(max(200.0, stop), stop, N_ITER), 0.5, 1.0, None)
    directions = quadratic_directions_for(data.dimension)[:3]
    choices = SearchGrid(tuple(range(N_ITER + 1)), sizes_for(data), True, directions, RIDGES).choices(
        data.dimension
    )
    field, site = learn(backend, data, update, np.arange(data.n))
    loo = (values_at(field, site, choices, np.arange(data.n)) - data.labels) ** 2
    there = LocalSite.at(data, centers, target[:, None], np.ones(len(target)))
    values = values_at(field, there, choices)
    held_out, variances = held_out_errors(backend, data, update, choices)
    polynomials = np.zeros(len(choices), dtype=bool)
    expected = expected_errors(held_out, np.ones(len(held_out)), variances, polynomials)
    ranking, everyone = np.argsort(held_out.mean(axis=0)), np.arange(len(target))

    def error(guess):
        return float(np.mean((guess - target) ** 2))

    results = [
        error(values[everyone, smoothed(data, loo, centers, 20.0).argmin(axis=1)]),
        error(values[everyone, smoothed(data, loo, centers, 300.0).argmin(axis=1)]),
        error(values[:, loo.mean(axis=0).argmin()]),
        error(values[:, ranking[0]]),
        error(values[:, ranking[:5]].mean(axis=1)),
        error(values[:, expected.argmin()]),
        min(error(each) for each in values.T),
    ]
    print(f"| {name} | " + " | ".join(f"{r:.2g}" for r in results) + " |", flush=True)


def problems(quick):
    """Names and (X, y, queries, truth)."""
    for dimension in (5,) if quick else (5, 10, 20):
        for noise in (0.0, 0.1, 0.5):
            n = 500 if quick else 2000
            bunch = make_helix(n + 500, dimension, noise=noise, random_state=0, return_bunch=True)
            yield (
                f"helix D={dimension}, noise {noise:g}",
                (bunch.data[:n], bunch.target[:n], bunch.data[n:], bunch.noise_free_target[n:]),
            )
    folder = os.environ.get("LOCALEGOP_DATA")
    if not folder:
        print("<!-- tables and molecules skipped: LOCALEGOP_DATA is not set -->")
        return
    names = ["yacht"] if quick else ["energy", "concrete", "yacht", "wine"]
    for name in names:
        table = np.load(Path(folder) / f"uci_{name}.npz")
        yield name, split(table["X"].astype(float), table["y"].astype(float), len(table["y"]) // 10)
    if not quick:
        frames = fetch_rmd17("malonaldehyde")
        X, y = prepare_molecule(frames.positions, (4, 0, 1, 6))
        yield "malonaldehyde, n=2500", split(X[::3], y[::3], len(y[::3]) - 2500)


def split(X, y, n_test):
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:n_test], order[n_test:]
    return X[train], y[train], X[test], y[test]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    compared = ["LOO, own 20", "LOO, wide 300", "LOO, global", "held out", "mean of 5", "expected (ours)"]
    print("| data | " + " | ".join(compared) + " | hindsight |")
    print("|---|---|---|---|---|---|---|---|")
    for name, arrays in problems(quick):
        compare(name, *arrays)
