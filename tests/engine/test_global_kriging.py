"""Gaussian processes of all rows, against plain linear algebra with all rows in sight."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from localegop._engine import global_kriging
from localegop._engine.centers import Widths
from localegop._engine.choice import Choice
from localegop._engine.final_fits import GlobalFit
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.local_data import LocalData
from localegop._engine.sparse_kriging import solve_process
from localegop.kernels import as_kernel

N, DIMENSION = 120, 3
PROCESSES = [
    GlobalKriging(1.5, 1e-3),
    GlobalKriging(0.7, 1e-1),
    GlobalKriging(4.0, 1e-2, rough=True),
    GlobalKriging(30.0, 1e-5),
    JaggedKriging(1.4, 1e-2, jagged=0.6, inverse_lengths=(0.5, 2.0, 0.0)),
]
BY_NAME = pytest.mark.parametrize("process", PROCESSES, ids=str)


def sample(n=N, seed=0):
    """Rows, labels of two outputs, and weights, some of them of repeated rows."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, DIMENSION))
    labels = np.column_stack([np.sin(rows[:, 0]) + rows[:, 1] ** 2, 3.0 + rows[:, 2]])
    labels += 0.1 * rng.normal(size=labels.shape)
    return rows, labels, rng.choice([0.5, 1.0, 1.5, 2.0, 4.0], n)


def covariances(process, some, rows):
    """Covariances (m, n) of f between some points and rows."""
    squared = ((some[:, None] - rows) ** 2).sum(axis=2)
    length = process.length
    near = np.exp(-np.sqrt(squared) / length) if process.rough else np.exp(-squared / (2 * length**2))
    if isinstance(process, JaggedKriging):
        blocks = np.abs(some[:, None] - rows) @ np.array(process.inverse_lengths) / length
        near = near + process.jagged * np.exp(-blocks)
    return near + 10.0 * (1.0 + some @ rows.T / length**2)


def coefficients(process, some, rows, weight):
    """Coefficients (m, n) of labels, less their mean, in predictions."""
    system = covariances(process, rows, rows) + np.diag(process.ridge / weight)
    return np.linalg.solve(system, covariances(process, some, rows).T).T


def plain(process, some, rows, labels, weight, mean):
    """Values (m, K) and variance factors (m,), for a mean of the labels as given."""
    smoother = coefficients(process, some, rows, weight)
    value = mean + smoother @ (labels - mean)
    whole = smoother + (1.0 - smoother.sum(axis=1, keepdims=True)) * weight / weight.sum()
    return value, np.sum(whole**2 / weight, axis=1)


def solve(process, rows, labels, weight):
    return solve_process(process, rows, labels, weight, None)


def queries(count=40):
    return np.random.default_rng(1).normal(scale=1.2, size=(count, DIMENSION))


@BY_NAME
def test_values_and_variances_are_those_of_plain_linear_algebra(process):
    rows, labels, weight = sample()
    found = solve(process, rows, labels, weight).at(queries(), variances=True)
    mean = np.average(labels, axis=0, weights=weight)
    value, factor = plain(process, queries(), rows, labels, weight, mean)
    np.testing.assert_allclose(found.value, value, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.variance_factor, factor, rtol=1e-6)
    assert found.gradient.shape == (40, 2, 0)


@BY_NAME
def test_gradients_are_those_of_the_values(process):
    rows, labels, weight = sample()
    solved = solve(process, rows, labels, weight)
    jagged = isinstance(process, JaggedKriging)  # which bends at the value of every row, but hardly so near
    found, step = (
        solved.at(queries(), gradients=True),
        (1e-7 if jagged else 1e-5) * max(process.length, 1.0),
    )
    for a, move in enumerate(step * np.eye(DIMENSION)):
        ahead, behind = (solved.at(queries() + sign * move).value for sign in (1.0, -1.0))
        np.testing.assert_allclose(
            found.gradient[:, :, a], (ahead - behind) / (2 * step), rtol=1e-4, atol=2e-5
        )


