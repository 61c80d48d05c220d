"""Covariances of a process in the compiled core, against NumPy."""

import numpy as np
import pytest

from localegop import _core

PROFILES = {
    "gaussian": lambda u: np.exp(-u),
    "laplace": lambda u: np.exp(-np.sqrt(u)),
}
CONSTANT, SLOPE, SCALE = 10.0, 0.7, 0.3


def sample(n, dimension=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dimension))


def found(rows, centers, kernel="gaussian", *, lower=False, threads=1):
    """Squared distances, kernels and covariances, in arrays that were full of something else."""
    out = [np.full((len(centers), len(rows)), -7.0) for _ in range(3)]
    _core.covariances(rows, centers, kernel, SCALE, CONSTANT, SLOPE, *out, lower, threads)
    return out


def plain(rows, centers, kernel):
    squared = ((centers[:, None] - rows) ** 2).sum(axis=2)
    near = PROFILES[kernel](SCALE * squared)
    return squared, near, near + CONSTANT + SLOPE * centers @ rows.T


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize(("n", "count", "dimension"), [(1, 1, 1), (7, 3, 2), (8, 4, 3), (61, 10, 5)])
def test_as_numpy(kernel, n, count, dimension):
    rows, centers = sample(n, dimension), sample(count, dimension, seed=1)
    for ours, theirs in zip(found(rows, centers, kernel), plain(rows, centers, kernel), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_a_lower_triangle_leaves_the_rest_alone():
    rows = sample(21)
    for ours, theirs in zip(found(rows, rows, lower=True), plain(rows, rows, "gaussian"), strict=True):
        below = np.tri(21, dtype=bool)
        np.testing.assert_allclose(ours[below], theirs[below], rtol=1e-13, atol=1e-13)
        assert (ours[~below] == -7.0).all()


def test_no_bit_depends_on_the_other_centers_or_on_threads():
    rows, centers = sample(500), sample(40, seed=1)
    together = found(rows, centers, threads=3)
    for first, last in [(0, 40), (0, 1), (5, 12), (39, 40)]:
        for whole, part in zip(together, found(rows, centers[first:last]), strict=True):
            np.testing.assert_array_equal(whole[first:last], part)


def test_only_what_is_asked_for():
    rows, kernels = sample(9), np.zeros((9, 9))
    _core.covariances(rows, rows, "gaussian", SCALE, 0.0, 0.0, None, kernels, None, False, 1)
    np.testing.assert_allclose(kernels, plain(rows, rows, "gaussian")[1], rtol=1e-13)


def test_rows_far_away_and_equal_ones():
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [1e150, -1e150], [1e-160, 0.0]])
    squared, kernels, _ = found(rows, rows)
    assert squared[0, 1] == 0.0 and kernels[0, 1] == 1.0 and kernels[0, 2] == 0.0
    assert np.isfinite(kernels).all()


@pytest.mark.parametrize(
    ("shape", "lower", "match"),
    [((4, 2), False, "as many features"), ((4, 3), True, "all rows as centers")],
)
def test_wrong_shapes_are_refused(shape, lower, match):
    with pytest.raises(ValueError, match=match):
        found(sample(6), np.zeros(shape), lower=lower)


def test_outputs_must_fit():
    rows, out = sample(6), np.zeros((6, 5))
    with pytest.raises(ValueError, match=r"\(centers, rows\)"):
        _core.covariances(rows, rows, "gaussian", 1.0, 0.0, 0.0, out, None, None, False, 1)
