"""The demo: its numbers make sense and its picture is written."""

import json
import os

import numpy as np
import pytest
from tests.cli.examples import refusal

from localegop import _demo as demo


@pytest.mark.slow
def test_local_egop_wins_on_the_helix():
    errors = demo.helix_errors(n_train=400, n_queries=100)
    assert errors["field Local EGOP"] < 0.1 * errors["local linear, isotropic"]


def test_picture_is_written(tmp_path):
    X, y, weights = demo.annulus_localizations(n_samples=300)
    assert np.allclose([w.sum() for w in weights], 1.0)
    demo.draw(X, y, weights, tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").stat().st_size > 10_000


def test_demo(run, monkeypatch):
    small = demo.helix_errors, demo.annulus_localizations
    monkeypatch.setattr(demo, "helix_errors", lambda: small[0](n_train=200, n_queries=50))
    monkeypatch.setattr(demo, "annulus_localizations", lambda: small[1](n_samples=200))
    code, out, _ = run("demo pictures --json")
    facts = json.loads(out)
    assert code == 0
    assert facts["relative_errors"]["field Local EGOP"] < facts["relative_errors"]["5 nearest neighbors"]
    assert os.path.getsize(facts["picture"]) > 10_000
    assert "cannot create the folder 'new.csv/x'" in refusal(run("demo new.csv/x"))
