"""Displays: what is drawn is what was computed; drawing again, on given axes, and wrong input."""

import subprocess
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from scipy.stats import binom
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localegop import LocalEGOPRegressor
from localegop.datasets import image_samples, make_annulus, make_helix
from localegop.displays import (
    CalibrationDisplay,
    ImageLocalizationDisplay,
    ImportanceDisplay,
    LocalizationDisplay,
    SpectrumDisplay,
    TraceDisplay,
)
from localegop.displays._common import COLORS
from localegop.displays._directions import combination

QUICK = {"n_iter": 2, "n_jobs": 1, "degree": 1, "ridge": 1e-3}
PLANE_X, PLANE_Y = make_annulus(150, random_state=0)
HELIX_X, HELIX_Y = make_helix(160, 4, noise=0.1, random_state=0)
NAMES = ("north", "east", "up", "heat")
FRAME = pd.DataFrame(HELIX_X * [1.0, 10.0, 0.1, 1.0], columns=NAMES)
TWO_Y = pd.DataFrame({"speed": HELIX_Y, "load": -HELIX_Y + HELIX_X[:, 0]})
IMAGE = np.clip(np.add.outer(np.linspace(0, 0.5, 14), np.linspace(0, 0.5, 18) ** 2), 0, 1)
QUERIES = slice(0, 3)


@pytest.fixture(autouse=True)
def quiet_figures():
    before = plt.get_fignums()
    plt.switch_backend("Agg")
    yield
    for number in set(plt.get_fignums()) - set(before):
        plt.close(number)


@pytest.fixture(scope="module")
def plane():
    return LocalEGOPRegressor(**QUICK).fit(PLANE_X, PLANE_Y)


@pytest.fixture(scope="module")
def field():
    return LocalEGOPRegressor(**QUICK).fit(FRAME, pd.Series(HELIX_Y, name="depth"))


@pytest.fixture(scope="module")
def fits(field):
    return field.localize(FRAME[QUERIES], trace=True)


@pytest.fixture(scope="module")
def query_fits():
    paper = LocalEGOPRegressor.paper_parameters() | {"n_iter": 12, "n_subsamples": 30, "n_jobs": 1}
    return LocalEGOPRegressor(**paper).fit(PLANE_X, PLANE_Y).localize(PLANE_X[QUERIES], trace=True)


@pytest.fixture(scope="module")
def shared():
    return LocalEGOPRegressor(**QUICK).fit(FRAME, TWO_Y)


@pytest.fixture(scope="module")
def separate():
    return LocalEGOPRegressor(**QUICK, outputs="separate").fit(FRAME, TWO_Y)


@pytest.fixture(scope="module")
def picture():
    return LocalEGOPRegressor(**QUICK).fit(*image_samples(IMAGE))


def new_axes():
    return Figure().subplots()


# Localization


def test_opacity_is_weight_and_color_is_label(plane):
    display = LocalizationDisplay.from_estimator(plane, PLANE_X, PLANE_Y, [[1.0, 0.0]]).plot(new_axes())
    near = plane.localize([[1.0, 0.0]]).neighbors(0)
    lightest_first = near.index[::-1]
    drawn = display.neighbors_
    assert np.allclose(np.sort(drawn.get_alpha()), near.weight[::-1] / near.weight[0])
    assert np.all(np.diff(drawn.get_alpha()) >= 0)
    together = np.column_stack([drawn.get_offsets(), drawn.get_array(), drawn.get_alpha()])
    expected = np.column_stack(
        [PLANE_X[lightest_first], PLANE_Y[lightest_first], near.weight[::-1] / near.weight[0]]
    )
    assert np.allclose(together[np.lexsort(together.T)], expected[np.lexsort(expected.T)])
    assert np.array_equal(display.background_.get_offsets(), PLANE_X)
    assert display.query_.get_xydata().tolist() == [[1.0, 0.0]]
    assert display.colorbar_.ax.get_ylabel() == "y"
    assert display.ax_.get_xlabel() == "x0"


