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
from localegop._engine.gradient_field import FieldLearner, GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate, Recursion, Stage, isotropic_shapes
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT
from localegop._selection.folds import draw_folds
from localegop._selection.holdout import _values_by_step
from localegop._selection.search_grid import SearchGrid, pick_choice, quadratic_directions_for, sizes_for
from localegop.datasets import fetch_rmd17, make_helix, prepare_molecule
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize

RIDGES = (1e-6, 1e-4, 1e-2, 1e-1)
N_ITER = 4


def learn(data, update, grid):
    """Field of all points, and leave-one-out values (step, size, directions, ridge, point) of the grid."""
    centers = data.all_own_centers(data.neighbor_lists(data.rows))
    learner = FieldLearner(data, RIDGES, centers, SILENT)
    recursion = Recursion(learner, update, data, Stage.first(data.n, data.dimension))
    values = []
    for t in range(N_ITER + 1):
        batch = data.localize(
            centers,
            recursion.shape,
            Widths.of_sizes(grid.sizes, data.n),
            degree=1,
            quadratic_directions=grid.quadratic_directions,
            ridges=grid.ridges,
        )
        values.append(np.moveaxis(batch.value[..., 0], 0, -1))
        if t < N_ITER:
            recursion.advance()
    field = GradientField(data, update, tuple(learner.gradients), tuple(learner.loo_errors))
    return field, np.array(values)


def smoothed(data, errors, queries, size):
    """Squared errors averaged over Euclidean neighborhoods of the queries: (options, query)."""
    options = errors.reshape(-1, data.n)
    hoods = data.localize(
        data.centers(queries),
        isotropic_shapes(len(queries), data.dimension),
        Widths.of_sizes((min(size, 0.4 * data.max_visible),), len(queries)),
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
    update = MetricUpdate(EffectiveSampleSize(max(200.0, stop), stop, N_ITER), 0.5, 1.0, None)
    directions = quadratic_directions_for(data.dimension)[:3]
    grid = SearchGrid(tuple(range(N_ITER + 1)), sizes_for(data), True, directions, RIDGES)
    field, loo = learn(data, update, grid)
    at_queries = np.array(
        [np.moveaxis(v[..., 0], 0, -1) for v in _values_by_step(field, data.centers(centers), grid)]
    )
    backend = ProcessBackend(merge_rows(data.rows, data.labels, data.sample_weight))
    held_out = np.concatenate(
        [
            backend.learn_without(data, update, grid, part, None, SILENT).errors
            for part in draw_folds(data.n, 0)
        ],
        axis=-1,
    )

    chosen = pick_choice(grid, held_out, np.ones(held_out.shape[-1]), data.dimension)
    fitting = grid.allowed(data.dimension)
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
                grid.steps.index(chosen.step),
                grid.sizes.index(chosen.size),
                grid.quadratic_directions.index(chosen.final.n_quadratic_directions),
                grid.ridges.index(chosen.ridge),
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
