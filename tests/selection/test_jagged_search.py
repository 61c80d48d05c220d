"""Lengths of processes of partly jagged functions, by the likelihood of the labels."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from localegop._selection.climbing import climb
from localegop._selection.jagged_search import JaggedLikelihood, find_jagged

RNG = np.random.default_rng(3)
ROWS, LABELS, WEIGHT = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)), RNG.uniform(0.5, 2.0, 30)
PLACE = np.log([0.8, 0.3, 0.2, 1.5, 0.4, 0.7])


def stepped(n=300, noise=0.05, seed=0):
    """Rows of four features: smooth along the first, a jump along the second, two that do not matter."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, size=(n, 4))
    rows[:, 3] = 5.0
    clean = np.sin(2.0 * rows[:, 0]) + (rows[:, 1] > 0.3)
    return rows, (clean + noise * rng.normal(size=n))[:, None]


def test_likelihood_is_that_of_normal_labels():
    """With the variance of f that makes the labels of an output most likely."""
    found, _ = JaggedLikelihood(ROWS, LABELS, WEIGHT).measure_at(PLACE)
    smooth, noise, jagged, share = np.split(np.exp(PLACE), [2, 3, 5])
    Z = ROWS * smooth
    system = np.exp(-0.5 * np.sum((Z[:, None] - Z) ** 2, axis=2)) + 10.0 + 0.1 * Z @ Z.T
    system += share * np.exp(-np.abs((ROWS[:, None] - ROWS) * jagged).sum(axis=2)) + np.diag(noise / WEIGHT)
    expected = 0.0
    for y in LABELS.T:
        variance = y @ np.linalg.solve(system, y) / 30.0
        expected -= 2.0 * multivariate_normal(cov=variance * system).logpdf(y)
    constant = 2 * 30.0 * (1.0 + np.log(2.0 * np.pi))  # which does not depend on anything
    assert found == pytest.approx(expected - constant, rel=1e-9)


def test_slopes_of_the_likelihood_are_those_of_differences():
    likelihood = JaggedLikelihood(ROWS, LABELS, WEIGHT)
    _, slopes = likelihood.measure_at(PLACE)
    moves = 1e-5 * np.eye(6)
    differences = [
        (likelihood.measure_at(PLACE + move)[0] - likelihood.measure_at(PLACE - move)[0]) / 2e-5
        for move in moves
    ]
    assert slopes == pytest.approx(differences, rel=1e-5, abs=1e-7)


def test_what_is_singular_has_no_likelihood():
    value, slopes = JaggedLikelihood(np.zeros((4, 1)), np.ones((4, 1)), np.ones(4)).measure_at(
        np.array([0.0, -800.0, 0.0, 0.0])
    )
    assert value == np.inf and not slopes.any()


def test_the_feature_that_jumps_is_found():
    rows, labels = stepped()
    found = find_jagged(rows, labels, np.ones(300))
    assert found.axes.shape == (4, 3) and not found.axes[3].any()  # the last feature is constant
    smooth = np.diag(found.axes[:3])
    jagged = smooth * np.array(found.process.inverse_lengths)
    assert smooth[0] > 3.0 * smooth[2] and jagged[1] > 3.0 * max(jagged[0], jagged[2])
    assert found.process.jagged > 0.1 and found.process.ridge < 0.1


def test_it_does_not_depend_on_the_units_of_features():
    rows, labels = stepped(120)
    units = np.array([1e-3, 10.0, 1e4, 1.0])
    one, other = (find_jagged(each, labels, np.ones(120)) for each in (rows, rows * units))
    np.testing.assert_allclose(one.axes, other.axes * units[:, None], rtol=1e-6)
    assert one.process.ridge == pytest.approx(other.process.ridge, rel=1e-6)


def test_nothing_is_found_where_nothing_varies():
    rows, labels = stepped(40)
    assert find_jagged(rows, np.ones((40, 1)), np.ones(40)) is None
    assert find_jagged(np.ones((40, 2)), labels, np.ones(40)) is None


def test_climbing_comes_to_the_least_value_between_bounds():
    least = np.array([1.0, -2.0, 9.0])

    def measure(place):
        return 1e3 * float(np.sum((place - least) ** 2)), place - least

    found = climb(measure, np.zeros(3), np.full(3, -5.0), np.full(3, 5.0))
    assert found == pytest.approx([1.0, -2.0, 5.0], abs=0.05)