def test_colors_span_the_labels_of_the_neighbors_or_of_all(plane):
    display = LocalizationDisplay.from_estimator(plane, PLANE_X, PLANE_Y, [[1.0, 0.0]])
    visible = PLANE_Y[display.weights >= 0.01 * display.weights.max()]
    display.plot(new_axes())
    assert (display.neighbors_.norm.vmin, display.neighbors_.norm.vmax) == (visible.min(), visible.max())
    display.plot(new_axes(), color_range="all", colorbar=False)
    assert (display.neighbors_.norm.vmin, display.neighbors_.norm.vmax) == (PLANE_Y.min(), PLANE_Y.max())
    assert display.colorbar_ is None
    with pytest.raises(ValueError, match="color_range must be 'neighbors' or 'all', got 'some'"):
        display.plot(new_axes(), color_range="some")


def test_equal_labels_and_a_single_neighbor():
    display = LocalizationDisplay([[0, 0], [1, 1]], [0.0, 1.0], [1, 0], [3.0, 3.0]).plot(zoom=True)
    assert display.ellipses_ == []
    display.figure_.canvas.draw()


def test_ellipses_are_those_of_the_metric(plane):
    found = plane.localize([[1.0, 0.1]])
    display = LocalizationDisplay.from_fits(found, PLANE_X, PLANE_Y).plot(new_axes(), n_std=(1, 2.5))
    for ellipse, deviations in zip(display.ellipses_, (1, 2.5), strict=True):
        rim = ellipse.get_patch_transform().transform_path(ellipse.get_path()).vertices - found.query[0]
        on_curve = rim[::3]  # the others steer the splines
        squared = np.einsum("ia,ab,ib->i", on_curve, found.metric[0], on_curve)
        assert np.allclose(squared, deviations**2, rtol=1e-6)


@pytest.mark.parametrize("directions", [("east", "heat"), (1, 3)])
def test_two_features_by_name_or_number(fits, directions):
    display = LocalizationDisplay.from_fits(fits, FRAME, HELIX_Y, index=1, directions=directions)
    assert np.array_equal(display.points, FRAME[["east", "heat"]])
    assert display.names == ("east", "heat")
    assert display.label_name == "depth"
    inverse = np.linalg.inv(fits.metric[1])[np.ix_([1, 3], [1, 3])]  # a projection, not a section
    assert np.allclose(display.covariance, inverse, rtol=1e-6)


def test_leading_directions_of_the_agop(fits):
    display = LocalizationDisplay.from_fits(fits, FRAME, HELIX_Y, index=2).plot(new_axes(), zoom=True)
    scaled = fits.agop[2] * np.outer(fits.feature_scale, fits.feature_scale)
    vectors = np.linalg.eigh(scaled)[1][:, :-3:-1]
    offsets = (FRAME.to_numpy() - fits.query[2]) / fits.feature_scale @ vectors
    assert np.allclose(np.abs(display.points), np.abs(offsets), atol=1e-9)
    assert display.query.tolist() == [0.0, 0.0]
    assert display.names[0].startswith("direction 1 (")
    (left, right), visible = display.ax_.get_xlim(), display.weights >= 0.01 * display.weights.max()
    assert left < display.points[visible, 0].min()
    assert display.points[visible, 0].max() < right < display.points[:, 0].max()


def test_directions_without_weight_are_long_but_finite(fits):
    metric = np.zeros_like(fits.metric)
    metric[:, 0, 0] = 1e8  # only north counts
    thin = replace(fits, metric=metric)
    display = LocalizationDisplay.from_fits(thin, FRAME, HELIX_Y, directions=(0, 1)).plot(new_axes())
    assert display.covariance[0, 0] == pytest.approx(1e-8, rel=1e-6)
    assert display.covariance[1, 1] > (100 * fits.feature_scale[1]) ** 2
    assert np.ptp(display.ax_.get_ylim()) < 2 * np.ptp(FRAME["east"])  # the data, not the ellipse


