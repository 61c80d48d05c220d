"""Processes made of few functions: against dense algebra, exact processes, and fits without rows."""

import numpy as np
import pytest

from localegop._engine.few_functions import FunctionKriging, SolvedByFunctions, most_places
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess, covariances

N, PLACES = 90, 40


def problem(outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, 3))
    labels = np.column_stack([np.sin(rows[:, 0] + k) + rows[:, 1] * rows[:, 2] for k in range(outputs)])
    weight = np.where(rng.random(N) < 0.3, 3.0, 1.0)
    weight[:10] = 0.5
    return rows, labels + 0.1 * rng.normal(size=labels.shape), weight


def solved(rows, labels, weight, **changes):
    process = FunctionKriging(**{"length": 0.8, "ridge": 1e-2, "n_places": PLACES} | changes)
    return SolvedByFunctions(process, rows, labels, weight)


def by_definition(fit, labels, weight, queries, places):
    """Predictions by the normal equations of the functions themselves, and the smoother (q, n)."""
    part = weight / weight.sum()
    at_rows, at_queries = (covariances(fit.process, some, places) for some in (fit.rows, queries))
    system = (
        covariances(fit.process, places, places)
        + at_rows.T @ (at_rows * weight[:, None]) / fit.process.ridge
    )
    smoother = at_queries @ np.linalg.solve(system, (at_rows * weight[:, None]).T / fit.process.ridge)
    return labels.T @ part + smoother @ (labels - labels.T @ part), smoother


@pytest.mark.parametrize("rough", [False, True])
def test_values_gradients_and_variances_are_those_of_the_definition(rough):
    rows, labels, weight = problem(outputs=2)
    fit, queries = solved(rows, labels, weight, rough=rough), np.random.default_rng(1).normal(size=(60, 3))
    found = fit.at(queries, gradients=True, variances=True)
    expected, smoother = by_definition(fit, labels, weight, queries, fit.places)
    assert found.value == pytest.approx(expected, abs=1e-7)
    smoother += (1.0 - smoother.sum(axis=1, keepdims=True)) * weight / weight.sum()
    assert found.variance_factor == pytest.approx(np.sum(smoother**2 / weight, axis=1), rel=1e-5)
    for a in range(3):
        step = 1e-5 * np.eye(3)[a]
        slope = (fit.at(queries + step).value - fit.at(queries - step).value) / 2e-5
        assert found.gradient[:, :, a] == pytest.approx(slope, abs=1e-6)


def test_functions_at_all_rows_are_the_exact_process():
    rows, labels, weight = problem()
    fit, exact = (
        solved(rows, labels, weight, n_places=N),
        SolvedProcess(GlobalKriging(0.8, 1e-2), rows, labels, weight),
    )
    queries = np.random.default_rng(1).normal(size=(60, 3))
    ours, theirs = (one.at(queries, gradients=True, variances=True) for one in (fit, exact))
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    assert ours.gradient == pytest.approx(theirs.gradient, abs=1e-5)
    assert ours.variance_factor == pytest.approx(theirs.variance_factor, rel=1e-4)
    assert ours.effective_size == pytest.approx(theirs.effective_size)
    assert fit.loo_residuals == pytest.approx(exact.loo_residuals, abs=1e-6)
    own = np.arange(0, N, 7)
    ours, theirs = fit.without_own(own), exact.without_own(own)
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    assert ours.gradient == pytest.approx(theirs.gradient, abs=1e-5)
    assert ours.variance_factor == pytest.approx(theirs.variance_factor, rel=1e-4)


def refitted(fit, labels, weight, without, row):
    """What the same functions predict at a row once the weight of some rows is less by so much."""
    less = weight.copy()
    less[list(without)] -= list(without.values())
    kept, center = less > 0.0, labels.T @ (weight / weight.sum())
    at_rows = covariances(fit.process, fit.rows[kept], fit.places) * np.sqrt(less[kept])[:, None]
    system = covariances(fit.process, fit.places, fit.places) + at_rows.T @ at_rows / fit.process.ridge
    right = at_rows.T @ ((labels[kept] - center) * np.sqrt(less[kept])[:, None]) / fit.process.ridge
    return center + covariances(fit.process, fit.rows[[row]], fit.places) @ np.linalg.solve(system, right)


