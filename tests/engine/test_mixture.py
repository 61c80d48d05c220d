"""Means of processes of all rows, against the processes one by one."""

from dataclasses import replace

import numpy as np
import pytest
from tests.engine.test_global_kriging import queries, sample

from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.local_data import LocalData
from localegop._engine.mixture import Mixture, Part
from localegop.kernels import as_kernel

SHARES = (0.6, 0.4)
PROCESSES = (GlobalKriging(1.5, 1e-2), GlobalKriging(3.0, 1e-1, rough=True))
FRAMES = (np.eye(3), np.array([[0.5, 1.0], [-1.0, 0.2], [0.3, 0.4]]))
PARTS = Part(0.6, PROCESSES[0]), Part.in_axes(0.4, PROCESSES[1], FRAMES[1])
MIXED = Mixture.of(*PARTS)
ROWS, LABELS, WEIGHT = sample()


def data_of(rows=ROWS, labels=LABELS, weight=WEIGHT):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(rows, labels, weight, **options)


def solved(labels=LABELS, rows=ROWS, weight=WEIGHT):
    return data_of(rows, labels, weight).solved(MIXED)


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


def test_variance_factors_are_sums_of_squared_coefficients_at_most():
    """A coefficient is what the prediction changes by with a label; parts err alike, or nearly."""
    asked = queries(7)
    found = solved().at(asked, variances=True)
    changes = []
    for k in range(len(ROWS)):
        moved = LABELS.copy()
        moved[k] += 1.0
        changes.append(solved(moved).at(asked).value[:, 0] - found.value[:, 0])
    exact = np.sum(np.array(changes) ** 2 / WEIGHT[:, None], axis=0)
    assert (found.variance_factor > exact * (1.0 - 1e-9)).all()
    assert np.median(found.variance_factor / exact) < 1.6


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


def test_parts_in_the_axes_of_the_fit_are_solved_once_and_count_alike():
    mixed = Mixture.equal(*PROCESSES)
    data = data_of()
    found = data.solved(mixed)
    assert mixed.in_one_metric and found.solved == data.solve_all(list(PROCESSES))
    both = [SolvedProcess(one, ROWS, LABELS, WEIGHT).at(queries()).value for one in PROCESSES]
    assert found.at(queries()).value == pytest.approx(np.mean(both, axis=0), rel=1e-9)
    assert (mixed.length, mixed.ridge, mixed.rough) == (1.5, 1e-2, False)


def test_changed_processes_make_a_mean_again_unless_their_axes_are_those_of_all_rows():
    def longer(process):
        return replace(process, length=2.0 * process.length)

    changed = Mixture.equal(*PROCESSES).changed(longer)
    assert [part.process.length for part in changed.parts] == [3.0, 6.0]
    assert MIXED.changed(longer) == longer(PROCESSES[0])