@BY_NAME
def test_each_row_can_be_left_out(process):
    """One unit of weight is taken away: all of it, or what is left is that of the other repeats."""
    rows, labels, weight = sample()
    solved, mean = solve(process, rows, labels, weight), np.average(labels, axis=0, weights=weight)
    own = np.array([3, 50, 7, *np.flatnonzero(weight > 1.0)[:6], *np.flatnonzero(weight < 1.0)[:2]])
    found = solved.without_own(own)
    for k, i in enumerate(own):
        rest = weight.copy()
        rest[i] = max(weight[i] - 1.0, 0.0)
        kept = rest > 0.0
        given = rows[kept], labels[kept], rest[kept]
        value, _ = plain(process, rows[i : i + 1], *given, mean)
        np.testing.assert_allclose(found.value[k], value[0], rtol=1e-7, atol=1e-7)
        smoother = coefficients(process, rows[i : i + 1], rows[kept], rest[kept])[0]
        # the mean of the labels is that of all rows
        lacking = (1.0 - smoother.sum()) * weight / weight.sum()
        whole = lacking.copy()
        whole[kept] += smoother
        factor = np.sum(whole[kept] ** 2 / rest[kept]) + np.sum(whole[~kept] ** 2 / weight[~kept])
        assert found.variance_factor[k] == pytest.approx(factor, rel=1e-4)
        step = 1e-5 * max(process.length, 1.0)
        for a, move in enumerate(step * np.eye(DIMENSION)):
            if process.rough or isinstance(
                process, JaggedKriging
            ):  # there is a cusp at every row that is left
                continue
            ahead, behind = (
                plain(process, rows[i : i + 1] + sign * move, *given, mean)[0] for sign in (1.0, -1.0)
            )
            slope = (ahead - behind)[0] / (2 * step)
            np.testing.assert_allclose(found.gradient[k, :, a], slope, rtol=1e-4, atol=2e-5)


def test_rough_slopes_without_a_row_are_those_of_the_others():
    rows, labels, _ = sample()
    process, ones = GlobalKriging(4.0, 1e-2, rough=True), np.ones(N)
    found, mean = solve(process, rows, labels, ones).without_own(np.arange(5)), labels.mean(axis=0)
    for i in range(5):
        rest = np.delete(np.arange(N), i)
        slopes = [
            (
                plain(process, rows[i : i + 1] + move, rows[rest], labels[rest], ones[rest], mean)[0]
                - plain(process, rows[i : i + 1] - move, rows[rest], labels[rest], ones[rest], mean)[0]
            )[0]
            / 2e-5
            for move in 1e-5 * np.eye(DIMENSION)
        ]
        np.testing.assert_allclose(found.gradient[i], np.transpose(slopes), rtol=1e-4, atol=1e-5)


def test_leave_one_out_residuals_are_those_without_the_rows():
    rows, labels, _ = sample()
    solved = solve(PROCESSES[0], rows, labels, np.ones(N))
    expected = labels - solved.without_own(np.arange(N)).value
    np.testing.assert_allclose(solved.loo_residuals, expected, rtol=1e-7, atol=1e-8)


def test_a_weight_is_worth_as_many_rows():
    rows, labels, _ = sample(60)
    twice = np.repeat(rows, 2, axis=0), np.repeat(labels, 2, axis=0), np.ones(120)
    process = GlobalKriging(1.5, 1e-2)
    weighted, repeated = (
        solve(process, rows, labels, np.full(60, 2.0)),
        solve(process, *twice),
    )
    for ours, theirs in zip(
        vars(weighted.at(queries(), gradients=True, variances=True)).values(),
        vars(repeated.at(queries(), gradients=True, variances=True)).values(),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
    ours, theirs = weighted.without_own(np.arange(60)), repeated.without_own(np.arange(0, 120, 2))
    for name in ("value", "gradient", "variance_factor", "effective_size"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-7)


@BY_NAME
def test_no_bit_depends_on_other_queries(process):
    """Blocks have the same size always, so that BLAS has no reason to round otherwise."""
    rows, labels, weight = sample(203)
    solved, asked = solve(process, rows, labels, weight), queries(150)
    whole = vars(solved.at(asked, gradients=True, variances=True))
    order = np.random.default_rng(2).permutation(150)
    shuffled = vars(solved.at(asked[order], gradients=True, variances=True))
    for name, found in whole.items():
        np.testing.assert_array_equal(shuffled[name], found[order], err_msg=name)
    for start, stop in ((0, 1), (17, 18), (60, 70), (3, 150), (149, 150)):
        part = vars(solved.at(asked[start:stop], gradients=True, variances=True))
        for name, found in whole.items():
            np.testing.assert_array_equal(part[name], found[start:stop], err_msg=name)


def test_no_bit_depends_on_when_or_where_a_process_is_solved():
    rows, labels, weight = sample(203)
    solved = [solve(PROCESSES[0], rows.copy(), labels, weight) for _ in range(2)]
    solved[1].at(queries(3), variances=True)
    solved[1].without_own(np.arange(7))
    first, second = (vars(each.at(queries(), gradients=True, variances=True)) for each in solved)
    for name, found in first.items():
        np.testing.assert_array_equal(second[name], found, err_msg=name)


def at_once(*tasks):
    """Do tasks in threads that begin together; their results."""
    together, found = threading.Barrier(len(tasks)), [None] * len(tasks)

    def run(k):
        together.wait(10.0)
        found[k] = tasks[k]()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(tasks))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found


