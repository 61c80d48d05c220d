"""Files of a run: written whole or not at all, with what they were computed from."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from localegop.research.runs.workers import Refused

_PACKAGES = ("localegop", "numpy", "scipy", "scikit-learn", "matplotlib", "scikit-image", "statsmodels")
_MORE = (
    *("metric-learn", "lightgbm", "torch", "xrfm", "catboost", "gpboost", "interpret-core"),
    *("pytabkit", "smt", "MuyGPyS", "laGPy"),
)


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to, or say what to do."""
    with _into(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()


def write_whole(path: Path, text: str) -> None:
    """Write all or nothing."""
    unfinished = path.with_name(path.name + ".unfinished")
    with _into(path.parent):
        unfinished.write_text(text, encoding="utf-8", newline="")
        os.replace(unfinished, path)


@contextmanager
def _into(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cannot write to the folder '{folder}' ({error.strerror}): give another with --output"
        raise Refused(text) from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, all or nothing."""
    write_whole(path, json.dumps(content, indent=1) + "\n")


def has_settings(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a stored record was computed with the wanted settings, as JSON holds them."""
    return all(record.get(key) == value for key, value in json.loads(json.dumps(wanted)).items())


def now() -> str:
    """Date and time, for records."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter, where installed."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *_MORE):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
