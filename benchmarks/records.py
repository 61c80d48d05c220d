"""Results that grow: records in a JSON file, written after each, so that a run can be interrupted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from history.builds import git

from localegop.research.runs.files import now, versions, write_json


class Records:
    """Records by key, kept in a file if one is given; what the file holds already is not measured again.

    A record with an entry ``"error"`` is of something that failed: it is shown, and tried again next time.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.commit = described_commit()
        self.commits_taken: set[str] = set()
        self.found: dict[str, dict] = {}
        if path and path.exists():
            self.found = _read(path)

    def take(self, key: str, measure: Callable[[], dict]) -> dict:
        """Return the record of this key, measured now if there is none yet."""
        if key not in self.found or "error" in self.found[key]:
            self.found[key] = measure() | {"commit": self.commit, "finished": now()}
            self._save()
        self.commits_taken.add(self.found[key].get("commit", ""))
        return self.found[key]

    def tell_of_other_commits(self) -> None:
        """Say so if some records are of other commits: they are used, and may be of other code."""
        others = sum(each.get("commit") != self.commit for each in self.found.values())
        if others:
            text = (
                f"{others} of {len(self.found)} records in {self.path} are of other commits than this one"
            )
            print(f"{text}: remove the file to measure anew", flush=True)

    def _save(self) -> None:
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            about = {"processors": os.cpu_count(), "versions": versions()}
            write_json(self.path, {"about": about, "records": self.found})


def _read(path):
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["records"])
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"'{path}' holds no records of this benchmark: {error!r}") from error


def described_commit() -> str:
    """Short hash of what is measured, with a mark if files have changed since; empty outside a checkout."""
    try:
        return git("describe", "--always", "--dirty", "--exclude", "*")
    except (SystemExit, OSError):
        return ""