def test_threads_may_ask_at_the_same_time():
    data, process = local_data(), GlobalKriging(1.5, 1e-2)
    expected = solve(process, data.rows, data.labels, data.sample_weight).at(queries(), variances=True)
    found = at_once(*[lambda: data.solved(process).at(queries(), variances=True)] * 4)
    for one in found:
        np.testing.assert_array_equal(one.value, expected.value)
        np.testing.assert_array_equal(one.variance_factor, expected.variance_factor)


def test_two_threads_may_invert_at_the_same_time(monkeypatch):
    """From Python 3.12 on cached properties have no lock: both threads are in the middle of it here."""
    invert, inside = global_kriging.invert, threading.Barrier(2)

    def meet_and_invert(whole):
        inside.wait(10.0)
        invert(whole)

    process, data = PROCESSES[0], local_data()
    expected = solve(process, data.rows, data.labels, data.sample_weight).inverse
    monkeypatch.setattr(global_kriging, "invert", meet_and_invert)
    solved = solve(process, data.rows, data.labels, data.sample_weight)
    make = vars(SolvedProcess)["inverse"].func
    for found in at_once(lambda: make(solved), lambda: make(solved)):
        np.testing.assert_array_equal(found, expected)


def test_a_factor_that_another_thread_holds_is_never_overwritten():
    data = local_data()
    solved = solve(PROCESSES[0], data.rows, data.labels, data.sample_weight)
    held = solved._factor
    before = held.copy()
    assert solved.inverse.shape == held.shape
    np.testing.assert_array_equal(held, before)


@pytest.mark.parametrize(("ridge", "gap"), [(1e-15, 0.2), (1e-9, 1e-3)])
@pytest.mark.parametrize("rough", [False, True])
def test_systems_that_are_nearly_singular_are_solved(rough, ridge, gap):
    """A smooth function, rows in pairs 1e-9 apart, and hardly any noise: far beyond double precision."""
    rng = np.random.default_rng(3)
    rows = np.repeat(rng.uniform(size=(100, 2)), 2, axis=0)
    rows[1::2] += 1e-9
    labels = np.sin(rows.sum(axis=1))[:, None]
    solved = SolvedProcess(GlobalKriging(1.0, ridge, rough), rows, labels, np.ones(200))
    found = solved.at(rows, gradients=True, variances=True)
    assert found.value == pytest.approx(labels, abs=gap)
    without = solved.without_own(np.arange(200))
    for fits in (found, without):
        for name, each in vars(fits).items():
            assert np.isfinite(each).all(), name
    assert (found.variance_factor >= 0.0).all() and without.value == pytest.approx(labels, abs=gap)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2])
@pytest.mark.parametrize("rough", [False, True])
def test_two_labels_at_one_place_are_averaged(rough, ridge):
    rows, labels, _ = sample(60)
    both = np.vstack([rows, rows]), np.vstack([labels - 1.0, labels + 1.0]), np.ones(120)
    solved = SolvedProcess(GlobalKriging(1.5, ridge, rough), *both)
    single = SolvedProcess(GlobalKriging(1.5, ridge, rough), rows, labels, np.full(60, 2.0))
    some = np.vstack([rows[:10], queries(10)])
    ours, theirs = (each.at(some, gradients=True, variances=True) for each in (solved, single))
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.variance_factor, theirs.variance_factor, rtol=1e-3)
    left = solved.without_own(np.arange(60))  # what is left at the place is the other label
    if ridge < 1e-5:
        assert left.value == pytest.approx(labels + 1.0, abs=0.1)
    assert np.isfinite(left.gradient).all() and np.isfinite(left.variance_factor).all()


def test_several_outputs_are_each_as_if_alone():
    rows, labels, weight = sample()
    both = solve(PROCESSES[0], rows, labels, weight)
    for k in range(2):
        alone = solve(PROCESSES[0], rows, labels[:, [k]], weight)
        found, expected = both.at(queries(), gradients=True), alone.at(queries(), gradients=True)
        np.testing.assert_allclose(found.value[:, [k]], expected.value, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.gradient[:, [k]], expected.gradient, rtol=1e-8, atol=1e-8)
        own = np.arange(0, N, 7)
        np.testing.assert_allclose(
            both.without_own(own).gradient[:, [k]], alone.without_own(own).gradient, rtol=1e-8, atol=1e-8
        )


