"""What fits do at points held out: chunks, every k-th point, folds one after the other."""

from dataclasses import dataclass

import numpy as np
import pytest

from localegop._data.rows import merge_rows
from localegop._engine import chunks
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT, ProgressBar
from localegop._selection.folds import FoldResult, draw_folds
from localegop._selection.holdout import GridErrors, Holdout, evaluate_some, grid_errors
from localegop._selection.search_grid import SearchGrid
from localegop.datasets import make_helix
from localegop.kernels import as_kernel
from localegop.reference import KERNELS, local_linear, scale_for_effective_size, squared_distances
from localegop.schedules import EffectiveSampleSize

X, Y = make_helix(200, 3, random_state=0)
Y = (Y - Y.mean()) / Y.std()
UPDATE = MetricUpdate(EffectiveSampleSize(40.0, 20.0, 2), 0.5, 0.2, None)
GRID = SearchGrid((0, 2), (40.0, 20.0), True, (0, 1), (1e-6, 1e-2))


@pytest.fixture(scope="module")
def holdout():
    weight = 1.0 + (np.arange(200) % 3)
    backend = ProcessBackend(merge_rows(X, Y[:, None], weight))
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": 100, "radius": None, "threads": 2}
    rows = backend.rows
    data = LocalData(rows.X, rows.y, rows.sample_weight, cutoff=1e-16, **options)
    sets = draw_folds(200, 0)[:2]
    return Holdout(
        backend, [backend.learn_without(data, UPDATE, GRID, each, None, SILENT) for each in sets]
    )


@dataclass(frozen=True)
class Labels:
    """A measure that tells at which points it was asked for."""

    last_step = 0

    def __len__(self):
        return 2

    def at(self, field, centers, labels):
        assert len(centers) == len(labels)
        return np.column_stack([labels[:, 0], centers.rows[:, 0]])


def test_errors_of_a_grid_are_those_of_plain_fits(holdout):
    fold = holdout.folds[0]
    learned, grid = fold.learned, SearchGrid((0,), (20.0,), True, (0,), (1e-4,))
    field = GradientField(learned.field.data.limited(160), UPDATE)
    some = learned.held_out.pick(np.arange(5))
    errors = grid_errors(field, some, learned.labels[:5], grid, SILENT)
    assert errors.shape == (1, 1, 1, 1, 5)
    data = field.data
    for i, (center, label) in enumerate(zip(some.rows, learned.labels, strict=False)):
        visible = some.lists[i : i + 1].indices
        rows, labels, weight = (of[visible] for of in (data.rows, data.labels[:, 0], data.sample_weight))
        times = weight.astype(int)
        rows, labels = np.repeat(rows, times, axis=0), np.repeat(labels, times)
        shape = np.eye(3) / 3
        scale = scale_for_effective_size(squared_distances(rows, center, shape), 20.0, KERNELS["gaussian"])
        value, _ = local_linear(rows, labels, center, scale * shape, KERNELS["gaussian"], 1e-4)
        assert errors[0, 0, 0, 0, i] == pytest.approx((value - label[0]) ** 2, rel=1e-6, abs=1e-12)


def test_a_grid_has_the_same_errors_as_its_single_fits(holdout):
    fold = holdout.folds[0]
    assert fold.errors.shape == (2, 2, 2, 2, 40)
    learned = fold.learned
    for at in ((0, 1, 0, 1), (1, 0, 1, 0)):
        t, s, b, r = at
        alone = SearchGrid(
            (GRID.steps[t],), (GRID.sizes[s],), True, (GRID.quadratic_directions[b],), (GRID.ridges[r],)
        )
        errors = grid_errors(learned.field, learned.held_out, learned.labels, alone, SILENT)
        np.testing.assert_allclose(errors[0, 0, 0, 0], fold.errors[at], rtol=1e-9)


def test_a_measure_of_a_grid_lays_its_fits_side_by_side(holdout):
    measure = GridErrors(GRID)
    errors, weight = holdout.evaluate(measure, SILENT)
    assert len(measure) == 16 and measure.last_step == 2 and errors.shape == (80, 16)
    np.testing.assert_array_equal(errors[:40].T.reshape(2, 2, 2, 2, 40), holdout.folds[0].errors)
    np.testing.assert_array_equal(weight, np.concatenate([f.sample_weight for f in holdout.folds]))


def test_every_kth_point_of_every_fold_is_measured(holdout):
    labels = [fold.learned.labels[:, 0] for fold in holdout.folds]
    found, weight = holdout.evaluate(Labels(), SILENT, every=3)
    np.testing.assert_array_equal(found[:, 0], np.concatenate([each[::3] for each in labels]))
    np.testing.assert_array_equal(
        weight, np.concatenate([fold.sample_weight[::3] for fold in holdout.folds])
    )


def test_points_are_measured_in_their_order_whatever_the_chunks(holdout, monkeypatch):
    learned, some = holdout.folds[0].learned, np.array([7, 3, 3, 39, 0])
    given = (learned.field, learned.held_out, learned.labels, some)
    whole = evaluate_some(*given, GridErrors(GRID))
    monkeypatch.setattr(chunks, "SMALLEST", 2)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1.0)
    np.testing.assert_array_equal(evaluate_some(*given, GridErrors(GRID)), whole)
    np.testing.assert_array_equal(evaluate_some(*given, Labels())[:, 0], learned.labels[some, 0])
    np.testing.assert_array_equal(evaluate_some(*given, Labels())[:, 1], learned.held_out.rows[some, 0])


def test_what_holds_for_all_folds(holdout):
    folds = [
        FoldResult(np.zeros(0), np.ones(n), d, 100, seen, None) for n, d, seen in ((5, 3, 80), (7, 2, 60))
    ]
    both = Holdout(holdout.evaluator, folds)
    assert (both.count, both.dimension, both.largest_size) == (12, 3, 30.0)


def test_progress_goes_on_fold_by_fold(holdout):
    bar = ProgressBar("", verbose=True)
    with bar as progress:
        first, _ = progress.parts(2)
        holdout.evaluate(Labels(), first)
    assert bar.fraction == pytest.approx(0.5)
