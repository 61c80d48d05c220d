"""Compute parts, here or in processes side by side, and hand over each as soon as it has ended."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from localegop.research.runs.progress import PartsProgress

_SECONDS_TO_EXIT = 5.0  # that a process gets after its result


class Refused(Exception):
    """A part that cannot run before the user does something; the message says what, in one line."""


class Skipped(Exception):
    """A part that does not apply here; the message says why, in one line."""


class TimeLimit(Exception):
    """A part that was stopped because it took too long."""


@dataclass(frozen=True)
class Part:
    """A piece of work that needs no other; ``work`` is a function that another process can import."""

    name: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A part that has ended: what its work returned or why it did not, and the time of work and process."""

    name: str
    value: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    wall_seconds: float = 0.0


def run_parts(
    parts: Sequence[Part],
    keep: Callable[[Outcome], str],
    progress: PartsProgress,
    *,
    jobs: int | None,
    time_limit: float = inf,
) -> None:
    """Compute parts and hand each outcome to ``keep``, which stores it and says in a few words what it is.

    Parameters
    ----------
    parts : sequence of Part
    keep : callable
        Called in this process, one outcome at a time.
    progress : PartsProgress
        Of these parts.
    jobs : int or None
        Processes at the same time. None computes one part after the other in this process, where a bug is
        raised as it is.
    time_limit : float, default=inf
        Seconds that a process may take.
    """
    outcomes = (
        _one_by_one(parts, progress.begin_part)
        if jobs is None
        else side_by_side(parts, jobs, progress.begin_part, time_limit)
    )
    with progress, closing(outcomes):
        for outcome in outcomes:
            progress.end_part(outcome.name, keep(outcome))


def _one_by_one(parts: Sequence[Part], started: Callable[[str], None]) -> Generator[Outcome, None, None]:
    for part in parts:
        started(part.name)
        yield _compute(part)


def side_by_side(
    parts: Sequence[Part], jobs: int, started: Callable[[str], None], time_limit: float = inf
) -> Generator[Outcome, None, None]:
    """Compute each part in its own process: whatever happens in it, even its sudden end, is seen here."""
    waiting, running = list(parts)[::-1], list[_Worker]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_start(waiting.pop(), time_limit))
                started(running[-1].name)
            left = min(worker.begin for worker in running) + time_limit - time.monotonic()
            wait([worker.connection for worker in running], None if left == inf else max(0.0, left))
            for worker in [each for each in running if each.connection.poll() or each.is_late()]:
                running.remove(worker)
                yield worker.outcome()
    finally:
        for worker in running:
            worker.stop()


@dataclass(frozen=True, eq=False)
class _Worker:
    """The process of a part."""

    name: str
    process: BaseProcess
    connection: Connection
    begin: float
    time_limit: float

    def is_late(self) -> bool:
        """Whether it has had its time."""
        return time.monotonic() - self.begin >= self.time_limit

    def outcome(self) -> Outcome:
        """Receive the outcome, or say why there is none; ends the process."""
        if self.connection.poll():  # an outcome, or the end of the process
            found = self._receive()
            self.process.join(_SECONDS_TO_EXIT)
        else:
            found = Outcome(self.name, error=TimeLimit(f"not finished after {self.time_limit:g} s"))
        self.stop()
        return replace(found, wall_seconds=time.monotonic() - self.begin)

    def _receive(self) -> Outcome:
        try:
            found: Outcome = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            text = f"the process of part {self.name} ended with code {self.process.exitcode}"
            return Outcome(self.name, error=RuntimeError(text))
        return found

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _start(part: Part, time_limit: float) -> _Worker:
    context = multiprocessing.get_context("spawn")  # threads of the engine do not survive a fork
    here, there = context.Pipe(duplex=False)
    process: BaseProcess = context.Process(target=_work, args=(part, there))
    worker = _Worker(part.name, process, here, time.monotonic(), time_limit)
    process.start()
    there.close()
    return worker


def _work(part: Part, connection: Connection) -> None:
    """Body of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's: it ends this process
    try:
        outcome = _compute(part)
    except Exception:  # tracebacks do not travel, so their text must
        text = f"part {part.name} failed:\n{traceback.format_exc()}"
        outcome = Outcome(part.name, error=RuntimeError(text))
    connection.send(outcome)


def _compute(part: Part) -> Outcome:
    begin = time.monotonic()
    try:
        value = part.work(*part.arguments)
    except (Refused, Skipped) as error:
        return Outcome(part.name, error=error)
    return Outcome(part.name, value, seconds=time.monotonic() - begin)


def peak_memory() -> float:
    """Return the largest resident memory of this process so far in GB, imports and data included."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would count the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    import resource  # not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
