"""The search for logits against Newton's method, and against where it starts."""

import numpy as np
import pytest

from localegop._engine.link import softmax
from localegop._engine.logit_search import PenalizedLoss

N, FUNCTIONS = 80, 7


def problem(classes, ridge=0.1, seed=0):
    rng = np.random.default_rng(seed)
    functions = rng.normal(size=(N, FUNCTIONS))
    logits = functions[:, :classes] * 2.0 + rng.gumbel(size=(N, classes))
    labels = np.eye(classes)[np.argmax(logits, axis=1)]
    share = labels.mean(axis=0)
    return PenalizedLoss(functions, labels, rng.choice([0.5, 1.0, 2.0], N), np.log(share), ridge)


def value(loss, theta):
    """Penalized loss, written out."""
    p = softmax(loss.logits(theta))
    losses = -np.log(np.sum(loss.labels * p, axis=1))
    return float(loss.sample_weight @ losses + 0.5 * loss.ridge * np.sum(theta**2))


def by_newton(loss):
    """Coefficients by Newton's method in all of them at once."""
    theta = np.zeros((FUNCTIONS, loss.labels.shape[1]))
    for _ in range(30):
        p = softmax(loss.logits(theta))
        slope = loss.functions.T @ (loss.sample_weight[:, None] * (p - loss.labels)) + loss.ridge * theta
        curve = np.einsum("nk,kl->nkl", p, np.eye(p.shape[1])) - p[:, :, None] * p[:, None]
        system = np.einsum("n,na,nkl,nb->akbl", loss.sample_weight, loss.functions, curve, loss.functions)
        system = system.reshape(theta.size, theta.size) + loss.ridge * np.eye(theta.size)
        theta -= np.linalg.solve(system, slope.ravel()).reshape(theta.shape)
    return theta


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("ridge", [1e-4, 1.0])
def test_the_least_loss_is_that_of_newtons_method(classes, ridge):
    loss = problem(classes, ridge)
    exact = by_newton(loss)
    found = loss.least(1e-13)
    np.testing.assert_allclose(loss.logits(found), loss.logits(exact), atol=2e-3 * np.abs(exact).max())
    assert value(loss, found) == pytest.approx(value(loss, exact), rel=1e-8)


def count_measures(loss, monkeypatch, **options):
    """How often the loss is measured until it is as good as least."""
    calls, measure = [0], PenalizedLoss._measure

    def counted(self, theta):
        calls[0] += 1
        return measure(self, theta)

    with monkeypatch.context() as patch:
        patch.setattr(PenalizedLoss, "_measure", counted)
        found = loss.least(1e-8, **options)
    return calls[0], found


def test_logits_of_a_similar_problem_save_most_of_the_way(monkeypatch):
    loss, similar = problem(4, 1e-3), problem(4, 2e-3)
    near = similar.logits(similar.least(1e-8))
    cold, first = count_measures(loss, monkeypatch)
    warm, second = count_measures(loss, monkeypatch, near=near)
    assert warm < 0.7 * cold
    assert value(loss, second) == pytest.approx(value(loss, first), rel=1e-5)


def test_classes_that_are_apart_have_finite_coefficients():
    loss = problem(2, 1e-6)
    apart = PenalizedLoss(
        loss.functions, np.eye(2)[(loss.functions[:, 0] > 0).astype(int)], np.ones(N), loss.means, 1e-6
    )
    theta = apart.least(1e-8)
    assert np.isfinite(theta).all() and value(apart, theta) < 0.05
