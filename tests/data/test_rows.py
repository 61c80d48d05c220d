"""Distinct rows: no repeats, sorted, with the sum of their weights."""

import numpy as np

from localegop._data.rows import merge_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -1.0]


def test_rows_are_merged_whatever_their_order():
    y = RNG.normal(size=(50, 1))
    weight = RNG.integers(1, 4, size=50).astype(float)
    base = merge_rows(X, y, weight)
    order = RNG.permutation(np.repeat(np.arange(50), weight.astype(int)))
    other = merge_rows(X[order], y[order], np.ones(len(order)))
    assert base.X.tolist() == other.X.tolist()
    assert base.sample_weight.tolist() == other.sample_weight.tolist()
    assert base.X[base.position].tolist() == X.tolist()
    assert other.y[other.position].tolist() == y[order].tolist()


def test_rows_of_no_weight_are_left_out_and_zero_has_no_sign():
    rows = merge_rows(np.array([[0.0], [-0.0], [1.0]]), np.zeros((3, 1)), np.array([1.0, 1.0, 0.0]))
    assert rows.sample_weight.tolist() == [2.0]
    assert rows.position.tolist() == [0, 0, -1]


def test_every_row_brings_its_part_of_the_weight():
    rows = merge_rows(
        np.array([[1.0], [1.0], [2.0], [2.0]]), np.zeros((4, 1)), np.array([1.0, 3.0, 2.0, 0])
    )
    assert rows.part.tolist() == [0.25, 0.75, 1.0, 0.0]
    assert rows.dimension == 1


def test_extents_are_those_of_the_weighted_rows():
    weight = RNG.integers(1, 4, size=50).astype(float)
    rows = merge_rows(X, X[:, :1], weight)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(rows.features.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(rows.features.std, repeated.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(rows.labels.std, repeated[:, :1].std(axis=0), rtol=1e-12)
