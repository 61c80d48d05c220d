"""The continuum recursion: against a plain loop, its trace, and what it refuses."""

import numpy as np
import pytest

from localegop.research.theory import (
    autocorrelation,
    decay_exponents,
    egop,
    local_exponents,
    oracle_rate,
    oracle_recursion,
)
from localegop.research.theory.problems import circle, flat, full_rank
from localegop.schedules import Geometric, PowerLaw


@pytest.fixture(scope="module")
def task():
    return full_rank(3)


def plain_recursion(gradient, x0, h, beta, alpha, cap, n_iter):
    """Form L, mix, invert, clip: the formula without any care for digits."""
    sigma, previous, all_sigma = alpha * np.eye(len(x0)), None, []
    for t in range(n_iter):
        all_sigma.append(sigma)
        L = egop(gradient, x0, sigma).matrix
        mixed = L if previous is None else beta * L + (1 - beta) * previous
        previous = L
        values, vectors = np.linalg.eigh(h(t + 1) * np.linalg.inv(mixed))
        sigma = (vectors * np.minimum(values, cap)) @ vectors.T
    return np.array(all_sigma)


@pytest.mark.parametrize("beta", [1.0, 0.7, 0.3])
def test_agrees_with_the_formula_written_plainly(task, beta):
    h = PowerLaw(exponent=1.2, scale=0.01)
    options = {"momentum": beta, "initial_scale": 0.05, "covariance_cap": 0.04, "n_iter": 12}
    trace = oracle_recursion(task.function.gradient, task.query, schedule=h, **options)
    expected = plain_recursion(task.function.gradient, task.query, h, beta, 0.05, 0.04, 12)
    np.testing.assert_allclose(trace.covariance, expected, rtol=1e-8, atol=1e-12)


def test_trace_is_consistent(task):
    trace = task.run(n_iter=20)
    assert len(trace) == 20
    assert trace.covariance.shape == trace.egop.shape == (20, 3, 3)
    assert trace.bandwidth.shape == trace.error.shape == trace.form.shape == (20,)
    np.testing.assert_allclose(trace.covariance[0], 0.02 * np.eye(3))
    np.testing.assert_allclose(trace.bandwidth[:2], [0.02**2, 0.02**2 * 0.7])
    np.testing.assert_allclose(trace.log_det, np.linalg.slogdet(trace.covariance)[1], rtol=1e-6)
    np.testing.assert_allclose(trace.form, np.einsum("tab,tba->t", trace.egop, trace.covariance), rtol=1e-6)
    assert (np.diff(trace.eigenvalues, axis=1) <= 0).all()
    np.testing.assert_allclose(trace.gradient, task.function.gradient(task.query[None])[0])
    v = np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(trace.variance(v)[:, 0], np.einsum("a,tab,b->t", v, trace.covariance, v))
    with pytest.raises(ValueError, match=r"basis has shape \(2, 1\)"):
        trace.variance([1.0, 0.0])


def test_small_variances_keep_their_digits():
    # At h = 1e-18 the covariance itself would hold 1e-18 next to 0.02: rounding eats it.
    trace = circle().run()
    along = trace.variance(trace.gradient)[-1, 0]
    # g'Sigma g falls to h itself, up to the average over the normal.
    assert along == pytest.approx(trace.bandwidth[-1], rel=0.1)
    dense = trace.gradient @ trace.covariance[-1] @ trace.gradient
    assert abs(dense / along - 1.0) > 1e-3


def test_normalizing_the_trace_rescales_a_linear_function():
    # With L = gg' + H alpha H and one step, the two recursions differ by the factor tr L.
    task = full_rank(2)
    plain, scaled = (task.run(n_iter=2, normalize_trace=flag) for flag in (False, True))
    factor = np.trace(plain.egop[0])
    np.testing.assert_allclose(scaled.covariance[1], factor * plain.covariance[1], rtol=1e-9)


def test_cap_holds_at_every_step():
    trace = flat().run()
    assert trace.eigenvalues.max() <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"momentum": 0.0}, r"momentum=0.0 is not allowed.*> 0 and <= 1"),
        ({"momentum": 1.5}, r"momentum=1.5 is not allowed"),
        ({"momentum": float("nan")}, "momentum=nan is not allowed"),
        ({"initial_scale": 0.0}, "initial_scale=0.0 is not allowed.*> 0"),
        ({"covariance_cap": -1.0}, "covariance_cap=-1.0 is not allowed"),
        ({"exclusion_radius": 0.0}, "exclusion_radius=0.0 is not allowed"),
        ({"n_iter": 0}, "n_iter=0 is not allowed.*>= 1"),
        ({"n_iter": 2.5}, "n_iter=2.5 is not allowed"),
        ({"schedule": lambda t: 0.1}, "schedule does not fall: schedule.0. is 0.1 and schedule.1. is 0.1"),
        ({"schedule": lambda t: 0.1 * (1 + t)}, "schedule does not fall"),
        ({"schedule": lambda t: 0.1 - t}, r"schedule\(1\)=-0.9 is not allowed: give .* positive"),
        ({"schedule": 0.1}, "schedule=0.1 is not allowed.*callable"),
    ],
)
def test_bad_arguments_are_named(task, change, message):
    with pytest.raises(ValueError, match=message):
        task.run(**change)


def test_zero_gradient_is_refused():
    with pytest.raises(ValueError, match=r"gradient vanishes at x0=.*not zero"):
        oracle_recursion(lambda X: X, np.zeros(2), initial_scale=0.1, n_iter=3)
    with pytest.raises(ValueError, match="gradient vanishes at x0"):
        oracle_recursion(lambda X: X - 0.3, np.full(2, 0.1 + 0.2), initial_scale=0.1, n_iter=3)


def test_constant_directions_need_a_cap():
    with pytest.raises(ValueError, match=r"singular to rounding.*give covariance_cap"):
        flat().run(covariance_cap=None)


def test_decay_exponents_recover_a_power_law(task):
    trace = task.run(schedule=Geometric(scale=4e-4, ratio=0.6), n_iter=60)
    result = decay_exponents(trace, task.directions.gradient)
    assert result.slope.shape == result.stderr.shape == (1,)
    assert result.slope[0] == pytest.approx(1.0, abs=0.01)
    assert 0.0 <= result.stderr[0] < 0.01
    h, local = local_exponents(trace, task.directions.curved, n_steps=9)
    assert h.shape == (52,) and local.shape == (52, 2)
    np.testing.assert_allclose(local[-1], 0.5, atol=0.01)


def test_decay_exponents_need_steps(task):
    short = task.run(n_iter=5)
    with pytest.raises(ValueError, match="trace has 5 steps"):
        decay_exponents(short, np.eye(3))
    with pytest.raises(ValueError, match="n_steps=15 exceeds the 5 steps"):
        local_exponents(short, np.eye(3))


def test_autocorrelation_of_noise_is_small_and_bad_lags_are_named():
    noise = np.random.default_rng(0).standard_normal(4000)
    assert abs(autocorrelation(noise, 1)) < 0.05
    assert autocorrelation(np.ones(10), 1) == 0.0
    with pytest.raises(ValueError, match="give more than lag=3 numbers"):
        autocorrelation([1.0, 2.0], 3)


def test_oracle_rate_of_full_rank(task):
    exponent, steps = oracle_rate(task.run())
    assert exponent == pytest.approx(4 / 8, abs=0.01)
    assert steps == pytest.approx(0.5 / np.log(1 / 0.7), rel=0.02)
