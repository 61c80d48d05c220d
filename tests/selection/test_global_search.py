"""Search for a global process: leave-one-out errors by one inverse, and what goes on to held-out points."""

import numpy as np
import pytest

from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._selection import global_search
from localegop._selection.global_search import GlobalSearch, as_choice, for_more_rows, typical_length


def sample(n=80, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, size=(n, 2))
    labels = np.column_stack([np.sin(3.0 * rows[:, 0]), rows[:, 1] ** 2])
    return rows, labels + noise * rng.normal(size=labels.shape), rng.choice([1.0, 2.0, 0.5], n)


@pytest.mark.parametrize("process", [GlobalKriging(0.8, 1e-3), GlobalKriging(3.0, 1e-2, rough=True)])
def test_errors_are_those_of_predictions_without_each_row(process):
    """All of the weight of a row is left out: rows of the sample are what is predicted."""
    rows, labels, weight = sample(noise=0.1)
    residuals = np.empty_like(labels)
    for i in range(len(rows)):
        rest = np.delete(np.arange(len(rows)), i)
        solved = SolvedProcess(process, rows[rest], labels[rest], weight[rest])
        residuals[i] = labels[i] - solved.at(rows[i : i + 1]).value[0]
    expected = np.average(np.mean(residuals**2, axis=1), weights=weight)
    # the mean that is subtracted first is that of all rows here, and of the others there
    assert GlobalSearch(rows, labels, weight).error(process) == pytest.approx(expected, rel=1e-2)
    whole = SolvedProcess(process, rows, labels, weight).loo_residuals
    assert GlobalSearch(rows, labels, weight).error(process) == pytest.approx(
        np.average(np.mean(whole**2, axis=1), weights=weight), rel=1e-2
    )


def test_a_search_is_never_worse_than_where_it_starts():
    rows, labels, weight = sample(noise=0.2)
    search = GlobalSearch(rows, labels, weight)
    guesses = search.first_guesses()
    assert {one.rough for one in guesses} == {False, True}
    found = search.best(guesses)
    errors = [search.error(one) for one in found]
    assert errors == sorted(errors) and len(found) == len(guesses)
    for one in guesses:
        nearby = next(each for each in found if each.rough == one.rough)
        assert search.error(nearby) <= search.error(one)


def test_noise_asks_for_a_ridge_and_smooth_labels_for_none():
    quiet, loud = (GlobalSearch(*sample(noise=noise)) for noise in (0.0, 0.5))
    ridges = [search.best(search.first_guesses())[0].ridge for search in (quiet, loud)]
    assert ridges[0] < 1e-4 < 1e-2 < ridges[1]


def test_jumps_ask_for_a_rough_process():
    rows, _, weight = sample(200)
    search = GlobalSearch(rows, np.sign(rows[:, :1] + 0.3 * rows[:, 1:]), weight)
    assert search.best(search.first_guesses())[0].rough


def test_lengths_go_with_the_units_of_the_rows():
    rows, labels, weight = sample(noise=0.1)
    one, other = GlobalSearch(rows, labels, weight), GlobalSearch(1e3 * rows, labels, weight)
    assert typical_length(1e3 * rows) == pytest.approx(1e3 * typical_length(rows))
    ours, theirs = (search.best(search.first_guesses())[0] for search in (one, other))
    assert theirs.length == pytest.approx(1e3 * ours.length) and theirs.ridge == pytest.approx(ours.ridge)


def test_ridges_stay_within_bounds():
    rows, _, weight = sample()
    for labels in (rows[:, :1], np.random.default_rng(0).normal(size=(80, 1))):
        search = GlobalSearch(rows, labels, weight)
        for one in search.best(search.first_guesses()):
            assert global_search.LEAST_RIDGE <= one.ridge <= global_search.MOST_RIDGE


def test_nothing_is_measured_twice(monkeypatch):
    search, measured = GlobalSearch(*sample()), []
    measure = search._measure
    monkeypatch.setattr(search, "_measure", lambda process: measured.append(process) or measure(process))
    search.best(search.first_guesses())
    assert len(measured) == len(set(measured)) > 4
    search.best(search.first_guesses())
    assert len(measured) == len(set(measured))


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.zeros((20, 2)), np.arange(20.0)[:, None]),
        (np.ones((2, 3)), np.ones((2, 1))),
        (np.random.default_rng(0).normal(size=(20, 2)), np.zeros((20, 1))),
        (1e-9 * np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)[:, None]),
    ],
    ids=["one place", "two equal rows", "flat labels", "tiny units"],
)
def test_degenerate_rows_and_labels_have_finite_errors(rows, labels):
    search = GlobalSearch(rows, labels, np.ones(len(rows)))
    best = search.best(search.first_guesses())[0]
    assert np.isfinite(search.error(best)) and best.length > 0.0
    solved = SolvedProcess(best, rows, labels, np.ones(len(rows)))
    for found in (
        solved.at(rows, gradients=True, variances=True),
        solved.without_own(np.arange(len(rows))),
    ):
        assert all(np.isfinite(each).all() for each in vars(found).values())


def test_a_system_that_cannot_be_solved_is_never_taken():
    rows = np.repeat(sample(40)[0], 2, axis=0)
    search = GlobalSearch(rows, np.sin(rows[:, :1]), np.full(80, 1e12))  # a weight that leaves no ridge
    assert search.error(GlobalKriging(50.0, 1e-9)) == np.inf


def test_more_rows_want_shorter_lengths_and_smaller_ridges():
    found = GlobalKriging(2.0, 1e-3, rough=True)
    more = for_more_rows(found)
    assert more.rough and more.length < found.length and more.ridge < found.ridge
    least = for_more_rows(GlobalKriging(2.0, global_search.LEAST_RIDGE))
    assert least.ridge == global_search.LEAST_RIDGE and not least.rough
    choice = as_choice(found)
    assert choice.final == found and choice.size is None and choice.step == 0
