"""The command line ``localegop``: parse, call, print.

Every command is one module, listed in :data:`COMMANDS`. To add one, write a module with

``add_command(subparsers) -> None``
    registers a parser and sets ``run`` as its default; :func:`localegop.cli.parsing.new_command` does both.
``run(args) -> int``
    does the work and returns the exit code. It may raise :class:`localegop.cli.problems.Problem`,
    ``ValueError`` or ``OSError``: :func:`main` turns them into one line on standard error.

and add its name to the tuple. The module is imported whenever ``localegop`` starts, so it imports only the
standard library and ``localegop.cli``; numpy, scikit-learn, pandas and the rest of the package are imported
inside ``run``.

Exit codes: 0 success; 1 a problem with data, model or files; 2 wrong usage; 130 interrupted by Ctrl-C;
141 the program that read the output has ended (broken pipe).
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from localegop.cli.problems import Problem, one_line

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS = (
    "localegop.cli.demo",
    "localegop.cli.fit",
    "localegop.cli.predict",
    "localegop.cli.explain",
    "localegop.cli.explore",
    "localegop.cli.info",
    "localegop.research.paper.cli",
)
MISSING = "localegop.research is not installed, so the paper cannot be reproduced: install localegop again"
INTERRUPTED = 130  # 128 + SIGINT, as shells count
BROKEN_PIPE = 141  # 128 + SIGPIPE

EXAMPLE = """\
example:
  localegop fit train.csv --target price -o price.model
  localegop predict price.model new.csv -o predictions.csv --std --interval 0.9
  localegop explain price.model new.csv -o reasons.csv
  localegop explore price.model new.csv

exit codes: 0 success, 1 problem with data, model or files, 2 wrong usage, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    """Make the parser with all commands of :data:`COMMANDS`."""
    parser = argparse.ArgumentParser(
        prog="localegop",
        description="Adaptive local regression: fit models to tables, predict, and explain predictions.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"localegop {version('localegop')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name in COMMANDS:
        _add_command(name, subparsers)
    return parser


def _add_command(name: str, subparsers: Any) -> None:
    """Register the command of a module; without the research folder, ``paper`` says that it is missing."""
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith(f"{error.name}."):  # not its own folder, so something else is wrong
            raise
        paper = subparsers.add_parser("paper", help=MISSING, description=MISSING)
        paper.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        paper.set_defaults(run=_refuse_paper)
    else:
        module.add_command(subparsers)


def _refuse_paper(args: argparse.Namespace) -> int:
    raise Problem(MISSING)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        Arguments without the program's name; None takes those of the process.

    Returns
    -------
    int
        0 success, 1 problem with data, model or files, 2 wrong usage, 130 interrupted.

    Examples
    --------
    >>> from localegop.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    localegop ...
    0
    """
    try:
        code = _run(argv)
        sys.stdout.flush()  # here, where a broken pipe can still be handled
        return code
    except KeyboardInterrupt:
        _say("localegop: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more at exit: give it somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as leaving:  # argparse has said what is wrong, or has shown the help
        return _exit_code(leaving)
    with warnings.catch_warnings():
        warnings.showwarning = _show_nothing if getattr(args, "quiet", False) else _show_warning
        try:
            return int(args.run(args))
        except SystemExit as leaving:
            return _exit_code(leaving)
        except BrokenPipeError:
            raise
        except Exception as error:
            if getattr(args, "traceback", False):
                traceback.print_exc()
            _say(f"localegop: error: {one_line(error)}")
            return 1


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    _say(f"localegop: error: {one_line(leaving)}")
    return 1


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _say(f"localegop: warning: {one_line(message)}")


def _show_nothing(*_: Any, **__: Any) -> None:
    """Replace ``warnings.showwarning`` when only errors are wanted."""
