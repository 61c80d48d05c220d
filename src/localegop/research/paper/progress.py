"""Progress over the parts of an experiment: a bar with the time left, or lines without a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from localegop._progress import ProgressBar


class PartsProgress:
    """Show which parts run and how long the rest takes.

    Parameters
    ----------
    name : str
        Of the experiment.
    costs : dict
        Parts to compute and roughly how long each takes.
    say : callable
        Where lines go if standard error is no terminal.
    """

    def __init__(self, name: str, costs: Mapping[str, float], say: Callable[[str], None]) -> None:
        self.name, self.costs, self.say = name, costs, say
        self.terminal = sys.stderr.isatty()
        self.running: dict[str, float] = {}
        self.n_done = 0
        self.bar = ProgressBar(name, self.terminal)
        self._progress = self.bar.__enter__()
        self._progress.expect(sum(costs.values()))
        self._width = max((len(self._title(part)) for part in costs), default=0)
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> PartsProgress:
        if self.terminal:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self.bar.__exit__(kind, error, trace)

    def started(self, part: str) -> None:
        """Say that a part begins."""
        self.running[part] = time.monotonic()
        self.bar.title = self._title(part).ljust(self._width)
        self._progress.advance(0.0)

    def finished(self, part: str) -> None:
        """Say that a part has ended."""
        seconds = time.monotonic() - self.running.pop(part)
        self.n_done += 1
        self._progress.advance(self.costs[part])
        if not self.terminal:
            self.say(f"{self.name}: part {part} took {seconds:.1f} s ({self.n_done} of {len(self.costs)})")

    def _title(self, part: str) -> str:
        return f"{self.name}: {part}"

    def _tick(self) -> None:
        """Let the clock go on while a long part runs."""
        while not self._over.wait(1.0):
            self._progress.advance(0.0)
