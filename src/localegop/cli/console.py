"""What a command says: a report on standard output, notes and progress on standard error."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from localegop.cli.problems import Problem

Line = tuple[str, str]


class Console:
    """Prints what a command has to say, and measures the time of its parts."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.command: str = args.command
        self.json: bool = args.json
        self.quiet: bool = args.quiet
        wanted: bool | None = getattr(args, "progress", None)
        self.progress = sys.stderr.isatty() and not args.quiet if wanted is None else wanted
        self.seconds: dict[str, float] = {}
        # a table that is written to standard output has it for itself
        self.out = sys.stderr if getattr(args, "output", None) == "-" else sys.stdout
        if self.json and self.out is sys.stderr:
            raise Problem("--json and -o - both write to standard output: give one of them a file")
        self._start = time.perf_counter()

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Measure the time of a part of the work."""
        start = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start

    def note(self, text: str) -> None:
        """Print a remark on standard error."""
        if not self.quiet:
            print(f"localegop: {text}", file=sys.stderr, flush=True)

    def report(self, facts: Mapping[str, Any], lines: Sequence[Line]) -> None:
        """Print the result: facts as one JSON object, or lines of label and value for people."""
        total = time.perf_counter() - self._start
        if self.json:
            seconds = {**self.seconds, "total": total}
            text = json.dumps(plain({"command": self.command, **facts, "seconds": seconds}), indent=2)
            print(text, file=self.out)
        elif not self.quiet:
            parts = ", ".join(f"{part} {duration(t)}" for part, t in self.seconds.items())
            timing = f"{duration(total)} ({parts})" if parts else duration(total)
            lines = [*lines, ("time", timing)]
            width = 2 + max(len(label) for label, _ in lines)
            for label, value in lines:
                print(f"{label:<{width}}{value}".rstrip(), file=self.out)


def duration(seconds: float) -> str:
    """Format a time for people."""
    if seconds < 0.0995:
        return f"{1000.0 * seconds:.0f} ms"
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def file_size(number: int) -> str:
    """Format a number of bytes for people."""
    size = float(number)
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB"


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; NaN and infinities, which it cannot, become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
