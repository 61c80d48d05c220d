"""The Poincare bound and the log-det problem: special cases and bad input."""

import numpy as np
import pytest

from localegop.research.theory import alternating_minimum, feasible_covariances, poincare_gap


def linear(X):
    return X @ np.array([1.0, -2.0])


def linear_gradient(X):
    return np.tile([1.0, -2.0], (len(X), 1))


def flat_density(X):
    return np.ones(len(X))


def test_a_flat_density_leaves_the_gaussian_inequality():
    sigma = np.array([[0.5, 0.1], [0.1, 0.3]])
    result = poincare_gap(linear, linear_gradient, flat_density, [1.0, 1.0], sigma)
    variance = np.array([1.0, -2.0]) @ sigma @ np.array([1.0, -2.0])
    assert result.density_factor == pytest.approx(0.0, abs=1e-12)
    assert result.bias == pytest.approx(variance) and result.bound == pytest.approx(variance)


def test_a_tilted_density_adds_its_bias():
    def tilted(X):
        return np.exp(0.5 * X[:, 0])

    result = poincare_gap(linear, linear_gradient, tilted, [0.0, 0.0], np.eye(2))
    # Tilting N(0, I) by exp(x/2) moves its mean by 1/2, and f by as much: bias 5 + 1/4.
    assert result.bias == pytest.approx(5.25, rel=1e-6)
    assert result.density_factor == pytest.approx(np.exp(0.25) - 1.0, rel=1e-6)
    assert result.gap > 0.0


def test_the_density_factor_is_needed():
    # Without it the bound fails: f and p agree in direction.
    def tilted(X):
        return np.exp(1.5 * X[:, 0] - 3.0 * X[:, 1])

    result = poincare_gap(linear, linear_gradient, tilted, [0.0, 0.0], 0.3 * np.eye(2))
    assert result.bias > result.form
    assert result.bias <= result.bound


def test_bad_densities_are_named():
    with pytest.raises(ValueError, match="density must not be negative"):
        poincare_gap(linear, linear_gradient, lambda X: X[:, 0], [0.0, 0.0], np.eye(2))
    with pytest.raises(ValueError, match="covariance is not positive semi-definite"):
        poincare_gap(linear, linear_gradient, flat_density, [0.0, 0.0], -np.eye(2))


def test_closed_form_is_feasible_and_stationary():
    L = np.array([[2.0, 0.3], [0.3, 1.0]])
    best = alternating_minimum(L, 0.4)
    assert np.trace(L @ best.covariance) == pytest.approx(0.4)
    assert best.log_det == pytest.approx(np.linalg.slogdet(best.covariance)[1])
    rivals = feasible_covariances(L, 0.4, 500, np.random.default_rng(0))
    np.testing.assert_allclose(np.einsum("ab,nba->n", L, rivals), 0.4)
    assert (np.linalg.eigvalsh(rivals) > 0.0).all()
    assert (np.linalg.slogdet(rivals)[1] < best.log_det).all()
    # Some rivals come close, so that beating them means something.
    assert best.log_det - np.linalg.slogdet(rivals)[1].max() < 1e-3


@pytest.mark.parametrize(
    ("egop", "bandwidth", "message"),
    [
        (np.diag([1.0, 0.0]), 1.0, "egop is not positive definite"),
        (np.eye(2), 0.0, "bandwidth=0.0 is not allowed"),
        (np.ones((2, 3)), 1.0, r"egop has shape \(2, 3\)"),
    ],
)
def test_bad_log_det_problems_are_named(egop, bandwidth, message):
    with pytest.raises(ValueError, match=message):
        alternating_minimum(egop, bandwidth)
