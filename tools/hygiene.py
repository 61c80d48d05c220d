"""Complain about files that should not be committed as they are.

Run by pre-commit with the names of changed files, or by hand: ``python tools/hygiene.py FILE...``. It finds
spaces at ends of lines, a missing or doubled end of the last line, Windows line ends, marks that a merge
left, TOML or JSON that cannot be read, and files of more than a megabyte.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

LARGEST = 1_000_000
MERGE_MARKS = ("<" * 7 + " ", ">" * 7 + " ", "=" * 7)


def unreadable(path: Path, text: str) -> str | None:
    """Say why a file of settings cannot be read; None if it can, or is none."""
    try:
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".toml":
            tomllib.loads(text)
    except ValueError as error:
        return str(error)
    return None


def problems(path: Path) -> Iterator[str]:
    """Yield what is wrong with a file, one message each."""
    content = path.read_bytes()
    if len(content) > LARGEST:
        yield f"{path}: {len(content)} bytes, more than {LARGEST}: keep large data elsewhere"
    if b"\0" in content:
        return  # not a text
    text = content.decode("utf-8", errors="replace")
    if "\r\n" in text:
        yield f"{path}: Windows line ends"
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield f"{path}: must end with one line end"
    for number, line in enumerate(text.splitlines(), start=1):
        if line != line.rstrip():
            yield f"{path}:{number}: spaces at the end of the line"
        if line.startswith(MERGE_MARKS[:2]) or line == MERGE_MARKS[2]:
            yield f"{path}:{number}: mark of an unfinished merge"
    if reason := unreadable(path, text):
        yield f"{path}: cannot be read: {reason}"


def main(names: list[str]) -> int:
    """Print all problems; return 1 if there are any."""
    found = [problem for name in names for problem in problems(Path(name))]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
