"""The work of a fit in one process."""

from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.local_data import LocalData
from localegop._engine.settings import unit_length
from localegop._fit.initial_units import find_initial_units
from localegop._fit.process import ProcessBackend
from localegop._predict.decisions import Decisions
from localegop._progress import SILENT, ProgressBar
from localegop._selection.search_grid import SearchGrid
from localegop.datasets import make_helix

X, Y = make_helix(150, 3, random_state=0)
GRID = SearchGrid((0, 1), (40.0, 20.0), True, (0,), (1e-4,))
HELD_OUT = np.arange(0, 150, 6)


def prepared(**parameters):
    """Return a backend, data in the initial units, and what was decided so far."""
    backend = ProcessBackend(merge_rows(X, Y[:, None], np.ones(150)))
    given = {"n_iter": 1, "ridge": 1e-4, "initial_metric": "variance", "max_neighbors": 60}
    settings = LocalEGOPRegressor(**given | parameters)._settings()
    name, units, data = find_initial_units(backend, settings)
    choice = GRID.choice((1, 0, 0, 0), np.nan)
    decisions = Decisions(settings, units, settings.update(units), choice, name, backend.rows.features.std)
    return backend, data, decisions


def with_labels(data, labels):
    options = {"kernel": data.kernel, "max_neighbors": 60, "radius": None, "threads": 1}
    return LocalData(data.rows, labels, data.sample_weight, cutoff=data.cutoff, **options)


def test_data_are_in_the_units_of_the_recursion():
    backend, data, decisions = prepared(exclusion_radius=2.0, initial_metric="identity")
    assert np.array_equal(data.rows, decisions.units.features(backend.rows.X))
    assert np.array_equal(data.labels, decisions.units.labels(backend.rows.y))
    assert data.radius == pytest.approx(2.0 / unit_length(decisions.units))
    assert backend.extent(data).mean == pytest.approx(np.zeros(3), abs=1e-12)


def test_neighbors_are_searched_once_for_the_same_data(monkeypatch):
    backend, data, decisions = prepared()
    searched, search = [], LocalData.neighbor_lists
    monkeypatch.setattr(
        LocalData, "neighbor_lists", lambda self, rows: searched.append(len(rows)) or search(self, rows)
    )
    for part in np.array_split(np.arange(150), 3):
        backend.learn_without(data, decisions.update, GRID, part, None, SILENT)
    backend.learn(data, decisions, SILENT)
    assert searched == [150]
    backend.learn(data.limited(50), decisions, SILENT)
    assert searched == [150, 150]


@pytest.mark.parametrize("axes", [None, np.eye(3)[:, :2]], ids=["own axes", "others"])
def test_held_out_labels_take_no_part(axes):
    backend, data, decisions = prepared()
    labels = data.labels.copy()
    labels[HELD_OUT] += 100.0
    one, two = (
        backend.learn_without(each, decisions.update, GRID, HELD_OUT, axes, SILENT)
        for each in (data, with_labels(data, labels))
    )
    for ours, theirs in zip(one.learned.field.gradients, two.learned.field.gradients, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.all(two.errors > 1000.0) and one.errors.max() < 100.0
    assert one.dimension == (3 if axes is None else 2) and one.n == 150 - len(HELD_OUT)


def test_a_fold_has_no_more_gradients_than_its_grid_needs():
    backend, data, decisions = prepared(n_iter=3)
    fold = backend.learn_without(data, decisions.update, GRID, HELD_OUT, None, SILENT)
    assert len(fold.learned.field.gradients) == 1
    assert fold.errors.shape == (2, 2, 1, 1, len(HELD_OUT))


def test_gradients_at_points_of_a_fold_are_those_of_the_chosen_fit():
    backend, data, decisions = prepared()
    fold = backend.learn_without(data, decisions.update, GRID, HELD_OUT, None, SILENT)
    points = np.array([0, 3, 50])
    gradients, weight = backend.gradients_at(fold, decisions, points)
    assert gradients.shape == (3, 1, 3) and weight.tolist() == [1.0, 1.0, 1.0]
    one, _ = backend.gradients_at(fold, decisions, points[1:2])
    assert np.array_equal(one[0], gradients[1])
    none, _ = backend.gradients_at(fold, decisions, points[:0])
    assert none.shape == (0, 1, 3)


def test_isotropic_errors_are_those_of_the_first_step():
    backend, data, decisions = prepared(max_neighbors=None)
    first = replace(GRID, steps=(0,))
    fold = backend.learn_without(data, decisions.update, first, HELD_OUT, None, SILENT)
    errors, weight = backend.isotropic_errors(data, decisions.update, first, HELD_OUT)
    np.testing.assert_array_equal(errors, fold.errors)
    np.testing.assert_array_equal(weight, fold.sample_weight)


def test_learning_fills_its_stretch_of_the_bar():
    backend, data, decisions = prepared()
    bar = ProgressBar("", verbose=True)
    with bar as progress:
        half, _ = progress.parts(2)
        model = backend.learn(data, decisions, half)
    assert bar.fraction == pytest.approx(0.5)
    assert model.decisions.choice is decisions.choice and np.isfinite(model.decisions.reach)
    assert model.data is data and model.field.data is data
    bar = ProgressBar("", verbose=True)
    with bar as progress:
        backend.learn_without(data, decisions.update, GRID, HELD_OUT, None, progress)
    assert bar.fraction == pytest.approx(1.0)


def test_residuals_of_the_model_leave_each_point_out():
    backend, data, decisions = prepared()
    decisions = replace(decisions, choice=GRID.choice((0, 0, 0, 0), np.nan))
    base = backend.learn(data, decisions, SILENT)
    labels = data.labels.copy()
    labels[7] += 1.0
    changed = backend.learn(with_labels(data, labels), decisions, SILENT)
    assert changed.loo.residuals[7] - base.loo.residuals[7] == pytest.approx(1.0)
