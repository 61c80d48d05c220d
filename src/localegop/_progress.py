"""A progress bar made of stages; silent unless asked for.

Work is divided into stages before it begins, a stage into parts, and so on; a part that knows how many
units it has advances by them. The bar never goes back: a stage that turns out not to be needed is
jumped over.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType

QUIET_SECONDS = 2.0  # nothing is shown for work that ends sooner
REDRAW_SECONDS = 0.2


class ProgressBar:
    """A bar on standard error, with the time that is left.

    Parameters
    ----------
    title : str
        What is going on.
    verbose : bool or int
        Whether to show anything.
    """

    def __init__(self, title: str, verbose: bool | int) -> None:
        self.title, self.verbose = title, bool(verbose)
        self.stage = ""
        self.fraction = 0.0
        self.start = self.shown = time.monotonic()
        self._width = 0

    def __enter__(self) -> Progress:
        return Progress(self, 0.0, 1.0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.verbose and self.shown > self.start:
            self._show(finished=kind is None)
            sys.stderr.write("\n")

    def reach(self, fraction: float, stage: str) -> None:
        """Say how much of all is done, and what is being done."""
        self.fraction, self.stage = max(self.fraction, fraction), stage
        now = time.monotonic()
        if now - self.start > QUIET_SECONDS and now - self.shown > REDRAW_SECONDS:
            self.shown = now
            self._show()

    def _show(self, finished: bool = False) -> None:
        elapsed = time.monotonic() - self.start
        fraction = 1.0 if finished else self.fraction
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
        if not self._bar.verbose:
            return
        self._done = min(self._done + units, self._total)
        share = self._done / self._total
        self._bar.reach(self._start + share * (self._end - self._start), self.title)


SILENT = Progress(ProgressBar("", verbose=False), 0.0, 1.0)  # for work that nobody watches


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
