"""The compiled core against NumPy."""

import numpy as np
import pytest

from localegop import _core
from localegop.reference import squared_distances

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "dimension"), [(0, 3), (1, 1), (50, 4), (7, 20)])
def test_squared_distances(n, dimension):
    points, center = RNG.normal(size=(n, dimension)), RNG.normal(size=dimension)
    root = RNG.normal(size=(dimension, dimension))
    ours = _core.squared_distances(points, center, root @ root.T)
    assert ours == pytest.approx(squared_distances(points, center, root @ root.T), rel=1e-12)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="differ in width"):
        _core.squared_distances(np.zeros((4, 3)), np.zeros(2), np.eye(3))
    with pytest.raises(TypeError):
        _core.squared_distances(np.zeros(4), np.zeros(2), np.eye(2))
