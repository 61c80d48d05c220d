"""What must hold for any numbers, tried with many: `make test-all` tries ten times as many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localegop._data.rows import merge_rows
from localegop._engine.centers import Widths
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess, covariances
from localegop._engine.local_data import LocalData
from localegop._engine.mixture import Mixture, Part, SolvedMixture
from localegop._predict.uncertainty import Calibration
from localegop._selection.race import choose_best, differences, expected_errors
from localegop.kernels import as_kernel

SEEDS = st.integers(0, 2**32 - 1)
LENGTHS, RIDGES = st.floats(0.2, 20.0), st.floats(1e-4, 10.0)


@given(seed=SEEDS, n=st.integers(2, 30), features=st.integers(1, 4))
def test_merged_rows_keep_all_weight_in_any_order(seed, n, features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, features)).astype(float)
    y, weight = rng.integers(0, 2, (n, 1)).astype(float), rng.uniform(0.1, 3.0, n)
    found, order = merge_rows(X, y, weight), rng.permutation(n)
    again = merge_rows(X[order], y[order], weight[order])
    assert np.array_equal(found.X, again.X) and np.array_equal(found.y, again.y)
    assert found.sample_weight == pytest.approx(again.sample_weight)
    assert found.sample_weight.sum() == pytest.approx(weight.sum())
    assert np.array_equal(found.X[found.position], X) and np.array_equal(found.y[found.position], y)
    parts = np.bincount(found.position, found.sample_weight[found.position] * found.part)
    assert parts == pytest.approx(found.sample_weight)


@given(seed=SEEDS, features=st.integers(1, 3), size=st.floats(8.0, 20.0))
def test_linear_fits_follow_lines_exactly(seed, features, size):
    rng = np.random.default_rng(seed)
    rows, slope = rng.normal(size=(40, features)), rng.normal(size=features)
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    data = LocalData(rows, (2.0 + rows @ slope)[:, None], rng.uniform(0.5, 2.0, 40), **options)
    queries = rng.normal(size=(5, features))
    shapes = np.broadcast_to(np.eye(features) / features, (5, features, features)).copy()
    fits = data.localize(
        data.centers(queries), shapes, Widths.of_sizes((size,), 5), degree=1, ridges=(0.0,), gradients=True
    )
    scale = 1.0 + np.abs(slope).sum()
    assert fits.value.reshape(5) == pytest.approx(2.0 + queries @ slope, rel=1e-6, abs=1e-6 * scale)
    assert fits.gradient.reshape(5, features) == pytest.approx(np.tile(slope, (5, 1)), abs=1e-5 * scale)


def tiny(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 1)), rng.uniform(0.2, 3.0, 12)


@given(seed=SEEDS, length=LENGTHS, ridge=RIDGES, rough=st.booleans(), k=st.integers(0, 11))
def test_a_row_left_out_has_no_say(seed, length, ridge, rough, k):
    """Its residual is that of a process of the others (the mean of the labels stays that of all)."""
    rows, labels, weight = tiny(seed)
    process = GlobalKriging(length, ridge, rough)
    solved = SolvedProcess(process, rows, labels, weight)
    system = covariances(process, rows, rows) + np.diag(ridge / weight)
    others = np.delete(np.arange(12), k)
    dual = np.linalg.solve(system[np.ix_(others, others)], (labels - solved.means)[others])
    expected = labels[k] - solved.means - system[k, others] @ dual
    assert solved.loo_residuals[k] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@given(seed=SEEDS, share=st.floats(0.05, 0.95), lengths=st.tuples(LENGTHS, LENGTHS), ridge=RIDGES)
def test_a_mean_of_processes_lies_between_them(seed, share, lengths, ridge):
    rows, labels, weight = tiny(seed)
    processes = [GlobalKriging(length, ridge) for length in lengths]
    shares = (share, 1.0 - share)
    parts = tuple(Part.in_axes(*each, np.eye(2)) for each in zip(shares, processes, strict=True))
    solved = [SolvedProcess(one, rows, labels, weight) for one in processes]
    mixed = SolvedMixture(Mixture.of(*parts), rows, solved).without_own(np.arange(12))
    each = [one.without_own(np.arange(12)) for one in solved]
    low, high = (limit(each[0].value, each[1].value) for limit in (np.minimum, np.maximum))
    assert (mixed.value >= low - 1e-9).all() and (mixed.value <= high + 1e-9).all()
    largest = np.maximum(each[0].variance_factor, each[1].variance_factor)
    assert (mixed.variance_factor <= largest * (1.0 + 1e-9)).all()  # squares are convex


@given(seed=SEEDS, points=st.integers(3, 40), count=st.integers(1, 6), unit=st.floats(1e-6, 1e6))
def test_what_is_expected_of_choices_follows_units_and_order(seed, points, count, unit):
    rng = np.random.default_rng(seed)
    errors, weight = rng.exponential(size=(points, count)), rng.uniform(0.1, 2.0, points)
    variances, is_process = rng.uniform(0.0, 1.0, count), rng.random(count) < 0.5
    found = expected_errors(errors, weight, variances, is_process)
    assert (found >= 0.0).all()
    assert expected_errors(unit * errors, weight, variances, is_process) == pytest.approx(unit * found)
    order = rng.permutation(count)
    again = expected_errors(errors[:, order], weight, variances[order], is_process[order])
    assert again == pytest.approx(found[order])
    kept = choose_best(found, errors, weight, [int] * count, 3, 0)
    assert int(np.argmin(found)) in kept and 1 <= len(kept) <= 3


@given(seed=SEEDS, points=st.integers(2, 20), times=st.integers(2, 5))
def test_weights_are_counts_in_means_of_differences(seed, points, times):
    errors = np.random.default_rng(seed).exponential(size=(points, 2))
    seen, _ = differences(np.repeat(errors, times, axis=0), np.ones(points * times), 0)
    assert seen == pytest.approx(differences(errors, np.full(points, float(times)), 0)[0])


@given(seed=SEEDS, rows=st.integers(1, 60), blocks=st.integers(0, 30), factor=st.floats(1.0, 5.0))
def test_intervals_of_more_coverage_are_wider(seed, rows, blocks, factor):
    rng = np.random.default_rng(seed)
    calibration = Calibration.from_scores(
        *(rng.exponential(size=(rows, 1)), rng.uniform(0.1, 2.0, rows)),
        *(rng.exponential(size=(blocks, 1)), rng.uniform(0.0, 1.0, (blocks, 1))),
    )
    coverage = np.array([0.1, 0.5, 0.8, 0.95])
    found = calibration.multipliers(coverage)
    finite = np.where(np.isinf(found), 1e300, found)
    assert (np.diff(finite, axis=1) >= 0.0).all() and (found >= 0.0).all()
    wide = calibration.widen(factor).multipliers(coverage)[:2]
    assert wide == pytest.approx(factor * found[:2], nan_ok=True)
