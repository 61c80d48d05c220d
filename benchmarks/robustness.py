"""Robustness: what outliers, heavy tails, noise columns and skewed features do to R2, ours and others'.

Every row of the table changes one thing about y = sin(2 x0) + x1 x2 + 0.05 noise with 5 normal features and
500 rows; R2 is that against labels without noise at 1,000 fresh rows, averaged over seeds. Run with
``python benchmarks/robustness.py``; ``--json FILE`` keeps results, so that a run can be interrupted. The
table in docs/robustness.md is from it.
"""

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from records import Records
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.research.peers import make_method

ROWS, QUERIES, FEATURES, SEEDS = 500, 1000, 5, 5
NOISE, HEAVY_NOISE = 0.05, 0.3  # standard deviation of the noise; factor of t(2) noise
GROSS_SHARE, GROSS = 0.05, 100.0  # labels that are wrong, and by how many standard deviations
NOISE_COLUMNS = 50
TWIN_NOISE = 0.01  # by which twins of the first three features differ from them
WITHIN = 0.02  # of the best R2: as good
OURS = ("squared", "huber")


def f(Z):
    return np.sin(2.0 * Z[:, 0]) + Z[:, 1] * Z[:, 2]


def plain(Z, y, rng):
    return Z, y


def one_far_out(value):
    """One value of one feature is far out, in a training row."""

    def change(Z, y, rng):
        X = Z.copy()
        X[0, 0] = value
        return X, y

    return change


def heavy_tails(Z, y, rng):
    return Z, f(Z) + HEAVY_NOISE * rng.standard_t(2, len(Z))


def gross_errors(Z, y, rng):
    """Some labels are off by many standard deviations, up or down."""
    wrong = rng.choice(len(y), round(GROSS_SHARE * len(y)), replace=False)
    labels = y.copy()
    labels[wrong] += GROSS * y.std() * rng.choice([-1.0, 1.0], len(wrong))
    return Z, labels


def noise_columns(Z, y, rng):
    return np.hstack([Z, rng.normal(size=(len(Z), NOISE_COLUMNS))]), y


def collinear(Z, y, rng):
    """The three features that matter have twins."""
    return np.hstack([Z, Z[:, :3] + TWIN_NOISE * rng.normal(size=(len(Z), 3))]), y


def integers(Z, y, rng):
    """Features are whole numbers, some -6 to 6, of which f is a function."""
    return np.round(2.0 * Z), y


def lognormal(sigma):
    return lambda Z, y, rng: (np.exp(sigma * Z), y)


CASES = {
    "clean": plain,
    "one feature value 1e4": one_far_out(1e4),
    "one feature value 1e6": one_far_out(1e6),
    "one feature value 1e8": one_far_out(1e8),
    "t(2) labels": heavy_tails,
    "5 % gross labels": gross_errors,
    "50 noise columns": noise_columns,
    "collinear": collinear,
    "integer features": integers,
    "lognormal, sigma 1": lognormal(1.0),
    "lognormal, sigma 3": lognormal(3.0),
}


def draw(case, seed, rows=ROWS, queries=QUERIES):
    """Training rows and labels, and queries with labels without noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows + queries, FEATURES))
    if case == "integer features":
        Z = np.round(2.0 * Z) / 2.0
    train, test = Z[:rows], Z[rows:]
    y = f(train) + NOISE * rng.normal(size=rows)
    X, labels = CASES[case](train, y, rng)
    bad_rows_only = case.startswith("one feature value")
    fresh = test if bad_rows_only else CASES[case](test, f(test), rng)[0]
    return X, labels, fresh, f(test)


def boosting(dimension):
    return HistGradientBoostingRegressor(random_state=0)


def gaussian_process(dimension):
    """scikit-learn's, with one length for each feature, by marginal likelihood from two starts."""
    return make_method("gaussian_process")


def kernel_ridge(dimension):
    """Gaussian kernel, length and ridge by 5-fold cross-validation."""
    grid = {
        "kernelridge__alpha": np.logspace(-5, 1, 7),
        "kernelridge__gamma": np.logspace(-3, 0.5, 8) / dimension,
    }
    return GridSearchCV(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")), grid, cv=5)


def local_egop(loss):
    return lambda dimension: LocalEGOPRegressor(loss=loss, n_jobs=1)


METHODS = {
    **{loss: local_egop(loss) for loss in OURS},
    "boosting": boosting,
    "Gaussian process": gaussian_process,
    "kernel ridge": kernel_ridge,
}


def measure(case, method, seed, rows=ROWS, queries=QUERIES):
    """R2 of one fit against labels without noise, and its time."""
    X, y, fresh, truth = draw(case, seed, rows, queries)
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        predicted = METHODS[method](X.shape[1]).fit(X, y).predict(fresh)
    return {"r2": float(r2_score(truth, predicted)), "seconds": perf_counter() - begin}


def behind(means):
    """How far each of ours is behind the best of the others, by their mean R2; below 0 it is ahead."""
    best = max((value for method, value in means.items() if method not in OURS), default=np.nan)
    return {loss: best - means[loss] for loss in OURS if loss in means}


def verdict(gap):
    if np.isnan(gap):
        return "nothing to compare with"
    return "yes" if gap <= WITHIN else f"no, {gap:.3f} behind"


def table(found):
    """Markdown table of mean R2 (case, method), and whether each of ours is the best or near it."""
    methods = list(next(iter(found.values())))
    ours = [loss for loss in OURS if loss in methods]
    verdicts = [f"{loss}: best or within {WITHIN}" for loss in ours]
    lines = ["| case | " + " | ".join([*methods, *verdicts]) + " |"]
    lines.append("|---" * (1 + len(methods) + len(verdicts)) + "|")
    for case, means in found.items():
        gaps = behind(means)
        told = [verdict(gaps[loss]) for loss in ours]
        cells = [*(f"{means[method]:.3f}" for method in methods), *told]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def run(given, records):
    """Mean R2 (case, method) over seeds."""
    found = {}
    for case in given.cases:
        found[case] = {}
        for method in given.methods:
            each = [
                records.take(
                    f"{case}, {method}, seed {seed}, {given.rows} rows",
                    lambda case=case, method=method, seed=seed: measure(case, method, seed, given.rows),
                )["r2"]
                for seed in range(given.seeds)
            ]
            found[case][method] = float(np.mean(each))
            spread = ", ".join(f"{value:.3f}" for value in each)
            print(f"{case}, {method}: {found[case][method]:.3f} ({spread})", flush=True)
    return found


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=tuple(CASES), metavar="CASE")
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--json", type=Path, help="file to keep results in")
    return parser.parse_args(argv)


def main(argv=None):
    """Run, and print the table."""
    given = arguments(argv)
    records = Records(given.json)
    records.tell_of_other_commits()
    print(table(run(given, records)))


if __name__ == "__main__":
    main()
