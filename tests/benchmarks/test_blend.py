"""The benchmark of blends: one tiny run, and what its row says."""

import blend
import numpy as np
import pytest


def test_a_row_has_means_of_ratios():
    found = [np.array([0.1, 0.2, 0.05, 0.5, 2.0]), np.array([0.4, 0.2, 0.2, 0.7, 4.0])]
    assert blend.row_of("diabetes", found) == ["diabetes", "0.2", "1.00", "0.50", "0.60", "3"]


def test_a_tiny_run_measures_three_models():
    local, boosted, blended, weight, seconds = blend.measure("diabetes", 150, 0, tuning_rows=60)
    assert 0.0 <= weight <= 1.0 and seconds > 0.0
    assert blended <= max(local, boosted) * (1.0 + 1e-9) and min(local, boosted) > 0.1
    assert blended == pytest.approx(local) or weight > 0.0
