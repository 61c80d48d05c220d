"""The demo: its numbers make sense and its picture is written."""

import numpy as np

from localegop import _demo as demo


def test_local_egop_wins_on_the_helix():
    errors = demo.helix_errors(n_train=400, n_queries=100)
    assert errors["Local EGOP"] < 0.1 * errors["local linear, isotropic"]


def test_picture_is_written(tmp_path):
    X, y, weights = demo.annulus_localizations(n_samples=300)
    assert np.allclose([w.sum() for w in weights], 1.0)
    demo.draw(X, y, weights, tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").stat().st_size > 10_000
