"""Processes made of few functions: against dense matrices of NumPy, the exact process, and refits."""

from __future__ import annotations

import numpy as np
import pytest

from localegop._data.slopes import GivenSlopes
from localegop._engine.gradient_kriging import GradientKriging, SolvedWithSlopes
from localegop._engine.sparse_kriging import ROWS_AT_ONCE, SolvedSparsely, solve_process

N = ROWS_AT_ONCE + 13  # more than are set up at a time
PROCESS = GradientKriging(1.0, 1e-3, False, 2, 1e-2, 9)
TREND = 10.0


def sample() -> tuple[np.ndarray, ...]:
    """Rows, two labels, weights and slopes along two directions a row of three features, some unknown."""
    rng = np.random.default_rng(0)
    rows, directions = rng.normal(size=(N, 3)), rng.normal(size=(N, 2, 3))
    along = rows @ [1.0, 0.5, 0.1]
    labels = np.stack([np.sin(along), along**2], axis=1)
    gradients = np.stack([np.cos(along), 2.0 * along], axis=1)[:, :, None] * np.array([1.0, 0.5, 0.1])
    slopes = np.einsum("nkd,nmd->nkm", gradients, directions)
    slopes[rng.random(N) < 0.3, :, 1] = np.nan
    return rows, labels, rng.uniform(0.5, 2.0, N), slopes, directions


def solved(process: GradientKriging = PROCESS, n: int = N) -> SolvedSparsely:
    rows, labels, weight, slopes, directions = (each[:n] for each in sample())
    found = solve_process(process, rows, labels, weight, GivenSlopes(slopes, np.eye(3), directions))
    assert isinstance(found, SolvedSparsely)
    return found


def covariance(x: np.ndarray, u: np.ndarray | None, z: np.ndarray, v: np.ndarray | None) -> float:
    """Covariance of two values (None), or slopes along directions, as the formulas say."""
    length, d = PROCESS.length, x - z
    kernel = np.exp(-d @ d / (2.0 * length**2))
    if u is None and v is None:
        return float(kernel + TREND * (1.0 + x @ z / length**2))
    if u is None:
        return float(kernel * (v @ d) / length + TREND * (v @ x) / length)
    if v is None:
        return covariance(z, None, x, u)
    return float(kernel * (u @ v - (u @ d) * (v @ d) / length**2) + TREND * (u @ v))


