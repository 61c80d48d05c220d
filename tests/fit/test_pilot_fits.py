"""Pilot fits: which points are tried, and with which errors."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._fit.initial_units import find_initial_units
from localegop._fit.pilot_fits import PILOT_POINTS, run_pilot
from localegop._fit.process import ProcessBackend
from localegop._selection.search_grid import sizes_for
from localegop.reference import KERNELS, local_linear, scale_for_effective_size, squared_distances

RNG = np.random.default_rng(0)
RIDGES = (1e-6, 1e-2)


def prepared(n, dimension=2, **parameters):
    X = RNG.normal(size=(n, dimension))
    y = np.sin(X[:, 0]) + X[:, -1] ** 2
    backend = ProcessBackend(merge_rows(X, y[:, None], np.ones(n)))
    settings = LocalEGOPRegressor(initial_metric="variance", **parameters)._settings()
    return backend, find_initial_units(backend, settings)[2]


def test_of_many_points_some_are_tried():
    backend, data = prepared(700)
    found = run_pilot(backend, data, RIDGES, gradients=True)
    assert len(found.gradients) == len(found.sample_weight) == PILOT_POINTS


@pytest.mark.parametrize("max_neighbors", [None, 40])
def test_errors_are_those_of_plain_fits_without_each_point(max_neighbors):
    backend, data = prepared(60, max_neighbors=max_neighbors)
    result = run_pilot(backend, data, RIDGES, gradients=True)
    sizes = sizes_for(data)
    assert result.errors.shape == (len(sizes), 2) and result.error == result.errors.min()
    rows, labels = data.rows, data.labels[:, 0]
    shape, kernel = np.eye(2) / 2, KERNELS["gaussian"]
    best = np.unravel_index(np.argmin(result.errors), result.errors.shape)
    squares = np.empty((60, len(sizes), 2))
    for i, center in enumerate(rows):
        near = np.argsort(np.sum((rows - center) ** 2, axis=1))[:max_neighbors]
        rest = np.sort(near[near != i])
        for s, size in enumerate(sizes):
            scale = scale_for_effective_size(squared_distances(rows[rest], center, shape), size, kernel)
            for r, ridge in enumerate(RIDGES):
                fit = local_linear(rows[rest], labels[rest], center, scale * shape, kernel, ridge)
                squares[i, s, r] = (fit[0] - labels[i]) ** 2
                if (s, r) == best:
                    assert result.gradients[i, 0] == pytest.approx(fit[1], rel=1e-3, abs=1e-4)
    assert result.errors == pytest.approx(squares.mean(axis=0), rel=1e-3)


def test_gradients_are_found_only_if_asked_for():
    backend, data = prepared(60)
    assert run_pilot(backend, data, RIDGES).gradients.shape == (0, 0, 2)