def test_labels_move_and_grow_with_their_units():
    rows, labels, weight = sample()
    one, other = (solve(PROCESSES[0], rows, each, weight) for each in (labels, 1e3 * labels - 7.0))
    np.testing.assert_allclose(
        other.at(queries()).value, 1e3 * one.at(queries()).value - 7.0, rtol=1e-8, atol=1e-6
    )


@BY_NAME
def test_covariances_of_rows_are_a_lower_triangle(process):
    rows, _, _ = sample(40)
    expected = np.tril(covariances(process, rows, rows))
    np.testing.assert_allclose(process.lower_covariances(rows), expected, rtol=1e-12, atol=1e-13)


@BY_NAME
@pytest.mark.parametrize("strip", [1, 7, 10_000])
def test_gradients_without_own_are_those_of_the_fits(monkeypatch, process, strip):
    monkeypatch.setattr(global_kriging, "STRIP", strip)
    rows, labels, weight = sample(40)
    solved = solve(process, rows, labels, weight)
    expected = solved.without_own(np.arange(40)).gradient
    np.testing.assert_allclose(solved.gradients_without_own(), expected, rtol=1e-9, atol=1e-9)


def test_nothing_is_asked_of_no_queries():
    rows, labels, weight = sample()
    solved = solve(PROCESSES[0], rows, labels, weight)
    for found in (solved.at(np.zeros((0, DIMENSION))), solved.without_own(np.zeros(0, dtype=np.int64))):
        assert found.value.shape == (0, 2) and len(found.variance_factor) == 0


def test_effective_sizes_count_rows_that_are_near():
    rows = np.vstack([np.zeros((5, 2)) + 1e-3 * np.arange(5)[:, None], np.full((20, 2), 100.0)])
    solved = SolvedProcess(GlobalKriging(1.0, 1e-2), rows, rows[:, :1], np.ones(25))
    found = solved.at(np.array([[0.0, 0.0], [1e6, 1e6]]))
    assert found.effective_size[0] == pytest.approx(5.0, rel=1e-3)
    assert found.effective_size[1] == 1.0  # so far from all rows that nothing is near


def local_data(threads=1):
    rows, labels, weight = sample()
    return LocalData(
        rows,
        labels,
        weight,
        kernel=as_kernel("gaussian"),
        max_neighbors=None,
        radius=None,
        threads=threads,
    )


def test_data_solve_a_process_once():
    data = local_data()
    solved = data.solved(PROCESSES[0])
    assert (
        data.solved(replace(PROCESSES[0])) is solved and data.with_threads(2).solved(PROCESSES[0]) is solved
    )
    assert data.solved(PROCESSES[1]) is not solved


def test_neighborhoods_of_a_choice_have_the_width_of_its_covariance():
    """Weights of a Gaussian kernel in them are the correlations of f."""
    data = local_data()
    for process in PROCESSES[:2]:
        choice = Choice(0, None, process)
        shape = np.tile(np.eye(DIMENSION) / DIMENSION, (40, 1, 1))
        widths = choice.widths(None, 40, data)
        fit = choice.fit_with(data)
        assert isinstance(fit, GlobalFit) and (fit.degree, fit.ridge) == (1, process.ridge)
        found = fit.fit(data, data.centers(queries()), shape, widths)
        hoods = data.localize(data.centers(queries()), shape, widths, keep=True)
        assert found.effective_size == pytest.approx(hoods.effective_size[:, 0], rel=1e-3)
        indices, weights = hoods.neighborhoods.neighbors(0)
        squared = np.sum((data.rows[indices] - queries()[0]) ** 2, axis=1)
        near = data.sample_weight[indices] * np.exp(-squared / (2 * process.length**2))
        assert weights == pytest.approx(near / near.sum(), rel=1e-4)


def test_only_rows_far_from_the_others_have_much_leverage():
    data = local_data()
    fit, some = Choice(0, None, PROCESSES[0]).fit_with(data), np.vstack([np.zeros(3), np.full(3, 40.0)])
    shape, widths = np.tile(np.eye(3) / 3, (2, 1, 1)), Widths.of_scale(1.0, 2)
    centers = data.centers(some)
    inside, outside = fit.leverage(data, centers, shape, fit.fit(data, centers, shape, widths))
    assert inside < 0.2 and outside > 1.0
