"""Errors at held-out points: any range of them, folds learned when needed, wide neighborhoods."""

import numpy as np
import pytest

from localegop._data.rows import merge_rows
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.gradient_field import GradientField, learn_field, spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate
from localegop._engine.work import FinalFits
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT
from localegop._selection import holdout as holdouts
from localegop._selection.folds import draw_folds
from localegop._selection.holdout import Holdout, LearnedFold, errors_at, is_wide
from localegop.datasets import make_helix
from localegop.kernels import as_kernel
from localegop.reference import KERNELS, local_linear, scale_for_effective_size, squared_distances
from localegop.schedules import EffectiveSampleSize

X, Y = make_helix(200, 3, random_state=0)
WEIGHT = 1.0 + (np.arange(200) % 3)
BACKEND = ProcessBackend(merge_rows(X, ((Y - Y.mean()) / Y.std())[:, None], WEIGHT))
UPDATE = MetricUpdate(EffectiveSampleSize(40.0, 20.0, 2), 0.5, 0.2, None)
SETS = draw_folds(200, 0)
CHOICES = [
    Choice(0, 40.0, Polynomial(1, 0, 1e-2)),
    Choice(2, 20.0, Polynomial(2, 1, 1e-6)),
    Choice(1, 50.0, Kriging(2.0, 1e-4)),
    Choice(2, 40.0, Polynomial(1, 0, 1e-6)),
    Choice(1, 50.0, Kriging(1.0, 1e-1, trend=False)),
    Choice(1, 50.0, Kriging(4.0, 1e-2, trend=False)),
    Choice(2, 40.0, Polynomial(2, 3, 1e-2)),
]
WIDE = Choice(2, 70.0, Polynomial(1, 0, 1e-4))


class Folds:
    """Folds of the data above, which note when they are learned and when points look farther."""

    def __init__(self, max_neighbors=100):
        rows, options = BACKEND.rows, {"kernel": as_kernel("gaussian"), "radius": None, "threads": 1}
        self.data = LocalData(
            rows.X, rows.y, rows.sample_weight, max_neighbors=max_neighbors, cutoff=1e-16, **options
        )
        self.learned, self.farther, self.gathered = [], [], []

    def learn(self, k):
        rest, held_out = BACKEND.hold_out(self.data, SETS[k])
        site = BACKEND.own_site(rest, spread_points(rest.n, 80))
        anchors = BACKEND.as_data(site)
        start = GradientField(anchors, rest.n, rest.largest_size, UPDATE)

        def learn(gradient_size):
            self.learned.append(k if gradient_size is None else (k, gradient_size))
            return learn_field(site, anchors, UPDATE, (1e-4,), 2, SILENT)

        def see_farther():
            self.farther.append(k)
            return BACKEND.hold_out(self.data.seeing(None), SETS[k])[1]

        def gather():
            self.gathered.append(k)
            return BACKEND.gather(rest, np.arange(rest.n))

        return LearnedFold(start, held_out, site, learn, see_farther, gather)

    def holdout(self):
        return Holdout(self.learn, [len(each) for each in SETS])


@pytest.fixture(scope="module")
def holdout():
    return Folds().holdout()


@pytest.fixture(scope="module")
def whole(holdout):
    return holdout.errors([*CHOICES, WIDE], 0, 200)


def test_errors_at_ranges_are_those_of_the_whole(holdout, whole):
    errors, weight = whole
    assert holdout.count == 200 and errors.shape == (200, 8)
    for start, stop in ((0, 0), (0, 17), (17, 95), (95, 1000)):
        some, some_weight = holdout.errors([*CHOICES, WIDE], start, stop)
        np.testing.assert_array_equal(some, errors[start:stop])
        np.testing.assert_array_equal(some_weight, weight[start:stop])


def test_points_come_fold_by_fold(holdout, whole):
    expected = BACKEND.rows.sample_weight[np.concatenate(SETS)]
    np.testing.assert_array_equal(whole[1], expected)
    labels = [holdout.fold(k).held_out.labels for k in range(5)]
    np.testing.assert_array_equal(np.concatenate(labels), BACKEND.rows.y[np.concatenate(SETS)])


def test_errors_do_not_depend_on_blocks(holdout, whole, monkeypatch):
    monkeypatch.setattr(holdouts, "BLOCK", 7)
    np.testing.assert_array_equal(holdout.errors([*CHOICES, WIDE], 0, 200)[0], whole[0])


@pytest.mark.parametrize("k", range(8))
def test_a_choice_alone_has_the_errors_it_has_in_company(holdout, whole, k):
    alone, _ = holdout.errors([[*CHOICES, WIDE][k]], 0, 60)
    np.testing.assert_allclose(alone[:, 0], whole[0][:60, k], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda one: f"{one.final.kind} {one.step}")
