"""Lengths of single features by the likelihood of the labels."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from localegop._selection import feature_lengths
from localegop._selection.feature_lengths import Likelihood, find_feature_weights

RNG = np.random.default_rng(3)
ROWS, LABELS, WEIGHT = RNG.normal(size=(30, 3)), RNG.normal(size=(30, 2)), RNG.uniform(0.5, 2.0, 30)
PLACE = np.array([0.8, 0.3, 0.1])


def test_likelihood_is_that_of_normal_labels():
    """With the variance of f that makes the labels of an output most likely."""
    found, _, _ = Likelihood(ROWS, LABELS, WEIGHT).measure(PLACE, 0.2)
    Z = ROWS * PLACE
    squared = np.sum((Z[:, None] - Z) ** 2, axis=2)
    system = np.exp(-0.5 * squared) + 10.0 + 0.1 * Z @ Z.T + np.diag(0.2 / WEIGHT)
    expected = 0.0
    for y in LABELS.T:
        variance = y @ np.linalg.solve(system, y) / 30.0
        expected -= 2.0 * multivariate_normal(cov=variance * system).logpdf(y)
    constant = 2 * 30.0 * (1.0 + np.log(2.0 * np.pi))  # which does not depend on anything
    assert found == pytest.approx(expected - constant, rel=1e-9)


def test_slopes_of_the_likelihood_are_those_of_differences():
    likelihood = Likelihood(ROWS, LABELS, WEIGHT)
    _, slopes, noise_slope = likelihood.measure(PLACE, 0.2)

    def value(logarithms):
        return likelihood.measure(np.exp(logarithms[:3]), float(np.exp(logarithms[3])))[0]

    here = np.log([*PLACE, 0.2])
    moves = 1e-5 * np.eye(4)
    differences = [(value(here + move) - value(here - move)) / 2e-5 for move in moves]
    assert [*slopes, noise_slope] == pytest.approx(differences, rel=1e-5)


def test_what_is_singular_has_no_likelihood():
    value, slopes, _ = Likelihood(np.zeros((4, 2)), np.ones((4, 1)), np.ones(4)).measure(np.ones(2), -1e3)
    assert value == np.inf and not slopes.any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_features_that_matter_alone_or_in_a_product_are_found_among_fifty(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 53))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=300)
    weights = find_feature_weights(X, y[:, None], np.ones(300))
    assert weights[:3].min() > 0.3 * weights.max() and weights[3:].max() < 0.03 * weights.max()


def test_weights_are_in_units_of_the_features_and_constant_ones_have_none():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    y = (np.sin(2.0 * X[:, 0]) + X[:, 1])[:, None]
    plain = find_feature_weights(X, y, np.ones(80))
    units = np.array([1e3, 1.0, 1e-3])
    assert find_feature_weights(X * units + 5.0, y, np.ones(80)) == pytest.approx(plain / units, rel=1e-4)
    wide = np.insert(X, 1, 7.0, axis=1)
    assert find_feature_weights(wide, y, np.ones(80))[1] == 0.0


def test_where_there_is_nothing_to_find_features_weigh_as_they_vary():
    X = np.random.default_rng(5).normal(size=(40, 2)) * [2.0, 5.0]
    expected = 1.0 / X.std(axis=0)
    assert find_feature_weights(X, np.full((40, 1), 3.0), np.ones(40)) == pytest.approx(expected, rel=1e-9)
    assert not find_feature_weights(np.ones((40, 2)), X[:, :1], np.ones(40)).any()


def test_rows_of_next_to_no_weight_say_nothing():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 3))
    y = np.sin(2.0 * X[:, :1])
    weight = np.ones(90)
    weight[80:] = 1e-12
    y[80:] += 100.0
    found = find_feature_weights(X, y, weight)
    assert found == pytest.approx(find_feature_weights(X[:80], y[:80], np.ones(80)), rel=1e-9)


class Bowl:
    """Has its minimum at given logarithms of weights and noise, from where it rises steeply."""

    rows = np.zeros((5, 4))

    def __init__(self, bottom):
        self.bottom, self.asked = np.asarray(bottom), []

    def measure(self, weights, noise):
        away = np.log([*weights, noise]) - self.bottom
        self.asked.append(away)
        return 1e6 * float(np.sum(away**2)), away[:-1], float(away[-1])


class Slope:
    """Falls by the same at every evaluation."""

    rows = np.zeros((5, 4))

    def __init__(self, fall):
        self.fall, self.count = fall, 0

    def measure(self, weights, noise):
        self.count += 1
        return -self.fall * self.count, np.zeros(4), 0.0


@pytest.mark.parametrize(("fall", "count"), [(0.66, 7), (0.67, 36)])
def test_six_evaluations_that_hardly_help_are_the_last(fall, count):
    slope = Slope(fall)
    feature_lengths._climb(slope)
    assert slope.count == count  # 3.96 and 4.02 better than six before


def test_steps_lead_to_the_bottom_within_bounds():
    start = -0.5 * np.log(4.0)
    bowl = Bowl([start + 1.0, start - 2.0, start - 9.0, start + 9.0, -1.0])
    found = np.log(feature_lengths._climb(bowl)) - start
    assert found == pytest.approx([1.0, -2.0, -5.0, 4.0], abs=0.05)
    asked = np.array(bowl.asked) + bowl.bottom
    assert asked[0] == pytest.approx([start] * 4 + [np.log(0.5)])
    steps = np.abs(np.diff(asked, axis=0))
    assert steps[0] == pytest.approx(0.4) and steps.max() <= 1.0 + 1e-9
    assert steps[1] == pytest.approx([0.52] * 4 + [0.2])  # the noise had moved too far
    assert asked[:, -1].max() <= np.log(10.0) and asked[:, -1].min() >= np.log(1e-6)


def test_a_known_start_saves_evaluations_and_leads_to_the_same_place():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 3))
    y = (np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=150))[:, None]
    cold = find_feature_weights(X, y, np.ones(150))
    warm = find_feature_weights(X, y, np.ones(150), cold)
    assert warm[:2] == pytest.approx(cold[:2], rel=0.2)
    bowl = Bowl([0.1, 0.2, -9.0, 9.0, 0.0])
    feature_lengths._climb(bowl, np.exp([0.1, 0.2, -9.0, 9.0]))
    start = -0.5 * np.log(4.0)
    assert (bowl.asked[0] + bowl.bottom)[:4] == pytest.approx([0.1, 0.2, start - 5.0, start + 4.0])
