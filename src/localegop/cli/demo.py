"""``localegop demo``: what the package does, in a few seconds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from localegop.cli.console import Console
from localegop.cli.files import check_output
from localegop.cli.parsing import add_report_options, new_command
from localegop.cli.problems import Problem, one_line

DESCRIPTION = """\
Compare three methods on generated data, and draw how the neighborhood of a point learns its shape:
FOLDER/localization.png. Needs matplotlib: pip install 'localegop[plot]'."""
EXAMPLE = """\
  localegop demo
  localegop demo pictures --json"""


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "demo",
        run,
        summary="predict on generated data: a table and a picture",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default="demo_output",
        help="where to write the picture; default demo_output",
    )
    add_report_options(parser, progress=False)


def run(args: argparse.Namespace) -> int:
    """Compute the table and draw the picture."""
    console = Console(args)
    picture = Path(args.folder) / "localization.png"
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(
            f"cannot create the folder {args.folder!r}: {one_line(error)}: give another"
        ) from error
    check_output(str(picture))
    from localegop import _demo as demo

    with console.timed("helix"):
        errors = demo.helix_errors()
    with console.timed("picture"):
        demo.draw(*demo.annulus_localizations(), picture)
    title = ("helix in 5 dimensions, 1000 points", "mean squared error / label variance")
    lines = [title, *((f"  {name}", f"{error:.1e}") for name, error in errors.items())]
    console.report(
        {"relative_errors": errors, "picture": str(picture)}, [*lines, ("picture", str(picture))]
    )
    return 0
