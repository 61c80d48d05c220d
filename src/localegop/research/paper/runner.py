"""Run an experiment part by part: store what is finished, skip what is stored, draw from what is stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from localegop._arguments import check_choice, check_count
from localegop.research.paper import load_experiment
from localegop.research.paper.experiment import SIZES, Finding, Refused, Skipped, Table, Tables
from localegop.research.paper.store import Damaged, Store
from localegop.research.runs.files import make_folder
from localegop.research.runs.pages import save_figures
from localegop.research.runs.progress import PartsProgress, clock
from localegop.research.runs.workers import Outcome, Part, run_parts

DEFAULT_FOLDER = "paper_output"


@dataclass(frozen=True)
class Run:
    """An experiment at one size and seed, and the folder where its parts are.

    Parameters
    ----------
    name : str
        Of the experiment, see :data:`localegop.research.paper.EXPERIMENTS`.
    size : {"tiny", "quick", "default", "full"}
    seed : int
    output : Path
        Parts and figures go to ``output/name/size-seedS``.
    changes : dict
        Parameters that differ from those of the size.
    tag : str
        Added to the name of the folder, so that runs with changes do not overwrite each other.
    """

    name: str
    size: str = "default"
    seed: int = 0
    output: Path = Path(DEFAULT_FOLDER)
    changes: Mapping[str, Any] = field(default_factory=dict)
    tag: str = ""

    def __post_init__(self) -> None:
        check_choice("size", self.size, SIZES)
        unknown = set(self.changes) - set(load_experiment(self.name).PARAMETERS[self.size])
        if unknown:
            raise ValueError(f"{self.name} has no parameters {sorted(unknown)}")

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the size, with the changes."""
        return {**load_experiment(self.name).PARAMETERS[self.size], **self.changes}

    @property
    def folder(self) -> Path:
        """Where the parts and figures are."""
        return self.output / self.name / f"{self.size}-seed{self.seed}{self.tag and '-' + self.tag}"

    @property
    def store(self) -> Store:
        """Stored parts."""
        revision = getattr(load_experiment(self.name), "REVISION", 1)
        return Store(self.folder, self.parameters, self.seed, revision)


@dataclass(frozen=True)
class Stored:
    """What is stored of a run: tables and records by part, and what was damaged."""

    tables: dict[str, Table]
    records: dict[str, dict[str, Any]]
    damaged: dict[str, str]

    @property
    def seconds(self) -> float:
        """Time that the parts took."""
        return float(sum(record["seconds"] for record in self.records.values()))


@dataclass(frozen=True)
class Result:
    """What a run left: tables by part, figures, and the lines about parts that did not run."""

    tables: dict[str, Table]
    figures: list[Path]
    refused: list[str]
    skipped: list[str]


def stored_parts(run: Run) -> Stored:
    """Read all finished parts of a run."""
    stored = Stored({}, {}, {})
    for part in load_experiment(run.name).parts(run.parameters):
        try:
            found = run.store.load(part)
        except Damaged as error:
            stored.damaged[part] = str(error)
            continue
        if found is not None:
            stored.tables[part], stored.records[part] = found.table, found.record
    return stored


