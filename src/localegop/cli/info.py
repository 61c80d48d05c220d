"""``localegop info``: what a model file contains."""

from __future__ import annotations

import argparse
import os
from typing import Any

from localegop.cli.console import Console, file_size
from localegop.cli.facts import model_facts, model_lines
from localegop.cli.models import load_model
from localegop.cli.parsing import add_report_options, new_command

DESCRIPTION = """\
Show what a model file contains: rows, features and targets it was fitted to, the final fit that was chosen
and its error at held-out rows, the noise, and the most important features."""
EXAMPLE = """\
  localegop info price.model
  localegop info price.model --json"""


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "info",
        run,
        summary="show what a model file contains",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    parser.add_argument("model", metavar="MODEL", help="file written by localegop fit")
    add_report_options(parser, progress=False)


def run(args: argparse.Namespace) -> int:
    """Load the model and report."""
    console = Console(args)
    with console.timed("load"):
        model = load_model(args.model)
    from localegop._data.archive import FORMAT

    size = os.path.getsize(args.model)
    facts = {"model": args.model, "bytes": size, "format": FORMAT, **model_facts(model)}
    about = f"{args.model} ({file_size(size)}, format {FORMAT})"  # files of other formats are not loaded
    console.report(facts, [("model", about), *model_lines(model)])
    return 0
