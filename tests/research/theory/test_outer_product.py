"""EGOP by quadrature: exact where it must be, honest about its error, precise where matrices are not."""

import numpy as np
import pytest

from localegop.datasets.polynomials import make_cubic
from localegop.research.theory import (
    egop,
    egop_form,
    gauss_hermite,
    least_squares_gradient,
    quasi_monte_carlo,
    smoothed_gradient,
)
from localegop.research.theory.claims.momentum import random_positive_definite


def test_quadratic_functions_are_integrated_exactly_in_any_dimension():
    rng = np.random.default_rng(0)
    for dimension in (1, 2, 4, 5, 8):
        H = rng.standard_normal((dimension, dimension))
        H = H + H.T
        g, mean = rng.standard_normal(dimension), rng.standard_normal(dimension)
        sigma = random_positive_definite(dimension, rng)
        at = g + H @ mean
        result = egop(lambda X, g=g, H=H: g + X @ H, mean, sigma)
        expected = np.outer(at, at) + H @ sigma @ H
        np.testing.assert_allclose(result.matrix, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_the_error_estimate_covers_the_error():
    def gradient(X):
        return np.cos(X) * np.array([1.0, 2.0, 0.5, 1.5, 1.0])[: X.shape[1]]

    for dimension in (3, 5):
        sigma = 0.3 * np.eye(dimension)
        result = egop(gradient, np.zeros(dimension), sigma)
        fine = {3: gauss_hermite(3, 21), 5: quasi_monte_carlo(5, 15, seed=1)}[dimension]
        truth = egop(gradient, np.zeros(dimension), sigma, rule=fine)
        assert np.linalg.norm(result.matrix - truth.matrix, 2) <= 4.0 * result.error + truth.error
        assert 0.0 < result.error < 0.1


def test_the_two_kinds_of_quadrature_agree():
    f = make_cubic(4, random_state=0)
    sigma = 0.05 * np.eye(4)
    tensor = egop(f.gradient, np.zeros(4), sigma)
    sobol = egop(f.gradient, np.zeros(4), sigma, rule=quasi_monte_carlo(4, 12))
    assert np.linalg.norm(tensor.matrix - sobol.matrix, 2) < 4.0 * sobol.error
    assert tensor.error < 1e-10


def test_the_root_keeps_digits_that_the_matrix_loses():
    tiny = 1e-11
    result = egop(lambda X: np.column_stack([np.ones(len(X)), tiny * X[:, 1]]), np.zeros(2), np.eye(2))
    smallest = np.linalg.svd(result.root, compute_uv=False)[-1]
    assert smallest == pytest.approx(tiny, rel=1e-4)


def test_fixed_seed_gives_the_same_number_twice_and_another_seed_another():
    f = make_cubic(6, random_state=0)
    first, second = (egop(f.gradient, np.zeros(6), np.eye(6)).matrix for _ in range(2))
    other = egop(f.gradient, np.zeros(6), np.eye(6), rule=quasi_monte_carlo(6, seed=3)).matrix
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 0.0


def test_form_is_the_trace_and_the_result_acts_as_an_array():
    f = make_cubic(3, random_state=1)
    sigma = 0.1 * random_positive_definite(3, np.random.default_rng(0))
    product = egop(f.gradient, np.zeros(3), sigma)
    assert egop_form(f.gradient, np.zeros(3), sigma) == pytest.approx(np.trace(product.matrix @ sigma))
    np.testing.assert_array_equal(np.asarray(product), product.matrix)


def test_trimming_conditions_on_the_ball():
    far = egop(lambda X: np.where(np.abs(X) > 1.0, 100.0, 1.0), [0.0], [[1.0]], exclusion_radius=1.0)
    assert far.matrix == pytest.approx(1.0)
    with pytest.raises(ValueError, match="exclusion_radius leaves no node"):
        egop(lambda X: X, [0.0, 0.0], 1e6 * np.eye(2), exclusion_radius=1e-9, rule=gauss_hermite(2, 4))


def test_smoothed_gradient_is_the_slope_of_the_least_squares_line():
    f = make_cubic(3, random_state=2)
    sigma = 0.1 * random_positive_definite(3, np.random.default_rng(1))
    points = np.random.default_rng(2).uniform(-1, 1, size=(4, 3))
    smooth = smoothed_gradient(f.gradient, points, sigma)
    for x, row in zip(points, smooth, strict=True):
        np.testing.assert_allclose(least_squares_gradient(f, x, sigma), row, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([0.0, 0.0], np.diag([1.0, -0.5]), "covariance is not positive semi-definite.*-0.5"),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], "covariance is not symmetric"),
        ([0.0, 0.0], np.eye(3), r"covariance has shape \(3, 3\).*\(2, 2\)"),
        ([0.0, 0.0], [[np.nan, 0.0], [0.0, 1.0]], "covariance contains NaN"),
        ([[0.0, 0.0]], np.eye(2), r"mean has shape \(1, 2\)"),
        ([np.inf, 0.0], np.eye(2), "mean contains NaN or infinite values"),
    ],
)
def test_bad_localizations_are_named(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        egop(lambda X: X, mean, covariance)


def test_bad_gradients_and_rules_are_named():
    with pytest.raises(ValueError, match=r"gradient returned shape \(.*,\)"):
        egop(lambda X: X[:, 0], [0.0, 0.0], np.eye(2))
    with pytest.raises(ValueError, match="gradient returned NaN"):
        egop(lambda X: np.full_like(X, np.nan), [0.0], [[1.0]])
    with pytest.raises(ValueError, match="rule has dimension 3"):
        egop(lambda X: X, [0.0], [[1.0]], rule=gauss_hermite(3, 5))
    with pytest.raises(ValueError, match=r"points has shape \(2,\)"):
        smoothed_gradient(lambda X: X, [0.0, 0.0], np.eye(2))


def test_a_degenerate_covariance_is_allowed():
    result = egop(lambda X: X, [1.0, 1.0], np.diag([1.0, 0.0]))
    np.testing.assert_allclose(result.matrix, [[2.0, 1.0], [1.0, 1.0]], atol=1e-12)
