"""Synthetic data: geometry, labels and exact derivatives, against independent computations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest

from localegop.datasets.curve_samples import make_annulus, make_helix, make_noisy_curve
from localegop.datasets.plane_curves import Spiral
from localegop.datasets.surface_samples import (
    make_multi_index,
    make_noisy_sphere,
    make_swiss_band,
    make_torus,
)
from localegop.datasets.surfaces import Torus

EPS = np.finfo(float).eps
IN_NORMAL_BALL = {
    "helix-2": partial(make_helix, n_features=2),
    "helix-3": partial(make_helix, n_features=3),
    "helix-4": partial(make_helix, n_features=4),
    "helix-5": partial(make_helix, n_features=5),
    "helix-21": partial(make_helix, n_features=21),
    "curve": make_noisy_curve,
    "curve-5": partial(make_noisy_curve, lobes=5, amplitude=0.1),
    "sphere": make_noisy_sphere,
    "sphere-3-in-6": partial(make_noisy_sphere, n_features=6, intrinsic_dimension=3),
    "torus": make_torus,
    "torus-20": partial(make_torus, n_features=20),
    "swiss-band": make_swiss_band,
    "swiss-band-3": partial(make_swiss_band, n_features=3, turns=2.0),
}
GENERATORS = IN_NORMAL_BALL | {
    "annulus": make_annulus,
    "multi-index": make_multi_index,
    "multi-index-all": partial(make_multi_index, n_features=3, n_indices=3),
}


@pytest.fixture(params=GENERATORS, scope="module")
def sample(request):
    return GENERATORS[request.param](200, random_state=7, return_bunch=True)


def central_differences(function, X, step=1e-5):
    """Derivatives along the coordinate axes, the new axis last."""
    axes = np.eye(X.shape[1])
    slopes = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in axes]
    return np.stack(slopes, axis=-1)


def assert_close(actual, expected, tolerance):
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


class TestEveryGenerator:
    def test_shapes(self, sample):
        n, D = sample.data.shape
        d = sample.manifold.dimension
        assert n == 200
        assert sample.target.shape == sample.noise_free_target.shape == (n,)
        assert sample.clean.shape == sample.gradients.shape == (n, D)
        assert sample.tangent.shape == (n, D, d)
        assert sample.normal.shape == (n, D, D - d)

    def test_bases_are_orthonormal_and_span_the_space(self, sample):
        frame = np.concatenate([sample.tangent, sample.normal], axis=2)
        identity = np.eye(frame.shape[1])
        np.testing.assert_allclose(
            np.swapaxes(frame, 1, 2) @ frame, np.tile(identity, (200, 1, 1)), atol=1e-12
        )

    def test_displacement_is_normal(self, sample):
        displacement = sample.data - sample.clean
        along = np.einsum("nka,nk->na", sample.tangent, displacement)
        assert np.abs(along).max() < 1e-10

    def test_tangent_follows_the_manifold(self, sample):
        """Projections of nearby points move along the stated tangent space."""
        manifold, step = sample.manifold, 1e-6
        rng = np.random.default_rng(0)
        shifted = sample.clean + step * rng.standard_normal(sample.clean.shape)
        move = (manifold.point(manifold.project(shifted)) - sample.clean) / step
        off = np.einsum("nka,nk->na", sample.normal, move)
        assert off.size == 0 or np.abs(off).max() < 1e-4

    def test_projection_finds_the_clean_point(self, sample):
        found = sample.manifold.point(sample.manifold.project(sample.data))
        np.testing.assert_allclose(found, sample.clean, atol=1e-10)

    def test_labels_are_those_of_the_clean_point(self, sample):
        np.testing.assert_allclose(sample.target, sample.noise_free_target)
        np.testing.assert_allclose(sample.function(sample.data), sample.target, rtol=1e-9)

    def test_labels_do_not_change_along_normals(self, sample):
        rng = np.random.default_rng(1)
        mix = rng.standard_normal((200, sample.normal.shape[2], 1))
        mix /= np.maximum(np.linalg.norm(mix, axis=1, keepdims=True), 1e-300)
        direction = (sample.normal @ mix)[:, :, 0]
        for distance in (-0.2, 0.05, 0.2):
            values = sample.function(sample.clean + distance * direction)
            np.testing.assert_allclose(values, sample.noise_free_target, rtol=1e-9)

    def test_gradient_matches_finite_differences(self, sample):
        X = sample.data[:50]
        assert_close(sample.gradient(X), central_differences(sample.function, X), 1e-6)
        # Matrix products may round differently for 200 rows and for 50.
        assert_close(sample.gradients[:50], sample.gradient(X), 100 * EPS)

    def test_hessian_matches_finite_differences(self, sample):
        X = sample.data[:50]
        assert_close(sample.hessian(X), central_differences(sample.gradient, X), 1e-6)

    def test_gradient_geometry(self, sample):
        """grad f(p + eta) = (I - S_p(eta))^{-1} grad_M f(p)."""
        eta = sample.data - sample.clean
        u = sample.coordinates
        shape = sample.manifold.shape_operator(u, eta)
        at_clean = sample.gradient(sample.clean)
        bent = np.linalg.solve(np.eye(eta.shape[1]) - shape, at_clean[:, :, None])[:, :, 0]
        np.testing.assert_allclose(sample.gradients, bent, rtol=1e-7, atol=1e-9)

    def test_shape_operator_is_the_turning_of_normals(self, sample):
        """S_p(eta) is symmetric, kills normals, and its rank is at most d."""
        eta = sample.data - sample.clean
        shape = sample.manifold.shape_operator(sample.coordinates, eta)
        np.testing.assert_allclose(shape, np.swapaxes(shape, 1, 2), atol=1e-12)
        assert shape.size == 0 or np.abs(shape @ sample.normal).max(initial=0.0) < 1e-10

    def test_hessian_has_rank_at_most_2d(self, sample):
        spectrum = np.abs(np.linalg.eigvalsh(sample.hessian(sample.data)))
        spectrum = np.sort(spectrum, axis=1)[:, ::-1]
        beyond = spectrum[:, 2 * sample.manifold.dimension :]
        assert beyond.size == 0 or beyond.max() < 1e-9 * spectrum.max()

    @pytest.mark.parametrize("name", GENERATORS)
    def test_random_state(self, name):
        make = GENERATORS[name]
        X, y = make(20, noise=0.1, random_state=3)
        X_again, y_again = make(20, noise=0.1, random_state=3)
        X_other, _ = make(20, noise=0.1, random_state=4)
        np.testing.assert_array_equal(X, X_again)
        np.testing.assert_array_equal(y, y_again)
        assert not np.allclose(X, X_other)

    @pytest.mark.parametrize("name", GENERATORS)
    def test_noise_is_in_units_of_the_labels(self, name):
        bunch = GENERATORS[name](2000, noise=0.3, random_state=5, return_bunch=True)
        residual = bunch.target - bunch.noise_free_target
        spread = bunch.noise_free_target.std()
        assert bunch.noise_std == pytest.approx(0.3 * spread)
        assert residual.std() / spread == pytest.approx(0.3, rel=0.06)
        clean = GENERATORS[name](2000, random_state=5, return_bunch=True)
        np.testing.assert_array_equal(clean.data, bunch.data)
        np.testing.assert_array_equal(clean.target, bunch.noise_free_target)

    @pytest.mark.parametrize("name", GENERATORS)
    def test_function_can_be_given(self, name):
        first = GENERATORS[name](30, random_state=0, return_bunch=True)
        again = GENERATORS[name](30, random_state=1, polynomial=first.polynomial, return_bunch=True)
        assert again.polynomial is first.polynomial


class TestSampling:
    @pytest.mark.parametrize("name", IN_NORMAL_BALL)
    def test_displacement_is_uniform_in_the_normal_ball(self, name):
        bunch = IN_NORMAL_BALL[name](1000, random_state=11, return_bunch=True)
        codimension = bunch.normal.shape[2]
        parts = np.einsum("nka,nk->na", bunch.normal, bunch.data - bunch.clean)
        lengths = np.linalg.norm(parts, axis=1) / bunch.parameters["radius"]
        assert kstest(lengths**codimension, "uniform").pvalue > 0.01
        # The basis is known from the clean point alone, so each direction must be balanced in it.
        directions = parts / np.linalg.norm(parts, axis=1, keepdims=True)
        second = directions.T @ directions / len(directions)
        assert np.abs(second - np.eye(codimension) / codimension).max() < 0.06
        assert np.abs(directions.mean(axis=0)).max() < 4.5 / np.sqrt(1000 * codimension)

    @pytest.mark.parametrize("n_features", [2, 3, 4, 5, 8])
    def test_helix_parameter_is_uniform(self, n_features):
        bunch = make_helix(2000, n_features, random_state=0, return_bunch=True)
        assert kstest(bunch.coordinates[:, 0] / (2 * np.pi), "uniform").pvalue > 0.01

    def test_sphere_is_uniform_by_area(self):
        """On S^2 every coordinate is uniform on [-1, 1] (Archimedes)."""
        bunch = make_noisy_sphere(2000, random_state=0, return_bunch=True)
        for coordinate in bunch.clean.T:
            assert kstest((coordinate + 1) / 2, "uniform").pvalue > 0.01

    def test_torus_is_uniform_by_area(self):
        torus = Torus(2.0, 1.0)
        around, tube = torus.sample(4000, np.random.default_rng(0)).T
        assert kstest(around / (2 * np.pi), "uniform").pvalue > 0.01

        def share(v):
            return (2.0 * v + np.sin(v)) / (4 * np.pi)

        assert kstest(tube, share).pvalue > 0.01

    def test_curves_are_uniform_by_arc_length(self):
        spiral = Spiral(1.0, 1.0)
        t = spiral.sample(4000, np.random.default_rng(0))[:, 0]

        def length(t):
            return 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))

        low, high = (length(end) for end in spiral.span)
        assert kstest((length(t) - low) / (high - low), "uniform").pvalue > 0.01

    def test_annulus(self):
        bunch = make_annulus(4000, noise_std=0.05, random_state=0, return_bunch=True)
        factor = np.linalg.norm(bunch.data, axis=1)
        angle = np.rad2deg(np.arctan2(bunch.data[:, 1], bunch.data[:, 0]))
        assert kstest((factor - 0.6) / 1.2, "uniform").pvalue > 0.01
        assert kstest(angle / 25.0 + 0.5, "uniform").pvalue > 0.01
        np.testing.assert_allclose(bunch.clean, bunch.data / factor[:, None])
        assert (bunch.target - bunch.noise_free_target).std() == pytest.approx(0.05, rel=0.05)
        assert np.abs(bunch.polynomial.coefficients).max() <= 1.0
        # In the plane f depends on the angle alone, so its gradient falls off as 1 / |x|.
        unit = bunch.gradient(bunch.clean)
        np.testing.assert_allclose(bunch.gradients, unit / factor[:, None], rtol=1e-9, atol=1e-12)

    def test_multi_index(self):
        bunch = make_multi_index(300, 8, n_indices=3, random_state=0, return_bunch=True)
        V = bunch.directions
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(bunch.target, bunch.polynomial(bunch.data @ V))
        assert np.linalg.matrix_rank(bunch.gradients) == 3
        assert np.abs(bunch.data).max() <= 1.0

    def test_polynomial_does_not_depend_on_the_sample(self):
        small = make_torus(10, 5, random_state=2, return_bunch=True)
        large = make_torus(50, 5, noise=0.5, random_state=2, return_bunch=True)
        np.testing.assert_array_equal(small.polynomial.cubic, large.polynomial.cubic)
        np.testing.assert_array_equal(small.manifold.frame, large.manifold.frame)

    @pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
    def test_random_objects_are_used_and_advanced(self, kind):
        first, second = kind(0), kind(0)
        np.testing.assert_array_equal(
            make_helix(5, random_state=first)[0], make_helix(5, random_state=second)[0]
        )
        assert not np.allclose(make_helix(5, random_state=first)[0], make_helix(5, random_state=0)[0])
