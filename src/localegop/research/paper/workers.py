"""Compute parts, here or in processes side by side, and store each as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from localegop.research.paper import load_experiment
from localegop.research.paper.experiment import Refused, Skipped

if TYPE_CHECKING:
    from localegop.research.paper.runner import Run


@dataclass(frozen=True)
class Outcome:
    """A part that has ended, with the reason if it did not finish."""

    part: str
    error: Exception | None


def compute_parts(
    run: Run, parts: Sequence[str], jobs: int, started: Callable[[str], None]
) -> Iterator[Outcome]:
    """Compute and store parts, ``jobs`` at a time, and tell of each when it has ended."""
    processors = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    threads = max(1, (processors or 1) // max(1, min(jobs, len(parts))))
    if jobs == 1 or len(parts) < 2:
        for part in parts:
            started(part)
            yield Outcome(part, _compute_one(run, part, threads))
    else:
        yield from _side_by_side(run, list(parts), jobs, threads, started)


def _compute_one(run: Run, part: str, threads: int) -> Exception | None:
    begin = time.monotonic()
    try:
        table = load_experiment(run.name).compute(part, run.parameters, run.seed, threads)
        run.store.save(part, table, time.monotonic() - begin)
    except (Refused, Skipped) as error:
        return error
    return None


def _side_by_side(
    run: Run, parts: list[str], jobs: int, threads: int, started: Callable[[str], None]
) -> Iterator[Outcome]:
    """One process a part: whatever happens in it, even its sudden end, is seen here."""
    context = multiprocessing.get_context("spawn")  # threads of the engine do not survive a fork
    waiting = parts[::-1]
    running: dict[Connection, tuple[str, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                part = waiting.pop()
                here, there = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_work, args=(run, part, threads, there), daemon=True
                )
                process.start()
                there.close()
                running[here] = (part, process)
                started(part)
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                part, process = running.pop(connection)
                yield Outcome(part, _answer(connection, part, process))
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def _answer(connection: Connection, part: str, process: BaseProcess) -> Exception | None:
    try:
        error: Exception | None = connection.recv()
    except EOFError:
        process.join()
        error = RuntimeError(f"the process of part {part} ended with code {process.exitcode}")
    connection.close()
    process.join()
    return error


def _work(run: Run, part: str, threads: int, connection: Connection) -> None:
    """Body of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's: it ends this process
    try:
        error = _compute_one(run, part, threads)
    except Exception:  # tracebacks do not travel, so their text must
        error = RuntimeError(f"part {part} failed:\n{traceback.format_exc()}")
    connection.send(error)
