"""Work on several threads: all of it is done, and none outlives the call."""

import os
import signal
import threading
import time

import pytest

from localegop._engine.threads import work_in_threads

PARTS = [slice(i, i + 1) for i in range(40)]


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
def test_every_part_is_done_once(threads):
    done = []
    work_in_threads(lambda part: done.append(part.start), PARTS, threads)
    assert sorted(done) == list(range(40))
    work_in_threads(done.clear, [], threads)
    assert len(done) == 40


@pytest.mark.parametrize("failure", [ValueError("bad part"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_failure_ends_all_threads_and_is_raised(failure, where):
    begun = []

    def work(part):
        begun.append(part)
        mine = threading.current_thread() is threading.main_thread()
        if mine == (where == "here"):
            raise failure
        time.sleep(0.01)

    with pytest.raises(type(failure)):
        work_in_threads(work, PARTS, 3)
    assert threading.active_count() == 1 or not any(
        t.name.startswith("Thread-") for t in threading.enumerate()
    )
    assert len(begun) < len(PARTS)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_call_interrupted_while_it_waits_for_a_thread_still_waits_for_it():
    ended = []

    def work(part):
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.05)  # so that the other thread has a part too, and takes longer
            return
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        time.sleep(0.5)
        timer.join()
        ended.append(part)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            work_in_threads(work, PARTS[:2], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ended) == 1