def test_rows_that_fit_dropped_are_not_drawn():
    X, y = PLANE_X.copy(), PLANE_Y.copy()
    X[3, 0] = y[7] = np.nan
    model = LocalEGOPRegressor(**QUICK, missing="drop").fit(X, y)
    display = LocalizationDisplay.from_estimator(model, X, y, PLANE_X[:1])
    assert len(display.points) == len(X) - 2
    assert display.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([0.0, -1.0, 0.0, 0.01], "-1.00 east"),
        ([0.8, -0.6, 0.0, 0.0], "0.80 north - 0.60 east"),
        ([0.5, 0.5, 0.5, 0.5], "0.50 north + 0.50 east + 0.50 up + …"),
    ],
)
def test_direction_in_words(vector, words):
    assert combination(np.array(vector), NAMES) == words


@pytest.mark.parametrize(
    ("directions", "message"),
    [
        (("east", "west"), "one of north, east, up, heat, or a number from 0 to 3, got 'west'"),
        ((0, 4), "got 4"),
        ((1, "east"), "two different features"),
        ((0, 1, 2), "two features"),
        ("best", "'leading' or two features, got 'best'"),
        (7, "two features"),
    ],
)
def test_wrong_directions(fits, directions, message):
    with pytest.raises(ValueError, match=message):
        LocalizationDisplay.from_fits(fits, FRAME, HELIX_Y, directions=directions)


def test_localizations_that_cannot_be_drawn(field, fits):
    with pytest.raises(ValueError, match="X has 159 rows, but the estimator was fitted to 160"):
        LocalizationDisplay.from_estimator(field, FRAME[1:], HELIX_Y[1:], FRAME[QUERIES])
    with pytest.raises(ValueError, match=r"X has 40 rows, but row .* give X as it was for fit"):
        LocalizationDisplay.from_fits(fits, FRAME[:40], HELIX_Y[:40])
    with pytest.raises(ValueError, match=r"X must have shape \(any, 4\)"):
        LocalizationDisplay.from_fits(fits, PLANE_X, PLANE_Y)
    with pytest.raises(ValueError, match=r"y must have shape \(160\)"):
        LocalizationDisplay.from_fits(fits, FRAME, HELIX_Y[:-1])
    flat = replace(fits, agop=np.zeros_like(fits.agop))
    with pytest.raises(ValueError, match="no slope was found"):
        LocalizationDisplay.from_fits(flat, FRAME, HELIX_Y)
    line = LocalEGOPRegressor(**QUICK).fit(PLANE_X[:, :1], PLANE_Y).localize(PLANE_X[:1, :1])
    with pytest.raises(ValueError, match="have one feature"):
        LocalizationDisplay.from_fits(line, PLANE_X[:, :1], PLANE_Y)
    with pytest.raises(ValueError, match="some of them positive"):
        LocalizationDisplay(PLANE_X, np.zeros(150), [1, 0], PLANE_Y)
    with pytest.raises(ValueError, match="names must be two"):
        LocalizationDisplay(PLANE_X, np.ones(150), [1, 0], PLANE_Y, names=["a"])


# Steps


def variances(metric):
    return 1.0 / np.linalg.eigvalsh(metric)


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


def test_spectrum_in_feature_standard_deviations(field, fits):
    display = SpectrumDisplay.from_estimator(field, FRAME[QUERIES], index=2, unit="sd")
    scaled = fits.metric[2] * np.outer(fits.feature_scale, fits.feature_scale)
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
        assert line.get_ydata().tolist() == expected
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


# Importance


def widths(bars):
    return [bar.get_width() for bar in bars]


def test_local_importance_of_several_queries_is_sorted(fits):
    display = ImportanceDisplay.from_fits(fits, index=[2, 0]).plot(new_axes())
    order = np.argsort(-fits.importance[[2, 0]].mean(axis=0))
    assert display.order_.tolist() == order.tolist()
    assert widths(display.bars_[0]) == fits.importance[2][order].tolist()
    assert widths(display.bars_[1]) == fits.importance[0][order].tolist()
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks == [NAMES[number] for number in order]
    assert display.ax_.yaxis_inverted()
    assert [text.get_text() for text in display.legend_.get_texts()] == ["query 2", "query 0"]


