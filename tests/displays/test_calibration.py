"""Calibration of intervals."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.preprocessing import StandardScaler
from tests.displays.examples import FRAME, HELIX_Y, PLANE_X, PLANE_Y, new_axes

from localegop.displays import (
    CalibrationDisplay,
)


def test_observed_coverage_is_the_share_inside():
    y = np.arange(10.0)
    ends = np.array([[[0.0, 4.0], [-np.inf, 8.0]]] * 10)
    display = CalibrationDisplay.from_intervals(y, ends, [0.4, 0.8], name="model").plot(new_axes())
    assert display.line_.get_xydata().tolist() == [[0.4, 0.5], [0.8, 0.9]]
    assert display.diagonal_.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert display.line_.get_label() == "model"


def test_band_is_binomial():
    display = CalibrationDisplay([0.5], [0.5], 40).plot(new_axes(), band=0.9)
    vertices = display.band_.get_paths()[0].vertices
    heights = vertices[np.isclose(vertices[:, 0], 0.3), 1]
    expected = binom.ppf([0.05, 0.95], 40, 0.3) / 40
    assert sorted(set(heights)) == pytest.approx(expected)
    display.plot(new_axes(), reference=False)
    assert display.band_ is None and display.diagonal_ is None


def test_calibration_of_an_estimator(field):
    X, y = FRAME[100:], HELIX_Y[100:]
    display = CalibrationDisplay.from_estimator(field, X, y, coverages=[0.3, 0.6])
    ends = field.predict_interval(X, coverage=[0.3, 0.6])
    expected = [np.mean((low <= y) & (y <= high)) for low, high in (ends[:, 0].T, ends[:, 1].T)]
    assert display.observed.tolist() == expected
    assert display.n_samples == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[[0.0, 1.0]]], [1.0]), r"numbers in \(0, 1\), got \[1.0\]"),
        (([1.0], [[[0.0, 1.0]]], []), "one or more numbers"),
        (([1.0], [[0.0, 1.0]], [0.5]), r"intervals must have shape \(1, 1, 2\)"),
        (([np.nan], [[[0.0, 1.0]]], [0.5]), "y must be finite"),
        (([1.0], [[[np.nan, 1.0]]], [0.5]), "1 ends are"),
        (([], np.zeros((0, 1, 2)), [0.5]), "at least one label"),
    ],
)
def test_wrong_intervals(arguments, message):
    with pytest.raises(ValueError, match=message):
        CalibrationDisplay.from_intervals(*arguments)


def test_wrong_calibration():
    with pytest.raises(TypeError, match="predict_interval, but StandardScaler has not"):
        CalibrationDisplay.from_estimator(StandardScaler(), PLANE_X, PLANE_Y)
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        CalibrationDisplay([0.5], [1.5], 10)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        CalibrationDisplay([0.5], [0.5], 0)
    with pytest.raises(ValueError, match=r"band must be a probability in \(0, 1\), got 1"):
        CalibrationDisplay([0.5], [0.5], 10).plot(new_axes(), band=1)
