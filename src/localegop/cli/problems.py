"""Problems with data, models and files, each explained in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class Problem(Exception):
    """A problem that one line explains: the command ends with exit code 1."""


@contextmanager
def about(path: str) -> Iterator[None]:
    """Start the line of a problem with the file it is about."""
    try:
        yield
    except Problem as problem:
        raise Problem(f"{path}: {problem}") from problem


def one_line(error: object) -> str:
    """Say in one line what an error means; the text of other objects is put in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{error.filename}: "
        return f"{name}{error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        return f"not enough memory{': ' if text else ''}{text}"
    expected = Problem | ValueError | ImportError | Warning | SystemExit
    if isinstance(error, BaseException) and not (isinstance(error, expected) and text):
        return f"{type(error).__name__}: {text}"
    return text


def need(module: str) -> Any:
    """Import an optional module for tables, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise Problem(
            f"tables need {module}, which cannot be imported ({one_line(error)}): "
            "pip install 'localegop[table]'"
        ) from error


def quoted(names: list[str], most: int = 10) -> str:
    """List names for people, at most ``most`` of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """Count things: ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
