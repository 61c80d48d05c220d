"""Metric operations, on single matrices and on stacks."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine import metric as mt
from localegop._engine import recursion
from localegop.datasets import make_helix

RNG = np.random.default_rng(0)
ROOTS = RNG.normal(size=(4, 3, 3))
STACK = ROOTS @ np.swapaxes(ROOTS, 1, 2)


def test_momentum():
    assert mt.momentum_average(STACK, None, 0.5).tolist() == STACK.tolist()
    mixed = mt.momentum_average(STACK, 2 * STACK, 0.25)
    assert mixed == pytest.approx(1.75 * STACK)


@pytest.mark.parametrize("strategy", ["field", "query"])
def test_a_fit_mixes_its_metrics_by_this_function(monkeypatch, strategy):
    X, y = make_helix(420, 5, random_state=0)
    model = LocalEGOPRegressor(strategy, n_iter=3, n_subsamples=30, initial_metric="variance", degree=1)
    model.set_params(ridge=1e-4)

    def third_metrics():
        return model.fit(X[:400], y[:400]).localize(X[400:], trace=True).trace.metric[2]

    before = third_metrics()
    monkeypatch.setattr(
        recursion, "momentum_average", lambda newest, other, m: mt.momentum_average(newest, None, m)
    )
    after = third_metrics()
    assert not np.allclose(after, before, rtol=1e-3)
    monkeypatch.undo()
    model.set_params(momentum=1.0)  # nothing but the newest
    np.testing.assert_allclose(after, third_metrics(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_trace_is_one_at_any_size(size):
    normalized = mt.unit_trace(size * STACK / STACK.max())
    assert np.trace(normalized, axis1=1, axis2=2) == pytest.approx(np.ones(4))
    if size > 1e-300:
        assert normalized == pytest.approx(mt.unit_trace(STACK))


def test_shapes_do_not_depend_on_their_number():
    together = mt.unit_trace(STACK)
    assert all(np.array_equal(mt.unit_trace(STACK[i]), together[i]) for i in range(4))


def test_zero_metric_becomes_isotropic():
    both = mt.unit_trace(np.stack([np.zeros((2, 2)), np.diag([3.0, 1.0])]))
    assert both.tolist() == [[[0.5, 0.0], [0.0, 0.5]], [[0.75, 0.0], [0.0, 0.25]]]


def test_cap_limits_the_covariance_and_nothing_else():
    capped = mt.cap_covariance(STACK, 0.8)
    before, after = np.linalg.eigvalsh(STACK), np.linalg.eigvalsh(capped)
    assert after == pytest.approx(np.maximum(before, 1 / 0.8))
    assert np.linalg.eigvalsh(np.linalg.inv(capped)).max() <= 0.8 * (1 + 1e-9)
    assert mt.cap_covariance(STACK, None).tolist() == STACK.tolist()


def test_factor_and_spectrum_rebuild_the_metric():
    root = mt.factor(STACK)
    assert np.swapaxes(root, 1, 2) @ root == pytest.approx(STACK)
    values, vectors = mt.spectrum(STACK)
    assert np.all(np.diff(values, axis=1) <= 0)
    assert vectors @ (values[..., None] * np.swapaxes(vectors, 1, 2)) == pytest.approx(STACK)
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)


def test_participation_ratio_counts_directions():
    assert mt.participation_ratio(np.diag([1.0, 1.0, 1.0, 0.0])) == pytest.approx(3.0)
    assert mt.participation_ratio(1e-200 * np.diag([5.0, 0.0])) == pytest.approx(1.0)
    assert mt.participation_ratio(1e-310 * np.diag([1.0, 1.0, 0.0])) == pytest.approx(2.0)
    assert mt.participation_ratio(np.zeros((3, 3))) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mt.unit_trace(np.ones((2, 3))), "square matrix"),
        (lambda: mt.cap_covariance(np.eye(2), -1.0), "cap must be positive"),
        (lambda: mt.momentum_average(np.eye(2), None, 0.0), r"momentum must lie in \(0, 1\]"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