def test_few_features_say_how_much_they_hold(fits):
    display = ImportanceDisplay.from_fits(fits, index=1).plot(new_axes(), max_features=2)
    held = 100 * np.sort(fits.importance[1])[-2:].sum()
    assert len(display.bars_[0]) == 2
    assert display.legend_ is None
    label = display.ax_.get_xlabel()
    assert label.startswith("importance (share)\n2 of 4 features shown, ")
    assert (f"{held:.0f} %" in label) if 1 < held < 99 else ("over 99 %" in label)
    for number in (0, 1.5):
        with pytest.raises(ValueError, match=f"max_features must be a positive integer, got {number}"):
            display.plot(new_axes(), max_features=number)


def test_many_queries_are_summarized(field):
    found = field.localize(FRAME[:20])
    display = ImportanceDisplay.from_fits(found).plot(new_axes())
    assert widths(display.bars_[0]) == pytest.approx(np.sort(found.importance.mean(axis=0))[::-1])
    low, high = np.percentile(found.importance[:, display.order_], [10, 90], axis=0)
    ends = np.array(display.whiskers_.get_segments())[:, :, 0]
    assert np.allclose(ends, np.column_stack([low, high]))
    assert len(display.plot(new_axes(), summarize=False).bars_) == 20
    assert display.whiskers_ is None


def test_global_importance_and_sensitivity(field, fits):
    display = ImportanceDisplay.from_estimator(field).plot(new_axes())
    assert widths(display.bars_[0]) == np.sort(field.global_importance())[::-1].tolist()
    assert display.feature_names == NAMES
    display = ImportanceDisplay.from_estimator(field, FRAME[QUERIES], index=0, sensitivity=True)
    assert np.allclose(display.plot(new_axes()).values, fits.sensitivity[:1])
    assert display.ax_.get_xlabel() == "sensitivity (depth per feature sd)"
    with pytest.raises(ValueError, match="give queries X"):
        ImportanceDisplay.from_estimator(field, sensitivity=True)
    with pytest.raises(TypeError, match="got StandardScaler"):
        ImportanceDisplay.from_estimator(StandardScaler())


def test_flat_queries_are_left_out_of_means(fits):
    agop = fits.agop.copy()
    agop[1] = 0.0
    flat = replace(fits, agop=agop)
    display = ImportanceDisplay.from_fits(flat).plot(new_axes(), summarize=True)
    expected = np.sort(fits.importance[[0, 2]].mean(axis=0))[::-1]
    assert widths(display.bars_[0]) == pytest.approx(expected)
    assert display.legend_.get_texts()[0].get_text() == "mean of 2 queries"
    with pytest.raises(ValueError, match="flat at all queries"):
        ImportanceDisplay.from_fits(flat, index=1)


def test_importance_of_wrong_shape(fits):
    with pytest.raises(ValueError, match=r"values must have shape \(any, 2\), got \(1, 3\)"):
        ImportanceDisplay([1, 2, 3], ["a", "b"])
    with pytest.raises(ValueError, match="names must be 1"):
        ImportanceDisplay([1, 2], ["a", "b"], names=["p", "q"])
    with pytest.raises(ValueError, match="at least one query"):
        ImportanceDisplay.from_fits(fits, index=[])


# Images


def test_colored_pixels_are_the_heaviest_neighbors(picture):
    points = [[5, 6], [9, 12]]
    display = ImageLocalizationDisplay.from_estimator(picture, IMAGE, points, n_pixels=20).plot(new_axes())
    X, found = image_samples(IMAGE)[0], picture.localize(np.array(points, dtype=float))
    for number, overlay in enumerate(display.overlays_):
        layer = np.asarray(overlay.get_array())
        colored = {tuple(place) for place in np.argwhere(layer[..., 3] > 0)}
        heaviest = X[found.neighbors(number).index[:20]].astype(int)
        assert colored == {tuple(place) for place in heaviest}
        assert np.allclose(layer[tuple(heaviest[0])], to_rgba(COLORS[number], 0.8))
    assert np.allclose(display.image_.get_array(), IMAGE)
    assert [mark.get_xydata().tolist() for mark in display.queries_] == [[[6, 5]], [[12, 9]]]
    assert display.inset_ is None


