"""Scalar and autonomous recurrences, Thompson's distance, predicted rates."""

import numpy as np
import pytest

from localegop.research.theory import (
    autonomous_recurrence,
    limit_constant,
    predicted_rate,
    rate_from_exponents,
    rate_from_rank,
    scalar_recurrence,
    thompson_distance,
)
from localegop.research.theory.claims.momentum import (
    autonomous_claims,
    random_positive_definite,
    scalar_claims,
)


def test_scalar_recurrence_without_momentum_has_a_closed_form():
    run = scalar_recurrence(41, momentum=1.0, ratio=0.64, initial=3.0)
    t = np.arange(41)
    scaled = 3.0 / np.sqrt(0.8)
    np.testing.assert_allclose(
        run.value / np.sqrt(0.8 * run.bandwidth), scaled ** np.where(t % 2, -1.0, 1.0)
    )


@pytest.mark.parametrize("beta", [0.3, 0.7, 0.95])
def test_scalar_recurrence_with_momentum_settles(beta):
    run = scalar_recurrence(400, momentum=beta, ratio=0.81, initial=10.0)
    assert run.value[-1] == pytest.approx(run.limit[-1], rel=1e-6)
    assert limit_constant(1.0, 0.81) == pytest.approx(0.9)


def test_scalar_recurrence_with_a_constant_follows_the_bandwidth():
    run = scalar_recurrence(100, constant=2.0)
    assert run.value[-1] == pytest.approx(run.bandwidth[-1] / 2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"momentum": 0.0}, "momentum=0.0"),
        ({"ratio": 1.0}, "ratio=1.0 is not allowed.*falls"),
        ({"initial": -1.0}, "initial=-1.0"),
        ({"constant": -1.0}, "constant=-1.0"),
        ({"n_iter": 0}, "n_iter=0"),
    ],
)
def test_scalar_recurrence_names_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        scalar_recurrence(**{"n_iter": 10, **change})


def test_thompson_distance_is_an_invariant_metric():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, B, C = (random_positive_definite(4, rng) for _ in range(3))
        G = rng.standard_normal((4, 4))
        d = thompson_distance(A, B)
        assert d > 0.0 and thompson_distance(A, A) == pytest.approx(0.0, abs=1e-12)
        assert d == pytest.approx(thompson_distance(B, A))
        assert d <= thompson_distance(A, C) + thompson_distance(C, B) + 1e-12
        assert d == pytest.approx(thompson_distance(np.linalg.inv(A), np.linalg.inv(B)))
        moved = [G @ X @ G.T for X in (A, B)]
        assert d == pytest.approx(thompson_distance(*[0.5 * (X + X.T) for X in moved]), rel=1e-6)
        # By definition A <= e^d B and B <= e^d A.
        assert np.linalg.eigvalsh(np.exp(d) * B - A)[0] > -1e-9
        assert np.linalg.eigvalsh(np.exp(d) * A - B)[0] > -1e-9


def test_thompson_distance_names_bad_arguments():
    with pytest.raises(ValueError, match="B is not positive definite"):
        thompson_distance(np.eye(2), np.diag([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"A has shape \(2, 2\) and B has shape \(3, 3\)"):
        thompson_distance(np.eye(2), np.eye(3))


def test_autonomous_recurrence_names_bad_arguments():
    with pytest.raises(ValueError, match=r"signature=.* is not allowed"):
        autonomous_recurrence(np.eye(2), np.eye(2), [1.0, 0.5], weight=0.7, n_iter=5)
    with pytest.raises(ValueError, match="one dimension"):
        autonomous_recurrence(np.eye(2), np.eye(2), [1.0, 1.0, 1.0], weight=0.7, n_iter=5)


def test_reduced_recurrences_bear_out_the_lemmas():
    assert all(claim.holds for claim in [*scalar_claims(), *autonomous_claims()])


def test_without_momentum_the_autonomous_recurrence_has_no_limit():
    X = autonomous_recurrence(2.0 * np.eye(2), 0.5 * np.eye(2), [1.0, 1.0], weight=1.0, n_iter=50)
    assert np.abs(X[-1] - X[-2]).max() == pytest.approx(1.5)


def test_predicted_rates():
    assert predicted_rate(4, 4, "full_rank") == pytest.approx(4 / 9)
    assert predicted_rate(8, 2, "noisy_manifold") == pytest.approx(4 / 9)
    assert predicted_rate(8, 2, "multi_index") == pytest.approx(4 / 7)
    assert predicted_rate(8, 1, "single_index") == pytest.approx(2 / 3)
    assert predicted_rate(8, 1, "isotropic") == pytest.approx(1 / 3)
    assert rate_from_rank(3) == pytest.approx(rate_from_exponents([1.0, 0.5, 0.5, 0.5]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, "full_rank"), "dimension=0"),
        ((3, 4, "full_rank"), "intrinsic_dimension=4 exceeds dimension=3"),
        ((3, 2, "noisy_manifold"), "dimension=3 is not allowed.*dimension >= 4"),
        ((3, 2, "single_index"), "intrinsic_dimension=2 is not allowed"),
        ((3, 2, "flat"), "setting='flat' is not allowed: give one of"),
    ],
)
def test_predicted_rate_names_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        predicted_rate(*arguments)
