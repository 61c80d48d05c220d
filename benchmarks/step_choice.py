"""Ablation: how to choose step, size, bends and ridge of the final fit.

Every rule chooses from the same menu over the same learned gradients; the table shows the test error of its
choice, as MSE / label variance. Run with ``python benchmarks/step_choice.py [--quick]``; tables and
molecules are read from LOCALEGOP_DATA.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from localegop._engine.gradient_field import FieldLearner, GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Recursion, Rules, isotropic
from localegop._progress import SILENT
from localegop._selection.search_grid import (
    Menu,
    allowed,
    bends_for,
    folds,
    pick,
    sizes_for,
    tested_without,
    values_by_step,
)
from localegop.datasets import fetch_rmd17, make_helix, prepare_molecule
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
N_ITER = 4


def learn(data, rules, menu):
    """Field of all points, and leave-one-out values (step, size, bends, ridge, point) of the menu."""
    field = GradientField(data, rules, RIDGES)
    candidates = data.candidates(data.rows)
    learner = FieldLearner(field, np.arange(data.n), candidates, SILENT)
    recursion = Recursion(learner, rules, data.n, data.dimension, data.reachable)
    values = []
    for t in range(N_ITER + 1):
        batch = data.localize(
            data.rows,
            recursion.shape,
            candidates,
            sizes=np.tile(menu.sizes, (data.n, 1)),
            left_out=np.arange(data.n),
            degree=1,
            bends=menu.bends,
            ridges=menu.ridges,
        )
        values.append(np.moveaxis(batch.value[..., 0], 0, -1))
        if t < N_ITER:
            recursion.advance()
    return field, np.array(values)


def smoothed(data, errors, queries, size):
    """Squared errors averaged over Euclidean neighborhoods of the queries: (options, query)."""
    options = errors.reshape(-1, data.n)
    hoods = data.localize(
        queries,
        isotropic(len(queries), data.dimension),
        data.candidates(queries),
        sizes=np.full((len(queries), 1), min(size, 0.4 * data.reachable)),
        keep=True,
    ).neighborhoods
    return hoods.means(np.ascontiguousarray(options.T), data.threads).T


def compare(name, X, y, queries, truth):
    """One row of the table."""
    scaler = StandardScaler().fit(X)
    rows, centers = scaler.transform(X), np.ascontiguousarray(scaler.transform(queries))
    mean, scale = y.mean(), y.std()
    labels, target = ((v - mean) / scale for v in (y, truth))
    data = LocalData(
        np.ascontiguousarray(rows),
        np.ascontiguousarray(labels[:, None]),
        np.ones(len(y)),
        kernel=as_kernel("gaussian"),
        max_neighbors=1000,
        radius=None,
        threads=os.cpu_count() or 1,
    )
    stop = 2.0 * data.dimension + 10.0
    rules = Rules(EffectiveSampleSize(max(200.0, stop), stop, N_ITER), 0.5, 1.0, None)
    menu = Menu(
        tuple(range(N_ITER + 1)), sizes_for(data.reachable), 1, bends_for(data.dimension)[:3], RIDGES
    )
    field, loo = learn(data, rules, menu)
    at_queries = np.array(
        [
            np.moveaxis(v[..., 0], 0, -1)
            for v in values_by_step(field, centers, data.candidates(centers), menu)
        ]
    )
    parts = folds(data.n, np.random.default_rng(0))
    held_out = np.concatenate(
        [tested_without(data, rules, menu, RIDGES, part, SILENT).errors for part in parts], axis=-1
    )

    chosen = pick(menu, held_out, np.ones(held_out.shape[-1]), data.dimension)
    fitting = allowed(menu, data.dimension)
    loo_errors = (loo - labels) ** 2
    loo_errors[~fitting] = np.inf
    held_out[~fitting] = np.inf
    flat = at_queries.reshape(-1, len(target))
    everyone = np.arange(len(target))

    def error(values):
        return float(np.mean((values - target) ** 2))

    ours = flat[
        np.ravel_multi_index(
            (
                menu.steps.index(chosen.step),
                menu.sizes.index(chosen.size),
                menu.bends.index(chosen.bends),
                menu.ridges.index(chosen.ridge),
            ),
            fitting.shape,
        )
    ]
    ranking = np.argsort(held_out.mean(axis=-1), axis=None)
    best = [error(v) for v, fits in zip(flat, fitting.ravel(), strict=True) if fits]
    results = [
        error(flat[smoothed(data, loo_errors, centers, 20.0).argmin(axis=0), everyone]),
        error(flat[smoothed(data, loo_errors, centers, 300.0).argmin(axis=0), everyone]),
        error(flat[loo_errors.mean(axis=-1).argmin()]),
        error(flat[ranking[0]]),
        error(flat[ranking[:5]].mean(axis=0)),
        error(ours),
        min(best),
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
    compared = ["LOO, own 20", "LOO, wide 300", "LOO, global", "held out", "mean of 5", "1-SE (ours)"]
    print("| data | " + " | ".join(compared) + " | hindsight |")
    print("|---|---|---|---|---|---|---|---|")
    for name, arrays in problems(quick):
        compare(name, *arrays)
