"""Synthetic data: geometry, labels and exact derivatives, against independent computations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest

from localegop.datasets.curve_samples import make_annulus, make_helix, make_noisy_curve
from localegop.datasets.curves import Circle, Helix, helix_in
from localegop.datasets.manifolds import EmbeddedManifold, random_frame
from localegop.datasets.plane_curves import LobedCurve, Spiral
from localegop.datasets.polynomials import Polynomial, make_cubic
from localegop.datasets.surface_samples import (
    make_multi_index,
    make_noisy_sphere,
    make_swiss_band,
    make_torus,
)
from localegop.datasets.surfaces import Band, FlatSpace, Sphere, Torus
from localegop.datasets.tube_function import TubeFunction

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
MANIFOLDS = {
    "circle": Circle(0.8),
    "helix": Helix(0.8, 0.8),
    "lobed": LobedCurve(3, 0.25),
    "spiral": Spiral(0.2, 1.5),
    "torus": Torus(),
    "band": Band(Spiral(0.2, 1.0), 2.0),
    "embedded": EmbeddedManifold(Torus(), random_frame(6, 3, np.random.default_rng(0))),
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
        np.testing.assert_array_equal(sample.gradients[:50], sample.gradient(X))

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


class TestManifolds:
    @pytest.mark.parametrize(
        ("n_features", "formula"),
        [
            (2, lambda t: [np.sin(t), np.cos(t)]),
            (3, lambda t: [np.sin(t), np.cos(t), t]),
            (4, lambda t: [np.sin(t), np.cos(t), -np.sin(t), -np.cos(t)]),
            (5, lambda t: [np.sin(t), np.cos(t), np.sin(t + np.pi), np.cos(t + np.pi), t]),
        ],
    )
    def test_helix_by_hand(self, n_features, formula):
        t = np.linspace(0.0, 2 * np.pi, 9)
        expected = 0.8 * np.column_stack(formula(t))
        np.testing.assert_allclose(helix_in(n_features).point(t[:, None]), expected, atol=1e-14)

    @pytest.mark.parametrize("n_features", [6, 7, 12, 51])
    def test_helix_by_formula(self, n_features):
        t = np.linspace(0.0, 2 * np.pi, 9)
        columns = []
        n_pairs = n_features // 2
        for j in range(n_pairs):
            w = 2 * np.pi * j / n_pairs
            columns += [np.sin(t + w), np.cos(t + w)]
        columns += [t] if n_features % 2 else []
        expected = 1.3 * np.column_stack(columns)
        np.testing.assert_allclose(helix_in(n_features, 1.3).point(t[:, None]), expected, atol=1e-13)

    @pytest.mark.parametrize("name", MANIFOLDS)
    def test_derivatives_of_the_parametrization(self, name):
        manifold = MANIFOLDS[name]
        u = manifold.sample(20, np.random.default_rng(0))
        for lower, higher in [
            (manifold.point, manifold.jacobian),
            (manifold.jacobian, manifold.hessian),
            (manifold.hessian, manifold.third),
        ]:
            numeric = central_differences(lower, u)
            np.testing.assert_allclose(higher(u), numeric, atol=1e-7, rtol=1e-7)

    @pytest.mark.parametrize("name", ["circle", "helix", "lobed", "spiral"])
    def test_projection_is_the_nearest_of_many(self, name):
        curve = MANIFOLDS[name]
        dense = np.linspace(curve.grid[0], curve.grid[-1], 5001)
        points = curve.derivative(dense, 0)
        rng = np.random.default_rng(0)
        inner = curve.derivative(np.linspace(*curve.span, 300), 0)
        X = inner + 0.95 * curve.reach * rng.uniform(-0.5, 0.5, size=inner.shape)
        smallest = np.linalg.norm(X[:, None] - points[None], axis=2).min(axis=1)
        found = np.linalg.norm(X - curve.point(curve.project(X)), axis=1)
        assert (found <= smallest + 1e-12).all()

    def test_known_reaches(self):
        assert helix_in(2).reach == 0.8
        assert helix_in(8).reach == pytest.approx(0.8 * 2)
        assert helix_in(3).reach == pytest.approx(1.6)  # radius of curvature (a^2 + c^2) / a
        assert helix_in(5).reach == pytest.approx(0.8 * 3 / np.sqrt(2))
        assert LobedCurve(3, 0.0).reach == pytest.approx(1.0)
        # In polar coordinates a dent has r = 3/4, r'' = 9/4 and curvature |r - r''| / r^2.
        assert LobedCurve(3, 0.25).reach == pytest.approx(0.375)
        assert 0.45 * 2 * np.pi < Spiral(1.0, 2.0).reach < 0.5 * 2 * np.pi
        assert Torus(2.0, 0.5).reach == 0.5
        assert Torus(2.0, 1.5).reach == 0.5
        assert FlatSpace(3).reach == np.inf

    def test_shape_operator_of_the_sphere(self):
        """S_p(c p) = -c on the tangent space, with the outer normal p."""
        sphere = Sphere(3)
        p = sphere.sample(10, np.random.default_rng(0))
        expected = -0.3 * (np.eye(4) - p[:, :, None] * p[:, None, :])
        np.testing.assert_allclose(sphere.shape_operator(p, 0.3 * p), expected, atol=1e-12)

    def test_random_frame_is_orthonormal(self):
        frame = random_frame(7, 3, np.random.default_rng(0))
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)

    def test_center_of_curvature_is_refused(self):
        f = TubeFunction(Circle(0.8), make_cubic(2, random_state=0))
        with pytest.raises(ValueError, match="center of curvature"):
            f.gradient([[0.0, 0.0]])
        with pytest.raises(ValueError, match="center of the sphere"):
            TubeFunction(Sphere(1), make_cubic(2, random_state=0))([[0.0, 0.0]])


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(make_helix, 0), "n_samples=0 .* >= 1"),
        (partial(make_helix, 2.5), "n_samples=2.5 .* integer"),
        (partial(make_helix, True), "n_samples=True .* integer"),
        (partial(make_helix, 10, 1), "n_features=1 .* >= 2"),
        (partial(make_helix, noise=-0.1), "noise=-0.1 .* >= 0"),
        (partial(make_helix, noise=np.nan), "noise=nan .* finite"),
        (partial(make_helix, radius=-1.0), "radius=-1.0 .* >= 0"),
        (partial(make_helix, 10, 2, radius=0.8), "radius=0.8 .* reach of the manifold, 0.8"),
        (partial(make_helix, 10, 3, radius=1.7), "radius=1.7 .* reach of the manifold, 1.6"),
        (partial(make_helix, scale=0), "scale=0 .* > 0"),
        (partial(make_helix, random_state="a"), "random_state='a' .* integer >= 0"),
        (partial(make_helix, random_state=-1), "random_state=-1 .* integer >= 0"),
        (partial(make_helix, polynomial=make_cubic(4)), "n_features=4.* 5 variables"),
        (partial(make_helix, polynomial=np.sum), "polynomial=.* give a Polynomial"),
        (partial(make_annulus, 0), "n_samples=0"),
        (partial(make_annulus, angle=0), "angle=0 .* > 0"),
        (partial(make_annulus, angle=400), "angle=400.*360"),
        (partial(make_annulus, radius_range=(0, 1)), r"radius_range\[0\]=0 .* > 0"),
        (partial(make_annulus, radius_range=(2, 1)), r"radius_range=\(2, 1\) .* low <= high"),
        (partial(make_annulus, radius_range=1.0), "radius_range=1.0 .* pair"),
        (partial(make_annulus, noise=0.1, noise_std=0.1), "noise=0.1 and noise_std=0.1 exclude"),
        (partial(make_annulus, noise_std=-1), "noise_std=-1 .* >= 0"),
        (partial(make_annulus, low=2), "high=1.0 .* >= 2"),
        (partial(make_noisy_sphere, 10, 3, intrinsic_dimension=3), "n_features=3 .* >= 4"),
        (partial(make_noisy_sphere, intrinsic_dimension=0), "intrinsic_dimension=0 .* >= 1"),
        (partial(make_noisy_sphere, radius=1.0), "radius=1.0 .* reach"),
        (partial(make_noisy_curve, lobes=0), "lobes=0 .* >= 1"),
        (partial(make_noisy_curve, amplitude=1.0), r"amplitude=1.0 .* \[0, 1\)"),
        (partial(make_noisy_curve, radius=0.4), "radius=0.4 .* reach of the manifold, 0.375"),
        (partial(make_torus, 10, 2), "n_features=2 .* >= 3"),
        (partial(make_torus, major_radius=0.5), "major_radius=0.5 .* > 0.75"),
        (partial(make_torus, radius=0.75), "radius=0.75 .* reach"),
        (partial(make_swiss_band, 10, 2), "n_features=2 .* >= 3"),
        (partial(make_swiss_band, turns=0.0), "turns=0.0 .* > 0"),
        (partial(make_swiss_band, width=-1.0), "width=-1.0 .* > 0"),
        (partial(make_swiss_band, radius=0.7), "radius=0.7 .* reach"),
        (partial(make_multi_index, 10, 2, n_indices=3), "n_features=2 .* >= 3"),
        (partial(make_multi_index, n_indices=0), "n_indices=0 .* >= 1"),
        (partial(make_cubic, 0), "n_features=0 .* >= 1"),
        (partial(make_cubic, 3, degree=4), "degree=4 .* 1..3"),
        (partial(make_cubic, 3, low=1.0, high=0.0), "high=0.0 .* >= 1"),
        (partial(Polynomial.from_coefficients, [1.0, 2.0], n_features=2), "1, 3, 6, 10 entries"),
        (partial(make_cubic(3), np.ones(3)), r"X has shape \(3,\): .* \(k, 3\)"),
        (partial(make_cubic(3), np.ones((4, 2))), r"X has shape \(4, 2\)"),
        (partial(make_cubic(3).gradient, [[np.nan, 0, 0]]), "X contains NaN"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
