"""Progress over parts: a bar with the time left, or a line for each part that has ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from localegop._progress import ProgressBar


class PartsProgress:
    """Show which parts run and how long the rest takes.

    Parameters
    ----------
    costs : dict
        Parts to compute and roughly how long each takes, in any unit.
    say : callable
        Where lines go.
    name : str, default=""
        Of the run, put before the names of its parts.
    bar : bool, default=False
        Draw a bar on standard error in place of lines.
    """

    def __init__(
        self, costs: Mapping[str, float], say: Callable[[str], None], name: str = "", *, bar: bool = False
    ) -> None:
        self.costs, self.say, self.name, self.n_done = costs, say, name and f"{name}: ", 0
        self._bar, self.start, self._done = ProgressBar(name, bar), time.monotonic(), 0.0
        self._progress = self._bar.__enter__()
        self._progress.expect(sum(costs.values()))
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> PartsProgress:
        if self._bar.verbose:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self._bar.__exit__(kind, error, trace)

    def begin_part(self, part: str) -> None:
        """Say that a part begins."""
        self._progress.title = part
        self._progress.advance(0.0)

    def end_part(self, part: str, text: str) -> None:
        """Say that a part has ended, and in a few words how."""
        self.n_done += 1
        self._done += self.costs[part]
        self._progress.advance(self.costs[part])
        if not self._bar.verbose:
            share = self._done / sum(self.costs.values())
            left = clock((time.monotonic() - self.start) * (1.0 / max(share, 1e-12) - 1.0))
            self.say(f"[{self.n_done}/{len(self.costs)}, {left} left] {self.name}{part}: {text}")

    def _tick(self) -> None:
        """Let the clock go on while a long part runs."""
        while not self._over.wait(1.0):
            self._progress.advance(0.0)


def clock(seconds: float) -> str:
    """Seconds for people.

    Examples
    --------
    >>> from localegop.research.runs.progress import clock
    >>> clock(3.24), clock(185)
    ('3.2 s', '3 min 5 s')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{seconds / 3600:.1f} h"
