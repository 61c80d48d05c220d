"""Spectrum and trace, step by step."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.displays.examples import FRAME, QUERIES, new_axes, variances

from localegop import LocalEGOPRegressor
from localegop.displays import (
    SpectrumDisplay,
    TraceDisplay,
)


def test_spectrum_of_the_field_strategy_ends_with_the_final_fit(fits):
    display = SpectrumDisplay.from_fits(fits, index=1).plot(new_axes())
    expected = np.vstack([variances(fits.trace.metric[:, 1]), variances(fits.metric[1:2])])
    assert len(expected) == fits.step[1] + 1
    drawn = np.column_stack([line.get_ydata() for line in display.lines_])
    assert np.allclose(drawn, expected)
    assert display.ax_.get_yscale() == "log"
    assert set(display.chosen_line_.get_xdata()) == {fits.step[1]}
    assert np.allclose(display.chosen_points_.get_ydata(), expected[-1])
    assert "feature units" in display.ax_.get_ylabel()


def test_spectrum_of_the_query_strategy_marks_one_of_the_steps(query_fits):
    index = int(np.argmin(query_fits.step))
    display = SpectrumDisplay.from_fits(query_fits, index=index).plot(new_axes())
    step = query_fits.step[index]
    assert step < len(query_fits.trace.metric) == len(display.lines_[0].get_ydata())
    assert set(display.chosen_line_.get_xdata()) == {step}
    assert np.allclose(
        display.chosen_points_.get_ydata(), [line.get_ydata()[step] for line in display.lines_]
    )
    assert f"chosen step {step}" in [text.get_text() for text in display.legend_.get_texts()]


@pytest.mark.parametrize("display", [SpectrumDisplay, TraceDisplay])
def test_where_no_local_steps_were_used_it_is_said(display):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = LocalEGOPRegressor(initial_metric="variance", n_iter=0, degree=1, n_jobs=1)
    fits = model.fit(X, X[:, 0] - np.sin(2.0 * X[:, 1])).localize(X[:1], trace=True, errors=False)
    drawn = display.from_fits(fits).plot()
    assert drawn.ax_.get_xlabel() == "step 0: one metric everywhere, no local steps"
    assert drawn.ax_.get_xticks().tolist() == [0]
    assert all(len(set(line.get_ydata())) == 1 < len(line.get_xdata()) for line in drawn.lines_)


def test_where_there_are_steps_they_are_counted():
    spectrum = SpectrumDisplay([[2.0, 1.0], [3.0, 0.5]], [3.0, 0.5], chosen=1).plot()
    trace = TraceDisplay([2.0, 1.0], [30.0, 20.0], [0.1, 0.2], final=(1.0, 20.0, 0.2), chosen=1).plot()
    assert spectrum.ax_.get_xlabel() == trace.ax_.get_xlabel() == "step t"
    assert spectrum.lines_[0].get_xdata().tolist() == trace.lines_[0].get_xdata().tolist() == [0, 1]


def test_spectrum_in_feature_standard_deviations(field, fits):
    display = SpectrumDisplay.from_estimator(field, FRAME[QUERIES], index=2, unit="sd")
    scaled = fits.metric[2] * np.outer(fits.feature_scale[2], fits.feature_scale[2])
    assert np.allclose(display.final, variances(scaled))
    assert display.unit == "feature sd"
    with pytest.raises(ValueError, match="unit must be 'data' or 'sd', got 'm'"):
        SpectrumDisplay.from_fits(fits, unit="m")


def test_infinite_variances_leave_gaps():
    eigenvalues = np.array([[1.0, 1.0], [np.inf, 0.1]])
    display = SpectrumDisplay(eigenvalues, [2.0, 0.2], chosen=1).plot(new_axes())
    assert np.isnan(display.lines_[0].get_ydata()[1])
    assert np.isfinite(display.ax_.get_ylim()).all()


def test_legend_of_many_eigenvalues_names_the_outermost():
    display = SpectrumDisplay(np.ones((3, 20)), np.ones(20), chosen=0).plot(new_axes())
    assert [text.get_text() for text in display.legend_.get_texts()] == [
        "largest",
        "smallest",
        "chosen step 0",
    ]
    assert len(display.lines_) == 20


def test_trace_of_the_field_strategy_ends_with_the_final_fit(fits):
    display = TraceDisplay.from_fits(fits, index=2).plot()
    for name, line in zip(("loo_error", "effective_size", "value"), display.lines_, strict=True):
        expected = [*getattr(fits.trace, name)[:, 2], getattr(fits, name)[2]]
        assert line.get_ydata().tolist() == (expected if len(expected) > 1 else 2 * expected)
    assert [points.get_xdata()[0] for points in display.final_points_] == [fits.step[2]] * 3
    low, high = display.bar_.lines[2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(fits.std[2])
    assert display.axes_[2].get_ylabel() == "estimate\nof depth"


def test_trace_of_the_query_strategy_marks_its_lowest_error(query_fits):
    display = TraceDisplay.from_fits(query_fits, index=1).plot()
    errors = display.lines_[0].get_ydata()
    assert len(errors) == 12
    assert display.final_points_[0].get_xdata()[0] == np.argmin(errors)
    assert display.final_points_[0].get_ydata()[0] == pytest.approx(errors.min())
    assert display.axes_[0].get_shared_x_axes().joined(display.axes_[0], display.axes_[2])


def test_trace_on_given_axes(fits):
    display = TraceDisplay.from_fits(fits)
    three = Figure().subplots(3, 1)
    assert display.plot(three).axes_ == list(three)
    figure = Figure()
    ax = figure.subplots()
    panels = display.plot(ax).axes_
    assert display.figure_ is figure
    assert len(panels) == 3
    assert not ax.axison
    with pytest.raises(ValueError, match="one Axes or three, got 2"):
        display.plot(Figure().subplots(2, 1))
    with pytest.raises(ValueError, match="cannot be divided"):
        display.plot(Figure().add_axes((0, 0, 1, 1)))


@pytest.mark.parametrize("display", [SpectrumDisplay, TraceDisplay])
def test_steps_need_a_trace_and_a_query_that_exists(display, fits):
    with pytest.raises(ValueError, match=r"call localize\(X, trace=True\)"):
        display.from_fits(replace(fits, trace=None))
    for index in (3, -1, 1.0, True):
        with pytest.raises(
            ValueError, match="index must be an integer from 0 to 2, as there are 3 queries"
        ):
            display.from_fits(fits, index=index)


def test_steps_of_wrong_shape():
    with pytest.raises(ValueError, match=r"effective_size must have shape \(2\), got \(3,\)"):
        TraceDisplay([1, 2], [1, 2, 3], [1, 2], final=(1, 2, 3), chosen=0)
    with pytest.raises(ValueError, match="chosen must be a step from 0 to 2, got 3"):
        TraceDisplay([1, 2], [1, 2], [1, 2], final=(1, 2, 3), chosen=3)
    with pytest.raises(ValueError, match="eigenvalues must be numbers"):
        SpectrumDisplay("many", [1.0], chosen=0)
