"""Manifolds: parametrizations, their derivatives, projections and curvature."""

from __future__ import annotations

import numpy as np
import pytest

from localegop.datasets.curves import Circle, Helix, helix_in
from localegop.datasets.manifolds import EmbeddedManifold, random_frame
from localegop.datasets.plane_curves import LobedCurve, Spiral
from localegop.datasets.polynomials import make_cubic
from localegop.datasets.surfaces import Band, FlatSpace, Sphere, Torus
from localegop.datasets.tube_function import TubeFunction

MANIFOLDS = {
    "circle": Circle(0.8),
    "helix": Helix(0.8, 0.8),
    "lobed": LobedCurve(3, 0.25),
    "spiral": Spiral(0.2, 1.5),
    "torus": Torus(),
    "band": Band(Spiral(0.2, 1.0), 2.0),
    "embedded": EmbeddedManifold(Torus(), random_frame(6, 3, np.random.default_rng(0))),
}


def central_differences(function, X, step=1e-5):
    """Derivatives along the coordinate axes, the new axis last."""
    axes = np.eye(X.shape[1])
    slopes = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in axes]
    return np.stack(slopes, axis=-1)


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
