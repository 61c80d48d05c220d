"""Sums and extents that depend neither on order nor on parts."""

import numpy as np
import pytest

from localegop._data.sums import measure_extent, measure_extent_in_parts

RNG = np.random.default_rng(0)


def test_extents_do_not_depend_on_order_or_parts():
    values, weight = RNG.normal(size=(300, 2)) * [1e-3, 1e9] + [7.0, 0.0], RNG.uniform(size=300)
    whole = measure_extent(values, weight)
    order = RNG.permutation(300)
    parts = [(values[part], weight[part]) for part in np.split(order, [13, 100])]
    from_parts = measure_extent_in_parts(lambda function: [function(*part) for part in parts])
    for name in ("low", "high", "mean", "std"):
        assert getattr(whole, name).tolist() == getattr(from_parts, name).tolist()
    mean = np.average(values, axis=0, weights=weight)
    assert whole.mean == pytest.approx(mean, rel=1e-12)
    assert whole.std == pytest.approx(
        np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight)), rel=1e-12
    )


def test_extents_of_constant_and_extreme_columns():
    found = measure_extent(np.full((5, 1), 3.0), np.ones(5))
    assert (found.mean.item(), found.std.item()) == (3.0, 3.0)
    assert found.constant.tolist() == [True]
    found = measure_extent(np.array([[-1e308], [1e308]]), np.ones(2))
    assert np.isfinite(found.std).all() and found.mean.item() == 0.0
    assert found.constant.tolist() == [False]
