"""From estimates to probabilities."""

import numpy as np
import pytest
from scipy.optimize import minimize

from localegop._engine.link import FLOOR, Link, best_link, fit_links, log_losses, log_positive, with_doubt


def draw(m=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5, 0.5, 0.5], m)
    labels = np.eye(3)[[rng.choice(3, p=one) for one in p]]
    return p + 0.15 * rng.normal(size=p.shape), labels, rng.uniform(0.5, 2.0, m)


def test_logarithms_keep_their_digits_below_zero():
    exact = [np.log(0.5 * 0.05**2 / (np.sqrt(v * v + 0.05**2) + v)) for v in (0.5, 1e3)]
    np.testing.assert_allclose(log_positive(np.array([-0.5, -1e3]), 0.05), exact, rtol=1e-12)


@pytest.mark.parametrize("floor", [0.01, 0.3])
def test_fitted_links_have_the_least_penalized_log_loss(floor):
    estimates, labels, weight = draw()
    link = fit_links(estimates[:, None], labels, weight, floor)[0]

    def loss(at):
        p = Link(*at, floor).probabilities(estimates)
        penalty = 0.5 * ((at[0] - 1.0) ** 2 / 25.0 + (at[1] - 1.0) ** 2)
        return np.sum(weight / weight.mean() * log_losses(p, with_doubt(labels))) + penalty

    found = minimize(loss, [1.0, 1.0], bounds=[(0.0, None)] * 2, method="L-BFGS-B")
    assert loss([link.slope, link.power]) <= found.fun + 1e-4


def test_several_choices_are_fitted_as_each_alone():
    estimates, labels, weight = draw()
    both = np.stack([estimates, estimates**2], axis=1)
    together = fit_links(both, labels, weight)
    for k in range(2):
        alone = fit_links(both[:, k : k + 1], labels, weight)[0]
        assert (together[k].slope, together[k].power) == pytest.approx((alone.slope, alone.power), abs=1e-6)


def test_floors_are_chosen_by_log_loss():
    estimates, labels, weight = draw()

    def loss(link):
        return np.sum(weight * log_losses(link.probabilities(estimates), with_doubt(labels)))

    best = loss(best_link(estimates, labels, weight))
    assert best <= loss(fit_links(estimates[:, None], labels, weight, 0.01)[0])
    assert best <= loss(fit_links(estimates[:, None], labels, weight, 0.3)[0])
    assert best < loss(Link())


def test_nothing_is_certain_where_all_held_out_points_are_right():
    labels = np.eye(2)[np.arange(100) % 2]
    few = best_link(labels[:10], labels[:10], np.ones(10)).probabilities(labels[:1])[0, 0]
    many = best_link(labels, labels, np.ones(100)).probabilities(labels[:1])[0, 0]
    assert 0.8 < few < many < 1.0
    assert many == pytest.approx(1.0 - 1.0 / 102, abs=0.01)


def test_derivatives_are_those_of_probabilities():
    link, estimates = Link(2.0, 0.7, FLOOR), draw()[0][:5]
    slopes = link.jacobian(estimates)
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        change = (link.probabilities(estimates + step) - link.probabilities(estimates - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, :, j], change, atol=1e-7)


def test_estimates_far_out_give_positive_probabilities():
    p = Link(30.0, 3.0, 0.01).probabilities(np.array([[1e9, -1e9, 0.0]]))
    assert (p > 0.0).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
