"""The second look at a polynomial fit: finer sizes, larger ridges, least variance, and its rival."""

from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._fit import plan as fitting
from localegop._progress import SILENT, Progress
from localegop._selection import refinement as refining
from localegop._selection.holdout import at_some, measured
from localegop._selection.refinement import Chosen, GridErrors, better, refined
from localegop._selection.search_grid import Choice, Menu
from localegop.datasets import make_helix


def noisy_helix(n=300, dimension=5, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + np.random.default_rng(seed).normal(0.0, 0.3 * y.std(), n)


@pytest.fixture(scope="module")
def tested():
    """A menu, its choice, and the folds it was made in."""
    X, y = noisy_helix()
    model = LocalEGOPRegressor(initial_metric="variance", n_iter=2, final="linear")
    found = {}

    def spy(choice, menu, folds, progress):
        found.update(choice=choice, menu=menu, folds=folds)
        return choice

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "refined", spy)
        model.fit(X, y)
    return found["menu"], found["choice"], found["folds"]


def test_the_choice_stays_near_and_is_no_worse_than_chance(tested):
    menu, choice, folds = tested
    again = refined(choice, menu, folds, SILENT)
    assert again.step == choice.step and again.bends in menu.bends
    assert again.ridge in menu.ridges + refining.LARGE_RIDGES
    assert min(abs(again.size / choice.size - factor) for factor in refining.FINER) < 1e-12
    assert not better(choice, again, folds, SILENT) or again.error < 1.05 * choice.error


def test_errors_are_those_of_the_final_fits(tested):
    menu, choice, folds = tested
    errors, share = measured(Chosen((choice,)), folds, SILENT)
    assert errors.shape == (len(share), 1) and len(share) == sum(len(fold.share) for fold in folds)
    assert np.isclose(errors[:, 0] @ share / share.sum(), choice.error, rtol=1e-10)
    one = replace(menu, steps=(choice.step,), sizes=(choice.size,), bends=(choice.bends,))
    grid, _ = measured(GridErrors(replace(one, ridges=(choice.ridge,))), folds, SILENT)
    np.testing.assert_allclose(grid, errors, rtol=1e-12)


def test_every_so_manieth_point(tested):
    _, choice, folds = tested
    whole, share = measured(Chosen((choice,)), folds[:1], SILENT)
    some, some_share = measured(Chosen((choice,)), folds[:1], SILENT, every=7)
    np.testing.assert_array_equal(some, whole[::7])
    np.testing.assert_array_equal(some_share, share[::7])
    none = at_some(folds[0].field, folds[0].guests, np.zeros(0, dtype=np.intp), Chosen((choice,)))
    assert none.shape == (0, 1)


def test_the_least_variance_of_those_alike_is_taken(tested, monkeypatch):
    menu, choice, folds = tested
    monkeypatch.setattr(refining, "STANDARD_ERRORS", 1e9)  # all are alike
    monkeypatch.setattr(refining, "MOST", 1000)
    again = refined(choice, menu, folds, SILENT)
    around = refining._around(choice, menu, 300)
    every = [
        replace(choice, size=size, bends=bends, ridge=ridge)
        for size in around.sizes
        for bends in around.bends[:1]
        for ridge in around.ridges
    ]
    factors, _ = measured(Chosen((again, *every), variances=True), folds, SILENT, every=8)
    assert factors.mean(axis=0)[0] <= factors.mean(axis=0)[1:].min() * (1.0 + 1e-9)


def test_folds_may_have_fewer_axes_than_bends(tested):
    _, choice, folds = tested
    axes = np.eye(folds[0].field.data.dimension)[:, :2]
    few = replace(folds[0].field, data=folds[0].field.data.turned(axes), gradients=[], loo_errors=[])
    guests = replace(folds[0].guests, centers=folds[0].guests.centers[:, :2], center_candidates=None)
    fit = Chosen((replace(choice, step=0, bends=3), replace(choice, step=0, bends=2)))
    errors = at_some(few, guests, np.arange(5), fit)
    np.testing.assert_array_equal(errors[:, 0], errors[:, 1])


def test_a_choice_is_not_better_than_itself_but_than_a_bad_one(tested):
    _, choice, folds = tested
    bad = replace(choice, ridge=1e3)
    assert not better(choice, choice, folds, SILENT)
    assert better(choice, bad, folds, SILENT) and not better(bad, choice, folds, SILENT)


def test_what_is_told_is_not_refined():
    menu = Menu((0, 1), (100.0,), 1, (0, 1), (0.01,))
    around = refining._around(Choice(0, 100.0, 1, 0, 0.01), menu, 1000)
    assert around.sizes == (100.0,) and around.ridges == (0.01,) and around.bends == (0,)
    scheduled = refining._around(Choice(1, None, 1, 0, 0.01), replace(menu, sizes=None), 1000)
    assert scheduled.sizes is None and scheduled.bends == (0, 1)
    small = refining._around(Choice(1, 30.0, 1, 0, 0.01), replace(menu, sizes=(30.0, 15.0)), 70)
    assert small.sizes == pytest.approx((30.0, 30.0 / 2**0.5))


def test_a_ridge_that_is_told_stays():
    X, y = noisy_helix(300, 4)
    assert LocalEGOPRegressor(ridge=1e-3, final="linear").fit(X, y).choice_.ridge == 1e-3


def test_units_without_axes_compete_where_axes_hardly_help(monkeypatch):
    X, y = noisy_helix(200, 4)
    tried = []
    attempt = fitting._attempt
    monkeypatch.setattr(fitting, "_attempt", lambda *given: tried.append(1) or attempt(*given))
    monkeypatch.setattr(fitting, "DOUBTFUL", 1e9)
    most = LocalEGOPRegressor().fit(X, y)
    assert tried == [1]
    monkeypatch.setattr(fitting, "DOUBTFUL", 0.0)
    least = LocalEGOPRegressor().fit(X, y)
    assert tried == [1] and most.choice_.error <= least.choice_.error


def test_progress_can_be_extended():
    with Progress(1.0, "work", verbose=0) as progress:
        progress.extend(3.0)
        progress.advance(2.0)
        assert progress.done / progress.total == 0.5
