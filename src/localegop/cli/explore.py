"""``localegop explore``: look into predictions in a browser, or write a page that does it alone."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import float_column
from localegop.cli.console import Console, file_size
from localegop.cli.files import check_output, replacing
from localegop.cli.models import load_model, read_queries
from localegop.cli.parsing import add_jobs, add_report_options, at_least, coverage, new_command
from localegop.cli.problems import Problem, counted
from localegop.cli.tasks import class_labels

if TYPE_CHECKING:
    from localegop._explorer.explorer import Explorer

DESCRIPTION = """\
Open a page in the browser on which every prediction can be looked into: click a row and see its interval,
the training rows that it comes from, the shape of its neighborhood, slopes, the steps of the recursion, and
what the prediction would be if features were different. The page is served on this machine alone
(127.0.0.1), with a secret in its address, until Ctrl-C. With -o it is written to one file that needs no
server and no network. Without TABLE the training rows are shown."""
EXAMPLE = """\
  localegop explore price.model new.csv
  localegop explore price.model new.csv -o page.html --rows 300"""


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "explore",
        run,
        summary="look into predictions in a browser",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    parser.add_argument("model", metavar="MODEL", help="file written by localegop fit")
    parser.add_argument(
        "table", metavar="TABLE", nargs="?", help="rows to look at; by default those of the training"
    )
    parser.add_argument("-o", "--output", metavar="PAGE", help="write one file (.html) instead of serving")
    parser.add_argument(
        "--rows",
        type=at_least(1),
        default=500,
        metavar="N",
        help="rows in the file, evenly spread if there are more; default 500",
    )
    parser.add_argument(
        "--view",
        choices=("scatter", "image", "table"),
        default="scatter",
        help="what to start with; image: rows that lie on a grid of two columns, as pixels",
    )
    parser.add_argument(
        "--interval", type=coverage, default=0.9, metavar="P", help="coverage of intervals; default 0.9"
    )
    parser.add_argument(
        "--port", type=at_least(0), default=0, metavar="N", help="default: one that is free"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, but do not open it")
    parser.add_argument("--drop-missing", action="store_true", help="leave out rows with missing features")
    add_jobs(parser)
    add_report_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page, or write it."""
    console = Console(args)
    if args.output is not None and not args.output.lower().endswith((".html", ".htm")):
        raise Problem(f"{args.output}: a page is a file that ends with .html: give such a name")
    inputs = (args.model, *([] if args.table is None else [args.table]))
    target = None if args.output is None else check_output(args.output, *inputs)
    explorer = _explorer(args, console)
    if target is None:
        explorer.serve(args.port, open_browser=not args.no_browser)
        return 0
    from localegop._progress import ProgressBar

    with console.timed("explore"), ProgressBar("explore", console.progress) as progress:
        text = explorer.to_html(args.rows, progress)
    with console.timed("write"), replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    rows, size = min(args.rows, len(explorer.scene.X)), target.stat().st_size
    facts = {"model": args.model, "table": args.table, "output": args.output, "rows": rows, "bytes": size}
    console.report(facts, [("page", f"{args.output} ({file_size(size)})"), ("rows", counted(rows, "row"))])
    return 0


def _explorer(args: argparse.Namespace, console: Console) -> Explorer:
    """Read model and table."""
    options: dict[str, Any] = {"coverage": args.interval, "view": args.view, "title": args.model}
    if args.table is None:
        model = load_model(args.model)
        model.n_jobs = args.jobs
        return _page_of(model, first=1, **options)
    queries = read_queries(args, console, "left out")
    numbers = queries.usable.nonzero()[0] + 1
    return _page_of(queries.model, queries.X, _labels(queries), numbers=numbers, first=1, **options)


def _page_of(model: Any, *given: Any, **options: Any) -> Explorer:
    from localegop._explorer.explorer import Explorer

    return Explorer(model, *given, **options)


def _labels(queries: Any) -> Any:
    """Labels of the rows, where the table has all targets, as numbers unless they are classes."""
    import numpy as np

    if hasattr(queries.model, "classes_"):
        target = queries.model.target_name_
        known = target in queries.table.columns
        return class_labels(queries.table[target])[0][queries.usable] if known else None
    columns = []
    for target in queries.model.output_names_:
        column = float_column(queries.table[target]) if target in queries.table.columns else None
        if column is None:
            return None
        columns.append(column[queries.usable])
    return np.column_stack(columns)
