"""Small problems whose errors are known: what is chosen there, and how well it predicts."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix

SEEDS = (0, 1)


def helix(n, dimension, noise, seed):
    bunch = make_helix(n + 1000, dimension, noise=noise, random_state=seed, return_bunch=True)
    return bunch.data, bunch.target, bunch.noise_free_target


def friedman(n, seed):
    X, y = make_friedman1(n + 1000, 10, noise=1.0, random_state=seed)
    return X, y, make_friedman1(n + 1000, 10, noise=0.0, random_state=seed)[1]


def measured(n, samples):
    """Fitted models, and the geometric mean of their errors (MSE / variance) at 1,000 new points each."""
    models, errors = [], []
    for X, y, truth in samples:
        models.append(LocalEGOPRegressor(n_jobs=1).fit(X[:n], y[:n]))
        errors.append(np.mean((models[-1].predict(X[n:]) - truth[n:]) ** 2) / truth.var())
    return models, float(np.exp(np.mean(np.log(errors))))


def test_a_curve_without_noise_is_met_by_a_smooth_process():
    models, error = measured(400, [helix(400, 3, 0.0, seed) for seed in SEEDS])
    assert error < 1.8e-6  # 1.4e-6 when written
    for model in models:
        final = model.choice_.final
        assert final.kind in ("kriging", "global", "mixture") and final.degree == 1  # with a trend
        assert not final.rough and final.ridge < 1e-4
        assert model.gain_over_isotropic_ > 50.0
        assert model.choice_.error < 2e-5


def test_noise_is_averaged_out_along_a_curve():
    models, error = measured(600, [helix(600, 5, 0.2, seed) for seed in SEEDS])
    assert error < 2.7e-3  # 2.1e-3 when written; one label alone would have 0.04
    for model in models:
        assert 0.03 < model.choice_.error < 0.05  # mostly noise
        assert 0.95 < model.gain_over_isotropic_ < 1.3
        assert model.choice_.size is None or model.choice_.size >= 60.0


def test_five_of_ten_features_matter():
    models, error = measured(400, [friedman(400, seed) for seed in SEEDS])
    assert error < 0.026  # 0.020 when written; of the variance of the labels, 0.04 is noise
    for model in models:
        assert model.choice_.final.kind in ("kriging", "global", "mixture")
        assert model.gain_over_isotropic_ > 2.0
        assert model.global_importance(errors=False)[5:].sum() < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_at_held_out_points_tell_those_at_new_ones(seed):
    X, y, _ = friedman(400, seed)
    model = LocalEGOPRegressor(n_jobs=1, n_iter=1, final="polynomial").fit(X[:400], y[:400])
    new = np.mean((model.predict(X[400:]) - y[400:]) ** 2) / y[:400].var()
    assert model.choice_.error == pytest.approx(new, rel=0.3)
