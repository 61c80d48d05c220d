"""Averages of labels that were held out."""

import numpy as np
import pytest

from localegop._engine.centers import Widths
from localegop._engine.local_data import FIELD_CUTOFF, LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._selection.averaged_labels import average_labels, average_size
from localegop.kernels import as_kernel

ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, size=(2000, 3))
NOISE = np.random.default_rng(1).normal(size=2000)


def held_out(labels):
    return LocalData(
        ROWS,
        np.ascontiguousarray(labels[:, None]),
        np.ones(len(ROWS)),
        kernel=as_kernel("gaussian"),
        max_neighbors=1000,
        radius=None,
        threads=1,
        cutoff=FIELD_CUTOFF,
    )


def balls(rows):
    return isotropic_shapes(len(rows), rows.shape[1])


def average(labels, size=60.0, points=300, shapes=balls):
    return average_labels(held_out(labels), points, size, shapes)[:, 0]


def test_averages_of_a_line_without_noise_are_its_values():
    line = ROWS @ [1.0, -2.0, 0.5]
    assert average(line) == pytest.approx(line[:300], abs=1e-4)


def test_averages_have_little_noise_and_less_bias_than_one_fit():
    f = np.sin(2.0 * ROWS[:, 0])
    data, isotropic = held_out(f), np.tile(np.eye(3) / 3.0, (300, 1, 1))
    once = data.localize(data.centers(ROWS[:300]), isotropic, Widths.of_sizes((60.0,), 300), degree=1)
    bias = np.abs(average(f) - f[:300]).mean()
    assert bias < 0.35 * np.abs(once.value[:, 0, 0, 0, 0] - f[:300]).mean()
    assert np.mean((average(f + NOISE) - f[:300]) ** 2) < 0.15


def test_neighborhoods_that_are_long_where_f_does_not_vary_have_less_bias():
    f, narrow = np.sin(4.0 * ROWS[:, 0]), np.diag([0.98, 0.01, 0.01])
    long = average(f, shapes=lambda rows: np.tile(narrow, (len(rows), 1, 1)))
    assert np.abs(long - f[:300]).mean() < 0.2 * np.abs(average(f) - f[:300]).mean()


def test_a_few_first_rows_are_averaged_at_from_all_labels():
    few = average(NOISE, points=10)
    assert few.shape == (10,) and few == pytest.approx(average(NOISE)[:10])
    halved = NOISE.copy()
    halved[10:] = 0.0
    assert not np.allclose(average(halved, points=10), few)


def test_the_size_follows_the_dimension_and_then_the_rows_held_out():
    assert average_size(3) == average_size(3, 8000) == 80.0
    assert average_size(3, 40_000) == 400.0
