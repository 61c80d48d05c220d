"""Parameters as the engine reads them: steps, neighbors, what may compete, lengths in the user's units."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._data.curves import Curves
from localegop._data.units import Units
from localegop._engine.global_kriging import MOST_ROWS
from localegop._engine.settings import unit_length


def settings(**parameters):
    return LocalEGOPRegressor(n_jobs=1, **parameters)._settings()


def units(transform, curves=None):
    return Units(np.zeros(len(transform)), np.asarray(transform), np.zeros(1), np.ones(1), curves)


def test_a_length_in_the_units_of_the_recursion():
    """Where all features are divided by 4, a radius of 8 is one of 2, and a cap of 8 one of 0.5."""
    quarter = units(np.eye(2) / 4.0)
    assert unit_length(quarter) == 4.0
    given = settings(exclusion_radius=8.0, covariance_cap=8.0)
    assert given.data_options(quarter)["radius"] == 2.0
    assert given.update(quarter).covariance_cap == 0.5
    none = settings()
    assert none.data_options(quarter)["radius"] is None and none.update(quarter).covariance_cap is None


@pytest.mark.parametrize(
    "transform", [[[0.5, 0.0], [0.0, 0.25]], [[0.5, 0.1], [0.1, 0.5]], np.zeros((2, 2))]
)
def test_features_that_share_no_unit_have_lengths_of_the_recursion(transform):
    assert unit_length(units(transform)) == 1.0


def test_curves_have_no_common_unit():
    curves = Curves(np.zeros(2), np.ones(2), np.ones(2), np.zeros(2))
    assert unit_length(units(np.eye(2) / 4.0, curves)) == 1.0


def test_steps_and_neighbors():
    assert settings().n_steps == 4 and settings(n_iter=2).n_steps == 2
    assert settings(schedule="power").n_steps == 150
    auto, few, every = settings(), settings(max_neighbors=70), settings(max_neighbors=None)
    assert (auto.nearest, few.nearest, every.nearest) == (1000, 70, None)
    assert [auto.farthest(n) for n in (131_072, 131_073)] == [None, 32_768]
    assert few.farthest(10**6) == 70 and every.farthest(10**6) is None


@pytest.mark.parametrize(
    ("parameters", "krige", "polynomials", "everything"),
    [
        ({}, True, True, True),
        ({"degree": 1}, False, True, False),
        ({"final": "polynomial"}, False, True, False),
        ({"final": "kriging"}, True, False, False),
        ({"final": "global"}, False, False, True),
        ({"exclusion_radius": 1.0}, True, True, False),
        ({"covariance_cap": 1.0}, True, True, False),
        ({"schedule": "power"}, True, True, False),
        ({"max_neighbors": 99}, True, True, False),
        ({"max_neighbors": 100}, True, True, True),
    ],
    ids=str,
)
def test_what_may_compete_for_the_final_fit_of_a_hundred_rows(parameters, krige, polynomials, everything):
    found = settings(**parameters)
    assert (found.may_krige, found.may_fit_polynomials) == (krige, polynomials)
    assert found.may_use_all(100) == everything and not found.may_use_all(MOST_ROWS + 1)


def test_weights_are_dropped_later_where_more_depends_on_them():
    found = [settings(), settings(strategy="query"), settings(strategy="query", weighting="literal")]
    cutoffs = [each.data_options(units(np.eye(2)))["cutoff"] for each in found]
    assert cutoffs == [1e-6, 1e-12, 1e-18]


def test_sizes_shrink_from_two_hundred_to_twice_the_features_and_ten():
    schedule = settings(n_iter=3).update(units(np.eye(4))).schedule
    assert [schedule.effective_size(t) for t in (0, 3)] == pytest.approx([200.0, 18.0])
    wide = settings(n_iter=3).update(units(np.eye(120))).schedule
    assert wide.effective_size(0) == wide.effective_size(3) == 250.0
