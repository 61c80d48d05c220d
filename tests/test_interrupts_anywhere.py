"""Ctrl-C at every single call of what an estimator does: it is never swallowed.

Python runs signal handlers between its own steps only: where a function begins, and where one has returned.
So a profiler that raises KeyboardInterrupt at the k-th of these places, for every k, shows what a signal
could do at any time, without waiting for one that meets a gap of microseconds.
"""

import inspect
import sys
import traceback
import warnings

import numpy as np
import pytest

from localegop import LocalEGOPRegressor

STRIDE = 7  # of the places that quick tests try
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
QUERIES = np.vstack(
    [X[:20] + 0.1, np.full((1, 3), 30.0)]
)  # the last one lies beyond the data, and is warned about


class Interruption:
    """Calls something and raises KeyboardInterrupt at one of the places where a signal could."""

    def __init__(self, call, at=None):
        self.at, self.places, self.where, self.escaped = at, 0, None, False
        before = sys.getprofile()
        sys.setprofile(self._look)
        try:
            call()
        except KeyboardInterrupt:
            self.escaped = True
        finally:
            sys.setprofile(before)

    def _look(self, frame, event, _):
        going_on = frame.f_code.co_flags & inspect.CO_GENERATOR and frame.f_lasti > 0
        if event not in ("call", "c_return") or (event == "call" and going_on):
            return  # a generator that is closed runs no handlers, but is profiled like one that goes on
        self.places += 1
        if self.places == self.at:
            sys.setprofile(None)
            self.where = "".join(traceback.format_stack(frame)[-4:])
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def model():
    return LocalEGOPRegressor(n_jobs=2, degree=1, ridge=0.1, n_iter=1).fit(X, Y)


def swallowed(call, stride, offset=0):
    """Places at which an interrupt of a call did not get out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()  # what is done once only, such as imports, is not counted
        count = Interruption(call).places
        assert count > 100
        tried = [Interruption(call, at) for at in range(1 + offset, count + 1, stride)]
    return [one.where for one in tried if one.where is not None and not one.escaped]


CALLS = {
    "predict": lambda model: model.predict(QUERIES),
    "predict_exact": lambda model: model.predict(QUERIES, exact=True),
    "predict_interval": lambda model: model.predict_interval(QUERIES),
    "localize": lambda model: model.localize(QUERIES, errors=False),
}


def test_an_interrupt_that_is_swallowed_is_noticed():
    def call():
        for _ in range(100):
            try:
                len(())
            except BaseException:  # what no code of ours may do
                len(())

    assert len(swallowed(call, 1)) == 100


@pytest.mark.parametrize("name", CALLS)
def test_interrupts_of_answers_get_out(model, name):
    assert swallowed(lambda: CALLS[name](model), 1 if name == "predict" else STRIDE) == []


def test_interrupts_of_a_fit_get_out(model):
    quick = LocalEGOPRegressor(n_jobs=2, degree=1, ridge=0.1, n_iter=1, initial_metric="variance")
    assert swallowed(lambda: quick.fit(X[:30], Y[:30]), 101) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_interrupts_of_answers_get_out_at_every_place(model, name):
    for offset in range(STRIDE):
        assert swallowed(lambda: CALLS[name](model), STRIDE, offset) == []
