"""A process of all rows that is made of few functions as final fit, from fit to file."""

import warnings

import numpy as np
import pytest

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop._data import archive
from localegop._data.rows import merge_rows
from localegop._engine import few_functions, settings
from localegop._engine.few_functions import FunctionKriging
from localegop._fit import growing, plan
from localegop._fit.growing import let_functions_grow
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import Search, Trial
from localegop._selection import global_search
from localegop._selection.folds import draw_folds

N = 300


@pytest.fixture(scope="module", autouse=True)
def few_rows_are_many():
    """A hundred rows are the most of an exact process, and thirty functions those of a first look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "MOST_ROWS", 100)
        patch.setattr(plan, "MOST_ROWS", 100)
        patch.setattr(global_search, "FEW_PLACES", 30)
        yield


def sample(n=N, seed=0, noise=0.02):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    return X, np.sin(2.0 * X[:, 0] + X[:, 1]) + X[:, 2] ** 2 + noise * rng.normal(size=n)


def model_of(X, y, **parameters):
    return LocalEGOPRegressor(n_jobs=1, **{"final": "global"} | parameters).fit(X, y)


@pytest.fixture(scope="module")
def model(few_rows_are_many):
    return model_of(*sample())


@pytest.fixture(scope="module")
def queries():
    return sample(80, seed=1)[0]


def test_it_is_what_was_asked_for(model, queries):
    final = model.choice_.final
    assert isinstance(final, FunctionKriging) and 30 <= final.n_places < N
    truth = sample(80, seed=1, noise=0.0)[1]
    assert np.mean((model.predict(queries) - truth) ** 2) < 0.02 * truth.var()
    assert f"made of functions at {final.n_places} rows" in model.summary()
    np.testing.assert_array_equal(model.predict(queries), model.predict(queries, exact=True))


def kinds_that_compete(monkeypatch, n):
    """Kinds of final fits in the opening races of a fit to so many rows."""
    seen = []
    monkeypatch.setattr(plan, "let_functions_grow", seen.extend)
    model_of(*sample(n), final="auto")
    return {type(one.final) for trial in seen for one in trial.opening.choices}


def test_it_competes_where_rows_are_too_many_for_an_exact_process(monkeypatch):
    assert FunctionKriging in kinds_that_compete(monkeypatch, 120)
    assert FunctionKriging not in kinds_that_compete(monkeypatch, 90)
    monkeypatch.setattr(settings, "MOST_FUNCTION_ROWS", 110)
    assert FunctionKriging not in kinds_that_compete(monkeypatch, 120)


def test_gradients_are_those_of_predictions(model, queries):
    inside = model.localize(queries, errors=False).remoteness < 0.9
    assert inside.sum() > 20
    told, step = model.predict_gradient(queries), 1e-5
    for a, move in enumerate(step * np.eye(4)):
        slope = (model.predict(queries + move) - model.predict(queries - move)) / (2 * step)
        np.testing.assert_allclose(told[inside, a], slope[inside], rtol=1e-4, atol=1e-5)


def test_residuals_are_those_of_fits_without_the_row(model):
    fitted, (X, y) = model._models[0], sample()
    anchors, residuals = fitted.field.anchors, model.loo_residuals_
    assert anchors.n == N and residuals.shape == (N,)
    solved = anchors.solved(model.choice_.final)
    assert np.mean(residuals**2) > np.mean((model.predict(X) - y) ** 2)
    expected = fitted.decisions.units.label_scale * solved.without_own(fitted.position[:5]).value[:, 0]
    center = fitted.decisions.units.values(np.zeros((1, 1)))[0, 0]
    assert residuals[:5] == pytest.approx(y[:5] - center - expected, abs=1e-9)


def test_intervals_hold_their_share_and_grow_far_away(model, queries):
    labels = sample(80, seed=1)[1]
    low, high = model.predict_interval(queries, 0.9).T
    assert 0.75 < np.mean((low <= labels) & (labels <= high)) <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        far = model.predict_interval(queries + 30.0, 0.9)
    assert np.isfinite(far).all() and (far[:, 1] - far[:, 0] > high - low).all()


def test_explanations_name_the_features_that_matter(model):
    importance, error = model.global_importance(return_std=True)
    assert importance[3] < 0.02 and (importance[:3] > 0.05).all() and np.isfinite(error).all()


def test_files_hold_it_and_refuse_what_cannot_be(model, queries, tmp_path):
    path = tmp_path / "a.model"
    model.save(path)
    loaded = LocalEGOPRegressor.load(path)
    np.testing.assert_array_equal(loaded.predict(queries), model.predict(queries))
    header, arrays = archive.read(path)
    stored = header["models"][0]
    for places, told in ((10**9, "n_places"), (N + 1, f"made of {N + 1} functions"), (0, "n_places")):
        for choice in (stored["choice"], stored["rivals"]["every"][0]["choice"]):
            choice["final"]["n_places"] = places
        altered = {name: entry for name, entry in header.items() if name != "format"}
        archive.write(tmp_path / "altered.model", altered, arrays)
        with pytest.raises(ValueError, match=told):
            LocalEGOPRegressor.load(tmp_path / "altered.model")


def test_more_rows_than_fit_into_a_process(monkeypatch):
    monkeypatch.setattr(settings, "MOST_FUNCTION_ROWS", 200)
    with pytest.raises(ValueError, match=r"at most 200 distinct rows.*got 300 rows"):
        model_of(*sample())


class OneTrial:
    """A trial as far as growing looks at it: its opening race, and the first fold."""

    def __init__(self, trial):
        self.opening, self.holdout = trial.opening, trial.holdout


@pytest.fixture
def trial(few_rows_are_many):
    X, y = sample(noise=0.0)
    backend = ProcessBackend(merge_rows(X, y[:, None], np.ones(N)))
    start = _start(backend, LocalEGOPRegressor(n_jobs=1, final="global")._settings())
    return Trial(Search(backend, start, draw_folds(N, 0)), start)


def test_functions_grow_as_long_as_that_pays(trial, monkeypatch):
    before = trial.opening.means.min()
    first = {one.final.n_places for one in trial.opening.choices}
    let_functions_grow([OneTrial(trial)])
    best = trial.opening.choices[int(np.argmin(trial.opening.means))].final
    assert first == {30} and best.n_places > 30 and trial.opening.means.min() < 0.5 * before
    monkeypatch.setattr(growing, "PAYS", 0.0)
    assert growing._grown(trial, trial.opening.choices[0].final).n_places == 30
    monkeypatch.setattr(few_functions, "MOST_WORK", 240 * 40.0**2)
    monkeypatch.setattr(growing, "PAYS", np.inf)
    assert growing._grown(trial, trial.opening.choices[0].final).n_places == 40


def test_functions_that_are_far_behind_do_not_grow(trial, monkeypatch):
    count = len(trial.opening.choices)
    monkeypatch.setattr(growing, "NOT_FAR", 0.5)
    let_functions_grow([OneTrial(trial)])
    assert len(trial.opening.choices) == count
