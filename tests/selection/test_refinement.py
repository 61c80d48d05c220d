"""The second look at a polynomial fit: finer sizes, larger ridges, least variance, and its rival."""

from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.centers import Centers
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._fit import attempts
from localegop._progress import SILENT
from localegop._selection import refinement
from localegop._selection.holdout import GridErrors, evaluate_some
from localegop._selection.refinement import ChoiceErrors, ChoiceVariances, clearly_better, refine_choice
from localegop._selection.search_grid import SearchGrid
from localegop.datasets import make_helix


def noisy_helix(n=300, dimension=5, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + np.random.default_rng(seed).normal(0.0, 0.3 * y.std(), n)


def linear(size, step=1):
    return Choice(step, size, Polynomial(1, 0, 0.01))


@pytest.fixture(scope="module")
def tested():
    """A grid, its choice, and the points held out that it was made at."""
    X, y = noisy_helix()
    model = LocalEGOPRegressor(initial_metric="variance", n_iter=2, final="polynomial")
    found = {}

    def spy(choice, grid, holdout, progress):
        found.update(choice=choice, grid=grid, holdout=holdout)
        return choice

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "refine_choice", spy)
        model.fit(X, y)
    return found["grid"], found["choice"], found["holdout"]


def test_the_choice_stays_near_and_is_no_worse_than_chance(tested):
    grid, choice, holdout = tested
    again = refine_choice(choice, grid, holdout, SILENT)
    assert again.step == choice.step
    assert again.final.n_quadratic_directions in grid.quadratic_directions
    assert again.ridge in grid.ridges + refinement.LARGE_RIDGES
    assert min(abs(again.size / choice.size - factor) for factor in refinement.FINER) < 1e-12
    assert not clearly_better(choice, again, holdout, SILENT) or again.error < 1.05 * choice.error


def test_errors_are_those_of_the_final_fits(tested):
    grid, choice, holdout = tested
    errors, weight = holdout.evaluate(ChoiceErrors((choice,)), SILENT)
    assert errors.shape == (len(weight), 1)
    assert len(weight) == holdout.count == sum(len(fold.sample_weight) for fold in holdout.folds)
    assert np.isclose(errors[:, 0] @ weight / weight.sum(), choice.error, rtol=1e-10)
    one = replace(grid, steps=(choice.step,), sizes=(choice.size,), ridges=(choice.ridge,))
    one = replace(one, quadratic_directions=(choice.final.n_quadratic_directions,))
    of_grid, _ = holdout.evaluate(GridErrors(one), SILENT)
    np.testing.assert_allclose(of_grid, errors, rtol=1e-12)


def test_every_kth_point(tested):
    _, choice, holdout = tested
    first = replace(holdout, folds=holdout.folds[:1])
    whole, weight = first.evaluate(ChoiceErrors((choice,)), SILENT)
    some, some_weight = first.evaluate(ChoiceErrors((choice,)), SILENT, every=7)
    np.testing.assert_array_equal(some, whole[::7])
    np.testing.assert_array_equal(some_weight, weight[::7])
    learned, nobody = holdout.folds[0].learned, np.zeros(0, dtype=np.intp)
    none = evaluate_some(learned.field, learned.held_out, learned.labels, nobody, ChoiceErrors((choice,)))
    assert none.shape == (0, 1)


def test_the_least_variance_of_those_alike_is_taken(tested, monkeypatch):
    grid, choice, holdout = tested
    monkeypatch.setattr(refinement, "STANDARD_ERRORS", 1e9)  # all are alike
    monkeypatch.setattr(refinement, "MOST_CHOICES", 1000)
    again = refine_choice(choice, grid, holdout, SILENT)
    around = refinement._around(choice, grid, 150.0)
    every = [
        around.choice((0, s, 0, r), np.nan)
        for s in range(len(around.sizes))
        for r in range(len(around.ridges))
    ]
    factors, _ = holdout.evaluate(ChoiceVariances((again, *every)), SILENT, every=8)
    assert factors.mean(axis=0)[0] <= factors.mean(axis=0)[1:].min() * (1.0 + 1e-9)


def test_folds_may_have_fewer_axes_than_quadratic_directions(tested):
    _, choice, holdout = tested
    learned = holdout.folds[0].learned
    axes = np.eye(learned.field.data.dimension)[:, :2]
    few = replace(learned.field, data=learned.field.data.rotated(axes), gradients=(), loo_errors=())
    held_out = Centers(learned.held_out.rows[:, :2])
    choices = [replace(choice, step=0, final=Polynomial(2, count, 1e-4)) for count in (3, 2, 1)]
    errors = evaluate_some(few, held_out, learned.labels, np.arange(5), ChoiceErrors(tuple(choices)))
    np.testing.assert_array_equal(errors[:, 0], errors[:, 1])
    assert not np.array_equal(errors[:, 1], errors[:, 2])


def test_a_choice_is_not_better_than_itself_but_than_a_bad_one(tested):
    _, choice, holdout = tested
    bad = replace(choice, final=replace(choice.final, ridge=1e3))
    assert not clearly_better(choice, choice, holdout, SILENT)
    assert clearly_better(choice, bad, holdout, SILENT) and not clearly_better(bad, choice, holdout, SILENT)


def test_what_was_asked_for_is_not_refined():
    grid = SearchGrid((0, 1), (100.0,), True, (0, 1), (0.01,))
    around = refinement._around(linear(100.0, step=0), grid, 1000.0)
    assert around.sizes == (100.0,) and around.ridges == (0.01,) and around.quadratic_directions == (0,)
    scheduled = refinement._around(linear(None), replace(grid, sizes=None), 1000.0)
    assert scheduled.sizes is None and scheduled.quadratic_directions == (0, 1)
    small = refinement._around(linear(30.0), replace(grid, sizes=(30.0, 15.0)), 35.0)
    assert small.sizes == pytest.approx((30.0, 30.0 / 2**0.5))


def test_a_ridge_that_was_asked_for_stays():
    X, y = noisy_helix(300, 4)
    assert LocalEGOPRegressor(ridge=1e-3, final="polynomial").fit(X, y).choice_.ridge == 1e-3
