"""Learning rates from data: the slope of log MSE in log n, with a confidence interval.

``python -m localegop.research.theory.learning`` prints the table for helices, sphere and full rank, and
writes it as CSV with ``--output``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from localegop._arguments import Array, check_count, refusal
from localegop.datasets.curve_samples import make_helix
from localegop.datasets.polynomials import make_cubic
from localegop.datasets.surface_samples import make_noisy_sphere

from .local_linear import IsotropicLocalLinear
from .rates import predicted_rate, rate_from_rank

SIZES = (500, 1000, 2000, 4000, 8000, 16000)
FIELDS = ("experiment", "estimator", "rate", "low", "high", "paper", "rank", "isotropic", "replicates")


class Estimator(Protocol):
    """Anything with ``fit`` and ``predict``."""

    def fit(self, X: Array, y: Array) -> Any:
        """Learn from points (n, D) and labels (n,)."""
        ...

    def predict(self, X: Array) -> ArrayLike:
        """Predict at points (k, D)."""
        ...


EstimatorFactory = Callable[[], Estimator]
Sampler = Callable[[int, float, int], tuple[Array, Array, Array]]  # (n, noise, seed) -> X, y, clean labels


@dataclass(frozen=True)
class Experiment:
    """A source of data, and the exponents that theory predicts for it.

    Parameters
    ----------
    sample : callable
        (n, noise, seed) -> X, y and noise-free labels; the seed fixes the function too.
    paper : float
        Exponent of the paper's theorem or example.
    rank : float
        Exponent 4 / (6 + rank) by the rank of the Hessian across the gradient.
    isotropic : float
        Exponent of isotropic local linear regression.
    """

    sample: Sampler
    paper: float
    rank: float
    isotropic: float


@dataclass(frozen=True, eq=False)
class LearningRate:
    """Slope of log MSE in log n.

    Parameters
    ----------
    rate : float
        Exponent r of n^{-r}: the mean over replicates of each one's slope.
    low, high : float
        Its 95 % confidence interval, by Student's t over the replicates.
    sizes : array of shape (s,)
        The sample sizes n.
    errors : array of shape (replicates, s)
        Mean squared errors in units of the variance of the noise-free labels.
    """

    rate: float
    low: float
    high: float
    sizes: Array
    errors: Array


def learning_rate(
    sample: Sampler,
    make_estimator: EstimatorFactory | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    n_replicates: int = 10,
    n_test: int = 500,
    noise: float = 0.1,
    random_state: int = 0,
) -> LearningRate:
    """Measure the exponent of the learning curve of an estimator.

    Each replicate draws a function, test points and the largest training set, of which the smaller ones are
    parts; the slopes of the replicates are independent.

    Parameters
    ----------
    sample : callable
        (n, noise, seed) -> X, y and noise-free labels.
    make_estimator : callable, optional
        Returns a fresh estimator with ``fit`` and ``predict``; by default ``LocalEGOPRegressor`` with the
        linear final fit that the theory is about.
    sizes : sequence of int, default 500 .. 16000
        Sample sizes, at least two.
    n_replicates : int, default 10
        Number of replicates, at least two.
    n_test : int, default 500
        Number of test points.
    noise : float, default 0.1
        Label noise in units of the standard deviation of the noise-free labels.
    random_state : int, default 0
        Seed of the first replicate; the others count up.

    Returns
    -------
    LearningRate
        With ``rate``, ``low``, ``high`` and the errors.

    Examples
    --------
    >>> from localegop.research.theory.learning import EXPERIMENTS, learning_rate
    >>> from localegop.research.theory.local_linear import IsotropicLocalLinear
    >>> result = learning_rate(EXPERIMENTS["helix 3"].sample, IsotropicLocalLinear,
    ...                        sizes=(100, 400), n_replicates=2, n_test=50)
    >>> result.errors.shape, result.rate > 0
    ((2, 2), True)
    """
    check_count("n_replicates", n_replicates, 2)
    n = np.array([check_count("sizes", size, 2) for size in sizes])
    if len(np.unique(n)) < 2:
        raise refusal("sizes", tuple(sizes), "at least two different sizes")
    factory = default_estimator() if make_estimator is None else make_estimator
    errors = np.array(
        [_errors(sample, factory, n, n_test, noise, random_state + k) for k in range(n_replicates)]
    )
    slopes = -np.polyfit(np.log(n), np.log(errors).T, 1)[0]
    half = student.ppf(0.975, n_replicates - 1) * slopes.std(ddof=1) / np.sqrt(n_replicates)
    rate = float(slopes.mean())
    return LearningRate(rate, rate - float(half), rate + float(half), n.astype(float), errors)


def default_estimator() -> EstimatorFactory:
    """Return a maker of ``LocalEGOPRegressor`` with the linear final fit that the theory is about."""
    import localegop

    regressor = getattr(localegop, "LocalEGOPRegressor", None)
    if regressor is None:
        raise ImportError(
            "localegop.LocalEGOPRegressor is not available in this version: pass make_estimator, such as "
            "IsotropicLocalLinear."
        )
    return partial(regressor, final="polynomial")


def rate_table(
    estimators: dict[str, EstimatorFactory | None],
    experiments: Iterable[str] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Rows, keyed by `FIELDS`, of measured and predicted exponents; options go to `learning_rate`."""
    rows = []
    for name in EXPERIMENTS if experiments is None else experiments:
        if name not in EXPERIMENTS:
            raise ValueError(f"experiment {name!r} is not known: give some of {sorted(EXPERIMENTS)}.")
        experiment = EXPERIMENTS[name]
        for label, factory in estimators.items():
            result = learning_rate(experiment.sample, factory, **options)
            measured = (name, label, result.rate, result.low, result.high)
            predicted = (experiment.paper, experiment.rank, experiment.isotropic)
            rows.append(dict(zip(FIELDS, (*measured, *predicted, len(result.errors)), strict=True)))
    return rows


