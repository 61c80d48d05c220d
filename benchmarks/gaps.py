"""Intervals where data are far: fields with gaps of several shapes, and helices with an arc cut out.

Run with ``python benchmarks/gaps.py``. The rows in the gaps are the queries, in quarters by their distance
to the nearest training row. The Vecchia Gaussian process of GPBoost, with its defaults, answers the same
queries (extra ``bench``; it is left out, with a line that says so, where it is missing).
"""

import argparse
import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from bars import HEAD, Table
from comparison.fields import in_gaps, random_field
from comparison.scores import COVERAGES, LEVELS, are_inside, rank_score
from scipy.spatial import cKDTree
from scipy.stats import norm

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.datasets import make_helix

QUARTERS = ("nearest", "second", "third", "farthest")
FIRST_SEED = 100  # those below were used while the method was made


@dataclass
class Problem:
    """Training rows, queries in gaps, and held-out rows from elsewhere."""

    X: np.ndarray
    y: np.ndarray
    gaps: tuple[np.ndarray, np.ndarray]
    random: tuple[np.ndarray, np.ndarray]

    @property
    def quarters(self):
        """Which quarter of distances to the nearest training row each query in a gap is in, 0 to 3."""
        distance = cKDTree(self.X).query(self.gaps[0])[0]
        return np.searchsorted(np.quantile(distance, [0.25, 0.5, 0.75]), distance)


def cut(X, y, in_gap, rows, queries):
    """Make a problem of the first rows outside the gaps, some of the later ones, and some in the gaps."""
    outside, inside = np.flatnonzero(~in_gap), np.flatnonzero(in_gap)[:queries]
    train, random = outside[:rows], outside[rows : rows + queries]
    return Problem(X[train], y[train], (X[inside], y[inside]), (X[random], y[random]))


def draw_field(seed, rows=20_000, queries=1500, noise=0.1):
    """A field with noise at uniform rows of the unit square, without those in gaps."""
    rng = np.random.default_rng([seed, 0])
    X = rng.uniform(0.0, 1.0, (int(1.5 * rows) + 2 * queries, 2))
    y = random_field(X, seed) + noise * rng.standard_normal(len(X))
    return cut(X, y, in_gaps(X, seed), rows, queries)


def draw_helix(seed, rows=2000, queries=300, noise=0.05, width=0.6):
    """A helix in five dimensions without an arc of such a width, of 2 pi."""
    rng = np.random.default_rng([seed, 3])
    bunch = make_helix(2 * rows + 8 * queries, 5, noise=noise, random_state=seed, return_bunch=True)
    middle = rng.uniform(width, 2.0 * np.pi - width)
    in_arc = np.abs(bunch.coordinates[:, 0] - middle) < width / 2.0
    return cut(bunch.data, bunch.target, in_arc, rows, queries)


class Ours:
    name = "localegop"

    def fit(self, X, y):
        self.model = LocalEGOPRegressor(n_jobs=1).fit(X, y)
        return self

    def intervals(self, X):
        """Intervals (q, level, 2)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            return self.model.predict_interval(X, LEVELS)


class Vecchia:
    """GPBoost's Vecchia approximation of a Gaussian process, Matern 3/2 as by default."""

    name = "GPBoost Vecchia"

    def fit(self, X, y):
        from gpboost import GPModel

        self.mean = y.mean()
        kind = "matern" if X.shape[1] == 2 else "matern_ard"  # a length for each of many features
        self.model = GPModel(gp_coords=X, cov_function=kind, gp_approx="vecchia", num_parallel_threads=1)
        self.model.fit(y=y - self.mean)
        return self

    def intervals(self, X):
        found = self.model.predict(gp_coords_pred=X, predict_var=True, predict_response=True)
        middle = (found["mu"] + self.mean)[:, None]
        half = np.sqrt(found["var"])[:, None] * norm.ppf((1.0 + LEVELS) / 2.0)
        return np.stack([middle - half, middle + half], axis=2)


