"""Explanations that hold still, measured: how far they move, beside the standard errors that they report.

    python benchmarks/stability.py [--only NAME ...] [--ways NAME ...] [--refits 10] [--predictions]

Every set of data is fitted again and again: with other seeds, without a random tenth of its rows, or, where
more rows can be had, to fresh samples. Printed are standard deviations between these fits (root mean square
over queries and features) of what the model itself says (``errors=False``, which is what was reported
before there were errors) and of the averages that are reported, and beside them the errors reported.
Gradients are in standard deviations of the label per standard deviation of a feature.

Parts that need data from outside read the folder LOCALEGOP_DATA and are skipped with a line where it is not
set.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from localegop import LocalEGOPRegressor

QUANTITIES = ("gradient", "importance", "intrinsic dimension", "global importance")
PREDICTION = "prediction (rms difference)"
HEAD = """\
| data | fits with | of | before | after | reported error | bar | met |
|---|---|---|---|---|---|---|---|"""
SAMPLE = 400  # rows of generated data, and of fresh samples
MOST = {"other seeds": 2.0, "a tenth dropped": 2.0, "fresh samples": 1.0 / 0.7}
MOST_APART = {"other seeds": 1.0 / 3.0, "a tenth dropped": 1.0}  # predictions, in their standard errors
LEAST = {"other seeds": 0.0, "a tenth dropped": 0.0, "fresh samples": 1.0 / 1.4}


def draw_collinear(rng, n):
    """Two features that are almost the same, one that bends f, two of noise."""
    X = rng.standard_normal((n, 5))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    return X, X[:, 0] + X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.5 * rng.standard_normal(n)


def draw_noisy(rng, n):
    """Eight features, two of them correlated, and half of the label variance is noise."""
    X = rng.standard_normal((n, 8))
    X[:, 4] = 0.9 * X[:, 3] + np.sqrt(0.19) * X[:, 4]
    f = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 3] + 0.3 * np.tanh(2.0 * X[:, 2])
    return X, f + 1.2 * rng.standard_normal(n)


def draw_smooth(rng, n):
    """Five features, two of noise, and hardly any noise in the labels."""
    X = rng.uniform(-1.0, 1.0, (n, 5))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(n)


def stored(name):
    folder = os.environ.get("LOCALEGOP_DATA")
    if not folder:
        return None
    found = np.load(Path(folder) / f"uci_{name}.npz")
    return found["X"].astype(float), found["y"].astype(float).ravel()


GENERATED = {"collinear": draw_collinear, "noisy": draw_noisy, "smooth": draw_smooth}
DATA = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "concrete": lambda: stored("concrete"),
    "power": lambda: stored("power"),
    "friedman": lambda: make_friedman1(500, noise=1.0, random_state=0),
    **{name: lambda draw=draw: draw(np.random.default_rng(0), SAMPLE) for name, draw in GENERATED.items()},
}


DEFAULT = ["diabetes", "concrete", "friedman", "collinear"]


@dataclass
class Told:
    """What a fit tells: of every quantity the value before and after, and its error."""

    before: dict
    after: dict
    error: dict


def seeds(name, X, y, refits):
    """The same rows with other seeds."""
    return [(X, y, seed) for seed in range(refits)]


def dropped(name, X, y, refits):
    """Without a random tenth of the rows."""
    orders = [np.random.default_rng(100 + k).permutation(len(X)) for k in range(refits)]
    return [(X[order[len(X) // 10 :]], y[order[len(X) // 10 :]], 0) for order in orders]


def fresh(name, X, y, refits):
    """Fresh samples: drawn anew, or other rows of many."""
    if name in GENERATED:
        return [(*GENERATED[name](np.random.default_rng(1000 + k), SAMPLE), 0) for k in range(refits)]
    if len(X) < refits * SAMPLE:
        return []
    order = np.random.default_rng(1).permutation(len(X))
    parts = [order[k * SAMPLE : (k + 1) * SAMPLE] for k in range(refits)]
    return [(X[part], y[part], 0) for part in parts]


WAYS = {"other seeds": seeds, "a tenth dropped": dropped, "fresh samples": fresh}


def ask(X, y, seed, queries, scale, threads):
    """Fit, and collect what is told about queries; gradients in units of ``scale``."""
    model = LocalEGOPRegressor(random_state=seed, n_jobs=threads).fit(X, y)
    own, fits = model.localize(queries, errors=False), model.localize(queries)
    importance, error = model.global_importance(return_std=True)
    alone = np.diagonal(model._models[0].overall_agop)
    told = (
        (own.gradient * scale, own.importance, own.intrinsic_dimension, alone / alone.sum(), own.value),
        (fits.gradient * scale, fits.importance, fits.intrinsic_dimension, importance, fits.value),
        (fits.gradient_std * scale, fits.importance_std, fits.intrinsic_dimension_std, error, fits.std),
    )
    return Told(*(dict(zip((*QUANTITIES, PREDICTION), each, strict=True)) for each in told))


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def spread(found):
    """Standard deviation between fits, root mean square over what each of them says."""
    return float(np.sqrt(np.mean(np.var(found, axis=0, ddof=1))))


def line(name, way, what, told):
    """Line of the table about one quantity."""
    before, after = (spread([getattr(one, when)[what] for one in told]) for when in ("before", "after"))
    error = rms([one.error[what] for one in told])
    least, most = LEAST[way] * error, MOST[way] * error
    if what == PREDICTION:  # between two fits
        before, after, most = np.sqrt(2.0) * before, np.sqrt(2.0) * after, MOST_APART[way] * error
    bar = f"{least:.3g} to {most:.3g}" if least else f"<= {most:.3g}"
    met = "yes" if least <= after <= most else "no"
    return f"| {name} | {way} | {what} | {before:.3g} | {after:.3g} | {error:.3g} | {bar} | {met} |"


def ask_predictions(X, y, seed, queries, scale, threads):
    """Fit, and collect predictions only, which takes a fraction of the time."""
    value, std = (
        LocalEGOPRegressor(random_state=seed, n_jobs=threads).fit(X, y).predict(queries, return_std=True)
    )
    return Told({PREDICTION: value}, {PREDICTION: value}, {PREDICTION: std})


def measure(name, way, refits, count, threads, predictions=False):
    """Fit again and again; lines of the table, none if there are no data."""
    data = DATA[name]()
    if data is None:
        return [f"<!-- {name} skipped: LOCALEGOP_DATA is not set -->"]
    X, y = data
    fits = WAYS[way](name, X, y, refits)
    if not fits:
        return [f"<!-- {name}, {way}: there are too few rows -->"]
    queries = X[np.random.default_rng(0).choice(len(X), min(count, len(X)), replace=False)]
    scale = X.std(axis=0) / y.std()
    told = [(ask_predictions if predictions else ask)(*one, queries, scale, threads) for one in fits]
    asked = () if predictions else QUANTITIES
    asked = (*asked, PREDICTION) if way in MOST_APART else asked
    return [line(name, way, what, told) for what in asked]


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(DATA), default=DEFAULT)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--refits", type=int, default=10)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--predictions", action="store_true", help="predictions only, which is quicker")
    args = parser.parse_args(given)
    print(HEAD, flush=True)
    for name in args.only:
        for way in args.ways:
            print(
                "\n".join(measure(name, way, args.refits, args.queries, args.threads, args.predictions)),
                flush=True,
            )


if __name__ == "__main__":
    main()
