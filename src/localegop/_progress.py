"""A progress bar made of stages, for people or for a callback; silent unless asked for.

Work is divided into stages before it begins, a stage into parts, and so on; a part that knows how many
units it has advances by them. The bar never goes back: a stage that turns out not to be needed is
jumped over. It is full only when all is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from weakref import ReferenceType, ref

Callback = Callable[[int, int, str], object]  # done, total, what

QUIET_SECONDS = 0.5  # nothing is shown for work that ends sooner
REDRAW_SECONDS = 0.2
TICK_SECONDS = 0.9  # the time is shown again after so long, even if nothing has moved
TOTAL = 1000  # units that callbacks count in


class ProgressBar:
    """A bar on standard error, with the time that is left.

    Parameters
    ----------
    title : str
        What is going on.
    verbose : bool or int
        Whether to show anything.
    callback : callable or None
        Called as ``callback(done, total, what)``, in the thread that works: at the beginning, whenever
        ``done`` has risen, and with ``done == total`` when all is done, and only then.
    """

    def __init__(self, title: str, verbose: bool | int, callback: Callback | None = None) -> None:
        self.title, self.verbose, self.callback = title, bool(verbose), callback
        self.stage = ""
        self.fraction = 0.0
        self.start = self.shown = time.monotonic()
        self._width, self._told = 0, -1
        self._drawing, self._over = threading.Lock(), threading.Event()
        self._ticker: threading.Thread | None = None

    @property
    def watched(self) -> bool:
        """Whether anybody looks."""
        return self.verbose or self.callback is not None

    def __enter__(self) -> Progress:
        self._tell(0)
        if self.verbose:
            self._ticker = threading.Thread(target=_tick, args=(ref(self), self._over), daemon=True)
            self._ticker.start()
        return Progress(self, 0.0, 1.0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        if self.verbose and self.shown > self.start:
            self._show(finished=kind is None)
            sys.stderr.write("\n")
        if kind is None:
            self._tell(TOTAL)

    def reach(self, fraction: float, stage: str) -> None:
        """Say how much of all is done, and what is being done."""
        self.fraction, self.stage = max(self.fraction, fraction), stage
        self._tell(min(int(TOTAL * self.fraction), TOTAL - 1))
        now = time.monotonic()
        if self.verbose and now - self.start > QUIET_SECONDS and now - self.shown > REDRAW_SECONDS:
            self._show()

    def _tell(self, done: int) -> None:
        """Call back if there is something new."""
        if self.callback is not None and done > self._told:
            self._told = done
            self.callback(done, TOTAL, f"{self.title}: {self.stage}" if self.stage else self.title)

    def _show(self, finished: bool = False) -> None:
        with self._drawing:
            self._draw(finished)

    def _draw(self, finished: bool) -> None:
        self.shown = time.monotonic()
        elapsed = self.shown - self.start
        fraction = 1.0 if finished else min(self.fraction, 0.99)
        bar = "#" * int(24 * fraction)
        left = "" if finished or fraction <= 0 else f", {_clock(elapsed / fraction - elapsed)} left"
        stage = "" if finished or not self.stage else f", {self.stage}"
        line = f"{self.title} [{bar:<24}] {fraction:4.0%} {_clock(elapsed)}{left}{stage}"
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()
        self._width = len(line)


class Progress:
    """A stretch of a bar, from one fraction of it to another.

    Examples
    --------
    >>> from localegop._progress import ProgressBar
    >>> bar = ProgressBar("fit", verbose=True)
    >>> with bar as progress:
    ...     learning, choosing = progress.stages(("learning", 3.0), ("choosing", 1.0))
    ...     learning.expect(10)
    ...     learning.advance(5)
    >>> bar.fraction
    0.375
    """

    def __init__(self, bar: ProgressBar, start: float, end: float, title: str = "") -> None:
        self.title = title
        self._bar, self._start, self._end = bar, start, end
        self._done, self._total = 0.0, 1.0

    def stages(self, *stages: tuple[str, float]) -> tuple[Progress, ...]:
        """Divide the stretch into stages of these titles, each as long as its number says."""
        total = sum(length for _, length in stages)
        found, at = [], self._start
        for title, length in stages:
            end = at + (self._end - self._start) * length / total
            found.append(Progress(self._bar, at, end, title))
            at = end
        return tuple(found)

    def parts(self, count: int) -> tuple[Progress, ...]:
        """Divide the stretch into parts of the same length."""
        return self.stages(*[(self.title, 1.0)] * count)

    def over(self, slices: Iterable[slice], total: int) -> Iterator[slice]:
        """Go through slices of so many things in all, and advance after each."""
        self.expect(total)
        for rows in slices:
            yield rows
            self.advance(rows.stop - rows.start)

    def expect(self, total: float) -> None:
        """Say how many units there are to be done in this stretch."""
        self._total = max(total, 1e-12)

    def advance(self, units: float = 1.0) -> None:
        """Say that so many more units are done."""
        if not self._bar.watched:
            return
        self._done = min(self._done + units, self._total)
        share = self._done / self._total
        self._bar.reach(self._start + share * (self._end - self._start), self.title)


SILENT = Progress(ProgressBar("", verbose=False), 0.0, 1.0)  # for work that nobody watches


def _tick(bar: ReferenceType[ProgressBar], over: threading.Event) -> None:
    """Show the time while nothing moves, until the work is over or the bar is forgotten."""
    while not over.wait(TICK_SECONDS):
        there = bar()
        if there is None:
            return
        there._show()
        del there


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
