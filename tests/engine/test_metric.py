"""Metric operations, on single matrices and on stacks."""

import numpy as np
import pytest

from localegop._engine import metric as mt

RNG = np.random.default_rng(0)
ROOTS = RNG.normal(size=(4, 3, 3))
STACK = ROOTS @ np.swapaxes(ROOTS, 1, 2)


def test_momentum():
    assert mt.momentum_average(STACK, None, 0.5).tolist() == STACK.tolist()
    mixed = mt.momentum_average(STACK, 2 * STACK, 0.25)
    assert mixed == pytest.approx(1.75 * STACK)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_trace_is_normalized_at_any_size(size):
    normalized = mt.normalize_trace(size * STACK / STACK.max(), bandwidth=0.5)
    assert np.trace(normalized, axis1=1, axis2=2) == pytest.approx(np.full(4, 2.0))
    if size > 1e-300:
        assert normalized == pytest.approx(mt.normalize_trace(STACK, 0.5))


def test_zero_metric_becomes_isotropic():
    both = mt.normalize_trace(np.stack([np.zeros((2, 2)), np.diag([3.0, 1.0])]))
    assert both.tolist() == [[[0.5, 0.0], [0.0, 0.5]], [[0.75, 0.0], [0.0, 0.25]]]


def test_cap_limits_the_covariance_and_nothing_else():
    capped = mt.cap_covariance(STACK, 0.8)
    before, after = np.linalg.eigvalsh(STACK), np.linalg.eigvalsh(capped)
    assert after == pytest.approx(np.maximum(before, 1 / 0.8))
    assert np.linalg.eigvalsh(mt.covariance(capped)).max() <= 0.8 * (1 + 1e-9)
    assert mt.cap_covariance(STACK, None).tolist() == STACK.tolist()


def test_factor_and_spectrum_rebuild_the_metric():
    root = mt.factor(STACK)
    assert np.swapaxes(root, 1, 2) @ root == pytest.approx(STACK)
    values, vectors = mt.spectrum(STACK)
    assert np.all(np.diff(values, axis=1) <= 0)
    assert vectors @ (values[..., None] * np.swapaxes(vectors, 1, 2)) == pytest.approx(STACK)
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)


def test_covariance_is_the_inverse_and_refuses_singular():
    assert mt.covariance(STACK) @ STACK == pytest.approx(np.broadcast_to(np.eye(3), (4, 3, 3)))
    with pytest.raises(ValueError, match="metric is singular"):
        mt.covariance(np.diag([1.0, 0.0]))


def test_participation_ratio_counts_directions():
    assert mt.participation_ratio(np.diag([1.0, 1.0, 1.0, 0.0])) == pytest.approx(3.0)
    assert mt.participation_ratio(1e-200 * np.diag([5.0, 0.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mt.normalize_trace(np.ones((2, 3))), "square matrix"),
        (lambda: mt.normalize_trace(np.eye(2), bandwidth=-1.0), "bandwidth must be positive"),
        (lambda: mt.cap_covariance(np.eye(2), -1.0), "cap must be positive"),
        (lambda: mt.momentum_average(np.eye(2), None, 0.0), r"momentum must lie in \(0, 1\]"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
