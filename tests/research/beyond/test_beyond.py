"""Neighborhoods of least predicted error, and neighborhoods that bend."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from localegop.research.beyond import __main__ as command
from localegop.research.beyond import limits, samples, two_ends
from localegop.research.beyond.shapes import (
    _log_error,
    hessian_from_gradients,
    least_error_metric,
    predicted_error,
)


def symmetric(dimension, seed):
    A = np.random.default_rng(seed).normal(size=(dimension, dimension))
    return A + A.T


def test_the_derivative_of_the_predicted_error():
    H, M = symmetric(3, 0), np.eye(3) + 0.1 * symmetric(3, 1)
    value, slope = _log_error(M, H, 0.3, 0.01)
    assert np.exp(value) == pytest.approx(predicted_error(np.linalg.inv(M), H, 0.3, 0.01))
    numeric = approx_fprime(M.ravel(), lambda m: _log_error(m.reshape(3, 3), H, 0.3, 0.01)[0], 1e-7)
    numeric = numeric.reshape(3, 3)
    assert slope == pytest.approx(0.5 * (numeric + numeric.T), abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_shape_nearby_has_less_predicted_error(seed):
    H, cap = symmetric(3, seed), 2.0
    M = least_error_metric(H, 0.5, 1e-3, cap)
    assert np.linalg.eigvalsh(M)[0] >= 1.0 / cap - 1e-9
    least = predicted_error(np.linalg.inv(M), H, 0.5, 1e-3)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        nudge = np.eye(3) + 0.05 * rng.normal(size=(3, 3))
        values, vectors = np.linalg.eigh(nudge @ M @ nudge.T)
        other = (vectors / np.maximum(values, 1.0 / cap)) @ vectors.T
        assert predicted_error(other, H, 0.5, 1e-3) > least * (1.0 - 1e-3)


def test_a_turning_gradient_alone_does_not_shorten_a_direction_but_curvature_does():
    turning, curved = (
        np.linalg.inv(least_error_metric(np.array([[1.0, 0.5], [0.5, corner]]), 1.0, 1e-8, 1.0))
        for corner in (0.0, 1.0)
    )
    assert turning[1, 1] > 0.8 > 0.1 > curved[1, 1]
    assert abs(turning[0, 0] + turning[0, 1]) < 1e-3  # tr(H S) = 0: it is tilted so that the bias vanishes


def test_hessian_of_a_quadratic_from_its_gradients():
    H, X = symmetric(4, 2), np.random.default_rng(0).normal(size=(100, 4))
    weights = np.exp(-np.sum(X**2, axis=1))
    assert hessian_from_gradients(X, 3.0 + X @ H, X[0], weights) == pytest.approx(H, rel=1e-4, abs=1e-4)


def test_rates_with_exact_derivatives_around_the_sphere():
    found = limits.rates("sphere")
    slopes = {
        kind: -np.polyfit(np.log(limits.SIZES), np.log(errors), 1)[0]
        for kind, errors in zip(limits.KINDS, found.errors, strict=True)
    }
    assert slopes["AGOP"] == pytest.approx(4 / 8, abs=0.06)
    assert slopes["AGOP, normals kept"] == pytest.approx(4 / 7, abs=0.06)
    assert slopes["least error"] > slopes["AGOP"] + 0.1
    assert found.normals[2] == pytest.approx(1.0)


def test_least_error_and_agop_on_a_small_sample():
    found = samples.compare("sphere in R^3", 400, 0.3, queries=20)
    assert set(found.error) == {"round", "AGOP", "least error"}
    assert all(0.0 < error < 0.3 for error in found.error.values())
    assert all(size >= 3.0 for size in found.size.values())


def test_roots_of_both_ends_follow_a_circle_to_third_order():
    angles = np.array([0.1, 0.2, 0.4])
    normal = np.column_stack([np.cos(angles), np.sin(angles)])
    there, here = normal[:, :, None] * normal[:, None, :], np.diag([1.0, 0.0])
    squared, _ = two_ends.squared_distances(normal - [1.0, 0.0], there, here)
    assert squared["both ends"] == pytest.approx(squared["one end"])  # equal angles at both ends of a chord
    order = np.log2(np.sqrt(squared["both roots"][1:] / squared["both roots"][:-1]))
    assert order == pytest.approx(3.0, abs=0.1)
    assert np.log2(np.sqrt(squared["one end"][1:] / squared["one end"][:-1])) == pytest.approx(2.0, abs=0.1)


def test_bent_neighborhoods_are_better_around_circles():
    """With exact gradients and a little of all directions, as AGOPs have; each at its best size."""
    X, y = two_ends.rings(820, 2, 0)
    inside = np.linalg.norm(X, axis=1, keepdims=True)
    gradients = 5.0 * np.cos(5.0 * inside) * X / inside
    slopes = np.linalg.norm(gradients, axis=1)[:, None, None]
    roots = gradients[:, :, None] * gradients[:, None, :] / slopes + np.eye(2)
    squares = {}
    for k in range(20):
        found = two_ends._predictions(X[20:] - X[k], y[20:], roots[20:], roots[k])
        for key, value in found.items():
            squares.setdefault(key, []).append((value - y[k]) ** 2)
    best = {}
    for (distance, fit, _), values in squares.items():
        best[distance, fit] = min(np.mean(values), best.get((distance, fit), np.inf))
    for straight in (("round", "linear in x"), ("one end", "linear in x"), ("both ends", "linear in x")):
        assert best["both roots", "linear along"] < 0.5 * best[straight], straight


def test_the_command_prints_tables_and_fills_the_page(tmp_path, capsys):
    page = tmp_path / "beyond.md"
    page.write_text("".join(f"<!-- {name}: begin --><!-- {name}: end -->\n" for name in command.TABLES))
    assert command.main(["bending", "--quick", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    row = next(line for line in printed.splitlines() if "both roots" in line)
    assert row in page.read_text() and "±" in row
    with pytest.raises(SystemExit):
        command.main(["knots"])
    assert "no table is called knots; there are limits, samples, bending" in capsys.readouterr().err
