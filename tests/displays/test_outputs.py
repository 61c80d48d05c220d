"""Displays of several outputs."""

import numpy as np
import pytest
from tests.displays.examples import FRAME, PLANE_X, PLANE_Y, QUERIES, QUICK, TWO_Y, variances

from localegop import LocalEGOPRegressor
from localegop.displays import (
    CalibrationDisplay,
    ImportanceDisplay,
    LocalizationDisplay,
    SpectrumDisplay,
    TraceDisplay,
)


@pytest.mark.parametrize("model_name", ["shared", "separate"])
def test_an_output_must_be_chosen(model_name, request):
    model = request.getfixturevalue(model_name)
    found = model.localize(FRAME[QUERIES], trace=True)
    message = "there are 2 outputs, speed, load: choose one with output="
    with pytest.raises(ValueError, match=message):
        LocalizationDisplay.from_fits(found, FRAME, TWO_Y)
    with pytest.raises(ValueError, match=message):
        TraceDisplay.from_fits(found)
    with pytest.raises(ValueError, match=message):
        CalibrationDisplay.from_estimator(model, FRAME, TWO_Y, coverages=[0.5])
    with pytest.raises(
        ValueError, match="output must be one of speed, load, or a number from 0 to 1, got 'l'"
    ):
        TraceDisplay.from_fits(found, output="l")


@pytest.mark.parametrize("model_name", ["shared", "separate"])
def test_displays_of_one_output(model_name, request):
    model = request.getfixturevalue(model_name)
    found = model.localize(FRAME[QUERIES], trace=True)
    display = LocalizationDisplay.from_fits(found, FRAME, TWO_Y, output="load")
    assert np.array_equal(display.labels, TWO_Y["load"])
    assert display.label_name == "load"
    assert np.allclose(display.weights.max(), found.output(1).neighbors(0).weight.max())
    display = TraceDisplay.from_fits(found, index=1, output=1)
    assert display.final[2] == found.value[1, 1]
    assert display.std == found.std[1, 1]
    display = CalibrationDisplay.from_estimator(model, FRAME, TWO_Y, coverages=[0.5], output="load")
    low, high = model.predict_interval(FRAME, coverage=0.5)[:, 1].T
    assert display.observed[0] == np.mean((low <= TWO_Y["load"]) & (TWO_Y["load"] <= high))


def test_outputs_that_share_a_metric_share_spectrum_and_importance(shared):
    found = shared.localize(FRAME[QUERIES], trace=True)
    assert np.allclose(SpectrumDisplay.from_fits(found).final, variances(found.metric[0]))
    display = ImportanceDisplay.from_fits(found, sensitivity=True)
    assert display.unit == "label units per feature sd"
    with pytest.raises(ValueError, match="outputs share one importance, but output='load' was given"):
        ImportanceDisplay.from_fits(found, output="load")


def test_outputs_with_metrics_of_their_own(separate):
    found = separate.localize(FRAME[QUERIES], trace=True)
    for display in (SpectrumDisplay, ImportanceDisplay):
        with pytest.raises(ValueError, match="choose one with output="):
            display.from_fits(found)
    display = SpectrumDisplay.from_fits(found, output="load")
    assert np.allclose(display.final, variances(found.metric[0, 1]))
    display = ImportanceDisplay.from_fits(found, output="load", sensitivity=True)
    assert np.array_equal(display.values, found.output(1).sensitivity)
    assert display.unit == "load per feature sd"


def test_one_column_is_one_output():
    model = LocalEGOPRegressor(**QUICK).fit(PLANE_X, PLANE_Y[:, None])
    found = model.localize(PLANE_X[QUERIES], trace=True)
    assert TraceDisplay.from_fits(found).label_name == "y0"
    display = LocalizationDisplay.from_fits(found, PLANE_X, PLANE_Y[:, None])
    assert np.array_equal(display.labels, PLANE_Y)
    assert CalibrationDisplay.from_estimator(model, PLANE_X, PLANE_Y[:, None]).n_samples == 150
