"""Learning curves on the helix, for `networks` and `dimensions`: data, means over replicates, slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop.datasets import make_helix
from localegop.research.paper.drawing import mean_and_error, slope_fit
from localegop.research.paper.experiment import Table, select_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Training and test rows of one replicate."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    def mse(self, predictions: Array) -> Any:
        """Mean squared error as a fraction of the variance of the labels, along the last axis."""
        return np.mean((predictions - self.y_test) ** 2, axis=-1) / self.y_test.var()


def helix_split(
    dimension: int, n: int, sizes: Sequence[int], n_test: int, seed: int, replicate: int, noise: float = 0.0
) -> Split:
    """Draw a replicate: function and test points are the same for all sizes n, training rows are nested.

    Labels of training rows have noise, in units of the standard deviation of the labels.
    """
    largest = max(sizes)
    rng = np.random.default_rng(np.random.SeedSequence([seed, dimension, replicate]))
    X, y = make_helix(n_test + largest, dimension, random_state=rng)
    train = slice(n_test, n_test + n)
    deviations = noise * y.std() * rng.standard_normal(len(y))
    return Split(X[train], (y + deviations)[train], X[:n_test], y[:n_test])


def settings_of(part: str) -> tuple[str, dict[str, int]]:
    """Parse the name of a part, such as ``field_D=3_n=100_rep=0``."""
    head, *pieces = part.split("-")
    return head, {key: int(value) for key, value in (piece.split("=") for piece in pieces)}


@dataclass(frozen=True)
class Curve:
    """Errors over replicates, by n: geometric means and the factors up and down of one standard error."""

    n: Array
    mean: Array
    factor: Array


def curve(rows: Table, column: str = "mse") -> Curve:
    """Average over replicates, on the logarithmic scale on which the curve is drawn."""
    sizes = np.unique(rows["n"])
    found = [mean_and_error(np.log(select_rows(rows, n=n)[column])) for n in sizes]
    center, error = np.array(found).T
    return Curve(sizes, np.exp(center), np.exp(np.nan_to_num(error)))


def slope(rows: Table, column: str = "mse") -> tuple[float, float]:
    """Slope of log error in log n and its standard error, over replicates if there are several."""
    slopes = []
    for replicate in np.unique(rows["rep"]):
        own = select_rows(rows, rep=replicate)
        if len(own["n"]) > 1:
            slopes.append(slope_fit(own["n"], own[column]))
    if not slopes:
        return float("nan"), float("nan")
    return mean_and_error(np.array([each[0] for each in slopes])) if len(slopes) > 1 else slopes[0]


def plot_curve(axis: Any, rows: Table, color: str, *, column: str = "mse", **style: Any) -> None:
    """Draw means over replicates and, with several, a band of one standard error."""
    found = curve(rows, column)
    axis.loglog(found.n, found.mean, color=color, **style)
    if (found.factor > 1.0).any():
        axis.fill_between(
            found.n, found.mean / found.factor, found.mean * found.factor, color=color, alpha=0.2, lw=0
        )


def label_sizes(axis: Any, sizes: list[int]) -> None:
    """Mark the sample sizes themselves, not powers of ten."""
    axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("training points $n$")
