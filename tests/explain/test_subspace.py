"""The active subspace of a fitted model."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor

DIRECTION = np.array([2.0, 1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(150, 4)) * [1.0, 10.0, 1.0, 1e-3] + [0.0, 5.0, 0.0, 0.0]
    y = np.sin(X @ (DIRECTION / [1.0, 10.0, 1.0, 1e-3]))
    return X, y, LocalEGOPRegressor(n_jobs=1).fit(X, y)


def test_a_function_of_one_direction_has_it_for_its_first(problem):
    X, _, model = problem
    subspace = model.active_subspace(2)
    assert subspace.directions.shape == (4, 2) and subspace.eigenvalues.shape == (4,)
    assert subspace.directions[:, 0] == pytest.approx(DIRECTION / np.sqrt(5.0), abs=0.1)
    assert subspace.shares[0] > 0.97 and subspace.shares.sum() == pytest.approx(1.0)
    active = subspace.transform(X)[:, 0]
    expected = X @ (DIRECTION / [1.0, 10.0, 1.0, 1e-3])
    assert abs(np.corrcoef(active, expected)[0, 1]) > 0.99
    slopes = np.cos(expected) ** 2 * 5.0
    assert subspace.eigenvalues[0] == pytest.approx(slopes.mean(), rel=0.2)


def test_intervals_hold_the_eigenvalues(problem):
    subspace = problem[2].active_subspace(4)
    low, high = subspace.interval.T
    assert (low <= high).all()
    assert low[0] < subspace.eigenvalues[0] < high[0] < 1.5 * low[0]
    assert subspace.directions_std[0] < 0.1
    assert (np.diff(subspace.eigenvalues) <= 0.0).all()


def test_eigenvalues_have_the_units_of_the_labels(problem):
    X, y, model = problem
    other = LocalEGOPRegressor(n_jobs=1).fit(X, 100.0 * y)
    ratio = other.active_subspace(1).eigenvalues[0] / model.active_subspace(1).eigenvalues[0]
    assert ratio == pytest.approx(1e4, rel=1e-6)


def test_what_is_refused(problem):
    X, y, model = problem
    for wrong in (0, 5, 1.5, True):
        with pytest.raises(ValueError, match="k must be a whole number from 1 to 4"):
            model.active_subspace(wrong)
    with pytest.raises(ValueError, match=r"4 columns.*\(150, 3\)"):
        model.active_subspace(1).transform(X[:, :3])
    both = LocalEGOPRegressor(n_jobs=1, outputs="separate").fit(X[:40], np.column_stack([y, -y])[:40])
    with pytest.raises(ValueError, match="outputs='separate'"):
        both.active_subspace(1)
    query = LocalEGOPRegressor("query").fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="strategy='query'"):
        query.active_subspace(1)
