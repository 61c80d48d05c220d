"""The display of an active subspace."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from localegop.displays import ActiveSubspaceDisplay

VALUES, INTERVAL = [4.0, 1.0, 0.0], [[3.0, 5.0], [0.5, 2.0], [0.0, 0.0]]


def test_the_spectrum_shows_what_is_not_zero():
    display = ActiveSubspaceDisplay(VALUES, INTERVAL).plot(Figure().subplots())
    assert display.points_.get_xydata().tolist() == [[1.0, 4.0], [2.0, 1.0]]
    assert [segment[:, 1].tolist() for segment in display.intervals_.get_segments()] == [
        [3.0, 5.0],
        [0.5, 2.0],
    ]
    assert display.ax_.get_yscale() == "log"


def test_the_summary_shows_labels_over_the_first_variable():
    display = ActiveSubspaceDisplay(VALUES, INTERVAL, active=[1.0, 2.0], labels=[3.0, 5.0])
    display.plot_summary(Figure().subplots())
    assert display.points_.get_xydata().tolist() == [[1.0, 3.0], [2.0, 5.0]]


def test_what_is_refused():
    with pytest.raises(ValueError, match="interval must have shape"):
        ActiveSubspaceDisplay(VALUES, INTERVAL[:2])
    with pytest.raises(ValueError, match="belong together"):
        ActiveSubspaceDisplay(VALUES, INTERVAL, active=[1.0])
    with pytest.raises(ValueError, match="needs rows and labels"):
        ActiveSubspaceDisplay(VALUES, INTERVAL).plot_summary()
    flat = ActiveSubspaceDisplay(np.zeros(2), np.zeros((2, 2))).plot(Figure().subplots())
    assert flat.ax_.get_yscale() == "linear"
