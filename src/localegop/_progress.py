"""A progress bar with an estimate of the time left; silent unless asked for."""

from __future__ import annotations

import sys
import time
from types import TracebackType


class Progress:
    """Count finished work units and, if ``verbose``, show them on standard error.

    Parameters
    ----------
    total : float
        Work units expected, in any unit.
    title : str
        What is going on.
    verbose : bool or int
        Whether to show anything. Nothing is shown for work that ends within two seconds.
    """

    def __init__(self, total: float, title: str, verbose: bool | int) -> None:
        self.total, self.title, self.verbose = max(total, 1e-12), title, bool(verbose)
        self.done = 0.0
        self.start = self.shown = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.verbose and self.shown > self.start:
            self._show(finished=kind is None)
            sys.stderr.write("\n")

    def advance(self, amount: float) -> None:
        """Say that this much more is done."""
        self.done = min(self.done + amount, self.total)
        now = time.monotonic()
        if self.verbose and now - self.start > 2.0 and now - self.shown > 0.2:
            self.shown = now
            self._show()

    def extend(self, amount: float) -> None:
        """Say that this much more is to be done than was expected."""
        self.total += amount

    def _show(self, finished: bool = False) -> None:
        elapsed = time.monotonic() - self.start
        fraction = 1.0 if finished else self.done / self.total
        bar = "#" * int(24 * fraction)
        left = "" if finished or fraction <= 0 else f", {_clock(elapsed / fraction - elapsed)} left"
        sys.stderr.write(f"\r{self.title} [{bar:<24}] {fraction:4.0%} {_clock(elapsed)}{left}   ")
        sys.stderr.flush()


SILENT = Progress(1.0, "", verbose=False)  # for work that nobody watches


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
