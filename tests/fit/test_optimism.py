"""Residuals of points left out alone against errors at held-out points."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._fit.optimism import RATE, measure_optimism

RNG = np.random.default_rng(0)
RESIDUALS = RNG.standard_normal((4000, 1))


@pytest.mark.parametrize("larger", [1.5, 2.0])
def test_larger_errors_at_held_out_points_are_seen(larger):
    held_out = (larger * RNG.standard_normal(4000)) ** 2
    assert measure_optimism(RESIDUALS, held_out, 1.0) == pytest.approx(larger, rel=0.07)
    fewer = measure_optimism(RESIDUALS, held_out, 0.8)
    assert fewer == pytest.approx(larger * 0.8**RATE, rel=0.07)  # fits to fewer rows err more anyway


def test_equal_errors_and_chance_count_for_nothing():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert measure_optimism(RESIDUALS, rng.standard_normal(1000) ** 2, 1.0) < 1.03
    assert measure_optimism(RESIDUALS, 0.25 * RESIDUALS[:, 0] ** 2, 1.0) == 1.0
    assert measure_optimism(np.zeros((50, 2)), np.zeros(50), 0.8) == 1.0


@pytest.mark.slow
def test_intervals_hold_where_axes_are_learned_from_few_rows():
    """Many features and few rows: residuals of points left out alone are far too small there."""
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((900, 30))
        y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.1 * rng.standard_normal(900)
        model = LocalEGOPRegressor(n_jobs=1).fit(X[:400], y[:400])
        low, high = model.predict_interval(X[400:], 0.9).T
        inside.append(np.mean((low <= y[400:]) & (y[400:] <= high)))
    assert 0.87 <= np.mean(inside) <= 0.94
