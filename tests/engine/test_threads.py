"""Work on several threads: all of it is done, and none outlives the call."""

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
