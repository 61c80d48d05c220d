"""Importance of features, at queries and over all."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.displays.examples import FRAME, HELIX_Y, NAMES, QUERIES, QUICK, new_axes, widths

from localegop import LocalEGOPRegressor
from localegop.displays import (
    ImportanceDisplay,
)


def ends_of(errors):
    """Left and right ends of lines of standard errors."""
    return np.array(errors[2][0].get_segments())[:, :, 0]


def test_errors_are_drawn_where_they_are_known(fits):
    display = ImportanceDisplay.from_fits(fits, index=[2, 0]).plot(new_axes())
    assert len(display.errors_) == 2
    high = ends_of(display.errors_[1])[:, 1]
    expected = (fits.importance + fits.importance_std)[0][display.order_]
    assert np.allclose(high, expected)
    assert display.plot(new_axes(), summarize=True).errors_ == []
    unknown = ImportanceDisplay([1.0, 2.0], ["a", "b"]).plot(new_axes())
    assert unknown.errors_ == []
    with pytest.raises(ValueError, match=r"errors must have shape \(1, 2\), got \(1, 3\)"):
        ImportanceDisplay([1.0, 2.0], ["a", "b"], errors=[1.0, 2.0, 3.0])


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
    _, errors = field.global_importance(return_std=True)
    low, high = ends_of(display.errors_[0]).T
    values = field.global_importance()[display.order_]
    assert np.allclose(high - values, errors[display.order_]) and (low >= 0.0).all()
    display = ImportanceDisplay.from_estimator(field, FRAME[QUERIES], index=0, sensitivity=True)
    assert np.allclose(display.plot(new_axes()).values, fits.sensitivity[:1])
    assert display.ax_.get_xlabel() == "sensitivity (depth per feature sd)"
    with pytest.raises(ValueError, match="give queries X"):
        ImportanceDisplay.from_estimator(field, sensitivity=True)
    with pytest.raises(TypeError, match="got StandardScaler"):
        ImportanceDisplay.from_estimator(StandardScaler())


def test_importance_of_a_pipeline_has_the_names_of_its_columns(field):
    pipeline = make_pipeline(StandardScaler(), LocalEGOPRegressor(**QUICK)).fit(FRAME, HELIX_Y)
    display = ImportanceDisplay.from_estimator(pipeline)
    assert display.feature_names == NAMES
    np.testing.assert_array_equal(display.values[0], pipeline[-1].global_importance())
    local = ImportanceDisplay.from_estimator(pipeline, FRAME[QUERIES])
    assert local.feature_names == NAMES
    scaled = pipeline[:-1].transform(FRAME[QUERIES])
    np.testing.assert_array_equal(local.values, pipeline[-1].localize(scaled).importance)
    nameless = make_pipeline(FunctionTransformer(), LocalEGOPRegressor(**QUICK))
    nameless.fit(FRAME.to_numpy(), HELIX_Y)
    assert ImportanceDisplay.from_estimator(nameless).feature_names == ("x0", "x1", "x2", "x3")


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
