"""``localegop fit``: from a table to a model file."""

from __future__ import annotations

import argparse
from typing import Any

from localegop.cli.columns import choose_roles, describe_missing, named_columns
from localegop.cli.console import Console, file_size
from localegop.cli.encoding import choose_columns, describe_filled
from localegop.cli.facts import model_facts, model_lines
from localegop.cli.files import check_output
from localegop.cli.parsing import TABLES, add_jobs, add_report_options, neighbors_or_all, new_command, seed
from localegop.cli.problems import Problem, about, counted
from localegop.cli.slopes import find_gradient_columns
from localegop.cli.tables import read_table
from localegop.cli.tasks import is_classification
from localegop.cli.training import Training

DESCRIPTION = """\
Fit a model to the rows of a table and write it to a file. All columns except the target are features unless
--features or --ignore is given; they must be numbers, unless --categorical or --dates says what else they
are, which the model remembers."""
EXAMPLE = """\
  localegop fit train.csv --target price --ignore id,street -o price.model
  localegop fit flats.csv --target price --categorical city --dates built --missing impute -o price.model
  localegop fit flow.parquet --target u,v --weight count --missing drop -o flow.model"""


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "fit",
        run,
        summary="fit a model to a table",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    parser.add_argument("table", metavar="TABLE", help=f"table with a header: {TABLES}")
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="file to write the model to")
    columns = parser.add_argument_group("columns (several: separate them by commas, or repeat the option)")
    columns.add_argument(
        "--target", metavar="COL", action="append", required=True, help="column or columns to predict"
    )
    columns.add_argument("--weight", metavar="COL", help="weights of rows: 2 counts as a row given twice")
    features = columns.add_mutually_exclusive_group()
    features.add_argument("--features", metavar="COLS", action="append", help="use these columns only")
    features.add_argument("--ignore", metavar="COLS", action="append", help="do not use these columns")
    columns.add_argument(
        "--categorical",
        metavar="COLS",
        action="append",
        default=[],
        help="columns of categories, each of which becomes a feature of ones and zeros; auto: all columns "
        "that are not numbers",
    )
    columns.add_argument(
        "--dates", metavar="COLS", action="append", default=[], help="columns of dates, to be taken as days"
    )
    _add_method_options(parser)
    add_report_options(parser)


def _add_method_options(parser: argparse.ArgumentParser) -> None:
    method = parser.add_argument_group("method (nothing needs to be set)")
    method.add_argument(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help="predict numbers, or classes with their probabilities; auto (default): classes if the target "
        "is text, or up to 10 different whole numbers",
    )
    kind = method.add_mutually_exclusive_group()
    kind.add_argument(
        "--strategy",
        choices=("field", "query"),
        help="learn gradients once (field Local EGOP, the default), or for every query (query: slow)",
    )
    kind.add_argument(
        "--paper",
        action="store_true",
        help="Algorithm 1 of the paper, meant for features of size about 1 (slow predictions)",
    )
    method.add_argument(
        "--max-neighbors",
        type=neighbors_or_all,
        metavar="N",
        help="nearest training rows that a fit may use, or 'all'; default 1000 (with --paper: all)",
    )
    method.add_argument(
        "--outputs",
        choices=("shared", "separate"),
        help="with several targets: one metric for all (shared, the default), or one for each (separate)",
    )
    method.add_argument(
        "--loss",
        choices=("squared", "huber"),
        help="huber: labels that are far from those around count less or not at all; takes twice the time",
    )
    method.add_argument(
        "--gradients",
        metavar="PATTERN",
        help="columns with known slopes of the target, such as 'dlift_{column}': the name of a feature in "
        "place of {column}, and that of the target in place of {target}; empty cells are unknown",
    )
    method.add_argument("--seed", type=seed, metavar="N", help="seed of all random choices; default 0")
    missing = parser.add_mutually_exclusive_group()
    missing.add_argument(
        "--missing",
        choices=("error", "impute", "drop"),
        default="error",
        help="with missing features: refuse the table (default), fill in the median or the most frequent "
        "category, or leave out the row; predict, explain and explore do the same",
    )
    missing.add_argument(
        "--drop-missing", dest="missing", action="store_const", const="drop", help="same as --missing drop"
    )
    add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Fit and write the model."""
    console = Console(args)
    target = check_output(args.output, args.table)
    with console.timed("read"):
        training = _read(args, console)
    model = _estimator(args, console) if training.labels is None else _classifier(args, console)
    with console.timed("fit"):
        training.fit(model)
    with console.timed("write"):
        model.set_params(verbose=0, n_jobs=None)  # those of this run are not part of the model
        model.save(target)  # at once or not at all
    size, left_out = target.stat().st_size, int(training.missing.sum())
    facts = {"model": args.output, "table": args.table, "rows_left_out": left_out, "bytes": size}
    lines = [("model", f"{args.output} ({file_size(size)})"), *model_lines(model)]
    if left_out:
        lines.insert(2, ("left out", f"{counted(left_out, 'row')} with missing values"))
    console.report({**facts, **model_facts(model)}, lines)
    return 0


def _read(args: argparse.Namespace, console: Console) -> Training:
    """Read the table and refuse what cannot be fitted."""
    table = read_table(args.table)
    with about(args.table):
        names = list(table.columns)
        targets = named_columns(args.target, names, "--target")
        slopes = find_gradient_columns(names, targets, args.gradients)
        ignored = [*(args.ignore or []), *slopes.values()]
        roles = choose_roles(names, args.target, args.weight, args.features, ignored)
        columns = choose_columns(table, roles.features, args.categorical, args.dates, args.missing)
        classes = is_classification(args.task, table, roles.targets)
        training = Training.from_table(table, roles, columns, slopes, classes=classes)
        if classes and args.task == "auto":
            console.note(
                f"target {roles.targets[0]!r} is taken for classes; --task regression takes numbers"
            )
        filled = describe_filled(columns, table)
        if filled is not None:
            console.note(filled)
        if args.missing == "error":
            training.refuse_missing()
        elif training.missing.any():
            console.note(describe_missing(training.missing, "left out"))
        training.refuse_nothing_to_learn()
    return training


def _classifier(args: argparse.Namespace, console: Console) -> Any:
    from localegop import LocalEGOPClassifier

    given = {"--strategy": args.strategy, "--outputs": args.outputs, "--loss": args.loss}
    given |= {"--gradients": args.gradients, "--paper": args.paper or None}
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise Problem(f"{', '.join(wrong)}: for regression only; leave it out, or take --task regression")
    return LocalEGOPClassifier(**_given(args), n_jobs=args.jobs, verbose=int(console.progress))


def _estimator(args: argparse.Namespace, console: Console) -> Any:
    from localegop import LocalEGOPRegressor

    parameters: dict[str, Any] = LocalEGOPRegressor.paper_parameters() if args.paper else {}
    if args.strategy is not None:
        parameters["strategy"] = args.strategy
    if args.outputs is not None:
        parameters["outputs"] = args.outputs
    if args.loss is not None:
        parameters["loss"] = args.loss
    return LocalEGOPRegressor(**parameters | _given(args), n_jobs=args.jobs, verbose=int(console.progress))


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Parameters that both estimators have, as far as options give them."""
    parameters: dict[str, Any] = {}
    if args.max_neighbors is not None:
        parameters["max_neighbors"] = None if args.max_neighbors == "all" else args.max_neighbors
    if args.seed is not None:
        parameters["random_state"] = args.seed
    if args.missing != "error":
        parameters["missing"] = "drop"  # what is filled in has been filled in; targets cannot be
    return parameters
