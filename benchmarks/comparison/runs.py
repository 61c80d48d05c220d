"""All cells of a run: which they are, each in a child process, finished ones kept in the folder's JSON."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from localegop.research.peers import METHODS
from localegop.research.runs.files import has_settings, now, versions, write_json
from localegop.research.runs.progress import PartsProgress
from localegop.research.runs.workers import Outcome, Part, TimeLimit, run_parts

from .cells import Cell, measure
from .datasets import DATASETS


@dataclass(frozen=True)
class Form:
    """Defaults of a run; cells run ``jobs`` at a time with ``threads`` each."""

    seeds: int
    tuning_rows: int
    jobs: int
    threads: int
    time_limit: float


def forms() -> dict[str, Form]:
    """Return the quick form, which fills all processors with cells, and the full one, which times alone."""
    processors = os.cpu_count() or 1
    return {
        "quick": Form(seeds=1, tuning_rows=300, jobs=processors, threads=1, time_limit=60.0),
        "full": Form(seeds=3, tuning_rows=1000, jobs=1, threads=processors, time_limit=3600.0),
    }


def plan(datasets, methods, *, n_train=(), seeds, tuning_rows, threads, quick) -> list[Cell]:
    """Cells in the order in which they run: seed by seed, so that a run cut short has all sets."""
    cells = []
    for seed in range(seeds):
        for name in datasets:
            entry = DATASETS[name]
            sizes = (entry.quick or entry.full) if quick else entry.full
            train = tuple(n_train) or sizes.train
            for n in train:
                for method in methods:
                    if entry.methods and method not in entry.methods:
                        continue
                    if n > (METHODS[method].largest_n or n) and n < max(train):
                        continue  # beyond its largest n a method is run once, at the largest size
                    cells.append(Cell(name, method, n, seed, sizes.test, tuning_rows, threads))
    return cells


class Results:
    """The JSON file of a run: what it was run with, and a record for every finished cell."""

    def __init__(self, path: Path, form: str) -> None:
        self.path = path
        self.about = {"form": form, "processors": os.cpu_count(), "versions": versions()}
        self.cells: dict[str, dict] = {}

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read a file; a ValueError says what is wrong with it."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            results = cls(path, stored["about"]["form"])
            results.about, results.cells = stored["about"], stored["cells"]
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"'{path}' is no result of this benchmark: {error!r}") from error
        return results

    def records(self) -> list[dict]:
        """All records."""
        return list(self.cells.values())

    def save(self) -> None:
        """Write the file; it is whole at any time."""
        write_json(self.path, {"about": self.about, "cells": self.cells})

    def pending(self, cells, time_limit, again=()) -> list[Cell]:
        """Cells without a record of the same settings, with one that may turn out better, or asked for.

        Errors may; a cell that was too late may if it now has more time.
        """

        def done(cell):
            record = self.cells.get(cell.key, {"status": "error"})
            same = has_settings(record, asdict(cell))
            late = record["status"] == "time limit" and record.get("time_limit", 0.0) < time_limit
            return same and record["status"] != "error" and not late and cell.method not in again

        return [cell for cell in cells if not done(cell)]


def run_cells(results: Results, cells: list[Cell], *, jobs: int, time_limit: float, say=print) -> None:
    """Measure cells, ``jobs`` at a time, and keep each as soon as it is finished."""
    by_key = {cell.key: cell for cell in cells}

    def keep(outcome):
        record = record_of(by_key[outcome.name], outcome, time_limit)
        results.cells[outcome.name] = record | {"finished": now()}
        results.save()
        return describe(record)

    parts = [Part(cell.key, measure, (cell,)) for cell in cells]
    progress = PartsProgress(dict.fromkeys(by_key, 1.0), say)
    run_parts(parts, keep, progress, jobs=jobs, time_limit=time_limit)


def record_of(cell: Cell, outcome: Outcome, time_limit: float) -> dict:
    """Record of a cell whose process has ended; its sudden end or lateness is a record too."""
    if outcome.error is None:
        return outcome.value | {"wall_seconds": outcome.wall_seconds}
    late = {"status": "time limit", "time_limit": time_limit}
    status = late if isinstance(outcome.error, TimeLimit) else {"status": "error"}
    return asdict(cell) | status | {"error": str(outcome.error), "warnings": 0}


def describe(record: dict) -> str:
    """One line about a record."""
    if record["status"] != "ok":
        return record["error"]
    noted = f", {record['warnings']} WARNINGS" if record["warnings"] else ""
    return (
        f"MSE/variance {record['mse_over_variance']:.2e}, fit {record['fit_seconds']:.2f} s, "
        f"predict {record['predict_seconds_per_1000']:.3f} s per 1,000, "
        f"{record['memory_gb']:.2f} GB{noted}"
    )
