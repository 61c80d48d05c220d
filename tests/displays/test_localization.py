"""Localizations: what is drawn is what was computed."""

from dataclasses import replace

import numpy as np
import pytest
from tests.displays.examples import FRAME, HELIX_Y, NAMES, PLANE_X, PLANE_Y, QUERIES, QUICK, new_axes

from localegop import LocalEGOPRegressor
from localegop.displays import (
    LocalizationDisplay,
)
from localegop.displays._directions import combination


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
    scaled = fits.agop[2] * np.outer(fits.feature_scale[2], fits.feature_scale[2])
    vectors = np.linalg.eigh(scaled)[1][:, :-3:-1]
    offsets = (FRAME.to_numpy() - fits.query[2]) / fits.feature_scale[2] @ vectors
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
    assert display.covariance[1, 1] > (100 * fits.feature_scale[0, 1]) ** 2
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
