"""Methods for classes: what every entry promises."""

import numpy as np
import pytest

from localegop.datasets import make_class_annulus
from localegop.research.peers.classifiers import CLASSIFIERS
from localegop.research.peers.registry import Method


def marks(name):
    slow = name in ("local_egop", "forest", "boosting", "network")
    return [pytest.mark.slow] * slow + [pytest.mark.extras] * bool(CLASSIFIERS[name].module)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in CLASSIFIERS])
def test_probabilities_of_every_method_beat_frequencies(name):
    method = CLASSIFIERS[name]
    assert isinstance(method, Method)
    assert method.tuning
    if not method.available:
        pytest.skip(f"{method.label} needs {method.module}")
    X, y = make_class_annulus(420, random_state=0)
    labels = np.array(["a", "b", "c", "d", "e"])[y]
    model = method.make(240, 0, 1).fit(X[:240], labels[:240])
    p = model.predict_proba(X[240:])
    assert p.shape == (180, len(np.unique(labels)))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    shares = np.bincount(y[:240]) / 240
    loss = -np.mean(np.log(p[np.arange(180), y[240:]]))
    assert loss < -np.mean(np.log(shares[y[240:]]))
    assert set(model.predict(X[240:])) <= set(labels)


@pytest.mark.extras
def test_xrfm_takes_the_best_of_its_trials_and_leaves_random_numbers_alone():
    pytest.importorskip("xrfm")
    X, y = make_class_annulus(200, random_state=0)
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model = CLASSIFIERS["xrfm"].make(200, 0, 1).fit(X, y)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    again = CLASSIFIERS["xrfm"].make(200, 0, 1).fit(X, y)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert model.bandwidth_ in (2.0, 10.0, 50.0)
    assert (model.predict_proba(X) > 0.0).all()
