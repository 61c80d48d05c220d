"""Values made when they are first asked for: once, and before they are pickled."""

import copy
import pickle

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._fit import plan
from localegop._predict.later import Later
from localegop.datasets import make_helix


def made_of(values):
    """Return a value that is made by taking the next of some, and fails if there is none."""
    rest = list(values)
    return Later(lambda: rest.pop(0))


def test_it_is_made_once():
    later = made_of([3])
    assert [later(), later()] == [3, 3]


def test_a_failure_is_not_kept():
    tries = [KeyboardInterrupt(), 5]

    def make():
        found = tries.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    later = Later(make)
    with pytest.raises(KeyboardInterrupt):
        later()
    assert later() == 5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_the_value(copied):
    assert copied(made_of([3]))() == 3


def test_predictions_need_no_diagnostics_but_intervals_and_files_do(monkeypatch, tmp_path):
    made, diagnose = [], plan._diagnose
    monkeypatch.setattr(plan, "_diagnose", lambda *given: made.append(1) or diagnose(*given))
    X, y = make_helix(200, 3, noise=0.1, random_state=0)
    model = LocalEGOPRegressor(n_iter=1, degree=1, n_jobs=1).fit(X, y)
    model.predict(X[:5])
    assert made == []
    model.save(tmp_path / "model.npz")
    low, high = intervals = model.predict_interval(X[:5]).T
    assert made == [1] and np.all(low < high)
    other = LocalEGOPRegressor.load(tmp_path / "model.npz").predict_interval(X[:5])
    np.testing.assert_array_equal(other.T, intervals)
