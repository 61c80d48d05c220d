"""Work on several threads, none of which outlives the call, whatever interrupts it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def work_in_threads(work: Callable[[slice], None], parts: Sequence[slice], threads: int) -> None:
    """Do work for all parts, on up to so many threads.

    An exception in any of them, Ctrl-C too, keeps the others from taking further parts; it is raised again
    when all have ended. So parts should be small.
    """
    waiting, lock, stop = iter(parts), threading.Lock(), threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            while not stop.is_set():
                with lock:
                    part = next(waiting, None)
                if part is None:
                    return
                work(part)
        except BaseException as failure:
            failures.append(failure)
            stop.set()

    others = [_Worker(run) for _ in range(min(threads, len(parts)) - 1)]
    try:
        for other in others:
            other.start()
        run()
    except BaseException:
        stop.set()
        raise
    finally:
        for other in others:
            _join(other, stop, failures)
    if failures:
        raise failures[0]


def work_together(tasks: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Do some tasks, each on one of up to so many threads, and return their results in order."""
    results: dict[int, T] = {}

    def work(part: slice) -> None:
        results[part.start] = tasks[part.start]()

    work_in_threads(work, [slice(k, k + 1) for k in range(len(tasks))], threads)
    return [results[k] for k in range(len(tasks))]


class _Worker(threading.Thread):
    """A thread that says itself when its work is over.

    ``Thread.join`` that is interrupted marks a thread as ended that still runs (Python up to 3.12), so
    ``is_alive`` cannot be asked.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self._work, self.over = work, threading.Event()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self.over.set()


def _join(worker: _Worker, stop: threading.Event, failures: list[BaseException]) -> None:
    """Wait for a worker; an interrupt in the meantime has it stop sooner, and is remembered."""
    while worker.ident is not None:  # one that never began has no number
        try:
            worker.over.wait()
            worker.join()
            return
        except KeyboardInterrupt as interrupt:
            stop.set()
            failures.append(interrupt)
