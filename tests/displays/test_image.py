"""Localizations in images."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from tests.displays.examples import IMAGE, QUICK, new_axes

from localegop import LocalEGOPRegressor
from localegop.datasets import image_samples
from localegop.displays import (
    ImageLocalizationDisplay,
)
from localegop.displays._common import COLORS


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
