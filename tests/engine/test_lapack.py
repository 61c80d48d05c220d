"""Cholesky factors by SciPy's LAPACK, called from several threads."""

import numpy as np
import pytest

from localegop._engine.lapack import factorize, invert, solve
from localegop._engine.threads import work_together


def matrix(n, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, n + 3))
    return rows @ rows.T / n + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 17, 130])
def test_factor_solution_and_inverse(n):
    whole = matrix(n)
    given = np.tril(whole) + np.triu(np.full((n, n), np.nan), 1)  # the upper triangle does not count
    assert factorize(given)
    factor = np.tril(given)
    assert factor @ factor.T == pytest.approx(whole, rel=1e-12, abs=1e-12)
    right = np.random.default_rng(1).normal(size=(n, 2))
    assert whole @ solve(given, right) == pytest.approx(right, rel=1e-9, abs=1e-9)
    assert invert(given)
    lower = np.tril(given)
    assert whole @ (lower + np.tril(lower, -1).T) == pytest.approx(np.eye(n), abs=1e-9)


def test_what_is_not_positive_definite_is_told():
    assert not factorize(np.array([[1.0, 0.0], [2.0, 1.0]]))


def test_other_memory_orders_are_refused():
    with pytest.raises(AssertionError):
        factorize(np.asfortranarray(matrix(3)))


def test_threads_do_not_disturb_each_other():
    def inverse(seed):
        found = matrix(60, seed)
        assert factorize(found) and invert(found)
        return np.tril(found)

    alone = [inverse(seed) for seed in range(20)]
    together = work_together([lambda seed=seed: inverse(seed) for seed in range(20)], 4)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
