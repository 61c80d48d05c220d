"""Rates with exact derivatives: neighborhoods of the AGOP against those of least predicted error.

No samples: the bias of a linear fit is an integral over the localization, its variance a formula, and the
error at n points that of the best size. Around a d-manifold the theory with contracting normals gives
n^{-4/(2d+4)}, and n^{-4/(d+5)} if normals stay long.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localegop._arguments import Array
from localegop.research.paper.drawing import slope_fit
from localegop.research.theory.problems import PROBLEMS, Problem
from localegop.research.theory.quadrature import Rule, gauss_hermite

from .shapes import least_error_metric

NAMES = ("sphere", "torus", "random_surface")
SIZES = np.geomspace(1e4, 1e9, 11)
_NOISE = 0.3  # deviation of labels, in that of f around a line where all variances are `covariance_cap`
_CAPS = np.geomspace(1.0, 1e-5, 16)  # of the neighborhoods of least error, in units of `covariance_cap`
_SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the AGOP's neighborhoods, whose schedule is coarse
_SCARCITIES = np.geomspace(1e-4, 1e-9, 6)


KINDS = ("round", "AGOP", "AGOP, normals kept", "least error")


@dataclass(frozen=True)
class Rates:
    """Errors by n of four kinds of neighborhoods, and how long they are across the manifold.

    Parameters
    ----------
    name : str
    intrinsic_dimension : int
    errors : array of shape (4, s)
        By kind of `KINDS` and n of `SIZES`. "AGOP, normals kept" knows the normals and leaves them as long
        as the cap allows.
    normals : array of shape (4, s)
        Smallest variance of a normal direction, over the cap.
    """

    name: str
    intrinsic_dimension: int
    errors: Array
    normals: Array


def rates(name: str, sizes: Array = SIZES) -> Rates:
    """Follow both kinds of neighborhoods of a problem of `localegop.research.theory.problems`."""
    task = PROBLEMS[name]()
    rule = _rule(task)
    cap = float(task.options["covariance_cap"])
    noise = _NOISE**2 * _moments(task, np.sqrt(cap) * np.eye(task.dimension), rule)[1]
    path = _in_several_sizes(task.run().factor, cap)  # covariances by factors keep their digits
    hessian = task.function.hessian(task.query[None])[0]
    shapes = np.array(
        [
            _factor(least_error_metric(hessian, noise, _constant(task) * scarcity, cap * share))
            for share in _CAPS
            for scarcity in _SCARCITIES
        ]
    )
    normals = _normals(task)
    kept = np.array([_keep_normals(factor, normals, cap) for factor in path])
    round_ones = np.sqrt(cap * np.geomspace(1.0, 1e-5, 60))[:, None, None] * np.eye(task.dimension)
    errors, lengths = np.empty((2, len(KINDS), len(sizes)))
    for row, factors in enumerate((round_ones, path, kept, shapes)):
        bias, variance = np.array([_error_parts(task, factor, rule, noise) for factor in factors]).T
        by_size = bias[:, None] + variance[:, None] / sizes
        errors[row] = by_size.min(axis=0)
        best = factors[by_size.argmin(axis=0)]
        lengths[row] = [_shortest(factor, normals) / cap for factor in best]
    return Rates(task.name, task.intrinsic_dimension, errors, lengths)


def _in_several_sizes(factors: Array, cap: float) -> Array:
    """Give the shape of every step other sizes as well, no direction longer than the cap."""
    left, lengths, right = np.linalg.svd(np.concatenate([scale * factors for scale in _SCALES]))
    several: Array = (left * np.minimum(lengths, np.sqrt(cap))[:, None, :]) @ right
    return several


def _keep_normals(factor: Array, normals: Array, cap: float) -> Array:
    """Factor of the covariance with its tangent part, and normals of variance ``cap``."""
    tangents = np.linalg.svd(normals.T)[2][normals.shape[1] :].T
    lower = np.linalg.qr((tangents.T @ factor).T)[1].T
    return np.column_stack([tangents @ lower, np.sqrt(cap) * normals])


def _factor(metric: Array) -> Array:
    """Return F with F F' the inverse of a metric."""
    factor: Array = np.linalg.inv(np.linalg.cholesky(metric)).T
    return factor


def _rule(task: Problem) -> Rule:
    return gauss_hermite(task.dimension, 9 if task.dimension <= 3 else 3)


def _constant(task: Problem) -> float:
    """Density one: sum of squared Gaussian weights is (4 pi)^(-D/2) / (n sqrt(det S))."""
    return float((4.0 * np.pi) ** (-task.dimension / 2))


def _moments(task: Problem, factor: Array, rule: Rule) -> tuple[float, float]:
    """Bias of the value of a linear fit, and variance of f around that fit, over the localization."""
    nodes = rule.points @ factor.T
    values = task.function(task.query + nodes)
    mean = float(rule.weights @ values)
    slope = rule.points.T @ (rule.weights * values)
    left = values - mean - rule.points @ slope
    return mean - float(task.function(task.query[None])[0]), float(rule.weights @ left**2)


def _error_parts(task: Problem, factor: Array, rule: Rule, noise: float) -> tuple[float, float]:
    """Squared bias, and n times the variance."""
    bias, left = _moments(task, factor, rule)
    return bias**2, (noise + left) * _constant(task) / float(np.abs(np.linalg.det(factor)))


def _normals(task: Problem) -> Array:
    """Orthonormal normals of the manifold at x*, columns: where neither f nor its normal slope varies."""
    manifold = task.function.manifold  # type: ignore[attr-defined]
    basis: Array = manifold.normal_basis(manifold.project(task.query[None]))[0]
    return basis


def _shortest(factor: Array, directions: Array) -> float:
    """Smallest variance of a direction given all others: one over the largest eigenvalue of the metric."""
    inverse = np.linalg.solve(factor, directions)
    return float(1.0 / np.linalg.eigvalsh(inverse.T @ inverse)[-1])


HEAD = (
    "problem",
    "theory: normals contract / stay",
    *(f"rate, {kind}" for kind in KINDS),
    f"error over that of AGOP, n = {SIZES[0]:.0e}",
    f"the same, n = {SIZES[-1]:.0e}",
    "shortest normal there",
)


def table(found: Iterable[Rates]) -> list[tuple[str, ...]]:
    """Rows of the page, below `HEAD`; several numbers in a cell are in the order of `KINDS`."""
    rows = []
    for each in found:
        d = each.intrinsic_dimension
        slopes = [f"{-slope_fit(SIZES, errors)[0]:.2f}" for errors in each.errors]
        ratios = each.errors / each.errors[KINDS.index("AGOP")]
        theory = f"{4 / (2 * d + 4):.2f} / {4 / (d + 5):.2f}"
        ends = [_several(column) for column in (ratios[:, 0], ratios[:, -1], each.normals[:, -1])]
        rows.append((each.name, theory, *slopes, *ends))
    return rows


def _several(values: Array) -> str:
    return " / ".join(f"{value:.2g}" for value in values)
