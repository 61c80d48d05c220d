"""Polynomials of degree up to three, against sums over monomials and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from localegop.datasets.polynomials import Polynomial, make_cubic


def central_differences(function, X, step=1e-5):
    """Derivatives along the coordinate axes, the new axis last."""
    axes = np.eye(X.shape[1])
    slopes = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in axes]
    return np.stack(slopes, axis=-1)


def assert_close(actual, expected, tolerance):
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


class TestPolynomial:
    def test_matches_the_sum_over_monomials(self):
        p = make_cubic(3, random_state=0)
        X = np.random.default_rng(0).standard_normal((40, 3))
        assert p.exponents.shape == (20, 3)
        assert len(np.unique(p.exponents, axis=0)) == 20
        assert p.exponents.sum(axis=1).max() == 3
        brute = sum(c * np.prod(X**e, axis=1) for c, e in zip(p.coefficients, p.exponents, strict=True))
        np.testing.assert_allclose(p(X), brute, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("n_features", [1, 2, 3, 7])
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_derivatives(self, n_features, degree):
        p = make_cubic(n_features, degree=degree, random_state=1)
        X = np.random.default_rng(1).standard_normal((20, n_features))
        assert_close(p.gradient(X), central_differences(p, X), 1e-7)
        hessian = p.hessian(X)
        np.testing.assert_allclose(hessian, central_differences(p.gradient, X), atol=1e-7)

    def test_coefficients_come_back(self):
        given = np.random.default_rng(0).uniform(-3, 3, size=56)
        p = Polynomial.from_coefficients(given, n_features=5)
        np.testing.assert_allclose(p.coefficients, given, rtol=1e-14)

    def test_coefficients_are_uniform(self):
        coefficients = make_cubic(12, low=-1.0, high=2.0, random_state=0).coefficients
        assert kstest((coefficients + 1.0) / 3.0, "uniform").pvalue > 0.01

    def test_chunks_do_not_change_values(self, monkeypatch):
        p = make_cubic(6, random_state=0)
        X = np.random.default_rng(0).standard_normal((50, 6))
        values, gradients = p(X), p.gradient(X)
        monkeypatch.setattr("localegop.datasets.polynomials._CHUNK_ENTRIES", 36 * 7)
        np.testing.assert_allclose(p(X), values, rtol=1e-13)
        np.testing.assert_allclose(p.gradient(X), gradients, rtol=1e-13)

    def test_arrays_are_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            make_cubic(3, random_state=0).cubic[0, 0, 0] = 1.0

    def test_no_points(self):
        p = make_cubic(3, random_state=0)
        assert p(np.empty((0, 3))).shape == (0,)
        assert p.gradient(np.empty((0, 3))).shape == (0, 3)