def test_errors_and_variances_are_those_of_the_final_fit(holdout, choice):
    fold = holdout.fold(0)
    site = fold.held_out.pick(np.arange(12))
    shapes = fold.field(None).shapes_at(site.rows, choice.step)
    widths = UPDATE.widths(choice.step, 12, fold.field(None), choice.sizes)
    value, _, factors = site.run(FinalFits(choice.final), shapes, widths)
    errors, weight = holdout.errors([choice], 0, 12)
    np.testing.assert_allclose(errors[:, 0], (value - site.labels)[:, 0] ** 2, rtol=1e-8, atol=1e-14)
    counted = 0.0 if choice.final.kind == "kriging" else np.average(factors, weights=weight)
    np.testing.assert_allclose(holdout.variances([choice], 12), [counted], rtol=1e-8)


def test_errors_are_those_of_plain_fits(holdout):
    fold = holdout.fold(0)
    errors, _ = holdout.errors([Choice(0, 20.0, Polynomial(1, 0, 1e-4))], 0, 5)
    rest, shape = fold.held_out.data, np.eye(3) / 3
    for i, (center, label) in enumerate(zip(fold.held_out.rows[:5], fold.held_out.labels, strict=False)):
        visible = np.argsort(np.sum((rest.rows - center) ** 2, axis=1))[:100]
        times = rest.sample_weight[visible].astype(int)
        rows, labels = (np.repeat(of[visible], times, axis=0) for of in (rest.rows, rest.labels[:, 0]))
        scale = scale_for_effective_size(squared_distances(rows, center, shape), 20.0, KERNELS["gaussian"])
        value, _ = local_linear(rows, labels, center, scale * shape, KERNELS["gaussian"], 1e-4)
        assert errors[i, 0] == pytest.approx((value - label[0]) ** 2, rel=1e-6, abs=1e-12)


def test_global_processes_see_all_rows_but_those_held_out():
    folds, process = Folds(), GlobalKriging(1.5, 1e-3)
    holdout, choice = folds.holdout(), Choice(0, None, process)
    errors, _ = holdout.errors([CHOICES[0], choice, CHOICES[2]], 30, 50)
    assert folds.gathered == [0, 1] and folds.farther == []
    rows = BACKEND.rows
    for k, some in ((0, np.arange(30, 40)), (1, np.arange(10))):
        rest, asked = np.setdiff1d(np.arange(200), SETS[k]), SETS[k][some]
        solved = SolvedProcess(process, rows.X[rest], rows.y[rest], rows.sample_weight[rest])
        expected = (solved.at(rows.X[asked]).value - rows.y[asked])[:, 0] ** 2
        np.testing.assert_allclose(errors[:10, 1] if k == 0 else errors[10:, 1], expected, rtol=1e-6)
    alone = holdout.errors([CHOICES[0], CHOICES[2]], 30, 50)[0]
    np.testing.assert_array_equal(errors[:, [0, 2]], alone)
    assert holdout.variances([choice, CHOICES[0]], 8)[0] == 0.0
    holdout.errors([choice], 0, 50)
    assert folds.gathered == [0, 1]  # once each


def test_folds_are_learned_when_a_step_needs_them():
    folds = Folds()
    holdout = folds.holdout()
    holdout.errors(CHOICES[:1], 0, 200)
    assert folds.learned == []  # step 0 needs no gradients
    holdout.errors(CHOICES[1:2], 0, 40)
    assert folds.learned == [0]
    holdout.errors(CHOICES[1:2], 10, 41)
    holdout.variances(CHOICES[1:2], 8)
    assert folds.learned == [0, 1]
    holdout.errors(CHOICES[1:2], 100, 170)
    assert folds.learned == [0, 1, 2, 3, 4] and folds.farther == []


def test_wide_choices_look_at_more_neighbors():
    folds = Folds()
    holdout = folds.holdout()
    holdout.errors(CHOICES, 0, 30)
    usual = holdout.fold(0).field(None)
    assert folds.farther == [] and not any(is_wide(choice, usual) for choice in CHOICES)
    errors, _ = holdout.errors([CHOICES[0], WIDE, CHOICES[1]], 0, 30)
    holdout.errors([WIDE], 30, 35)
    assert folds.farther == [0]
    fold = holdout.fold(0)
    assert is_wide(WIDE, fold.field(None)) and fold.seeing_farther.data.max_visible == 160
    some = np.arange(30)
    far = errors_at(fold, fold.seeing_farther.pick(some), [WIDE])
    near = errors_at(fold, fold.held_out.pick(some), [WIDE])
    np.testing.assert_array_equal(errors[:, [1]], far)
    assert not np.array_equal(far, near)
    np.testing.assert_array_equal(errors[:, [0, 2]], holdout.errors(CHOICES[:2], 0, 30)[0])


def test_labels_held_out_take_no_part():
    folds, changed = Folds(), Folds()
    labels = changed.data.labels.copy()
    labels[SETS[0]] += 100.0
    changed.data = changed.data.like(changed.data.rows, labels, changed.data.sample_weight)
    one, two = folds.learn(0), changed.learn(0)
    for ours, theirs in zip(one.field(None).gradients, two.field(None).gradients, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.all(errors_at(two, two.held_out, CHOICES) > 1000.0)