@pytest.mark.parametrize("row", [3, 20, 77])
def test_a_row_without_one_unit_of_its_weight(row):
    rows, labels, weight = problem(outputs=2)
    fit = solved(rows, labels, weight)
    found = fit.without_own(np.array([row]))
    expected = refitted(fit, labels, weight, {row: min(weight[row], 1.0)}, row)
    assert found.value == pytest.approx(expected, abs=1e-6)
    alone = labels[row] - refitted(fit, labels, weight, {row: weight[row]}, row)[0]
    assert fit.loo_residuals[row] == pytest.approx(alone, abs=1e-6)


def test_a_row_without_a_block_of_others():
    rows, labels, weight = problem()
    fit, own, block = (
        solved(rows, labels, weight),
        np.array([3, 50]),
        np.array([[7, 9], [51, 60]], dtype=np.int32),
    )
    values, factors = fit.without_blocks(own, list(block))
    for value, factor, row, others in zip(values, factors, own, block, strict=True):
        out = [row, *others]
        expected = refitted(fit, labels, weight, {k: weight[k] for k in out}, row)[0]
        assert value == pytest.approx(expected, abs=1e-6)
        assert factor > fit.at(rows[[row]], variances=True).variance_factor[0]


def test_slopes_without_a_row_are_those_of_the_prediction_without_it():
    rows, labels, weight = problem()
    weight[:] = 1.0
    fit, row = solved(rows, labels, weight), 20
    found = fit.without_own(np.array([row])).gradient[0, 0]
    assert fit.gradients_without_own()[row, 0] == pytest.approx(found, abs=1e-9)
    for a in range(3):
        ahead, behind = (
            moved_without(fit, labels, weight, row, sign * 1e-5 * np.eye(3)[a]) for sign in (1, -1)
        )
        assert found[a] == pytest.approx((ahead - behind) / 2e-5, abs=1e-5)


def moved_without(fit, labels, weight, row, step):
    """Predict beside a row, without that row."""
    kept, center = np.arange(N) != row, labels.T @ (weight / weight.sum())
    at_rows = covariances(fit.process, fit.rows[kept], fit.places)
    system = covariances(fit.process, fit.places, fit.places) + at_rows.T @ at_rows / fit.process.ridge
    right = at_rows.T @ (labels[kept] - center) / fit.process.ridge
    return (covariances(fit.process, fit.rows[[row]] + step, fit.places) @ np.linalg.solve(system, right))[
        0, 0
    ]


def test_a_smooth_function_needs_few_functions():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(1500, 2)), rng.normal(size=(200, 2))
    labels, truth = (np.sin(some[:, :1]) + 0.3 * some[:, 1:] for some in (rows, queries))
    few = solved(rows, labels, np.ones(1500), length=3.0, ridge=1e-6, n_places=60).at(queries).value
    assert np.mean((few - truth) ** 2) < 1e-6 * truth.var()


def test_repeated_and_useless_rows_leave_numbers():
    rows, labels, weight = np.zeros((30, 2)), np.arange(30.0)[:, None], np.ones(30)
    fit = solved(rows, labels, weight, n_places=20)
    found, without = fit.at(rows[:3], gradients=True, variances=True), fit.without_own(np.arange(30))
    assert np.isfinite(found.value).all() and np.isfinite(found.variance_factor).all()
    assert np.isfinite(without.value).all() and np.isfinite(without.gradient).all()
    assert np.isfinite(fit.loo_residuals).all()


def test_the_number_of_functions_falls_with_the_rows():
    assert most_places(100) == 100
    assert most_places(4000) > most_places(8000) > most_places(20_000) >= 500


def test_variance_factors_without_a_block_are_sums_of_squared_coefficients():
    """A coefficient is what the prediction changes by with a label."""
    rows, labels, weight = problem()
    own, block = np.array([3]), [np.array([7, 9], dtype=np.int32)]

    def value(given):
        return solved(rows, given, weight).without_blocks(own, block)[0][0, 0]

    here, coefficients = value(labels), []
    for k in range(len(rows)):
        moved = labels.copy()
        moved[k] += 1.0
        coefficients.append(value(moved) - here)
    _, factors = solved(rows, labels, weight).without_blocks(own, block)
    assert factors[0] == pytest.approx(np.sum(np.square(coefficients) / weight), rel=1e-5)
