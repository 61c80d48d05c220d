"""Processes of all rows that know slopes, against plain NumPy, refits and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from localegop._data.slopes import GivenSlopes
from localegop._engine.global_kriging import TREND, GlobalKriging
from localegop._engine.gradient_kriging import GradientKriging, SolvedWithSlopes
from localegop._engine.sparse_kriging import solve_process

PROCESS = GradientKriging(2.0, 1e-5, False, 2, 1e-4)


def sample(n: int = 25) -> tuple[np.ndarray, ...]:
    """Rows, labels, weights and gradients of a smooth function of three features, some unknown."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3))
    along = rows @ [1.0, 0.5, 0.1]
    labels = np.stack([np.sin(along), along**2], axis=1)
    slopes = np.stack([np.cos(along), 2.0 * along], axis=1)[:, :, None] * np.array([1.0, 0.5, 0.1])
    slopes[rng.random(n) < 0.3, :, 1] = np.nan
    return rows, labels, rng.uniform(0.5, 2.0, n), slopes


def solved(process: GlobalKriging = PROCESS, keep: np.ndarray | None = None) -> SolvedWithSlopes:
    """Solve a process for the sample, or some of its rows."""
    rows, labels, weight, slopes = sample()
    keep = np.arange(len(rows)) if keep is None else keep
    given = GivenSlopes(slopes[keep], np.eye(3))
    found = solve_process(process, rows[keep], labels[keep], weight[keep], given)
    assert isinstance(found, SolvedWithSlopes)
    return found


def covariance(x: np.ndarray, z: np.ndarray) -> float:
    """Covariance of values, as the formula says."""
    length = PROCESS.length
    return np.exp(-np.sum((x - z) ** 2) / (2 * length**2)) + TREND * (1 + x @ z / length**2)


def slope_of(function: object, at: np.ndarray, direction: np.ndarray, step: float = 1e-3) -> float:
    """Slope of a function along a direction, by differences of fourth order."""
    f = [function(at + k * step * direction) for k in (-2, -1, 1, 2)]  # type: ignore[operator]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def test_covariances_are_derivatives_of_those_of_values() -> None:
    process = solved()
    rows, of, count = process.rows, process.slopes, len(process.rows)
    system = process._covariances()
    assert len(system) == count + len(of) and len(of) > 30
    for j in range(0, len(of), 7):
        v, z = of.direction[j], rows[of.row[j]]
        for i in range(0, count, 5):
            expected = PROCESS.length * slope_of(lambda at, i=i: covariance(rows[i], at), z, v)
            assert system[count + j, i] == pytest.approx(expected, abs=1e-8)
        for k in range(0, j + 1, 6):
            u, x = of.direction[k], rows[of.row[k]]
            expected = slope_of(lambda at, u=u, x=x: slope_of(lambda b: covariance(b, at), x, u), z, v)
            assert system[count + j, count + k] == pytest.approx(PROCESS.length**2 * expected, abs=1e-6)


def test_values_solve_the_plain_system() -> None:
    process, (rows, labels, weight, _) = solved(), sample()
    lower = process._covariances()
    system = np.tril(lower) + np.tril(lower, -1).T
    noise = np.append(PROCESS.ridge / weight, PROCESS.slope_ridge / weight[process.slopes.row])
    mean = weight @ labels / weight.sum()
    targets = np.concatenate([labels - mean, PROCESS.length * process.slopes.slope])
    dual = np.linalg.solve(system + np.diag(noise), targets)
    query = np.array([[0.3, -0.2, 0.1]])
    cross = process._near(query).covariance
    assert cross[0, :25] == pytest.approx([covariance(query[0], z) for z in rows])
    found = process.at(query, gradients=True, variances=True)
    assert found.value == pytest.approx(mean + cross @ dual, rel=1e-7)
    smoother = cross @ np.linalg.inv(system + np.diag(noise))
    values = smoother[:, :25] + (1 - smoother[:, :25].sum()) * weight / weight.sum()
    factor = values**2 @ (1 / weight) + smoother[:, 25:] ** 2 @ (noise[25:] / PROCESS.ridge)
    assert found.variance_factor == pytest.approx(factor, rel=1e-6)


def test_gradients_are_those_of_the_values() -> None:
    process, queries = solved(), np.random.default_rng(1).normal(size=(60, 3))
    step = 1e-4
    moved = [(process.at(queries + e).value - process.at(queries - e).value) for e in step * np.eye(3)]
    assert process.at(queries, gradients=True).gradient == pytest.approx(
        np.stack(moved, axis=2) / (2 * step), rel=1e-6, abs=1e-7
    )


def test_slopes_pay_where_they_are_right() -> None:
    rows, labels, weight, slopes = sample(40)
    queries = np.random.default_rng(1).normal(size=(200, 3))
    truth = np.sin(queries @ [1.0, 0.5, 0.1])
    errors = []
    for process in (GlobalKriging(2.0, 1e-5), PROCESS):
        found = solve_process(process, rows, labels, weight, GivenSlopes(slopes, np.eye(3))).at(queries)
        errors.append(np.mean((found.value[:, 0] - truth) ** 2))
    assert errors[1] < 0.5 * errors[0]


def test_leaving_a_row_out_is_fitting_without_it_and_its_slopes() -> None:
    process, (rows, labels, *_) = solved(), sample()
    own = np.array([3, 11])
    found = process.without_own(own)
    for k, row in enumerate(own):
        others = solved(keep=np.delete(np.arange(25), row))
        others.means[:] = process.means  # which stays that of all rows
        others.labels[:24] = np.delete(labels, row, axis=0) - process.means
        others.dual = others.inverse @ others.labels
        there = others.at(rows[[row]], gradients=True)
        assert found.value[k] == pytest.approx(there.value[0], rel=1e-6)
        assert found.gradient[k] == pytest.approx(there.gradient[0], rel=1e-5, abs=1e-6)
    assert process.loo_residuals[own] == pytest.approx(labels[own] - found.value, rel=1e-6, abs=1e-8)


def test_leaving_a_block_out_takes_its_slopes_too() -> None:
    process = solved()
    value, factor = process.without_blocks(np.array([3]), [np.array([], dtype=np.int32)])
    alone = process.without_own(np.array([3]))
    assert value == pytest.approx(alone.value) and factor == pytest.approx(alone.variance_factor)
    value, _ = process.without_blocks(np.array([3]), [np.array([4, 5], dtype=np.int32)])
    assert not np.allclose(value, alone.value)
