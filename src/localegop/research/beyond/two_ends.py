"""Neighborhoods that bend: distances from the metrics of both ends, where level sets are circles.

With one metric a neighborhood is an ellipsoid. With (x_i - x*)'(M_i + M*)/2 (x_i - x*), M_i the metric at
the training point x_i, it need not be. Along a circle, however, the chord makes the same angle with both
gradients, so the mean of the two squared distances is that of each: the neighborhood becomes thinner
beside the circle but not longer along it. Means of square roots are signed: the two angles cancel, and
|(R_i + R*)/2 (x_i - x*)|, R^2 = M, is to third order how much f differs (the trapezoidal rule). All three
are tried, with fits that are constant, linear in x, or linear in (R_i + R*)/2 (x_i - x*).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._arguments import Array
from localegop.research.paper.drawing import mean_and_error

from .samples import effective_weights, linear_fit

DISTANCES = ("round", "one end", "both ends", "both roots")
FITS = ("constant", "linear in x", "linear along")
_SIZES = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


@dataclass(frozen=True)
class Bending:
    """Errors by distance and fit, sizes chosen at held-out points.

    Parameters
    ----------
    dimension, n, noise
        Of the set: points of the cube [-1, 1]^D, f a wave of the distance from the middle.
    error, standard_error, size, held_out : dict of (distance, fit) to float
        Mean squared error over the variance of f, its standard error, the chosen effective size, and the
        error at held-out points by which it was chosen.
    field : float
        Error of field Local EGOP with a linear fit at the same points.
    """

    dimension: int
    n: int
    noise: float
    error: dict[tuple[str, str], float]
    standard_error: dict[tuple[str, str], float]
    size: dict[tuple[str, str], float]
    held_out: dict[tuple[str, str], float]
    field: float


def rings(n: int, dimension: int, seed: int) -> tuple[Array, Array]:
    """Points of a cube, and a function whose level sets are circles or spheres around its middle."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dimension))
    return X, np.sin(5.0 * np.linalg.norm(X, axis=1))


def compare(
    dimension: int, n: int, noise: float, *, queries: int = 300, held_out: int = 600, seed: int = 0
) -> Bending:
    """Fit the field, predict with every distance, fit and size at held-out points and at test points."""
    X, clean = rings(n + queries + held_out, dimension, seed)
    labels = clean + noise * clean.std() * np.random.default_rng(seed + 1).normal(size=len(clean))
    train, asked = slice(queries + held_out, None), slice(0, queries + held_out)
    model = LocalEGOPRegressor(final="polynomial", degree=1, random_state=seed, n_jobs=1)
    model.fit(X[train], labels[train])
    roots = [_roots(model.localize(X[part], errors=False).agop) for part in (train, asked)]
    keys = [(distance, fit, size) for distance in DISTANCES for fit in FITS for size in _SIZES]
    values = {key: np.full(queries + held_out, np.nan) for key in keys}
    for k in range(queries + held_out):
        offsets = X[train] - X[k]
        for key, value in _predictions(offsets, labels[train], roots[0], roots[1][k]).items():
            values[key][k] = value
    field = model.predict(X[asked], exact=True)[held_out:]
    truth, spread = clean[held_out : held_out + queries], float(clean.var())
    result = Bending(dimension, n, noise, {}, {}, {}, {}, float(np.mean((field - truth) ** 2)) / spread)
    for distance in DISTANCES:
        for fit in FITS:
            own = {size: values[distance, fit, size] for size in _SIZES}
            if np.isnan(own[_SIZES[0]]).any():
                continue
            held = {
                size: float(np.mean((v[:held_out] - labels[:held_out]) ** 2)) for size, v in own.items()
            }
            best = min(held, key=held.__getitem__)
            squares = (own[best][held_out:] - truth) ** 2 / spread
            at = distance, fit
            result.error[at], result.standard_error[at] = mean_and_error(squares)
            result.size[at], result.held_out[at] = best, held[best] / spread
    return result


def _roots(metrics: Array) -> Array:
    """Square roots of positive semidefinite matrices (k, D, D)."""
    values, vectors = np.linalg.eigh(metrics)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return np.asarray(scaled @ np.swapaxes(vectors, 1, 2))


def squared_distances(offsets: Array, there: Array, here: Array) -> tuple[dict[str, Array], Array]:
    """Squared distances from the origin by kind, and the coordinates (R_i + R*)/2 (x_i - x*).

    Parameters
    ----------
    offsets : array of shape (n, D)
        Training points less the query.
    there, here : arrays of shapes (n, D, D) and (D, D)
        Roots of the metrics at the training points and at the query.

    Examples
    --------
    On a circle the gradient turns, and only the mean of roots sees that f does not change:

    >>> import numpy as np
    >>> from localegop.research.beyond.two_ends import squared_distances
    >>> angle = np.array([0.2])
    >>> normal = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> there, here = normal[:, :, None] * normal[:, None, :], np.diag([1.0, 0.0])
    >>> found, _ = squared_distances(normal - [1.0, 0.0], there, here)
    >>> {kind: float(u[0].round(6)) for kind, u in found.items() if kind != "round"}
    {'one end': 0.000397, 'both ends': 0.000397, 'both roots': 4e-06}
    """
    along = 0.5 * np.einsum("iab,ib->ia", there + here, offsets)
    ends = [np.sum(moved**2, axis=1) for moved in (offsets @ here, np.einsum("iab,ib->ia", there, offsets))]
    squared = {
        "round": np.sum(offsets**2, axis=1),
        "one end": ends[0],
        "both ends": 0.5 * (ends[0] + ends[1]),
        "both roots": np.sum(along**2, axis=1),
    }
    return squared, along


def _predictions(
    offsets: Array, y: Array, there: Array, here: Array
) -> dict[tuple[str, str, float], float]:
    """Values at the origin of `offsets` by distance, fit and size."""
    squared, along = squared_distances(offsets, there, here)
    found = {}
    for distance, u in squared.items():
        for size in _SIZES:
            weights = effective_weights(u, size)
            near = weights > 1e-6
            share = weights[near] / weights[near].sum()
            found[distance, "constant", size] = float(share @ y[near])
            found[distance, "linear in x", size] = linear_fit(offsets[near], y[near], share)[0]
            if distance == "both roots":
                found[distance, "linear along", size] = linear_fit(along[near], y[near], share)[0]
    return found


HEAD = ("D", "n", "noise", "distance", *FITS)


def table(found: Iterable[Bending]) -> list[tuple[str, ...]]:
    """Rows of the page, below `HEAD`; the least error at held-out points of each set in bold."""
    rows = []
    for each in found:
        best = min(each.held_out, key=each.held_out.__getitem__)
        for distance in DISTANCES:
            cells = [_cell(each, (distance, fit), best) for fit in FITS]
            rows.append((str(each.dimension), f"{each.n:,}", f"{each.noise:g}", distance, *cells))
        rows.append(("", "", "", "field Local EGOP, linear fit", "", f"{each.field:.1e}", ""))
    return rows


def _cell(each: Bending, at: tuple[str, str], best: tuple[str, str]) -> str:
    if at not in each.error:
        return ""
    text = f"{each.error[at]:.1e} ± {each.standard_error[at]:.0e} ({each.size[at]:.0f})"
    return f"**{text}**" if at == best else text
