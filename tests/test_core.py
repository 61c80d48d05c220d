"""The compiled core against the reference, center by center."""

import numpy as np
import pytest

from localegop import _core
from localegop.kernels import KERNELS, effective_size
from localegop.reference import KERNELS as REFERENCE
from localegop.reference import local_linear, squared_distances
from localegop.schedules import scale_for_effective_size

RNG = np.random.default_rng(0)
NAMES = ["gaussian", "epanechnikov", "biweight", "triweight", "laplace", "student"]
RIDGE = 1e-6


def problem(dimension, n=300, centers=5):
    X = RNG.normal(size=(n, dimension))
    y = np.sin(X[:, 0]) + X[:, -1] ** 2
    queries = RNG.normal(size=(centers, dimension))
    roots = RNG.normal(size=(centers, dimension, dimension))
    metrics = roots @ np.swapaxes(roots, 1, 2) / dimension**2
    return X, y, queries, metrics


def run(X, y, queries, metrics, kernel=0, **changed):
    rule = _core.Rule(kernel, 1e-16, 1e-16, changed.pop("profile", None))
    points = _core.Points(X, y[:, None], np.ones(len(X)))
    arguments = {
        "start": None,
        "indices": None,
        "left_out": None,
        "targets": np.full(len(queries), 40.0 + X.shape[1]),
        "scales": None,
        "keep": True,
        "degree": 1,
        "ridges": np.array([RIDGE]),
        "variances": True,
        "threads": 1,
    } | changed
    return _core.localize(points, rule, queries, metrics, **arguments)


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
@pytest.mark.parametrize("kernel", range(6))
def test_fit_at_an_effective_size_equals_the_reference(kernel, dimension):
    X, y, queries, metrics = problem(dimension)
    _, scales, sizes, values, gradients, _ = run(X, y, queries, metrics, kernel)
    profile = KERNELS[NAMES[kernel]]
    for i, query in enumerate(queries):
        u = squared_distances(X, query, metrics[i])
        scale = scale_for_effective_size(u, 40.0 + dimension, profile)
        value, gradient = local_linear(X, y, query, scale * metrics[i], REFERENCE[NAMES[kernel]], RIDGE)
        assert sizes[i] == pytest.approx(effective_size(profile.weights(scales[i] * u)))
        assert values[i, 0, 0] == pytest.approx(value, rel=1e-9, abs=1e-10)
        assert gradients[i, 0, 0] == pytest.approx(gradient, rel=1e-8, abs=1e-9)
