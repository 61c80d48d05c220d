"""Under noise: how good the best fit is, in hindsight, by gradients from neighborhoods of several sizes.

In the axes of a fit to a helix with label noise, gradients are learned from effective sizes that fall from
one number to another in four steps, and polynomial fits of many sizes, ridges and numbers of quadratic
directions follow each step. The table has the smallest error of all of them at fresh points, to labels
without noise, over the label variance: what a perfect choice would reach. Run with
``python benchmarks/wide_gradients.py [--dimension 10] [--rows 20000] [--noise 0.1] [--seed 1]``.
"""

import argparse
from dataclasses import replace

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._engine.centers import Widths
from localegop._engine.gradient_field import learn_field, spread_points
from localegop._engine.sites import LocalSite
from localegop._progress import SILENT
from localegop.datasets import make_helix
from localegop.research.runs.pages import markdown_table
from localegop.schedules import EffectiveSampleSize

STEPS, ANCHORS, QUERIES = 4, 1000, 300
RIDGES = (1e-4, 1e-2, 0.1, 0.3, 1.0)
DIRECTIONS = (0, 1, 2, 3)


def fields(X, noisy, sizes):
    """Units of a fit, its data, and in its axes a field for every pair of sizes, the first and the last."""
    model = LocalEGOPRegressor(final="polynomial", random_state=0).fit(X, noisy)._models[0]
    decisions, data = model.decisions, model.data.seeing(None)
    points = spread_points(data.n, ANCHORS)
    site, anchors = LocalSite.own(data, points), data.subset(points)
    found = {}
    for first, last in sizes:
        update = replace(decisions.update, schedule=EffectiveSampleSize(first, last, STEPS))
        found[first, last] = learn_field(site, anchors, update, decisions.settings.ridges, STEPS, SILENT)
    return decisions.units, data, found


def errors(data, centers, shapes, truth, sizes):
    """Mean squared errors (size, directions, ridge) of polynomials in neighborhoods of some shapes."""
    widths = Widths.of_sizes(sizes, len(shapes))
    options = {"degree": 1, "quadratic_directions": DIRECTIONS, "ridges": RIDGES}
    fits = data.localize(centers, shapes, widths, **options)
    return np.mean((fits.value[..., 0] - truth[:, None, None, None]) ** 2, axis=0)


def table(dimension, rows, noise, seed, final_sizes, gradient_sizes):
    """Lines of the table: sizes of gradients, and for each step the best fit and its error."""
    X, noisy = make_helix(rows + QUERIES, dimension, noise=noise, random_state=seed)
    _, clean = make_helix(rows + QUERIES, dimension, random_state=seed)
    units, data, found = fields(X[:rows], noisy[:rows], gradient_sizes)
    queries, truth = units.features(X[rows:]), units.labels(clean[rows:, None])[:, 0]
    centers = data.centers(queries)
    lines = []
    for (first, last), field in found.items():
        for step, shapes in enumerate(field.shapes(queries, STEPS)):
            each = errors(data, centers, shapes, truth, final_sizes) / truth.var()
            if step == 0:
                each = each[:, :1]  # without leading directions
            size, directions, ridge = np.unravel_index(np.argmin(each), each.shape)
            best = f"{final_sizes[size]:.0f}", f"{DIRECTIONS[directions]}", f"{RIDGES[ridge]:g}"
            lines.append((f"{first:.0f} to {last:.0f}", f"{step}", f"{each.min():.2e}", *best))
    return lines


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    usual = (200.0, 2.0 * given.dimension + 10.0)
    wide = [(480.0 * 2**k, 240.0 * 2**k) for k in range(3) if 480 * 2**k <= given.rows / 5]
    final_sizes = tuple(240.0 * 2**k for k in range(4) if 240 * 2**k <= given.rows / 5)
    lines = table(given.dimension, given.rows, given.noise, given.seed, final_sizes, [usual, *wide])
    headers = ("gradients from", "step", "least error / variance", "size", "quadratic directions", "ridge")
    print("\n".join(markdown_table(headers, lines)))


if __name__ == "__main__":
    main()
