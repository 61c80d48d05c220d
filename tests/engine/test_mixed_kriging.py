"""Means of processes of all rows, against the processes one by one."""

import numpy as np
import pytest
from tests.engine.test_global_kriging import queries, sample

from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.mixed_kriging import MixedKriging, Part
from localegop._engine.sparse_kriging import solve_process

SHARES = (0.6, 0.4)
PROCESSES = (GlobalKriging(1.5, 1e-2), GlobalKriging(3.0, 1e-1, rough=True))
FRAMES = (np.eye(3), np.array([[0.5, 1.0], [-1.0, 0.2], [0.3, 0.4]]))
PARTS = tuple(Part.in_axes(*each) for each in zip(SHARES, PROCESSES, FRAMES, strict=True))
MIXED = MixedKriging.of(PARTS)
ROWS, LABELS, WEIGHT = sample()


def solved(labels=LABELS, rows=ROWS, weight=WEIGHT):
    return solve_process(MIXED, rows, labels, weight, None)


def mean_of(tell):
    """Mean of what a function tells of each process and its axes."""
    return sum(
        share * tell(SolvedProcess(one, ROWS @ frame, LABELS, WEIGHT), frame)
        for share, one, frame in zip(SHARES, PROCESSES, FRAMES, strict=True)
    )


def test_values_and_gradients_are_means():
    asked = queries()
    found = solved().at(asked, gradients=True, variances=True)
    assert found.value == pytest.approx(mean_of(lambda one, frame: one.at(asked @ frame).value), rel=1e-9)
    for k, move in enumerate(1e-5 * np.eye(3)):
        difference = (solved().at(asked + move).value - solved().at(asked - move).value) / 2e-5
        assert found.gradient[:, :, k] == pytest.approx(difference, rel=1e-4, abs=1e-6)
    sizes = mean_of(lambda one, frame: one.at(asked @ frame).effective_size)
    assert found.effective_size == pytest.approx(sizes, rel=1e-9)


def test_variance_factors_are_sums_of_squared_coefficients():
    """A coefficient is what the prediction changes by with a label."""
    asked = queries(7)
    found = solved().at(asked, variances=True)
    changes = []
    for k in range(len(ROWS)):
        moved = LABELS.copy()
        moved[k] += 1.0
        changes.append(solved(moved).at(asked).value[:, 0] - found.value[:, 0])
    expected = np.sum(np.array(changes) ** 2 / WEIGHT[:, None], axis=0)
    assert found.variance_factor == pytest.approx(expected, rel=1e-6)


def test_without_a_row_or_a_block_it_is_the_mean_of_processes_without_it():
    own = np.array([3, 50])
    one, many = solved().without_own(own), solved()
    assert one.value == pytest.approx(mean_of(lambda each, _: each.without_own(own).value), rel=1e-9)
    turned = mean_of(lambda each, frame: each.without_own(own).gradient @ frame.T)
    assert one.gradient == pytest.approx(turned, rel=1e-9)
    assert many.loo_residuals == pytest.approx(mean_of(lambda each, _: each.loo_residuals), rel=1e-9)
    blocks = [np.array([7, 8, 9], dtype=np.int32), np.array([20], dtype=np.int32)]
    value, factor = many.without_blocks(own, blocks)
    assert value == pytest.approx(mean_of(lambda each, _: each.without_blocks(own, blocks)[0]), rel=1e-9)
    assert (factor > 0.0).all()


def test_one_part_in_the_axes_of_the_fit_is_the_process():
    alone = MixedKriging.of((Part.in_axes(1.0, PROCESSES[1], np.eye(3)),))
    found = solve_process(alone, ROWS, LABELS, WEIGHT, None)
    plain, asked = SolvedProcess(PROCESSES[1], ROWS, LABELS, WEIGHT), queries()
    np.testing.assert_array_equal(found.at(asked).value, plain.at(asked).value)
    own = np.arange(len(ROWS))
    np.testing.assert_array_equal(
        found.without_own(own).variance_factor, plain.without_own(own).variance_factor
    )
    assert (alone.length, alone.ridge, alone.rough) == (3.0, 1e-1, True) and alone.leading == PROCESSES[1]
