"""Directions of the sphere's figure, and the ratio that momentum does not settle."""

import numpy as np
import pytest

from localegop.research.paper import momentum, sphere
from localegop.research.theory.problems import full_rank


def test_directions_are_the_gradient_the_tangent_and_the_normal():
    query = np.array([0.0, 0.0, 2.0])
    basis = sphere.directions(np.array([3.0, 0.0, 5.0]), query)
    assert basis.T @ basis == pytest.approx(np.eye(3))
    assert basis[:, 0] == pytest.approx([1.0, 0.0, 0.0])
    assert np.abs(basis[:, 2]) == pytest.approx([0.0, 0.0, 1.0])


def test_exact_eigenvectors_are_the_directions_and_the_normal_stays():
    table = sphere.compute("exact", sphere.PARAMETERS["quick"], 0, 1)
    assert table["normal"] == pytest.approx(np.full(150, 0.2), rel=0.02)
    slopes = sphere.late_slopes(table)
    assert slopes == pytest.approx([1.0, 0.6, 0.0], abs=0.1)


def test_the_neutral_ratio_is_one_at_the_limit_of_a_definite_hessian():
    task = full_rank(3, definite=True)
    g = task.function.gradient(task.query[None])[0]
    hessian = task.function.hessian(task.query[None])[0]
    assert np.linalg.eigvalsh(hessian).min() > 0.0
    across = np.linalg.svd(g[None])[2][1:].T
    limit = across @ np.linalg.inv(across.T @ hessian @ across) @ across.T
    assert momentum.neutral_ratios(task, limit[None]) == pytest.approx([1.0])
    assert momentum.neutral_ratios(task, np.eye(3)[None])[0] > 1.05


def test_an_indefinite_hessian_has_any_ratio_as_fixed_point():
    """X = diag(q, 1/q) turned by 45 degrees is unchanged by X -> J X^-1 J, for every q."""
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    J = np.diag([1.0, -1.0])
    for q in (1.0, 5.0, 50.0):
        X = turn @ np.diag([q, 1.0 / q]) @ turn
        assert J @ np.linalg.inv(X) @ J == pytest.approx(X)