def dense(of: SolvedSparsely, keep: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Solve the same by plain matrices, one covariance at a time, from some of the equations."""
    slopes, functions = of.slopes, of.functions
    known = [(row, None) for row in of.rows]
    known += [(of.rows[k], v) for k, v in zip(slopes.row, slopes.direction, strict=True)]
    made = [(row, None) for row in functions.rows]
    made += list(zip(functions.places, functions.slopes.direction, strict=True))
    design = np.array([[covariance(*one, *two) for two in made] for one in known])
    prior = np.array([[covariance(*one, *two) for two in made] for one in made])
    noise = np.append(PROCESS.ridge / of.sample_weight, PROCESS.slope_ridge / of.sample_weight[slopes.row])
    targets = np.concatenate([sample()[1] - of.means, PROCESS.length * slopes.slope])
    some = np.arange(len(known)) if keep is None else keep
    inverse = np.linalg.inv(prior + (design[some].T / noise[some]) @ design[some])
    smoother = inverse @ (design[some].T / noise[some])
    return {
        "design": design,
        "dual": smoother @ targets[some],
        "smoother": smoother,
        "noise": noise[some],
        "made": np.array([place for place, _ in made]),
    }


def factor_of(of: SolvedSparsely, row: np.ndarray, noise: np.ndarray, values: np.ndarray) -> float:
    """Variance factor of a smoother's row, whose first equations are the values at some rows."""
    weight, count = of.sample_weight, len(values)
    part = np.zeros(len(weight))
    part[values] = row[:count]
    part += (1.0 - row[:count].sum()) * weight / weight.sum()
    return float(part**2 @ (1.0 / weight) + row[count:] ** 2 @ (noise[count:] / PROCESS.ridge))


def test_values_gradients_and_variances_are_those_of_plain_matrices() -> None:
    of = solved()
    plain = dense(of)
    assert len(of.functions) == 9 + len(of.functions.slopes) < len(of.rows)
    queries = np.random.default_rng(1).normal(size=(5, 3))
    made = [(row, None) for row in of.functions.rows]
    made += list(zip(of.functions.places, of.functions.slopes.direction, strict=True))
    found = of.at(queries, gradients=True, variances=True)
    for q, query in enumerate(queries):
        cross = np.array([covariance(query, None, *one) for one in made])
        assert found.value[q] == pytest.approx(of.means + cross @ plain["dual"], rel=1e-6)
        expected = factor_of(of, cross @ plain["smoother"], plain["noise"], np.arange(N))
        assert found.variance_factor[q] == pytest.approx(expected, rel=1e-6)
        for a, axis in enumerate(np.eye(3)):
            slope = np.array([covariance(query, axis, *one) for one in made]) @ plain["dual"]
            assert found.gradient[q, :, a] == pytest.approx(slope / PROCESS.length, rel=1e-6, abs=1e-8)


def test_leaving_rows_out_is_fitting_without_their_equations() -> None:
    of = solved()
    alone = of.without_own(np.array([4, 33]))
    blocks = of.without_blocks(np.array([4]), [np.array([5, 40], dtype=np.int32)])
    for out, value, factor in (
        ([4], alone.value[0], alone.variance_factor[0]),
        ([33], alone.value[1], alone.variance_factor[1]),
        ([4, 5, 40], blocks[0][0], blocks[1][0]),
    ):
        values = np.setdiff1d(np.arange(N), out)
        keep = np.append(values, N + np.flatnonzero(~np.isin(of.slopes.row, out)))
        plain = dense(of, keep)
        cross = plain["design"][out[0]]
        assert value == pytest.approx(of.means + cross @ plain["dual"], rel=1e-6)
        expected = factor_of(of, cross @ plain["smoother"], plain["noise"], values)
        assert factor == pytest.approx(expected, rel=1e-5)
    labels = sample()[1]
    assert of.loo_residuals[[4, 33]] == pytest.approx(labels[[4, 33]] - alone.value, rel=1e-9)
    rows, _, weight, slopes, directions = sample()
    given = GivenSlopes(slopes, np.eye(3), directions)
    kept = SolvedSparsely(PROCESS, rows, labels, weight, given, for_residuals=True)
    assert np.array_equal(kept.loo_residuals, of.loo_residuals)
    step = 1e-5
    keep = np.append(np.delete(np.arange(N), 4), N + np.flatnonzero(of.slopes.row != 4))
    of.__dict__["_coefficients"] = dense(of, keep)["dual"]
    row = of.rows[4]
    moved = [of.at(row + e * np.eye(3)[:1]).value - of.at(row - e * np.eye(3)[:1]).value for e in (step,)]
    assert alone.gradient[0, :, 0] == pytest.approx(moved[0][0] / (2 * step), rel=1e-5, abs=1e-6)


def test_with_functions_at_all_rows_it_is_the_exact_process() -> None:
    rows, labels, weight, slopes, directions = sample()
    given = GivenSlopes(slopes, np.eye(3), directions)
    sparse = solved(GradientKriging(1.0, 1e-3, False, 2, 1e-2, N))
    exact = solve_process(GradientKriging(1.0, 1e-3, False, 2, 1e-2), rows, labels, weight, given)
    assert isinstance(exact, SolvedWithSlopes) and not isinstance(exact, SolvedSparsely)
    queries = np.random.default_rng(1).normal(size=(60, 3))
    one, other = (each.at(queries, gradients=True, variances=True) for each in (sparse, exact))
    assert one.value == pytest.approx(other.value, rel=1e-5, abs=1e-6)
    assert one.gradient == pytest.approx(other.gradient, rel=1e-4, abs=1e-5)
    assert one.variance_factor == pytest.approx(other.variance_factor, rel=1e-4)
    assert one.effective_size == pytest.approx(other.effective_size)
    assert sparse.loo_residuals == pytest.approx(exact.loo_residuals, rel=1e-3, abs=1e-5)


def test_no_bit_depends_on_how_many_queries_there_are() -> None:
    of, queries = solved(), np.random.default_rng(1).normal(size=(70, 3))
    whole, some = of.at(queries, variances=True), of.at(queries[50:53], variances=True)
    assert np.array_equal(whole.value[50:53], some.value)
    assert np.array_equal(whole.variance_factor[50:53], some.variance_factor)
