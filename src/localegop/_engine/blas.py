"""BLAS threads while one of our calls runs: no more than ``n_jobs``.

BLAS has one number of threads for the whole process. Several calls may run at the same time, in threads of
the user's, and end in any order: the first that comes notes the numbers it finds, the smallest limit among
the running calls holds for all of them, and the last that leaves puts the numbers back. An interrupt at
any moment leaves no limit behind: what it kept from being put back, the next call puts back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_limits: dict[object, int] = {}  # of the calls that are running
_found: list[tuple[Any, int]] = []  # libraries, and their threads before the first of these calls
_controller: ThreadpoolController | None = None


@contextmanager
def limited_blas(n_jobs: int | None, threads: int) -> Iterator[None]:
    """Let BLAS use at most so many threads; as it is if ``n_jobs`` is None, and never more than before.

    Parameters
    ----------
    n_jobs : int or None
        As the user gave it.
    threads : int
        What it amounts to.
    """
    if n_jobs is None:
        yield
        return
    call = object()
    try:
        with _lock:
            if not _found:
                _found[:] = [(library, library.num_threads) for library in _libraries()]
            _limits[call] = threads
            _apply()
        yield
    finally:
        _limits.pop(call, None)  # first, and in one step; in a process forked meanwhile it is gone already
        with _lock:
            _apply()
            if not _limits:
                _found.clear()


def _apply() -> None:
    """Give every library what the running calls leave it."""
    for library, before in _found:
        wanted = min([before, *_limits.values()])
        if library.num_threads != wanted:
            library.set_num_threads(wanted)
        # Newer versions let only the thread that came first set numbers, until it gives that right back. A
        # thread of the user's that holds it, inside of threadpool_limits, is respected.
        getattr(library, "clear_controlling_thread", lambda: None)()


def _libraries() -> list[Any]:
    """BLAS libraries of this process; looked for once, as that takes milliseconds."""
    global _controller
    if _controller is None:
        _controller = ThreadpoolController().select(user_api="blas")
    return [library for library in _controller.lib_controllers if library.num_threads]


def _forget() -> None:
    """Begin anew in a forked process, where the calls of other threads do not go on."""
    global _lock
    _lock = threading.Lock()
    _limits.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
