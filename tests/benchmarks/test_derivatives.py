"""The benchmark of gradients: its differences, and how its peers are tuned and left out."""

import derivatives
import gradient_peers
import numpy as np
import pytest


def test_differences_are_derivatives_per_unit_of_each_feature():
    queries, unit = np.random.default_rng(0).normal(size=(5, 2)), np.array([2.0, 0.5])
    found = derivatives.differences(lambda X: np.sin(X[:, 0]) * X[:, 1], queries, unit, 1e-2)
    exact = np.column_stack([np.cos(queries[:, 0]) * queries[:, 1], np.sin(queries[:, 0])])
    assert found == pytest.approx(exact * unit, abs=1e-10)


def test_a_small_step_does_not_reach_a_kink_but_no_step_hides_a_wrong_gradient():
    queries, unit = np.array([[1e-6], [3.0]]), np.ones(1)
    for slope, hidden in ((1.0, True), (1.1, False)):
        steps = [
            slope - derivatives.differences(lambda X: np.abs(X[:, 0]), queries, unit, step)
            for step in derivatives.SMALL_STEPS
        ]
        gaps = derivatives.nearest_to_zero(steps, axis=0)
        assert gaps.shape == (2, 1)
        assert (np.abs(gaps).max() < 1e-6) == hidden
    assert np.abs(steps[0]).max() > 1e-2


def test_settings_are_those_of_the_smallest_error_on_rows_held_out():
    X = np.linspace(0.0, 1.0, 30)[:, None]
    seen = []

    def fit(rows, labels, gradients, *, power):
        seen.append(len(rows))
        return lambda queries: queries[:, 0] ** power

    predict = gradient_peers.tuned(fit, ({"power": 1}, {"power": 3}), X, X[:, 0] ** 3, X)
    assert predict(X) == pytest.approx(X[:, 0] ** 3)
    assert seen == [20] * 6 + [30]


def test_peers_that_cannot_take_part_are_named(monkeypatch, capsys):
    monkeypatch.setattr(gradient_peers, "find_spec", lambda name: None if name == "jenn" else name)
    assert "JENN" not in gradient_peers.installed_peers(100)
    assert "GPyTorch" not in gradient_peers.installed_peers(10**6)
    told = capsys.readouterr().out
    assert "JENN is left out: jenn not installed" in told and "1,000,000 equations" in told
