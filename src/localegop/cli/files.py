"""Files in and out: what can be read, what may be written, and writing that never leaves half a file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localegop.cli.problems import Problem


def check_input(path: str) -> None:
    """Refuse what is not a readable file."""
    if not os.path.exists(path):
        raise Problem(f"{path}: no such file")
    if os.path.isdir(path):
        raise Problem(f"{path}: is a folder, but a file is needed")
    if not os.access(path, os.R_OK):
        raise Problem(f"{path}: cannot be read (permission denied)")


def check_output(path: str, *inputs: str) -> Path:
    """Return the file behind the name, before any work is done, or say why it cannot be written."""
    target = Path(os.path.realpath(path))  # a link stays a link: its target is replaced
    if target.is_dir():
        raise Problem(f"{path}: is a folder: give the name of a file in it")
    if target.exists() and not target.is_file():
        raise Problem(f"{path}: is not a regular file: give another name")
    if not target.parent.is_dir():
        raise Problem(f"{path}: there is no folder {str(target.parent)!r}: create it or give another name")
    if not os.access(target.parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise Problem(f"{path}: cannot be written (permission denied): give another name")
    for other in inputs:
        if target.exists() and os.path.exists(other) and target.samefile(other):
            raise Problem(f"{path}: is also read by this command: give the output another name")
    return target


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary file to write; it replaces the target only if all went well."""
    temporary = target.with_name(f".{secrets.token_hex(4)}-{target.name}")  # keeps the ending
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # otherwise a crash could leave an empty file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