@dataclass
class Found:
    """What a method says about some problems: coverage in gaps and elsewhere, CRPS and error."""

    in_gaps: np.ndarray
    quarters: np.ndarray
    elsewhere: np.ndarray
    scores: dict[str, float]


def measure(method, problems):
    """Fit and ask a method for each of some problems, and put all queries together."""
    gaps, quarters, elsewhere, scores = [], [], [], []
    for problem in problems:
        fitted = method().fit(problem.X, problem.y)
        answers = [(y, fitted.intervals(X)) for X, y in (problem.gaps, problem.random)]
        inside = [are_inside(y, intervals[:, -len(COVERAGES) :]) for y, intervals in answers]
        gaps.append(inside[0])
        elsewhere.append(inside[1])
        quarters.append(problem.quarters)
        rank = [rank_score(*each) for each in answers]
        error = [float(np.mean((y - intervals[:, 0].mean(axis=1)) ** 2)) for y, intervals in answers]
        scores.append([*rank, *error])
    rank_gaps, rank_random, error_gaps, error_random = np.mean(scores, axis=0)
    means = {"CRPS in gaps": rank_gaps, "CRPS of random rows": rank_random}
    means |= {"RMSE in gaps": np.sqrt(error_gaps), "RMSE of random rows": np.sqrt(error_random)}
    return Found(np.concatenate(gaps), np.concatenate(quarters), np.concatenate(elsewhere), means)


def report(table, what, inside, bar):
    """Add the largest departure of the coverages."""
    shown = ", ".join(f"{c:g}: {v:.3f}" for c, v in zip(COVERAGES, inside.mean(axis=0), strict=True))
    print(f"<!-- {what}: {shown} -->", flush=True)
    table.add(f"{what}: largest departure of coverage", np.abs(inside.mean(axis=0) - COVERAGES).max(), bar)


def compare(table, what, problems, peer):
    """Report coverage of ours, and the CRPS of both."""
    found = measure(Ours, problems)
    for k, name in enumerate(QUARTERS):
        report(table, f"{what}, {name} quarter", found.in_gaps[found.quarters == k], 0.05)
    report(table, f"{what}, random rows", found.elsewhere, 0.03)
    theirs = measure(peer, problems) if peer is not None else None
    for score, ours in found.scores.items():
        other = "" if theirs is None else f"; {peer.name} {theirs.scores[score]:.4f}"
        print(f"<!-- {what}, {score}: {ours:.4f}{other} -->", flush=True)
        if theirs is not None and score.startswith("CRPS"):
            table.add(f"{what}, {score}: ours / {peer.name}", ours / theirs.scores[score], 1.0)
    if theirs is not None:
        for k, name in enumerate(QUARTERS):
            covered = theirs.in_gaps[theirs.quarters == k].mean(axis=0).round(3).tolist()
            print(f"<!-- {what}, {name} quarter, coverage of {peer.name}: {covered} -->", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=("field", "helix"), default=["field", "helix"])
    parser.add_argument("--fields", type=int, default=10, help="random fields to draw")
    parser.add_argument("--helices", type=int, default=20, help="helices to draw")
    parser.add_argument("--arc", type=float, default=0.6, help="width of the arc cut out, of 2 pi")
    parser.add_argument("--rows", type=int, default=20_000, help="training rows of a field")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="of the first field and helix")
    given = parser.parse_args()
    peer = Vecchia if find_spec("gpboost") else None
    if peer is None:
        print("<!-- GPBoost is not installed, so nothing is compared with it: pip install gpboost -->")
    print(HEAD, flush=True)
    table = Table()
    seeds = given.seed + np.arange(max(given.fields, given.helices))
    if "field" in given.only:
        fields = [draw_field(int(seed), given.rows) for seed in seeds[: given.fields]]
        compare(table, f"{len(fields)} fields with gaps, {given.rows} rows", fields, peer)
    if "helix" in given.only:
        helices = [draw_helix(int(seed), width=given.arc) for seed in seeds[: given.helices]]
        compare(table, f"{len(helices)} helices without an arc of {given.arc:g}, 2000 rows", helices, peer)


if __name__ == "__main__":
    main()
