"""The command group ``paper``: list, run, all, report. Thin: parse, call, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localegop.cli.parsing import at_least
from localegop.research.paper import EXPERIMENTS

if TYPE_CHECKING:
    from localegop.research.paper.experiment import Table
    from localegop.research.paper.runner import Run

DEFAULT_FOLDER = "paper_output"
NOT_POSSIBLE, INTERRUPTED = 2, 130
EXAMPLE = """example:
  localegop paper list
  localegop paper run sphere --quick
  localegop paper run networks --full --parts 'relu-n=500-rep=0'
  localegop paper all --quick -o results
  localegop paper report --quick -o results --docs results"""


def add_command(subparsers: Any) -> None:
    """Register ``paper`` and its subcommands; each parser sets ``run(args) -> int``.

    Parameters
    ----------
    subparsers : object returned by ``argparse.ArgumentParser.add_subparsers``
    """
    parser = subparsers.add_parser(
        "paper",
        help="reproduce the paper's figures and tables",
        description="Reproduce the figures and tables of the paper, one command each. What has been\n"
        "computed is kept: a second run draws it again, or goes on where the first one ended.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_subcommands(parser)


def add_subcommands(parser: argparse.ArgumentParser) -> None:
    """Add list, run, all and report to a parser."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    listing = commands.add_parser("list", help="list the experiments")
    listing.set_defaults(run=_list)

    run = commands.add_parser("run", help="compute one experiment and draw it")
    run.add_argument("name", metavar="NAME", choices=list(EXPERIMENTS), help=", ".join(EXPERIMENTS))
    _add_run_options(run)
    run.add_argument("--parts", default="*", metavar="LIKE", help="only parts with such names: '*-n=500-*'")
    run.add_argument("--image", type=Path, metavar="PATH", help="another image (mandrill only)")
    run.set_defaults(run=_guarded(_run))

    every = commands.add_parser("all", help="compute and draw all experiments")
    _add_run_options(every)
    every.set_defaults(run=_guarded(_all))

    report = commands.add_parser("report", help="write paper.md from what is stored")
    _add_size_options(report)
    report.add_argument("--docs", type=Path, default=Path("docs"), metavar="DIR", help="where to (docs)")
    report.add_argument("--note", default="", metavar="TEXT", help="a paragraph for the top of the page")
    report.add_argument("--keep", action="store_true", help="keep what the page says of what is not stored")
    report.set_defaults(run=_guarded(_report))


def _add_size_options(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const="quick", help="two minutes each")
    size.add_argument("--full", dest="size", action="store_const", const="full", help="the paper's sizes")
    parser.add_argument("--seed", type=at_least(0), default=0, metavar="S", help="of all randomness (0)")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR",
        help=f"where tables and figures are kept ({DEFAULT_FOLDER})",
    )  # fmt: skip


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_size_options(parser)
    parser.add_argument(
        "--jobs", type=at_least(1), default=1, metavar="N",
        help="parts computed at the same time (1; each part uses several processors anyway)",
    )  # fmt: skip
    parser.add_argument("--again", action="store_true", help="compute stored parts again")


def _guarded(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Turn what the user can mend into one line and code 2, and Ctrl-C into one line."""

    def run(args: argparse.Namespace) -> int:
        from localegop.research.paper.experiment import Refused

        try:
            return command(args)
        except Refused as error:
            _say(f"localegop: error: {error}")
            return NOT_POSSIBLE
        except KeyboardInterrupt:
            _say(
                f"stopped; finished parts are kept in '{args.output}': the same command goes on from there"
            )
            return INTERRUPTED

    return run


def _list(args: argparse.Namespace) -> int:
    for name, what in EXPERIMENTS.items():
        print(f"{name:<16}{what}")
    return 0


def _run(args: argparse.Namespace) -> int:
    return _execute(_run_of(args.name, args), args)


def _all(args: argparse.Namespace) -> int:
    from localegop.research.runs.files import make_folder

    make_folder(args.output)
    codes = []
    for number, name in enumerate(EXPERIMENTS, 1):
        _say(f"{name} ({number} of {len(EXPERIMENTS)})")
        codes.append(_execute(_run_of(name, args), args))
    return max(codes)


def _run_of(name: str, args: argparse.Namespace) -> Run:
    from localegop.research.paper.experiment import Refused
    from localegop.research.paper.runner import Run

    changes: dict[str, Any] = {}
    tag = ""
    image = getattr(args, "image", None)
    if image is not None:
        if name != "mandrill":
            raise Refused(f"--image is for mandrill only: leave it out with {name}")
        from localegop.research.paper.mandrill import image_parameters

        changes, tag = image_parameters(image)
    return Run(name, args.size or "default", args.seed, args.output, changes, tag)


def _execute(run: Run, args: argparse.Namespace) -> int:
    from localegop.research.paper.runner import execute, findings, summary

    parts = getattr(args, "parts", "*")
    result = execute(run, jobs=args.jobs, again=args.again, parts=parts, say=_say)
    for line in table_lines(summary(run, result.tables)):
        print(line)
    for finding in findings(run, result.tables):
        print(f"{finding.claim}\n  paper: {finding.paper}\n  here:  {finding.ours}")
        print(f"  agrees: {finding.agrees}")
    for path in result.figures:
        print(f"figure: {path}")
    return NOT_POSSIBLE if result.refused else 0


def _report(args: argparse.Namespace) -> int:
    from localegop.research.paper.report import write_report

    options = {"size": args.size, "seed": args.seed, "keep": args.keep, "note": args.note}
    for path in write_report(args.output, args.docs, **options):
        print(path)
    return 0


def table_lines(table: Table) -> Iterable[str]:
    """Lines of a small table for the terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.paper.cli import table_lines
    >>> print(*table_lines({"method": np.array(["a", "bc"]), "error": np.array([0.5, 0.25])}), sep="|")
    method  error|a       0.5|bc      0.25
    """
    columns = [[name, *(str(value) for value in column)] for name, column in table.items()]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
