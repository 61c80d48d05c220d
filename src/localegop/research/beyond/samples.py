"""On data: neighborhoods of the AGOP against those of least predicted error, both with linear fits.

Gradients are those that field Local EGOP learns. Every kind of neighborhood has one size for all points,
chosen by the error at held-out points; errors are those at other points, to labels without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from localegop import LocalEGOPRegressor
from localegop._arguments import Array
from localegop.datasets import make_noisy_sphere, make_torus
from localegop.datasets.polynomials import make_cubic
from localegop.datasets.tube_function import TubeFunction
from localegop.datasets.tubes import sample_tube
from localegop.research.paper.drawing import mean_and_error
from localegop.research.theory.problems import WavySurface

from .shapes import hessian_from_gradients, least_error_metric

_NEAREST = 1500  # training points that a query looks at
_PILOT = 100.0  # effective size at which the first Hessian is taken
_RIDGE = 1e-8
# Of neighborhoods of least error: what second order says holds for short ones only, so their length is
# chosen at held-out points as well. Caps are in units of the squared distance within which a query looks.
_CAPS = (1.0, 0.3, 0.1, 0.03, 0.01)
_SCARCITIES = (10.0, 1.0, 0.1)
Sample = tuple[Array, Array]  # points, labels without noise


def sphere(n: int, seed: int) -> Sample:
    """Points around the unit sphere in R^3."""
    X, y = make_noisy_sphere(n, 3, radius=0.5, random_state=seed)
    return X, y


def torus(n: int, seed: int) -> Sample:
    """Points around a torus in R^3."""
    X, y = make_torus(n, random_state=seed)
    return X, y


def random_surface(n: int, seed: int) -> Sample:
    """Points around a random surface in R^8."""
    surface = WavySurface(8, random_state=seed)
    function = TubeFunction(surface, make_cubic(8, low=-1.0, high=1.0, random_state=seed))
    rng = np.random.default_rng(seed)
    points = sample_tube(surface, n, 0.4 * surface.reach, rng).data
    return points, function(points)


SETS: dict[str, Callable[[int, int], Sample]] = {
    "sphere in R^3": sphere,
    "torus in R^3": torus,
    "random surface in R^8": random_surface,
}


@dataclass(frozen=True)
class Comparison:
    """Errors of the kinds of neighborhoods on one set, each with the size chosen at held-out points.

    Parameters
    ----------
    name, n, noise
        The set, training rows, and the deviation of label noise in that of f.
    error, standard_error, size : dict of str to float
        By kind: mean squared error over the variance of f, and the median number of points that count.
    """

    name: str
    n: int
    noise: float
    error: dict[str, float]
    standard_error: dict[str, float]
    size: dict[str, float]


def compare(name: str, n: int, noise: float, *, queries: int = 150, seed: int = 0) -> Comparison:
    """Fit the field, predict with every kind and size at held-out points and at test points."""
    X, clean = SETS[name](n + 2 * queries, seed)
    labels = clean + noise * clean.std() * np.random.default_rng(seed).normal(size=len(clean))
    field = LocalEGOPRegressor(final="polynomial", degree=1, random_state=seed, n_jobs=1)
    field.fit(X[2 * queries :], labels[2 * queries :])
    around = _Surroundings(X[2 * queries :], labels[2 * queries :], field, (noise * clean.std()) ** 2)
    found: dict[str, dict[Any, list[tuple[float, float]]]] = {}
    for point in X[: 2 * queries]:
        for kind, by_size in around.predictions(point).items():
            for size, prediction in by_size.items():
                found.setdefault(kind, {}).setdefault(size, []).append(prediction)
    result = Comparison(name, n, noise, {}, {}, {})
    for kind, several in found.items():
        arrays = {size: np.array(pairs) for size, pairs in several.items()}
        held = {
            size: np.mean((pairs[:queries, 0] - labels[:queries]) ** 2) for size, pairs in arrays.items()
        }
        chosen = arrays[min(held, key=held.__getitem__)]
        squares = (chosen[queries:, 0] - clean[queries : 2 * queries]) ** 2 / clean.var()
        result.error[kind], result.standard_error[kind] = mean_and_error(squares)
        result.size[kind] = float(np.median(chosen[:, 1]))
    return result


class _Surroundings:
    """Training points with the gradients of the field, and predictions around a point."""

    def __init__(self, X: Array, y: Array, field: Any, noise: float) -> None:
        self.X, self.y, self.noise = X, y, noise
        self.gradients = field.localize(X, errors=False).gradient
        self.tree = cKDTree(X)
        self.sizes = np.geomspace(3 * (X.shape[1] + 1), min(_NEAREST, len(X)) / 3, 7)
        self.far = 0.5 * float(np.median(self.tree.query(X[:200], k=min(len(X), _NEAREST))[0][:, -1]))

    def predictions(self, point: Array) -> dict[str, dict[Any, tuple[float, float]]]:
        """By kind and size: value at the point, and number of points that count."""
        near = self.tree.query(point, k=min(len(self.X), _NEAREST))[1]
        X, y, gradients = self.X[near] - point, self.y[near], self.gradients[near]
        found: dict[str, dict[Any, tuple[float, float]]] = {"round": {}, "AGOP": {}, "least error": {}}
        metric = np.eye(X.shape[1])
        pilot = metric
        for size in self.sizes[::-1]:
            found["round"][size] = linear_fit(X, y, _weights(X, np.eye(X.shape[1]), size))
            weights = _weights(X, metric, size)
            found["AGOP"][size] = linear_fit(X, y, weights)
            if size >= _PILOT:
                pilot = metric
            metric = gradients.T @ (weights[:, None] * gradients) / weights.sum()
        pilot_weights = _weights(X, pilot, max(_PILOT, 4.0 * X.shape[1]))
        hessian = hessian_from_gradients(X, gradients, np.zeros(X.shape[1]), pilot_weights)
        density = _density(X)
        nominal = (4.0 * np.pi) ** (-X.shape[1] / 2) / density
        for cap in self.far**2 * np.array(_CAPS):
            start = None
            for factor in _SCARCITIES:
                start = least_error_metric(hessian, self.noise, factor * nominal, cap, start)
                weights = np.exp(-0.5 * np.einsum("ia,ab,ib->i", X, start, X))
                found["least error"][cap, factor] = linear_fit(X, y, weights)
        return found


def _density(X: Array) -> float:
    """Points per volume near the origin: Gaussian weights of an effective size of `_PILOT`."""
    weights = _weights(X, np.eye(X.shape[1]), _PILOT)
    variance = float(weights @ np.sum(X**2, axis=1) / weights.sum() / X.shape[1])
    return float(_PILOT / (4.0 * np.pi * variance) ** (X.shape[1] / 2))


def _weights(X: Array, metric: Array, size: float) -> Array:
    """Gaussian weights around the origin in a metric, of an effective size."""
    return effective_weights(np.einsum("ia,ab,ib->i", X, metric, X), size)


def effective_weights(u: Array, size: float) -> Array:
    """Weights exp(-s u) with the scale s at which (sum w)^2 / sum w^2 is the size, by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.beyond.samples import effective_weights
    >>> w = effective_weights(np.linspace(0.0, 1.0, 500), 40.0)
    >>> round(float(w.sum() ** 2 / (w @ w)), 3)
    40.0
    """
    u = (u - u.min()) / max(float(np.median(u)), np.finfo(float).tiny)
    low, high = -12.0, 12.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        weights = np.exp(-np.exp(middle) * u)
        if weights.sum() ** 2 > size * float(weights @ weights):
            low = middle
        else:
            high = middle
    return np.asarray(weights)


def linear_fit(X: Array, y: Array, weights: Array) -> tuple[float, float]:
    """Value at the origin of a weighted linear fit, and the effective size."""
    share = weights / weights.sum()
    mean_x, mean_y = share @ X, float(share @ y)
    deviation = X - mean_x
    scatter = deviation.T @ (share[:, None] * deviation)
    scatter += _RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    slope = np.linalg.solve(scatter, deviation.T @ (share * (y - mean_y)))
    return mean_y - float(mean_x @ slope), float(1.0 / np.sum(share**2))


HEAD = ("set", "n", "noise", "round", "AGOP", "least error", "points that count", "least error / AGOP")


def table(found: Iterable[Comparison]) -> list[tuple[str, ...]]:
    """Rows of the page, below `HEAD`."""
    rows = []
    for each in found:
        cells = [f"{each.error[kind]:.1e} ± {each.standard_error[kind]:.0e}" for kind in each.error]
        sizes = " / ".join(f"{each.size[kind]:.0f}" for kind in each.error)
        ratio = f"{each.error['least error'] / each.error['AGOP']:.2f}"
        rows.append((each.name, f"{each.n:,}", f"{each.noise:g}", *cells, sizes, ratio))
    return rows
