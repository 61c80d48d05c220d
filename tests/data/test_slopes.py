"""Given gradients in any axes, and the equations that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from localegop._data.curves import Curves
from localegop._data.rows import merge_rows
from localegop._data.slopes import GivenSlopes, SlopeEquations, _padded
from localegop._data.units import Units


def gradients_in(axes: np.ndarray, count: int = 7) -> tuple[np.ndarray, GivenSlopes]:
    """Gradients in some axes, and the same as they were given before these."""
    there = np.random.default_rng(0).normal(size=(count, 1, axes.shape[1]))
    return there, GivenSlopes(np.einsum("ab,nkb->nka", axes, there), np.eye(len(axes))).rotated(axes)


def test_all_known_gives_the_slopes_along_the_leading_axes() -> None:
    axes = np.random.default_rng(1).normal(size=(4, 4))
    there, given = gradients_in(axes)
    equations = given.equations(2)
    assert equations.row.tolist() == np.repeat(np.arange(7), 2).tolist()
    assert equations.direction == pytest.approx(np.tile(np.eye(4)[:2], (7, 1)), abs=1e-9)
    assert equations.slope[:, 0] == pytest.approx(there[:, 0, :2].ravel(), rel=1e-9, abs=1e-9)


def test_axes_that_were_left_out_are_ignored() -> None:
    axes = np.random.default_rng(1).normal(size=(4, 2))
    there, given = gradients_in(axes)
    assert given.equations(4).slope[:, 0] == pytest.approx(there[:, 0].ravel(), rel=1e-9, abs=1e-9)


def test_every_equation_holds_for_the_gradient_where_some_components_are_unknown() -> None:
    rng, axes = np.random.default_rng(2), np.random.default_rng(1).normal(size=(4, 4))
    there, given = gradients_in(axes, 30)
    values = given.values.copy()
    values[rng.random(values.shape) < 0.4] = np.nan
    values[3] = np.nan
    equations = GivenSlopes(values, given.frame).equations(4)
    expected = np.einsum("md,md->m", equations.direction, there[equations.row, 0])
    assert equations.slope[:, 0] == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert np.bincount(equations.row, minlength=30).tolist() == (~np.isnan(values[:, 0])).sum(1).tolist()
    assert np.linalg.norm(equations.direction, axis=1) == pytest.approx(1.0)


def test_agop_is_the_average_over_the_known_pairs() -> None:
    axes = np.random.default_rng(1).normal(size=(3, 3))
    there, given = gradients_in(axes, 50)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 50)
    plain = np.einsum("n,nka,nkb->ab", weight, there, there) / weight.sum()
    assert given.agop(weight) == pytest.approx(plain, rel=1e-8, abs=1e-8)
    some = given.values.copy()
    some[:20] = np.nan
    plain = np.einsum("n,nka,nkb->ab", weight[20:], there[20:], there[20:]) / weight[20:].sum()
    assert GivenSlopes(some, given.frame).agop(weight) == pytest.approx(plain, rel=1e-8, abs=1e-8)


def test_units_turn_slopes_into_those_of_curved_and_rotated_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, 3.0, (40, 2))
    curves = Curves(np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.array([0.0, 0.0]))
    units = Units(np.zeros(2), rng.normal(size=(2, 2)), np.array([1.0]), np.array([3.0]), curves)
    slope = np.array([0.7, -0.4])
    there = np.broadcast_to(slope, (40, 1, 2))  # of labels linear in the units of the recursion
    given = units.slopes(units.gradients(there, X), X)
    assert given is not None
    equations = given.equations(2)
    expected = np.einsum("md,d->m", equations.direction, slope)
    assert equations.slope[:, 0] == pytest.approx(expected, rel=1e-9)


def test_rows_with_other_gradients_are_other_rows_and_unknown_ones_are_alike() -> None:
    X, y = np.array([[1.0], [1.0], [1.0], [0.0]]), np.zeros((4, 1))
    slopes = np.array([[[2.0]], [[np.nan]], [[np.nan]], [[5.0]]])
    rows = merge_rows(X, y, np.ones(4), slopes)
    assert rows.gradients is not None
    assert rows.X.ravel().tolist() == [0.0, 1.0, 1.0]
    assert rows.sample_weight.tolist() == [1.0, 2.0, 1.0]
    assert np.array_equal(rows.gradients.ravel(), [5.0, np.nan, 2.0], equal_nan=True)
    assert rows.position.tolist() == [2, 1, 1, 0]


def test_slopes_along_the_features_are_gradients() -> None:
    axes = np.random.default_rng(1).normal(size=(4, 4))
    _, given = gradients_in(axes, 30)
    values = given.values.copy()
    values[np.random.default_rng(2).random(values.shape) < 0.3] = np.nan
    plain = GivenSlopes(values, given.frame)
    along = GivenSlopes(values, given.frame, np.broadcast_to(np.eye(4), (30, 4, 4)))
    for name in ("row", "direction", "slope"):
        expected = getattr(plain.equations(3), name)
        assert getattr(along.equations(3), name) == pytest.approx(expected, abs=1e-12)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 30)
    assert along.agop(weight) == pytest.approx(plain.agop(weight), abs=1e-10)


def test_every_equation_holds_for_slopes_along_any_directions() -> None:
    rng = np.random.default_rng(2)
    axes = rng.normal(size=(4, 4))
    there, given = gradients_in(axes, 20)
    directions = rng.normal(size=(20, 3, 4))
    directions[5, 2] = directions[5, 0] - 2.0 * directions[5, 1]  # tells nothing new
    values = np.einsum("nkd,nmd->nkm", given.values, directions)
    values[7, 0, 1] = np.nan
    equations = GivenSlopes(values, given.frame, directions).equations(4)
    counts = np.full(20, 3)
    counts[[5, 7]] = 2
    assert np.bincount(equations.row, minlength=20).tolist() == counts.tolist()
    expected = np.einsum("md,md->m", equations.direction, there[equations.row, 0])
    assert equations.slope[:, 0] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    for row in range(20):
        own = equations.direction[equations.row == row]
        assert own @ own.T == pytest.approx(np.eye(len(own)), abs=1e-9)


def test_agop_of_slopes_along_single_directions_is_the_matrix_of_least_squares() -> None:
    """One random direction a row is enough, if rows are many: the plain average would blur the axes."""
    rng = np.random.default_rng(0)
    n, gradient = 3000, np.array([2.0, -1.0, 0.5])
    there = gradient * rng.choice([-1.0, 1.0], (n, 1))
    directions = rng.normal(size=(n, 1, 3))
    values = np.einsum("nd,nmd->nm", there, directions)[:, None]
    weight = rng.uniform(0.5, 2.0, n)
    found = GivenSlopes(values, np.eye(3), directions).agop(weight)
    assert found == pytest.approx(np.outer(gradient, gradient), abs=1e-6)
    unit = directions[:, 0] / np.linalg.norm(directions, axis=2)
    noisy = values + rng.normal(size=values.shape)
    slopes = noisy[:, 0, 0] / np.linalg.norm(directions, axis=2)[:, 0]
    some = slice(None, None, 2)  # as many as are looked at
    design = np.einsum("na,nb->nab", unit, unit).reshape(n, 9)[some] * np.sqrt(weight[some, None])
    dense = np.linalg.lstsq(design, np.sqrt(weight[some]) * slopes[some] ** 2)[0].reshape(3, 3)
    squares, vectors = np.linalg.eigh(dense)
    dense = (vectors * np.maximum(squares, 0.0)) @ vectors.T
    assert GivenSlopes(noisy, np.eye(3), directions).agop(weight) == pytest.approx(dense, abs=1e-8)


def test_directions_follow_the_curves_of_features() -> None:
    rng = np.random.default_rng(0)
    X, directions = rng.uniform(1.0, 3.0, (40, 2)), rng.normal(size=(40, 1, 2))
    curves = Curves(np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.array([0.0, 0.0]))
    units = Units(np.zeros(2), rng.normal(size=(2, 2)), np.array([1.0]), np.array([3.0]), curves)
    slope = np.array([0.7, -0.4])
    gradients = units.gradients(np.broadcast_to(slope, (40, 1, 2)), X)
    given = units.slopes(np.einsum("nkd,nmd->nkm", gradients, directions), X, directions)
    assert given is not None
    equations = given.equations(2)
    assert equations.slope[:, 0] == pytest.approx(equations.direction @ slope, rel=1e-9)


def test_rows_with_other_directions_are_other_rows() -> None:
    X, y, slopes = np.ones((3, 1)), np.zeros((3, 1)), np.full((3, 1, 1), 2.0)
    rows = merge_rows(X, y, np.ones(3), slopes, np.array([[[1.0]], [[3.0]], [[1.0]]]))
    assert rows.directions is not None
    assert rows.directions.ravel().tolist() == [1.0, 3.0]
    assert rows.sample_weight.tolist() == [2.0, 1.0]


def test_equations_of_rows_are_filled_up_with_zeros():
    direction, slope = np.arange(12.0).reshape(6, 2), np.arange(6.0)[:, None]
    equations = SlopeEquations(np.array([0, 0, 1, 3, 3, 3]), direction, slope)
    start, counts = np.array([0, 2, 3, 3]), np.array([2, 1, 0, 3])
    along, slopes = _padded(equations, start, counts, np.array([3, 1]))
    np.testing.assert_array_equal(along, [direction[3:6], [direction[2], [0.0, 0.0], [0.0, 0.0]]])
    np.testing.assert_array_equal(slopes[:, :, 0], [[3.0, 4.0, 5.0], [2.0, 0.0, 0.0]])
