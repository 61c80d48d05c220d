"""Problems: derivatives against differences, projections, and how directions are split."""

import numpy as np
import pytest

from localegop.research.theory import PROBLEMS, WavySurface, split_directions
from localegop.research.theory.geometry import finite_difference_gradient
from localegop.research.theory.many_digits import decimal_sphere_variances
from localegop.research.theory.problems import full_rank, sphere


@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives_agree_with_differences(name):
    task = PROBLEMS[name]()
    f, points = (
        task.function,
        task.query + 0.02 * np.random.default_rng(0).uniform(-1, 1, (5, task.dimension)),
    )
    np.testing.assert_allclose(f.gradient(points), finite_difference_gradient(f, points), atol=1e-7)
    hessian = f.hessian(points)
    for k, e in enumerate(1e-4 * np.eye(task.dimension)):
        difference = (f.gradient(points + e) - f.gradient(points - e)) / 2e-4
        np.testing.assert_allclose(hessian[:, k], difference, atol=1e-5)


@pytest.mark.parametrize("name", PROBLEMS)
def test_directions_are_an_orthonormal_basis_that_splits_the_hessian(name):
    task = PROBLEMS[name]()
    parts = task.directions
    basis = np.hstack([parts.gradient, parts.null_complement, parts.null])
    np.testing.assert_allclose(basis.T @ basis, np.eye(task.dimension), atol=1e-9)
    H = task.function.hessian(task.query[None])[0]
    across = np.hstack([parts.straight, parts.null])
    np.testing.assert_allclose(across.T @ H @ across, 0.0, atol=1e-7 * np.abs(H).max())
    np.testing.assert_allclose(H @ parts.null, 0.0, atol=1e-7 * np.abs(H).max())


def test_wavy_surface_projects_to_the_nearest_point():
    surface, rng = WavySurface(8, random_state=3), np.random.default_rng(0)
    u = surface.sample(20, rng)
    normal = surface.normal_noise(u, 0.5 * surface.reach, rng)
    np.testing.assert_allclose(surface.project(surface.point(u) + normal), u, atol=1e-8)
    assert 0.1 < surface.reach < 5.0
    assert surface.dimension == 2 and surface.n_features == 8


def test_wavy_surface_derivatives():
    surface, u, step = WavySurface(5), np.array([[0.3, -0.4]]), 1e-5
    for order in ("jacobian", "hessian", "third"):
        lower = {"jacobian": surface.point, "hessian": surface.jacobian, "third": surface.hessian}[order]
        for k, e in enumerate(step * np.eye(2)):
            difference = (lower(u + e) - lower(u - e)) / (2 * step)
            np.testing.assert_allclose(getattr(surface, order)(u)[..., k], difference, atol=1e-8)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_features=2"):
        WavySurface(2)
    with pytest.raises(ValueError, match="gradient vanishes"):
        split_directions([0.0, 0.0], np.eye(2))
    with pytest.raises(ValueError, match=r"hessian has shape \(3, 3\)"):
        split_directions([1.0, 0.0], np.eye(3))
    with pytest.raises(ValueError, match="give a polynomial on the sphere"):
        decimal_sphere_variances(full_rank(3), np.eye(3))


def test_sixty_digits_start_from_the_same_localization():
    task = sphere()
    logs = decimal_sphere_variances(task, np.eye(3), n_iter=1)
    np.testing.assert_allclose(np.exp(logs[0]), 0.05, rtol=1e-12)
