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

    others = [threading.Thread(target=run) for _ in range(min(threads, len(parts)) - 1)]
    for other in others:
        other.start()
    try:
        run()
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


def _join(thread: threading.Thread, stop: threading.Event, failures: list[BaseException]) -> None:
    """Wait for a thread; an interrupt in the meantime has it stop sooner, and is remembered."""
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as interrupt:
            stop.set()
            failures.append(interrupt)
