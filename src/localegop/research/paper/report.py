"""The page ``paper.md``: every figure next to what the paper reports, all numbers from stored tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localegop.research.paper import EXPERIMENTS, load_experiment
from localegop.research.paper._side_by_side import is_error_part
from localegop.research.paper.experiment import VERDICTS, Experiment, Finding, Refused, Table, join_tables
from localegop.research.paper.runner import Run, Stored, draw, findings, stored_parts, summary
from localegop.research.paper.store import to_csv
from localegop.research.runs.files import make_folder
from localegop.research.runs.pages import markdown_table
from localegop.research.runs.progress import clock

_KEPT = "*Kept from an earlier run, by an earlier version; verdicts are those of then.*"
_ADDED = "*Computed since:*"
LARGEST_TABLE = 100_000  # characters; larger tables stay where they were computed
_INTRODUCTION = """\
# The paper, reproduced

The figures and tables of Kokot, Hemmady, Thiyageswaran and Meila, *Local EGOP for Continuous Index
Learning*, computed with this package. `localegop paper list` names the experiments, `localegop paper run
NAME` computes one (`--quick` in two minutes, `--full` at the paper's sizes), `localegop paper all` every
one, and `localegop paper report` writes this page from the stored tables: every number under *here* comes
from them. A verdict follows from the numbers by a rule in the module of its experiment. It is given to the
paper's own method only: *Algorithm 1* with the printed settings (T = 150, m = 300), what the paper proves,
or what it draws. *Field Local EGOP* is ours; its rows stand beside, with a linear fit and with the fit that
it chooses at held-out points, and are not compared with the paper's numbers.
"""


@dataclass(frozen=True)
class Chapter:
    """One experiment of the page."""

    run: Run
    stored: Stored
    figures: Sequence[Path]
    tables: Sequence[Path]
    findings: Sequence[Finding]
    summary: Table
    kept: str = ""

    @property
    def experiment(self) -> Experiment:
        """The module."""
        return load_experiment(self.run.name)


def write_report(
    output: Path,
    docs: Path,
    *,
    size: str | None = None,
    seed: int = 0,
    keep: bool = False,
    note: str = "",
) -> list[Path]:
    """Write ``docs/paper.md``, its figures ``figures/paper_*.png`` and small ``paper_tables/*.csv``.

    Parameters
    ----------
    output : Path
        Where the parts are kept.
    docs : Path
        Where the page goes.
    size : {"quick", "default", "full"} or None
        Of the experiments; None takes, for each, the one with most of its parts, the larger one if equal.
    seed : int
        Of the experiments.
    keep : bool, default=False
        Experiments of which less than a quarter is stored keep what the page says about them, below a
        line that tells so, and what is stored of them is added.
    note : str, default=""
        A paragraph below the introduction, such as on which machine this was computed.

    Returns
    -------
    list of Path
        What was written.
    """
    older = _sections(docs / "paper.md") if keep else {}
    chapters = [_chapter(run, docs, older) for run in _runs(output, size, seed)]
    if not any(chapter.stored.tables for chapter in chapters):
        raise Refused(
            f"nothing is stored in '{output}': run 'localegop paper all --quick' first, or give -o"
        )
    path = docs / "paper.md"
    make_folder(docs)
    path.write_text(page(chapters, note), encoding="utf-8")
    return [path, *(file for chapter in chapters for file in (*chapter.figures, *chapter.tables))]


def page(chapters: Sequence[Chapter], note: str = "") -> str:
    """Return the whole page."""
    lines = [_INTRODUCTION, *([note, ""] if note else []), *_overview(chapters), ""]
    for chapter in chapters:
        lines += [f"## {chapter.experiment.TITLE}", "", *_body(chapter), ""]
    return "\n".join(lines).rstrip() + "\n"


def _runs(output: Path, size: str | None, seed: int) -> Iterable[Run]:
    for name in EXPERIMENTS:
        sizes = [size] if size else ["full", "default", "quick"]
        runs = [Run(name, each, seed, output) for each in sizes]
        yield max(runs, key=_finished_share)  # the first, and so the largest, of equals


def _finished_share(run: Run) -> float:
    return len(stored_parts(run).tables) / len(load_experiment(run.name).parts(run.parameters))


def _chapter(run: Run, docs: Path, older: Mapping[str, str]) -> Chapter:
    stored = stored_parts(run)
    kept = older.get(load_experiment(run.name).TITLE, "") if _drawn_share(run, stored) < 0.25 else ""
    figures = [] if kept else draw(run, stored.tables, docs / "figures", "paper_")
    tables = [] if kept else _write_tables(run.name, stored, docs / "paper_tables")
    found = findings(run, stored.tables), summary(run, stored.tables)
    return Chapter(run, stored, figures, tables, *found, kept)


def _drawn_share(run: Run, stored: Stored) -> float:
    """Share of the parts that are stored, those of errors left aside, which do not make the figures."""
    drawn = [part for part in load_experiment(run.name).parts(run.parameters) if not is_error_part(part)]
    return sum(part in stored.tables for part in drawn) / len(drawn)


def _sections(page: Path) -> dict[str, str]:
    """Text below each heading of a page, without what a report before this one kept or added."""
    if not page.exists():
        return {}
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    texts = {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}
    return {
        title: text.removeprefix(_KEPT).split(_ADDED)[0].strip()
        for title, text in texts.items()
        if not text.startswith("Not run yet")
    }


def _write_tables(name: str, stored: Stored, folder: Path) -> list[Path]:
    """Write the tables that are small, those with the same columns in one file, in place of older ones."""
    for old in folder.glob(f"{name}*.csv"):
        old.unlink()
    alike: dict[tuple[str, ...], dict[str, Table]] = {}
    for part, table in stored.tables.items():
        alike.setdefault(tuple(table), {})[part] = table
    most = max(map(len, alike.values()), default=0)
    paths = []
    for members in alike.values():
        lengths = [len(next(iter(table.values()))) for table in members.values()]
        text = to_csv({"part": np.repeat(list(members), lengths), **join_tables(members.values())})
        if len(text) <= LARGEST_TABLE:
            make_folder(folder)
            main = len(members) == most and folder / f"{name}.csv" not in paths
            paths.append(folder / (f"{name}.csv" if main else f"{name}_{next(iter(members))}.csv"))
            paths[-1].write_text(text, encoding="utf-8", newline="")
    return paths


def _overview(chapters: Sequence[Chapter]) -> list[str]:
    rows = []
    for chapter in chapters:
        verdicts = [finding.agrees for finding in chapter.findings]
        counts = [str(verdicts.count(verdict)) for verdict in VERDICTS]
        size = chapter.run.size if chapter.stored.tables else "not run"
        size = "kept" if chapter.kept else size
        rows.append((f"[{chapter.run.name}](#{_anchor(chapter.experiment.TITLE)})", size, *counts))
    heads = ("experiment", "size", "agrees", "in part", "does not", "not compared")
    return markdown_table(heads, rows)


def _anchor(title: str) -> str:
    """Address of a heading, as GitHub and MyST form it."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _body(chapter: Chapter) -> list[str]:
    command = f"localegop paper run {chapter.run.name}{_flag(chapter.run.size)}"
    lines = [_KEPT, "", chapter.kept, ""] if chapter.kept else []
    if not chapter.stored.tables:
        return lines or [f"Not run yet: `{command}`."]
    if chapter.kept:
        lines += [_ADDED, ""]
    for figure in chapter.figures:
        caption = chapter.experiment.CAPTIONS[figure.stem.removeprefix("paper_")]
        lines += [f"![{chapter.experiment.TITLE}](figures/{figure.name})", "", caption, ""]
    if chapter.findings:
        rows = [(each.claim, each.paper, each.ours, each.agrees) for each in chapter.findings]
        lines += [*markdown_table(("claim", "paper", "here", "agrees"), rows), ""]
    if chapter.summary:
        rows = list(zip(*(map(str, column) for column in chapter.summary.values()), strict=True))
        lines += [*markdown_table(tuple(chapter.summary), rows), ""]
    return [*lines, *_provenance(chapter, command)]


def _provenance(chapter: Chapter, command: str) -> list[str]:
    records = list(chapter.stored.records.values())
    every = len(chapter.experiment.parts(chapter.run.parameters))
    parts = f"{len(records)} of {every} parts" if len(records) < every else "all parts"
    processors = "/".join(sorted({str(record["processors"]) for record in records}))
    took = clock(chapter.stored.seconds)
    links = ", ".join(f"[{path.name}](paper_tables/{path.name})" for path in chapter.tables)
    versions = ", ".join(f"{name} {number}" for name, number in records[0]["versions"].items())
    return [
        f"`{command}`: {parts} in {took} on {processors} processors, seed {chapter.run.seed}."
        + (f" Tables: {links}." if links else ""),
        "",
        "<details><summary>Parameters and versions</summary>",
        "",
        f"`{json.dumps(chapter.run.parameters)}`",
        "",
        f"{versions}.",
        "",
        "</details>",
    ]


def _flag(size: str) -> str:
    return "" if size == "default" else f" --{size}"