def _errors(
    sample: Sampler, factory: EstimatorFactory, sizes: Array, n_test: int, noise: float, seed: int
) -> list[float]:
    """Errors of one replicate, in units of the variance of the test labels."""
    X, y, clean = sample(int(sizes.max()) + n_test, noise, seed)
    test_X, test_y = X[-n_test:], clean[-n_test:]
    errors = []
    for n in sizes:
        model = factory()
        model.fit(X[:n], y[:n])
        errors.append(float(np.mean((np.asarray(model.predict(test_X)) - test_y) ** 2) / test_y.var()))
    return errors


def _helix(dimension: int) -> Experiment:
    def sample(n: int, noise: float, seed: int) -> tuple[Array, Array, Array]:
        data = make_helix(n, dimension, noise=noise, random_state=seed, return_bunch=True)
        return data.data, data.target, data.noise_free_target

    isotropic = predicted_rate(dimension, 1, "isotropic")
    return Experiment(sample, predicted_rate(dimension, 1, "single_index"), rate_from_rank(0), isotropic)


def _sphere() -> Experiment:
    def sample(n: int, noise: float, seed: int) -> tuple[Array, Array, Array]:
        data = make_noisy_sphere(n, noise=noise, random_state=seed, return_bunch=True)
        return data.data, data.target, data.noise_free_target

    # D >= 2d fails; the paper's example claims anisotropy in all directions, which is the full-rank rate.
    isotropic = predicted_rate(3, 2, "isotropic")
    return Experiment(sample, predicted_rate(3, 2, "full_rank"), rate_from_rank(1), isotropic)


def _full_rank(dimension: int) -> Experiment:
    def sample(n: int, noise: float, seed: int) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(seed)
        function = make_cubic(dimension, degree=2, random_state=rng)
        X = rng.uniform(-1.0, 1.0, size=(n, dimension))
        clean = function(X)
        return X, clean + noise * clean.std() * rng.standard_normal(n), clean

    full, isotropic = (predicted_rate(dimension, dimension, s) for s in ("full_rank", "isotropic"))
    return Experiment(sample, full, rate_from_rank(dimension - 1), isotropic)


EXPERIMENTS: dict[str, Experiment] = {
    **{f"helix {dimension}": _helix(dimension) for dimension in (3, 4, 5, 6, 9, 10, 15)},
    "sphere": _sphere(),
    "full rank 4": _full_rank(4),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of learning rates, and write it as CSV if asked."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--estimators", nargs="+", default=["local-egop", "local-linear"])
    parser.add_argument("--experiments", nargs="+", default=list(EXPERIMENTS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--output", type=Path, help="CSV file to write")
    given = parser.parse_args(arguments)
    known: dict[str, EstimatorFactory | None] = {"local-egop": None, "local-linear": IsotropicLocalLinear}
    unknown = sorted(set(given.estimators) - set(known))
    if unknown:
        parser.error(f"estimators {unknown} are not known: give some of {sorted(known)}")
    chosen = {name: known[name] for name in given.estimators}
    rows = []
    for name in given.experiments:
        for row in rate_table(
            chosen, [name], sizes=given.sizes, n_replicates=given.replicates, noise=given.noise
        ):
            numbers = "  ".join(f"{key} {row[key]:.3f}" for key in FIELDS[2:8])
            print(f"{row['experiment']:12} {row['estimator']:12} {numbers}", flush=True)
            rows.append(row)
    if given.output:
        with given.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
