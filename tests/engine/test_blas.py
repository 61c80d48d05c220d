"""BLAS threads are limited while a call runs, whoever else calls meanwhile, and put back after."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from localegop import LocalEGOPRegressor
from localegop._engine import blas
from localegop._engine.blas import limited_blas

QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "initial_metric": "variance"}
X = np.random.default_rng(0).standard_normal((60, 2))


LIBRARIES = ThreadpoolController().select(user_api="blas").lib_controllers


def threads():
    """Numbers of threads of the BLAS libraries."""
    return {library.num_threads for library in LIBRARIES}


@pytest.fixture(autouse=True)
def three_threads():
    if not threads():
        pytest.skip("no BLAS library that threadpoolctl knows")
    before = [library.num_threads for library in LIBRARIES]
    set_threads([3] * len(LIBRARIES))
    yield
    left = threads()
    set_threads(before)
    assert left == {3} and not blas._limits and not blas._found


def set_threads(numbers):
    """Set numbers of threads, and leave it to other threads to set others."""
    for library, number in zip(LIBRARIES, numbers, strict=True):
        library.set_num_threads(number)
        getattr(library, "clear_controlling_thread", lambda: None)()


def spying_kernel(seen):
    def kernel(u):
        seen.update(threads())
        return np.exp(-u)

    return kernel


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (2, 2), (None, 3), (40, 3), (-100, 1)])
def test_n_jobs_limits_blas_in_every_call(n_jobs, expected):
    seen = set()
    model = LocalEGOPRegressor(kernel=spying_kernel(seen), n_jobs=n_jobs, **QUICK)
    for call in (
        lambda: model.fit(X, X[:, 0]),
        lambda: model.predict(X[:3]),
        lambda: model.localize(X[:3]),
        lambda: model.predict_interval(X[:3]),
    ):
        seen.clear()
        call()
        assert seen == {expected} and threads() == {3}


def test_limits_of_the_user_hold():
    with threadpool_limits(1, user_api="blas"):
        with limited_blas(2, 2):
            assert threads() == {1}
        assert threads() == {1}


def test_a_call_that_fails_puts_the_threads_back():
    with pytest.raises(RuntimeError), limited_blas(1, 1):
        assert threads() == {1}
        raise RuntimeError


@pytest.mark.parametrize("at", range(1, 12))
def test_an_interrupt_at_any_step_leaves_no_limit_behind(at, monkeypatch):
    steps = []

    class Interrupted:
        """A library whose calls are interrupted once, at a step of its own."""

        def __init__(self, library):
            self.library = library

        def step(self):
            steps.append(1)
            if len(steps) == at:
                raise KeyboardInterrupt

        @property
        def num_threads(self):
            self.step()
            return self.library.num_threads

        def set_num_threads(self, number):
            self.step()
            self.library.set_num_threads(number)

        def clear_controlling_thread(self):
            getattr(self.library, "clear_controlling_thread", lambda: None)()

    monkeypatch.setattr(blas, "_libraries", lambda: [Interrupted(one) for one in LIBRARIES])
    try:
        with limited_blas(1, 1):
            pass
    except KeyboardInterrupt:
        assert len(steps) >= at
    assert not blas._limits
    steps.extend([1] * at)  # no more interrupts
    with limited_blas(2, 2):
        assert threads() == {2}


def test_calls_at_the_same_time_may_end_in_any_order():
    entered, leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

    def call(k, count):
        with limited_blas(count, count):
            entered[k].set()
            leave[k].wait(10.0)

    calls = [threading.Thread(target=call, args=(k, count)) for k, count in enumerate((2, 1))]
    for k, one in enumerate(calls):
        one.start()
        entered[k].wait(10.0)
        assert threads() == {(2, 1)[k]}
    leave[0].set()
    calls[0].join()
    assert threads() == {1}  # the second still runs
    leave[1].set()
    calls[1].join()
    assert threads() == {3}


def test_many_calls_in_threads_leave_no_trace():
    def work(seed):
        for count in np.random.default_rng(seed).integers(1, 3, 100):
            with limited_blas(int(count), int(count)), limited_blas(1, 1):
                assert blas._limits

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_during_a_call_can_call_too():
    with limited_blas(1, 1):
        child = os.fork()
        if child == 0:
            with limited_blas(2, 2):
                inside = list(blas._limits.values()) == [2]
            os._exit(0 if inside and not blas._limits else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
