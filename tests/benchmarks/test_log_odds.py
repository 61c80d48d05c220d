"""The ablation of metrics from log-odds."""

import log_odds
import numpy as np
import pytest

from localegop import LocalEGOPClassifier


def test_gradients_are_those_of_centered_log_odds():
    logits, slopes = np.array([0.3, -0.2, 1.0]), np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])
    p = np.exp(logits) / np.exp(logits).sum()
    gradient = p[:, None] * (slopes - p @ slopes)
    found = log_odds.log_odds_gradients(p[None], gradient[None])[0]
    np.testing.assert_allclose(found, slopes - slopes.mean(axis=0), atol=1e-12)


def test_the_field_is_learned_from_log_odds_while_that_lasts():
    X, _, y, _ = log_odds.parts_of("annulus", 200, 0)
    gradients = []
    for context in (log_odds.nullcontext(), log_odds.of_log_odds(), log_odds.nullcontext()):
        with context:
            model = LocalEGOPClassifier(
                final="polynomial", schedule="power", n_iter=2, initial_metric="identity", degree=1
            )
            gradients.append(model.fit(X, y)._models[0].field.gradients)
    taken = min(map(len, gradients))
    assert taken > 0
    assert (gradients[0][0] == gradients[2][0]).all()
    assert np.abs(gradients[1][0]).mean() > 1.5 * np.abs(gradients[0][0]).mean()
    np.testing.assert_allclose(gradients[1][0].sum(axis=1), 0.0, atol=1e-9)


def test_parts_of_real_sets_are_training_rows(monkeypatch):
    X, Z, y, truth = log_odds.parts_of("iris", 90, 0)
    rows = log_odds.load("iris", 90, 0)
    assert len(X) + len(Z) == len(rows["X"]) == 90
    assert {tuple(row) for row in np.vstack([X, Z])} <= {tuple(row) for row in rows["X"]}
    assert len(y) + len(truth) == 90
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    assert log_odds.parts_of("banana", 90, 0) is None


def test_a_comparison_is_a_row():
    runs = log_odds.compare("annulus", 80, 1, "polynomial")
    cells, ratio = log_odds.row("annulus", "polynomial", runs)
    assert cells[0] == "annulus"
    assert ratio == pytest.approx(np.log(runs[0][1] / runs[0][0]))
