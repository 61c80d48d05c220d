"""Which processes that know gradients are tried, and what finding them costs."""

from __future__ import annotations

import numpy as np
import pytest

from localegop._data.slopes import GivenSlopes
from localegop._engine.gradient_kriging import MOST_EQUATIONS, GradientKriging
from localegop._engine.local_data import LocalData
from localegop._selection import gradient_search
from localegop._selection.global_search import typical_length
from localegop._selection.gradient_search import (
    FIRST_FUNCTIONS,
    FIRST_WORK,
    MOST_FUNCTIONS,
    MOST_WORK,
    GradientSearch,
    find_gradient_processes,
    functions_for,
    numbers_of_slopes,
)
from localegop.kernels import as_kernel


def data(n: int, features: int, known: bool = True) -> LocalData:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, features))
    slopes = np.full((n, 1, features), np.nan)
    if known:
        slopes[:, 0] = 0.1
        slopes[:, 0, 0] = np.cos(rows[:, 0])
    labels = np.sin(rows[:, :1]) + 0.1 * rows[:, 1:].sum(axis=1, keepdims=True)
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(rows, labels, np.ones(n), **options, slopes=GivenSlopes(slopes, np.eye(features)))


def test_an_exact_process_knows_all_slopes_or_a_few_leading_ones() -> None:
    assert numbers_of_slopes(200, 8) == [2, 4, 8]
    assert numbers_of_slopes(300, 18) == [2, 4]
    assert numbers_of_slopes(1000, 18) == [2]
    assert numbers_of_slopes(MOST_EQUATIONS, 18) == []


@pytest.mark.parametrize(("n", "each"), [(300, 18), (1000, 18), (1000, 36), (2500, 100)])
@pytest.mark.parametrize(
    ("work", "most"), [(FIRST_WORK, FIRST_FUNCTIONS), (MOST_WORK, MOST_FUNCTIONS)], ids=["first", "grown"]
)
def test_the_cost_of_functions_is_bounded(n: int, each: int, work: float, most: int) -> None:
    places, n_slopes = functions_for(n, each, work, most)
    assert 1 <= n_slopes <= each and 0 < places < n
    functions = places * (1 + n_slopes)
    assert functions <= most and n * (1 + each) * functions**2 <= work
    assert functions_for(MOST_EQUATIONS // (1 + each), each)[0] == 0


def test_where_all_can_be_known_exactly_there_are_no_functions() -> None:
    found = find_gradient_processes(data(60, 3))
    assert [one.n_places for one in found] == [0]
    (alone,) = find_gradient_processes(data(60, 3), axes_are_sorted=False)
    assert (alone.n_slopes, alone.n_places) == (3, 0)


def test_otherwise_one_is_made_of_functions_that_knows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_search, "MOST_EQUATIONS", 200)
    monkeypatch.setattr(gradient_search, "SEARCHED_ROWS", 40)
    many = data(100, 3)
    exact, sparse = find_gradient_processes(many)
    assert exact.n_places == 0 and exact.n_slopes == 1
    assert (sparse.n_places, sparse.n_slopes) == functions_for(100, 3)
    assert sparse.n_places > 0
    assert GradientSearch(many).error(sparse) < 0.5 * GradientSearch(many).error(exact)


def test_slopes_that_are_all_unknown_are_of_no_use() -> None:
    assert find_gradient_processes(data(60, 3, known=False)) == []


def test_a_process_of_few_functions_grows_to_as_many_as_there_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gradient_search, "MOST_EQUATIONS", 200)
    monkeypatch.setattr(gradient_search, "MOST_FUNCTIONS", 120)
    many = data(100, 3)
    unit, search = typical_length(many.rows), GradientSearch(many)
    few = GradientKriging(6.0 * unit, 0.1, False, 3, 0.1, 8)
    grown, error = search.grow(few, 100)
    assert (grown.n_places, grown.n_slopes) == (30, 3)
    assert error < 0.2 * search.error(few) and grown.length < few.length
    assert search.error(grown) == pytest.approx(error, rel=1.0)  # that is with 16 places
