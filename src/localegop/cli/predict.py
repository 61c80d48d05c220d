"""``localegop predict``: from a model and a table to predictions."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import compress
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import COUNTING, float_column
from localegop.cli.console import Console, Line
from localegop.cli.models import Queries, open_queries
from localegop.cli.parsing import add_query_options, add_report_options, coverage, new_command
from localegop.cli.problems import counted, need, one_line
from localegop.cli.tasks import class_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop import ExtrapolationWarning

DESCRIPTION = """\
Predict every row of a table. OUT has the column prediction and, if asked for, std (standard error of the
prediction) and lower, upper (between which a new label falls with the given probability); with several
targets their names follow, as in prediction_u, prediction_v. Of classes, OUT has the most probable one, and
columns probability_C, std_C of every class C, and set_P, the classes of a set that holds the true one with
probability P. Features are found by their names, and TABLE
may have other columns. If the target is among them, the errors of the predictions are reported."""
EXAMPLE = """\
  localegop predict price.model new.csv -o predictions.csv
  localegop predict price.model test.parquet -o out.parquet --std --interval 0.5 --interval 0.9 --keep"""


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "predict",
        run,
        summary="predict the rows of a table",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    add_query_options(parser)
    parser.add_argument("--std", action="store_true", help="add the standard error of each prediction")
    parser.add_argument(
        "--interval",
        metavar="P",
        type=coverage,
        action="append",
        default=[],
        help="add an interval that contains a new label with probability P, such as 0.9; may be repeated",
    )
    add_report_options(parser)


def run(args: argparse.Namespace) -> int:
    """Predict and write the table."""
    console = Console(args)
    levels = list(dict.fromkeys(args.interval))
    queries = open_queries(args, console)
    if hasattr(queries.model, "classes_"):
        return _predict_classes(args, queries, levels, console)
    queries.refuse_hidden(
        name for target in queries.model.output_names_ for name in _names(queries, target, args.std, levels)
    )
    with console.timed("predict"):
        columns, beyond = _columns(queries, args.std, levels, console)
    with console.timed("write"):
        queries.write(need("pandas").DataFrame(columns))
    quality = _quality(queries, columns, levels, console)
    lines = _lines(args, len(queries.X), quality)
    console.report({**queries.facts(args), "rows_beyond_the_data": beyond, "quality": quality}, lines)
    return 0


def _predict_classes(
    args: argparse.Namespace, queries: Queries, levels: list[float], console: Console
) -> int:
    """Predict classes and their probabilities, and write the table."""
    model, X, labels = queries.model, queries.X, queries.model.output_names_
    with console.timed("predict"), _told_once(queries, console) as beyond:
        p, *std = model.predict_proba(X, return_std=True) if args.std else [model.predict_proba(X)]
        sets = [model.predict_set(X, level, never_empty=True) for level in levels]
    columns: dict[str, Any] = {"prediction": model.classes_[p.argmax(axis=1)]}
    columns |= {f"probability_{name}": p[:, k] for k, name in enumerate(labels)}
    columns |= {f"std_{name}": std[0][:, k] for k, name in enumerate(labels) if std}
    for level, held in zip(levels, sets, strict=True):
        columns[f"set_{level:g}"] = ["|".join(compress(labels, row)) for row in held]
    queries.refuse_hidden(columns)
    with console.timed("write"):
        queries.write(need("pandas").DataFrame(columns))
    quality = _class_quality(queries, p)
    lines: list[Line] = [("predicted", counted(len(X), "row")), ("output", args.output)]
    if quality:
        text = f"{quality['error']:.2%} wrong, log loss {quality['log_loss']:.4g}"
        text = f"{text} ({counted(quality['rows'], 'row')})"
        lines.append((f"errors of {one_line(model.target_name_)}", text))
    count = len(beyond) and beyond[0].count
    console.report({**queries.facts(args), "rows_beyond_the_data": count, "quality": quality}, lines)
    return 0


def _class_quality(queries: Queries, p: NDArray[np.float64]) -> dict[str, Any]:
    """Share of wrong predictions and log loss, over the rows whose class is known to the model."""
    import numpy as np

    model = queries.model
    if model.target_name_ not in queries.table.columns:
        return {}
    given = class_labels(queries.table[model.target_name_])[0][queries.usable]
    numbers = {name: k for k, name in enumerate(model.output_names_)}
    found = np.array([numbers.get(str(label), -1) for label in given])
    rows = np.flatnonzero(found >= 0)
    if not len(rows):
        return {}
    losses = -np.log(p[rows, found[rows]])
    wrong = p[rows].argmax(axis=1) != found[rows]
    return {"rows": len(rows), "error": float(wrong.mean()), "log_loss": float(losses.mean())}


def _names(queries: Queries, target: str, std: bool, levels: list[float]) -> list[str]:
    """Names of the columns of a target: prediction, std, and lower and upper of each level."""
    suffix = f"_{target}" if len(queries.model.output_names_) > 1 else ""
    middles = [f"_{level:g}" for level in levels] if len(levels) > 1 else [""] * len(levels)
    bounds = [f"{end}{middle}{suffix}" for middle in middles for end in ("lower", "upper")]
    return [f"prediction{suffix}", *([f"std{suffix}"] if std else []), *bounds]


def _columns(
    queries: Queries, std: bool, levels: list[float], console: Console
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """Predictions, standard errors and bounds by name of column, and how many rows are beyond the data."""
    import numpy as np

    model, X = queries.model, queries.X
    targets = model.output_names_
    with _told_once(queries, console) as beyond:
        parts = list(model.predict(X, return_std=True)) if std else [model.predict(X, exact=bool(levels))]
        if levels:
            parts.append(model.predict_interval(X, levels))  # lower, upper, lower, upper, ...
    values = np.concatenate([np.reshape(part, (len(X), len(targets), -1)) for part in parts], axis=2)
    columns: dict[str, NDArray[np.float64]] = {}
    for k, target in enumerate(targets):
        columns |= dict(zip(_names(queries, target, std, levels), values[:, k].T, strict=True))
    return columns, len(beyond) and beyond[0].count


@contextmanager
def _told_once(queries: Queries, console: Console) -> Iterator[list[ExtrapolationWarning]]:
    """Say once, with the row of the table, what each call says of rows beyond the data; show all else."""
    from localegop import ExtrapolationWarning

    found: list[ExtrapolationWarning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    for each in caught:
        if isinstance(each.message, ExtrapolationWarning):
            found.append(each.message)
        else:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    if found:
        first = found[0]
        row = int(queries.usable.nonzero()[0][first.row]) + 1
        console.note(
            f"warning: {counted(first.count, 'row')} of {first.total:,} beyond the training rows, farthest "
            f"row {row} ({COUNTING}): do not trust predictions there; localegop explain tells which"
        )


def _quality(
    queries: Queries, columns: dict[str, NDArray[np.float64]], levels: list[float], console: Console
) -> dict[str, dict[str, Any]]:
    """Errors of the predictions of every target that the table has."""
    quality = {}
    for target in queries.model.output_names_:
        if target not in queries.table.columns:
            continue
        truth = float_column(queries.table[target])
        if truth is None:
            console.note(
                f"column {target!r} is not numeric: the errors of its predictions are not reported"
            )
            continue
        results = [columns[name] for name in _names(queries, target, False, levels)]
        measures = _measures(truth[queries.usable], results, levels)
        if measures["rows"]:
            quality[target] = measures
    return quality


def _measures(
    truth: NDArray[np.float64], results: list[NDArray[np.float64]], levels: list[float]
) -> dict[str, Any]:
    """RMSE, R2 and the shares of labels within intervals, over the rows whose label is known."""
    import numpy as np

    known = np.isfinite(truth)
    if not known.any():
        return {"rows": 0}
    truth = truth[known]
    prediction, *bounds = (result[known] for result in results)
    square, variance = float(np.mean((truth - prediction) ** 2)), float(np.var(truth))
    pairs = zip(levels, bounds[::2], bounds[1::2], strict=True)
    return {
        "rows": len(truth),
        "rmse": square**0.5,
        "r2": 1.0 - square / variance if variance > 0.0 else float("nan"),
        "coverage": {f"{p:g}": float(np.mean((low <= truth) & (truth <= high))) for p, low, high in pairs},
    }


def _lines(args: argparse.Namespace, rows: int, quality: dict[str, dict[str, Any]]) -> list[Line]:
    lines = [("predicted", counted(rows, "row")), ("output", args.output)]
    for name, measures in quality.items():
        text = f"RMSE {measures['rmse']:.4g}, R2 {measures['r2']:.4f} ({counted(measures['rows'], 'row')})"
        lines.append((f"errors of {one_line(name)}", text))
        for level, share in measures["coverage"].items():
            lines.append((f"  interval {level}", f"contains {share:.1%} of the labels"))
    return lines
