"""Parts of the parsers that commands share: options, types of values, the shape of ``--help``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from typing import Any

TABLES = ".csv, .csv.gz, .tsv or .parquet; - for CSV on standard input"
WIDTH = 88  # of descriptions; examples are printed as they are
Run = Callable[[argparse.Namespace], int]


def new_command(
    subparsers: Any, name: str, run: Run, *, summary: str, description: str, example: str
) -> argparse.ArgumentParser:
    """Register a command with an example in its help."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, WIDTH),
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def add_report_options(parser: argparse.ArgumentParser, *, progress: bool = True) -> None:
    """Add the options that :class:`localegop.cli.console.Console` reads; the last in every help."""
    common = parser.add_argument_group("report")
    common.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    common.add_argument("--quiet", action="store_true", help="print errors only (and JSON if asked for)")
    if progress:
        common.add_argument(
            "--progress",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="show progress bars on standard error; by default only in a terminal",
        )
    common.add_argument("--traceback", action="store_true", help="show where an error came from")


def add_query_options(parser: argparse.ArgumentParser) -> None:
    """Add what the commands that apply a model to a table have in common."""
    parser.add_argument("model", metavar="MODEL", help="file written by localegop fit")
    parser.add_argument("table", metavar="TABLE", help=f"table with the features: {TABLES}")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="table to write; - for CSV on standard output"
    )
    parser.add_argument("--keep", action="store_true", help="write the columns of TABLE to OUT as well")
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave the results of rows with missing features empty instead of refusing the table; models "
        "fitted with --missing impute or drop fill in or do this by themselves",
    )
    add_jobs(parser)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads."""
    parser.add_argument(
        "--jobs",
        type=jobs,
        metavar="N",
        help="threads; default all processors. Changes the time, never the result",
    )


def jobs(text: str) -> int:
    """Read a number of threads: positive, or negative as in joblib."""
    number = _whole(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be a number of threads, or -1 for all, not 0")
    return number


def seed(text: str) -> int:
    """Read a seed."""
    number = _whole(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to {2**32 - 1}, not {text}")
    return number


def at_least(least: int) -> Callable[[str], int]:
    """Make a reader of whole numbers that are not smaller than ``least``."""

    def read(text: str) -> int:
        number = _whole(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {number}")
        return number

    return read


def neighbors_or_all(text: str) -> int | str:
    """Read ``all`` or a number of at least 2."""
    if text == "all":
        return text
    try:
        return at_least(2)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be 'all' or a whole number of at least 2, not {text!r}"
        ) from None


def coverage(text: str) -> float:
    """Read a coverage between 0 and 1."""
    try:
        level = float(text)
    except ValueError:
        level = float("nan")
    if not 0.0 < level < 1.0:
        raise argparse.ArgumentTypeError(f"must be a coverage between 0 and 1 such as 0.9, not {text!r}")
    return level


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