def execute(
    run: Run,
    *,
    jobs: int = 1,
    again: bool = False,
    parts: str = "*",
    say: Callable[[str], None] | None = None,
) -> Result:
    """Compute the parts that are not stored yet, then draw.

    Parameters
    ----------
    run : Run
    jobs : int, default=1
        Parts computed at the same time, in processes that share the processors. The engine uses all
        processors anyway, so more than one only helps where parts are many and small.
    again : bool, default=False
        Compute stored parts again.
    parts : str, default="*"
        Only parts whose names are like this, such as ``"*-n=500-*"``; the others keep for another time.
    say : callable or None
        Where lines for people go, by default standard error.

    Returns
    -------
    Result
    """
    check_count("jobs", jobs)
    say_line = say or partial(print, file=sys.stderr)
    require_matplotlib()
    make_folder(run.folder)
    costs = load_experiment(run.name).parts(run.parameters)
    asked = {part for part in costs if fnmatchcase(part, parts)}
    if not asked:
        raise Refused(
            f"no part of {run.name} is like '{parts}'; there are {', '.join(list(costs)[:3])}, ..."
        )
    stored = Stored({}, {}, {}) if again else stored_parts(run)
    for part, reason in stored.damaged.items():
        say_line(f"{run.name}: stored part {part} is damaged ({reason}) and is computed again")
    if stored.tables:
        say_line(f"{run.name}: {len(stored.tables)} of {len(costs)} parts are there already")
    left_to_do = [part for part in costs if part in asked and part not in stored.tables]
    refused, to_do = _split_by_needs(run.name, left_to_do)
    skipped: list[str] = []

    def keep(outcome: Outcome) -> str:
        if outcome.error is None:
            run.store.save(outcome.name, outcome.value, outcome.seconds)
            return f"took {clock(outcome.seconds)}"
        if not isinstance(outcome.error, (Refused, Skipped)):
            raise outcome.error
        lines = refused if isinstance(outcome.error, Refused) else skipped
        lines.append(f"{run.name}: {outcome.error}")
        return "not computed"

    left = {part: costs[part] for part in to_do}
    progress = PartsProgress(left, say_line, run.name, bar=sys.stderr.isatty())
    run_parts(_parts(run, to_do, jobs), keep, progress, jobs=jobs if jobs > 1 and len(to_do) > 1 else None)
    skipped, refused = list(dict.fromkeys(skipped)), list(dict.fromkeys(refused))  # each line once
    for line in (*skipped, *refused):
        say_line(line)
    tables = stored_parts(run).tables
    return Result(tables, draw(run, tables), refused, skipped)


def draw(run: Run, tables: Tables, folder: Path | None = None, prefix: str = "") -> list[Path]:
    """Draw the figures of a run from its tables and return where they are."""
    require_matplotlib()
    if not tables:
        return []
    figures = load_experiment(run.name).draw(tables, run.parameters)
    return list(save_figures(figures, folder or run.folder, prefix).values())


def findings(run: Run, tables: Tables) -> list[Finding]:
    """Compare with what the paper reports."""
    return load_experiment(run.name).findings(tables, run.parameters) if tables else []


def summary(run: Run, tables: Tables) -> Table:
    """Return the small table of an experiment, or an empty dict if it has none."""
    function = getattr(load_experiment(run.name), "summary", None)
    return function(tables, run.parameters) if function and tables else {}


def require_matplotlib() -> None:
    """Refuse early: nobody wants to learn after twenty minutes that nothing can be drawn."""
    if find_spec("matplotlib") is None:
        raise Refused("figures need matplotlib: pip install 'localegop[plot]'")


def _split_by_needs(name: str, parts: list[str]) -> tuple[list[str], list[str]]:
    """Lines about parts that lack a module, and the parts that can run."""
    needs = getattr(load_experiment(name), "needs", lambda part: ())
    lacking: dict[tuple[str, ...], list[str]] = {}
    for part in parts:
        missing = tuple(module for module in needs(part) if find_spec(module) is None)
        lacking.setdefault(missing, []).append(part)
    able = lacking.pop((), [])
    refused = [
        f"{name}: {_count_parts(several)} left out for want of {' and '.join(missing)}: "
        "pip install 'localegop[paper]'"
        for missing, several in lacking.items()
    ]
    return refused, able


def _count_parts(parts: list[str]) -> str:
    return f"part {parts[0]} is" if len(parts) == 1 else f"{len(parts)} parts ({parts[0]}, ...) are"


def _parts(run: Run, names: list[str], jobs: int) -> list[Part]:
    """Parts that share the processors."""
    processors = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    threads = max(1, (processors or 1) // max(1, min(jobs, len(names))))
    return [Part(name, _compute, (run.name, name, run.parameters, run.seed, threads)) for name in names]


def _compute(name: str, part: str, parameters: dict[str, Any], seed: int, threads: int) -> Table:
    return load_experiment(name).compute(part, parameters, seed, threads)
