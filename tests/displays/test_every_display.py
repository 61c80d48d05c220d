"""What all displays promise: drawing again, on given axes, without matplotlib."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.displays.examples import (
    IMAGE,
    PLANE_X,
    PLANE_Y,
    QUICK,
)

from localegop import LocalEGOPRegressor
from localegop.displays import (
    ActiveSubspaceDisplay,
    CalibrationDisplay,
    ImageLocalizationDisplay,
    ImportanceDisplay,
    LocalizationDisplay,
    SpectrumDisplay,
    TraceDisplay,
)

ALL = ["localization", "spectrum", "trace", "importance", "image", "calibration", "subspace"]


@pytest.fixture
def make(plane, fits, picture):
    makers = {
        "localization": lambda: LocalizationDisplay.from_estimator(plane, PLANE_X, PLANE_Y, [[1.0, 0.0]]),
        "spectrum": lambda: SpectrumDisplay.from_fits(fits),
        "trace": lambda: TraceDisplay.from_fits(fits),
        "importance": lambda: ImportanceDisplay.from_fits(fits),
        "image": lambda: ImageLocalizationDisplay.from_estimator(picture, IMAGE, [[5, 6]]),
        "calibration": lambda: CalibrationDisplay([0.5, 0.9], [0.4, 0.9], 50),
        "subspace": lambda: ActiveSubspaceDisplay.from_estimator(plane),
    }
    return lambda name: makers[name]()


@pytest.mark.parametrize("name", ALL)
def test_plotting_again_draws_the_same_on_new_axes(make, name):
    display = make(name)
    assert display.plot() is display
    first, first_figure = display.ax_, display.figure_
    display.plot()
    assert display.ax_ is not first
    assert display.figure_ is not first_figure
    for before, after in zip(first.lines, display.ax_.lines, strict=True):
        assert np.array_equal(before.get_xydata(), after.get_xydata(), equal_nan=True)
    assert len(first.collections) == len(display.ax_.collections)
    assert len(first.patches) == len(display.ax_.patches)
    display.figure_.canvas.draw()


@pytest.mark.parametrize("name", ALL)
def test_given_axes_are_used_and_no_figure_is_opened(make, name):
    figure = Figure(layout="constrained")
    ax = figure.subplots()
    open_before = plt.get_fignums()
    display = make(name).plot(ax)
    assert display.figure_ is figure
    assert display.ax_ is ax or name == "trace"
    assert plt.get_fignums() == open_before
    figure.canvas.draw()


@pytest.mark.parametrize("name", ALL)
def test_wrong_axes(make, name):
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, or None for a new figure, got str"):
        make(name).plot("here")


@pytest.mark.parametrize("name", ALL)
def test_without_matplotlib_the_extra_is_named(make, name, monkeypatch):
    display = make(name)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'localegop\[plot\]'"):
        display.plot()


def test_making_a_display_needs_no_matplotlib():
    code = "import sys, localegop.displays; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_displays_of_pipelines_show_what_the_last_step_sees():
    pipeline = make_pipeline(StandardScaler(), LocalEGOPRegressor(**QUICK)).fit(PLANE_X, PLANE_Y)
    scaled, last = pipeline[:-1].transform(PLANE_X), pipeline[-1]
    trace = TraceDisplay.from_estimator(pipeline, PLANE_X[:1])
    expected = TraceDisplay.from_estimator(last, scaled[:1])
    np.testing.assert_array_equal(trace.loo_error, expected.loo_error)
    points = LocalizationDisplay.from_estimator(pipeline, PLANE_X, PLANE_Y, PLANE_X[:1]).points
    np.testing.assert_array_equal(points, scaled)
    observed = CalibrationDisplay.from_estimator(pipeline, PLANE_X, PLANE_Y).observed
    np.testing.assert_array_equal(
        observed, CalibrationDisplay.from_estimator(last, scaled, PLANE_Y).observed
    )
    with pytest.raises(TypeError, match="or a pipeline that ends with one, got StandardScaler"):
        TraceDisplay.from_estimator(make_pipeline(StandardScaler()).fit(PLANE_X), PLANE_X[:1])
