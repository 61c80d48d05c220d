"""Local fits that know given gradients: chosen where labels are noisy, left out where these are wrong."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.final_fits import SlopePolynomial
from tests.test_gradients import file_without_gradients

ROWS, FEATURES = 500, 4


def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, noisy labels, and slopes with little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, FEATURES))
    y = np.sin(3.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    G = np.zeros((n, FEATURES))
    G[:, 0] = 3.0 * np.cos(3.0 * X[:, 0]) * X[:, 1]
    G[:, 1], G[:, 2] = np.sin(3.0 * X[:, 0]), 2.0 * X[:, 2]
    return X, y + 0.3 * rng.normal(size=n), G


def error_of(model: Any) -> float:
    """Mean squared error at other rows, beyond the noise of labels there."""
    X = np.random.default_rng(9).uniform(-0.9, 0.9, (1000, FEATURES))
    truth = np.sin(3.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    return float(np.mean((model.predict(X) - truth) ** 2))


@pytest.fixture(scope="module")
def fitted() -> LocalEGOPRegressor:
    X, y, G = sample(ROWS, 0)
    return LocalEGOPRegressor(n_jobs=1, final="polynomial").fit(X, y, gradients=G)


@pytest.fixture(scope="module")
def plain() -> LocalEGOPRegressor:
    X, y, _ = sample(ROWS, 0)
    return LocalEGOPRegressor(n_jobs=1, final="polynomial").fit(X, y)


def test_slopes_take_the_noise_out_of_local_fits(
    fitted: LocalEGOPRegressor, plain: LocalEGOPRegressor
) -> None:
    assert isinstance(fitted.choice_.final, SlopePolynomial)
    assert error_of(fitted) < 0.4 * error_of(plain)
    assert "to labels and given gradients" in fitted.summary()


@pytest.mark.parametrize("kind", ["minus", "shuffled"])
def test_wrong_slopes_are_left_out(plain: LocalEGOPRegressor, kind: str) -> None:
    X, y, G = sample(ROWS, 0)
    wrong = -G if kind == "minus" else np.random.default_rng(0).permutation(G)
    model = LocalEGOPRegressor(n_jobs=1, final="polynomial").fit(X, y, gradients=wrong)
    assert error_of(model) < 1.3 * error_of(plain)


def test_rows_without_all_slopes_still_count_as_rows(plain: LocalEGOPRegressor) -> None:
    X, y, G = sample(ROWS, 0)
    G[::3], G[1::6, 2] = np.nan, np.nan
    model = LocalEGOPRegressor(n_jobs=1, final="polynomial").fit(X, y, gradients=G)
    assert isinstance(model.choice_.final, SlopePolynomial)
    assert error_of(model) < 0.6 * error_of(plain)


def test_files_and_pickles_answer_alike(fitted: LocalEGOPRegressor, tmp_path: Path) -> None:
    queries = sample(60, 2)[0]
    fitted.save(tmp_path / "model.legop")
    for other in (LocalEGOPRegressor.load(tmp_path / "model.legop"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.predict(queries), fitted.predict(queries))
        assert other.predict_interval(queries) == pytest.approx(fitted.predict_interval(queries))


def test_fits_to_slopes_cannot_be_read_without_them(fitted: LocalEGOPRegressor, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="array 'given_gradients' is missing"):
        LocalEGOPRegressor.load(file_without_gradients(fitted, tmp_path))


def test_explanations_and_gradients_of_predictions_know_slopes(fitted: LocalEGOPRegressor) -> None:
    X, _, G = sample(40, 3)
    assert np.mean((fitted.predict_gradient(X) - G) ** 2) < 0.1 * np.mean(G**2)
    fits = fitted.localize(X[:10])
    assert np.isfinite(fits.gradient).all() and np.isfinite(fits.gradient_std).all()
