"""Stored parts: a table as CSV and, beside it, what it was computed from as JSON.

The JSON is written last and holds a checksum of the CSV, so a part counts as finished only if both are
whole. Numbers are written with all their digits: a stored table is exactly the computed one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localegop.research.paper.experiment import Parameters, Table
from localegop.research.runs.files import has_settings, make_folder, now, versions, write_json, write_whole

_KINDS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}


class Damaged(Exception):
    """A stored part that cannot be read; the message says why."""


@dataclass(frozen=True)
class StoredPart:
    """A finished part and the record of how it came about."""

    table: Table
    record: dict[str, Any]


@dataclass(frozen=True)
class Store:
    """The folder of one experiment at one size and seed."""

    folder: Path
    parameters: Parameters
    seed: int
    revision: int = 1

    @property
    def settings(self) -> dict[str, Any]:
        """What a stored part must have been computed with."""
        return {"parameters": dict(self.parameters), "seed": self.seed, "revision": self.revision}

    def save(self, part: str, table: Table, seconds: float) -> None:
        """Write a finished part."""
        checked = _check_table(part, table)
        text = to_csv(checked)
        record = {
            "part": part,
            **self.settings,
            "seconds": round(seconds, 3),
            "finished": now(),
            "versions": versions(),
            "processors": os.cpu_count(),
            "columns": {key: _kind(column) for key, column in checked.items()},
            "sha256": _digest(text),
        }
        make_folder(self.folder)
        write_whole(self._path(part, "csv"), text)
        write_json(self._path(part, "json"), record)

    def load(self, part: str) -> StoredPart | None:
        """Return a finished part, None if there is none with these parameters, seed and revision.

        Raises
        ------
        Damaged
            If there is one, but it cannot be read.
        """
        record_path = self._path(part, "json")
        if not record_path.exists():
            return None
        try:
            record = json.loads(record_path.read_text(encoding="utf-8"))
            if not has_settings(record, self.settings):
                return None
            text = self._path(part, "csv").read_bytes().decode("utf-8")
            if _digest(text) != record["sha256"]:
                raise Damaged("the table is not the one that was written")
            return StoredPart(_from_csv(text, record["columns"]), record)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Damaged(f"{type(error).__name__}: {error}") from error

    def _path(self, part: str, ending: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_.=-]+", part):
            raise ValueError(f"names of parts are of letters, digits and _ . = - only, got {part!r}")
        return self.folder / f"{part}.{ending}"


def _check_table(part: str, table: Table) -> Table:
    columns = {key: np.asarray(column) for key, column in table.items()}
    shapes = {column.shape for column in columns.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError(f"part {part!r}: a table is columns of one length, got shapes {sorted(shapes)}")
    return columns


def _kind(column: Any) -> str:
    kinds = {"i": "int", "u": "int", "b": "int", "f": "float", "U": "str"}
    if column.dtype.kind not in kinds:
        raise ValueError(f"columns hold numbers or strings, got dtype {column.dtype}")
    return kinds[column.dtype.kind]


def to_csv(table: Table) -> str:
    """Text of a table, numbers with all their digits."""
    stream = io.StringIO()
    columns = [column.astype(int) if _kind(column) == "int" else column for column in table.values()]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return stream.getvalue()


def _from_csv(text: str, kinds: dict[str, str]) -> Table:
    header, *rows = csv.reader(io.StringIO(text))
    if header != list(kinds):
        raise ValueError(f"columns are {header}, but {list(kinds)} were recorded")
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return {
        name: np.array([_KINDS[kinds[name]](cell) for cell in column])
        for name, column in zip(header, columns, strict=True)
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
