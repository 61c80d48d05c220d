"""Reliability diagrams of class probabilities."""

import numpy as np
import pytest
from sklearn.inspection import DecisionBoundaryDisplay

from localegop import LocalEGOPClassifier
from localegop.displays import CalibrationDisplay


def draw(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0])), "yes", "no")


def test_exact_probabilities_lie_on_the_diagonal():
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    display = CalibrationDisplay.from_probabilities(y, np.column_stack([1.0 - p, p]), [0, 1])
    np.testing.assert_allclose(display.observed, display.nominal, atol=0.03)
    assert display.n_samples == 4000
    sure = np.column_stack([1.0 - p, p]) ** 4
    overconfident = CalibrationDisplay.from_probabilities(y, sure / sure.sum(axis=1, keepdims=True), [0, 1])
    assert np.abs(overconfident.observed - overconfident.nominal).max() > 0.1


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_classifiers_are_drawn_by_both_packages():
    X, y = draw()
    model = LocalEGOPClassifier(n_iter=0, final="polynomial").fit(X[:300], y[:300])
    display = CalibrationDisplay.from_estimator(model, X[300:], y[300:]).plot()
    assert display.ax_.get_xlabel() == "probability"
    boundary = DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=10)
    assert boundary.response.shape == (10, 10)


def test_labels_that_no_column_has_are_refused():
    with pytest.raises(ValueError, match="y has 'c', which is none of the classes"):
        CalibrationDisplay.from_probabilities(["a", "c"], [[0.5, 0.5], [0.5, 0.5]], ["a", "b"], n_groups=2)
