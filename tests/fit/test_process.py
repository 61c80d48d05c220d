"""The work of a fit in one process: data in units, sites, and the model that comes out."""

from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial
from localegop._engine.gradient_field import spread_points
from localegop._engine.settings import unit_length
from localegop._fit import plan
from localegop._fit.plan import _complete, learn
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT, ProgressBar
from localegop.datasets import make_helix

X, Y = make_helix(150, 3, random_state=0)
HELD_OUT = np.array([9, 3, 100, 42])
CHOICE = Choice(1, 30.0, Polynomial(1, 0, 1e-4))


def prepared(labels=Y, choice=CHOICE, **parameters):
    """Return a backend, and where a fit starts from, with a choice that is made already."""
    backend = ProcessBackend(merge_rows(X, labels[:, None], np.ones(150)))
    given = {"n_iter": 1, "ridge": 1e-4, "initial_metric": "variance", "max_neighbors": 60}
    start = plan._start(backend, LocalEGOPRegressor(**given | parameters)._settings())
    return backend, replace(start, decisions=replace(start.decisions, choice=choice))


def learned(backend, start, progress=SILENT):
    """Return the model of a choice."""
    return _complete(backend, learn(backend, start, progress))


def test_data_are_in_the_units_of_the_recursion():
    backend, start = prepared(exclusion_radius=2.0, initial_metric="identity")
    units, data = start.decisions.units, start.data
    assert np.array_equal(data.rows, units.features(backend.rows.X))
    assert np.array_equal(data.labels, units.labels(backend.rows.y))
    assert data.radius == pytest.approx(2.0 / unit_length(units))
    assert backend.extent(data).mean == pytest.approx(np.zeros(3), abs=1e-12)


def test_points_held_out_are_seen_by_nobody():
    backend, start = prepared()
    rest, site = backend.hold_out(start.data, HELD_OUT)
    others = np.setdiff1d(np.arange(150), HELD_OUT)
    assert np.array_equal(rest.rows, start.data.rows[others]) and site.data is rest
    assert np.array_equal(site.rows, start.data.rows[HELD_OUT]) and site.left_out is None
    assert np.array_equal(site.labels, start.data.labels[HELD_OUT])
    for i, row in enumerate(site.rows):
        nearest = np.argsort(np.sum((rest.rows - row) ** 2, axis=1))[:60]
        assert site.lists[i : i + 1].indices.tolist() == np.sort(nearest).tolist()


def test_centers_become_data_of_their_own():
    backend, start = prepared()
    points = np.arange(0, 150, 5)
    anchors = backend.as_data(backend.own_site(start.data, points))
    assert anchors.n == 30 and anchors.limit is None and anchors.kernel is start.data.kernel
    assert np.array_equal(anchors.rows, start.data.rows[points])
    assert np.array_equal(anchors.labels, start.data.labels[points])


def test_learning_fills_the_bar():
    backend, start = prepared()
    bar = ProgressBar("", verbose=True)
    with bar as progress:
        half, _ = progress.parts(2)
        model = learned(backend, start, half)
    assert bar.fraction == pytest.approx(0.5)
    assert model.decisions.units is start.decisions.units and model.decisions.choice is CHOICE
    assert 0.0 < model.decisions.reach < np.inf and model.data is start.data
    assert len(model.field.gradients) == CHOICE.step and model.field.n == 150


def test_residuals_of_the_model_leave_each_point_out():
    choice = replace(CHOICE, step=0)  # no recursion: exact to the last digit
    labels = Y.copy()
    order = np.lexsort(X.T[::-1])
    labels[order[7]] += 1.0
    base, changed = (learned(*prepared(each, choice)) for each in (Y, labels))
    row = int(base.position[order[7]])
    residuals = [m.loo.residuals * m.decisions.units.label_scale for m in (base, changed)]
    assert residuals[1][row] - residuals[0][row] == pytest.approx(1.0, abs=1e-6)


def test_rows_that_are_not_anchors_have_residuals_too(monkeypatch):
    """Each is that of a model fitted to the other rows, but for gradients that knew its label."""
    monkeypatch.setattr(plan, "FEW_ANCHORS", 50)
    choice = replace(CHOICE, step=0)
    few = learned(*prepared(choice=choice))
    monkeypatch.undo()
    whole = learned(*prepared(choice=choice))
    assert few.field.anchors.n == 50 and len(few.loo.residuals) == 50
    assert whole.field.anchors.n == 150
    np.testing.assert_array_equal(few.loo.residuals, whole.loo.residuals[spread_points(150, 50)])
    np.testing.assert_allclose(few.loo_residuals, whole.loo_residuals, rtol=1e-9)
    # with a step, shapes come from fewer gradients: nearly the same
    monkeypatch.setattr(plan, "FEW_ANCHORS", 75)
    few = learned(*prepared())
    monkeypatch.undo()
    whole = learned(*prepared())
    sizes = [np.sqrt(np.mean(m.loo_residuals**2)) for m in (few, whole)]
    assert np.isfinite(few.loo_residuals).all() and few.loo_residuals.shape == (150, 1)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.3)
    assert np.corrcoef(few.loo_residuals[:, 0], whole.loo_residuals[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize(("n", "count"), [(500, 500), (1500, 1000), (15_000, 1500), (80_000, 2000)])
def test_how_many_anchors_a_model_has(n, count, monkeypatch):
    found = []
    monkeypatch.setattr(
        plan, "anchor_points", lambda settings, n, most: found.append(min(n, most)) or 1 / 0
    )
    backend, start = prepared()
    many = type("Many", (), {"n": n})()
    with pytest.raises(ZeroDivisionError):
        learned(backend, replace(start, data=many))
    assert found == [count]


def test_a_wide_choice_makes_the_model_look_farther(monkeypatch):
    monkeypatch.setattr("localegop._engine.settings.NEAREST", 60)
    wide = replace(CHOICE, size=50.0)
    backend, start = prepared(choice=wide, max_neighbors="auto")
    assert start.data.max_visible == 60 and start.data.largest_size == 30.0
    model = learned(backend, start)
    assert model.data.max_visible == 150 and model.field.largest_size == 30.0
    backend, start = prepared(max_neighbors="auto")
    assert learned(backend, start).data.max_visible == 60