def test_sample_of_the_pixels():
    X, y = image_samples(IMAGE, n_samples=120, random_state=0)
    model = LocalEGOPRegressor(**QUICK).fit(X, y)
    display = ImageLocalizationDisplay.from_estimator(model, IMAGE, [[5, 6]], X, n_pixels=10)
    sampled = {tuple(place) for place in X}
    assert {tuple(place) for place in display.pixels[0]} <= sampled
    with pytest.raises(ValueError, match="X has 252 rows, but the estimator was fitted to 120"):
        ImageLocalizationDisplay.from_estimator(model, IMAGE, [[5, 6]])
    with pytest.raises(ValueError, match="X has 5 rows, but row"):
        ImageLocalizationDisplay.from_fits(model.localize([[5.0, 6.0]]), IMAGE, X[:5])


def test_inset_magnifies_one_query_where_it_hides_nothing(picture):
    display = ImageLocalizationDisplay.from_estimator(picture, IMAGE, [[3, 3]], n_pixels=9)
    display.plot(new_axes(), inset=0, names=["summit"])
    (left, right), (bottom, top) = display.inset_.get_xlim(), display.inset_.get_ylim()
    rows, columns = display.pixels[0].T
    assert left < columns.min() - 0.5 and columns.max() + 0.5 < right
    assert top < rows.min() - 0.5 and rows.max() + 0.5 < bottom
    assert right - left < 18
    corner = display.inset_.get_axes_locator()(display.inset_, None).bounds
    assert corner[0] > 0.5 or corner[1] < 0.5  # not the upper left, where the pixels are
    assert display.legend_.get_texts()[0].get_text() == "summit"
    with pytest.raises(ValueError, match="inset must be the number of a query from 0 to 0, got 1"):
        display.plot(new_axes(), inset=1)


def test_wrong_pixels(picture):
    with pytest.raises(ValueError, match="inside an image of shape"):
        ImageLocalizationDisplay(IMAGE, [[1, 1]], [[[1, 18]]])
    with pytest.raises(ValueError, match="whole positions"):
        ImageLocalizationDisplay(IMAGE, [[1, 1]], [[[1, 2.5]]])
    with pytest.raises(ValueError, match="pixels must be 1 arrays"):
        ImageLocalizationDisplay(IMAGE, [[1, 1]], [])
    with pytest.raises(ValueError, match="n_pixels must be at least 1, got 0"):
        ImageLocalizationDisplay.from_estimator(picture, IMAGE, [[5, 6]], n_pixels=0)
    display = ImageLocalizationDisplay(IMAGE, [[1, 1]], [[[1, 1]]])
    with pytest.raises(ValueError, match="opacity must lie in"):
        display.plot(new_axes(), opacity=0.0)
    with pytest.raises(ValueError, match="names must be 1"):
        display.plot(new_axes(), names=["a", "b"])


# Calibration


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


# Several outputs


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


# All of them

ALL = ["localization", "spectrum", "trace", "importance", "image", "calibration"]


@pytest.fixture
def make(plane, fits, picture):
    makers = {
        "localization": lambda: LocalizationDisplay.from_estimator(plane, PLANE_X, PLANE_Y, [[1.0, 0.0]]),
        "spectrum": lambda: SpectrumDisplay.from_fits(fits),
        "trace": lambda: TraceDisplay.from_fits(fits),
        "importance": lambda: ImportanceDisplay.from_fits(fits),
        "image": lambda: ImageLocalizationDisplay.from_estimator(picture, IMAGE, [[5, 6]]),
        "calibration": lambda: CalibrationDisplay([0.5, 0.9], [0.4, 0.9], 50),
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


def test_pipelines_are_refused_with_advice():
    pipeline = make_pipeline(StandardScaler(), LocalEGOPRegressor(**QUICK)).fit(PLANE_X, PLANE_Y)
    with pytest.raises(TypeError, match="got Pipeline; of a pipeline give its last step"):
        TraceDisplay.from_estimator(pipeline, PLANE_X[:1])
