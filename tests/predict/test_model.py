"""A fitted model does not change: neither by assignment nor by answering."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._predict.model import Requested
from localegop.datasets import make_helix

X, Y = make_helix(220, 3, noise=0.1, random_state=0)
TRAIN, TEST = slice(0, 180), X[180:]
FIELD = {"n_iter": 2, "degree": 1, "ridge": 1e-3, "initial_metric": "variance"}
PARAMETERS = {"field": FIELD, "query": {"strategy": "query", "n_iter": 2, "n_subsamples": 30}}


@pytest.fixture(scope="module", params=PARAMETERS)
def fitted(request):
    return LocalEGOPRegressor(n_jobs=1, **PARAMETERS[request.param]).fit(X[TRAIN], Y[TRAIN])


def test_models_and_decisions_are_frozen(fitted):
    model = fitted._models[0]
    for thing in (model, model.decisions, model.decisions.choice, model.decisions.units):
        for entry in fields(thing):
            with pytest.raises(FrozenInstanceError):
                setattr(thing, entry.name, None)
        with pytest.raises(FrozenInstanceError):
            thing.surprise = 1


def attributes(model):
    """Everything that a model holds, by name; the values stay alive, so that identities mean something."""
    parts = {"model": model, "data": model.data, "decisions": model.decisions, "field": model.field}
    return {
        f"{name}.{attribute}": value
        for name, part in parts.items()
        if part is not None
        for attribute, value in vars(part).items()
    }


def test_predicting_with_other_threads_leaves_the_model_as_it_is(fitted):
    stored = list(fitted._models)
    before = attributes(stored[0])
    alone = fitted.predict(TEST, return_std=True)
    fitted.n_jobs = 2
    together = fitted.predict(TEST, return_std=True)
    fits = fitted.localize(TEST, trace=True)
    fitted.n_jobs = 1
    after = attributes(fitted._models[0])
    assert all(ours is theirs for ours, theirs in zip(fitted._models, stored, strict=True))
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] is not before[name]] == []
    assert before["data.threads"] == 1
    for ours, theirs in zip(alone, together, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(fits.value, alone[0])


def test_a_model_with_other_threads_shares_everything_else(fitted):
    model = fitted._models[0]
    other = model.with_threads(2)
    assert (model.data.threads, other.data.threads) == (1, 2)
    assert other.field is None or other.field.anchors.threads == 2
    differing = {name for name, value in vars(model.data).items() if vars(other.data)[name] is not value}
    assert differing == {"threads"}
    assert other.decisions is model.decisions and other.loo is model.loo
    if model.field is not None:
        assert other.field.gradients is model.field.gradients


def test_only_what_is_asked_for_is_found(fitted):
    model = fitted._models[0]
    values = model.fits(TEST, Requested())
    certain = model.fits(TEST, Requested(uncertainty=True))
    full = model.fits(TEST, Requested(uncertainty=True, everything=True))
    assert values.noise.size == values.gradient.size == values.metric.size == 0
    assert certain.noise.shape == (40, 1) and certain.gradient.size == 0 and certain.metric.size == 0
    assert full.gradient.shape == (40, 1, 3) and full.metric.shape == (40, 3, 3) and full.trace is None
    for other in (certain, full):
        assert np.array_equal(values.value, other.value)
    assert np.array_equal(certain.noise, full.noise)
