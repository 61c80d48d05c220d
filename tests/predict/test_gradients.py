"""Gradients of predictions, against finite differences of ``predict``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix


def differences(model: Any, X: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Gradients of predictions by differences of fourth order."""
    found = np.empty(X.shape)
    for a, e in enumerate(step * np.eye(X.shape[1])):
        far = model.predict(X - 2 * e) - model.predict(X + 2 * e)
        found[:, a] = (far + 8 * (model.predict(X + e) - model.predict(X - e))) / (12 * step)
    return found


def relative_errors(model: Any, X: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Distances of gradients from differences of predictions, over the usual length of a gradient."""
    expected = differences(model, X, step)
    usual = np.median(np.linalg.norm(expected, axis=1))
    return np.linalg.norm(model.predict_gradient(X) - expected, axis=1) / usual


def inside(model: Any, X: np.ndarray) -> np.ndarray:
    """Queries among the training rows."""
    return X[model.localize(X, errors=False).remoteness < 0.8]


@pytest.mark.parametrize(("final", "noise"), [("global", 0.0), ("polynomial", 0.05)])
def test_gradients_are_derivatives_of_predictions(final: str, noise: float) -> None:
    X, y = make_helix(600, 3, noise=noise, random_state=1)
    model = LocalEGOPRegressor(final=final, n_jobs=1).fit(X[:300], y[:300])
    assert (model._models[0].blending is not None) == (final == "polynomial")
    queries = inside(model, X[300:])
    assert len(queries) > 200
    # without noise a process has large coefficients, whose rounding small steps would show
    errors = relative_errors(model, queries, 1e-2 if final == "global" else 1e-5)
    assert np.quantile(errors, 0.98) < 1e-6  # a blend has kinks, that differences may straddle
    if final == "global":
        assert errors.max() < 1e-6


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_beyond_the_data_they_are_differences_of_predictions() -> None:
    X, y = make_helix(200, 3, random_state=0)
    model = LocalEGOPRegressor(final="global", n_jobs=1).fit(X, y)
    queries = X[:30] * 1.5 + 3.0
    beyond = model.localize(queries, errors=False).remoteness > 1.0
    assert beyond.sum() > 5
    assert np.median(relative_errors(model, queries)) < 1e-4


def test_with_curves_units_and_outputs() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(1.5 * rng.normal(size=150)), 1e3 * rng.normal(size=150)])
    y = np.column_stack([np.log(X[:, 0]) + 1e-3 * X[:, 1], 5.0 * np.log(X[:, 0])])
    model = LocalEGOPRegressor(final="global", initial_metric="power", n_jobs=1).fit(X, y)
    gradient = model.predict_gradient(X[:20])
    assert gradient.shape == (20, 2, 2)
    middle = np.abs(np.log(X[:20, 0])) < 1.0
    assert gradient[middle, 0, 0] == pytest.approx(1.0 / X[:20, 0][middle], rel=0.2)
    assert gradient[middle, 0, 1] == pytest.approx(1e-3, rel=0.2)
    assert gradient[middle, 1, 0] == pytest.approx(5.0 / X[:20, 0][middle], rel=0.2)


def test_local_fits_tell_their_slopes_and_localize_agrees() -> None:
    X, y = make_helix(120, 3, noise=0.05, random_state=0)  # too few for a blend
    for final in ("polynomial", "global"):
        model = LocalEGOPRegressor(final=final, n_jobs=1).fit(X, y)
        queries = inside(model, X[:20])
        fits = model.localize(queries, errors=False)
        assert model.predict_gradient(queries) == pytest.approx(fits.gradient, rel=1e-9)


def test_standard_errors_are_those_of_explanations() -> None:
    X, y = make_helix(60, 2, noise=0.1, random_state=0)
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y)
    gradient, std = model.predict_gradient(X[:4], return_std=True)
    assert gradient.shape == std.shape == (4, 2)
    assert np.array_equal(std, model.localize(X[:4]).gradient_std)


def test_no_queries_and_wrong_ones() -> None:
    X, y = make_helix(40, 2, random_state=0)
    model = LocalEGOPRegressor(n_jobs=1)
    with pytest.raises(ValueError, match="not fitted"):
        model.predict_gradient(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict_gradient(np.zeros((2, 3)))
