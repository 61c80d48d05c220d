"""The gain over isotropic fits: what it is, and that it tells functions of few directions from others."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import Search, Trial
from localegop._selection.folds import draw_folds
from localegop._selection.isotropic_baseline import race_isotropic
from localegop.datasets import make_helix, make_multi_index


def test_a_helix_gains_and_a_bowl_does_not():
    X, y = make_helix(400, 5, random_state=0)
    assert LocalEGOPRegressor().fit(X, y).gain_over_isotropic_ > 3.0
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = (X**2).sum(axis=1) + rng.standard_normal(400)
    assert 0.7 < LocalEGOPRegressor(degree=1).fit(X, y).gain_over_isotropic_ < 1.4


def test_without_steps_there_is_nothing_to_gain():
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    model = LocalEGOPRegressor(n_iter=0, degree=1).fit(X, y)
    assert model.gain_over_isotropic_ == pytest.approx(
        1.0, rel=0.1
    )  # but for finer sizes and larger ridges


def test_it_is_the_ratio_of_errors_at_the_same_points():
    """The race of isotropic fits goes through the same rounds at the same points as that of the others."""
    X, y = make_multi_index(300, 6, noise=0.1, random_state=0)
    backend = ProcessBackend(merge_rows(X, y[:, None], np.ones(300)))
    model = LocalEGOPRegressor(n_iter=1, n_jobs=1)
    start = _start(backend, model._settings())
    search = Search(backend, start, draw_folds(300, 0))
    race = race_isotropic(Trial(search, start).holdout, start.data, search.settings.ridges)
    assert race.points == 300 and len(race.choices) == 4
    assert all(one.step == 0 and one.degree == 1 for one in race.choices)
    isotropic = race.means[np.argmin(race.expected())]
    model.fit(X, y)
    assert model.gain_over_isotropic_ == pytest.approx(isotropic / model.choice_.error, rel=1e-9)


@pytest.mark.slow
def test_it_tells_what_new_points_say():
    """Without noise few points hold most of the error: single samples scatter by a factor of four."""
    ratios = []
    for seed in range(4):
        X, y = make_multi_index(2400, 8, random_state=seed)
        fits = ({}, {"n_iter": 0, "degree": 1})
        models = [LocalEGOPRegressor(n_jobs=1, **more).fit(X[:400], y[:400]) for more in fits]
        ours, isotropic = (np.mean((model.predict(X[400:]) - y[400:]) ** 2) for model in models)
        ratios.append(models[0].gain_over_isotropic_ / (isotropic / ours))
    assert 0.4 < np.exp(np.mean(np.log(ratios))) < 2.5


def test_exact_fits_gain_nothing():
    X = np.random.default_rng(0).standard_normal((200, 3))
    assert LocalEGOPRegressor(ridge=0.0).fit(X, X @ [1.0, 2.0, 3.0]).gain_over_isotropic_ == 1.0


def test_bandwidths_are_compared_too():
    X, y = make_helix(200, 4, random_state=0)
    model = LocalEGOPRegressor(schedule="power", n_iter=8, initial_metric="identity").fit(X, y)
    assert model.gain_over_isotropic_ > 0.0


def test_where_it_is_not_known():
    X, y = make_helix(60, 3, random_state=0)
    assert np.isnan(LocalEGOPRegressor("query").fit(X, y).gain_over_isotropic_)
    assert np.isnan(LocalEGOPRegressor().fit(X[:6], y[:6]).gain_over_isotropic_)


@pytest.mark.slow
def test_it_is_saved_and_has_one_value_for_each_separate_output(tmp_path):
    X, y = make_helix(200, 4, random_state=0)
    labels = np.column_stack([y, np.random.default_rng(0).standard_normal(200)])
    model = LocalEGOPRegressor(outputs="separate").fit(X, labels)
    first, second = model.gain_over_isotropic_
    assert first > 2.0 * second
    model.save(tmp_path / "a.model")
    assert LocalEGOPRegressor.load(tmp_path / "a.model").gain_over_isotropic_ == (first, second)
