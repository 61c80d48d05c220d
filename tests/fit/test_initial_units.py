"""Units of the initial metric."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._data.sums import measure_extent
from localegop._fit.initial_units import feature_units, find_initial_units
from localegop._fit.pilot_fits import run_pilot
from localegop._fit.process import ProcessBackend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -1.0]


def test_constant_features_have_finite_units():
    constant = np.column_stack([X, np.full(50, 2.0)])
    transform = feature_units(measure_extent(constant, np.ones(50)), "variance")[1]
    assert np.isfinite(transform).all() and transform[3, 3] == 0.0


@pytest.mark.parametrize("longer", [1.0, 30.0])
def test_auto_takes_the_units_of_the_better_pilot_fits(longer):
    rows = RNG.normal(size=(300, 3)) * [longer, 1.0, 1.0]
    y = np.sin(rows @ [1.0, 0.5, 0.2])
    backend = ProcessBackend(merge_rows(rows, y[:, None], np.ones(300)))
    settings = LocalEGOPRegressor()._settings()
    errors = {}
    for name in ("variance", "identity"):
        given = LocalEGOPRegressor(initial_metric=name)._settings()
        found, _, data = find_initial_units(backend, given)
        assert found == name
        errors[name] = run_pilot(backend, data, given.ridges).error
    name, units, data = find_initial_units(backend, settings)
    assert errors[name] == min(errors.values())
    assert np.array_equal(data.rows, units.features(backend.rows.X))


def test_bandwidths_have_the_units_of_the_data():
    """With sizes, features are divided by the largest standard deviation; bandwidths leave them alone."""
    backend = ProcessBackend(merge_rows(X, X[:, :1], np.ones(50)))
    for schedule, scale in (("effective_size", X.std(axis=0).max()), ("power", 1.0)):
        given = LocalEGOPRegressor(initial_metric="identity", schedule=schedule)._settings()
        _, units, data = find_initial_units(backend, given)
        assert units.transform == pytest.approx(np.eye(3) / scale)
        assert np.ptp(data.rows[:, 1]) == pytest.approx(np.ptp(X[:, 1]) / scale)
    given = LocalEGOPRegressor(initial_metric="variance", schedule="power")._settings()
    assert find_initial_units(backend, given)[1].transform == pytest.approx(np.diag(1.0 / X.std(axis=0)))


def test_power_is_taken_where_it_is_asked_for_and_curves_only_what_is_skewed():
    rows = np.column_stack([np.exp(RNG.normal(size=300)), RNG.normal(size=300)])
    backend = ProcessBackend(merge_rows(rows, rows[:, 1:], np.ones(300)))
    name, units, _ = find_initial_units(backend, LocalEGOPRegressor(initial_metric="power")._settings())
    assert name == "power" and units.curves.curved.tolist() == [True, False]
    assert units.center == pytest.approx([0.0, rows[:, 1].mean()])
    assert np.diagonal(units.transform) == pytest.approx([1.0, 1.0 / rows[:, 1].std()])


@pytest.mark.parametrize("metric", [[1.0, np.nan, 1.0], [1.0, 2.0], np.eye(2), -np.eye(3)], ids=str)
def test_impossible_metrics_are_refused(metric):
    with pytest.raises(ValueError, match="initial_metric must be"):
        feature_units(measure_extent(X, np.ones(50)), metric)
