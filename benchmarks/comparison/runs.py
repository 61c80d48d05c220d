"""All cells of a run: which they are, each in a child process, finished ones kept in the folder's JSON."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from localegop.research.peers import METHODS

from .cells import Cell
from .datasets import DATASETS

FOLDER = Path(__file__).parents[1]
_PACKAGES = ("localegop", "numpy", "scipy", "scikit-learn", "statsmodels", "metric-learn", "lightgbm")
_PACKAGES += ("torch", "xrfm")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Form:
    """How a run is made unless told otherwise; cells run ``jobs`` at a time with ``threads`` each."""

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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        text = json.dumps({"about": self.about, "cells": self.cells}, indent=1)
        partial.write_text(text + "\n", encoding="utf-8")
        os.replace(partial, self.path)

    def pending(self, cells, time_limit, again=()) -> list[Cell]:
        """Cells without a record of the same settings, with one that may turn out better, or asked for.

        Errors may; a cell that was too late may if it now has more time.
        """

        def done(cell):
            record = self.cells.get(cell.key, {"status": "error"})
            same = all(record.get(key) == value for key, value in asdict(cell).items())
            late = record["status"] == "time limit" and record.get("time_limit", 0.0) < time_limit
            return same and record["status"] != "error" and not late and cell.method not in again

        return [cell for cell in cells if not done(cell)]


def run_cells(results: Results, cells: list[Cell], *, jobs: int, time_limit: float, say=print) -> None:
    """Measure cells, ``jobs`` at a time, and keep each as soon as it is finished."""
    lock, start, finished = threading.Lock(), time.monotonic(), 0

    def one(cell):
        nonlocal finished
        record = in_child(cell, time_limit)
        record["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        with lock:
            finished += 1
            results.cells[cell.key] = record
            results.save()
            left = (time.monotonic() - start) / finished * (len(cells) - finished)
            say(f"[{finished}/{len(cells)}, {left / 60:.0f} min left] {cell.key}: {outcome(record)}")

    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(one, cell) for cell in cells]
        try:
            for done in waiting:
                done.result()
        except BaseException:  # also Ctrl-C: cells that have not begun must not begin
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def in_child(cell: Cell, time_limit: float) -> dict:
    """Record of a cell measured in a process of its own; its sudden end or lateness is a record too."""
    command = [sys.executable, "-m", f"{__package__}.cells", json.dumps(asdict(cell))]
    environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(cell.threads))
    known = [str(FOLDER), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, known))
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=time_limit, env=environment
        )
    except subprocess.TimeoutExpired:
        text = f"not finished after {time_limit:g} s"
        late = {"status": "time limit", "time_limit": time_limit, "error": text, "warnings": 0}
        return asdict(cell) | late
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        text = f"the process ended with code {done.returncode}: {reason}"
        return asdict(cell) | {"status": "error", "error": text, "warnings": 0}
    return json.loads(done.stdout.splitlines()[-1]) | {"wall_seconds": time.monotonic() - start}


def outcome(record: dict) -> str:
    """One line about a record."""
    if record["status"] != "ok":
        return record["error"]
    noted = f", {record['warnings']} WARNINGS" if record["warnings"] else ""
    return (
        f"MSE/variance {record['mse_over_variance']:.2e}, fit {record['fit_seconds']:.2f} s, "
        f"predict {record['predict_seconds_per_1000']:.3f} s per 1,000, "
        f"{record['memory_gb']:.2f} GB{noted}"
    )


def versions() -> dict[str, str]:
    """Versions of Python and of the packages compared, where installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
