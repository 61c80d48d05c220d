"""Models from files, and tables to apply them to: the model's features, and the rows that have them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import describe_missing, missing_rows, numbers, refuse_missing
from localegop.cli.console import Console
from localegop.cli.encoding import describe_filled, describe_unknown, encode_table
from localegop.cli.files import check_input, check_output
from localegop.cli.problems import Problem, about, counted, need, one_line, quoted
from localegop.cli.tables import STREAM, check_writable, read_table, write_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop import LocalEGOPRegressor
    from localegop._data.table_columns import Columns


@dataclass(frozen=True)
class Queries:
    """A model, the table it is applied to, the rows that have all features, and the file to write.

    Without a file, tables are written to standard output.
    """

    model: LocalEGOPRegressor
    table: Any
    X: Any  # features of the usable rows, in the model's order: a DataFrame if the model knows names
    usable: NDArray[np.bool_]
    target: Path | None = None
    keep: bool = False

    def refuse_hidden(self, names: Iterable[str]) -> None:
        """Refuse to keep columns of the table that have the same names as results."""
        both = [name for name in names if name in self.table.columns]
        if self.keep and both:
            raise Problem(f"--keep: TABLE already has columns called {quoted(both)}: rename them")

    def write(self, frame: Any) -> None:
        """Write the results of the usable rows in their places, and leave the other rows empty."""
        whole = {name: "Int64" for name in frame.columns if frame[name].dtype.kind == "i"}
        frame = frame.astype(whole)  # whole numbers that can be empty
        frame.index = self.usable.nonzero()[0]
        frame = frame.reindex(range(len(self.table)))
        frame.index = self.table.index
        write_table(need("pandas").concat([self.table, frame], axis=1) if self.keep else frame, self.target)

    def facts(self, args: argparse.Namespace) -> dict[str, Any]:
        """Facts for JSON that every command on a model and a table reports."""
        return {
            "model": args.model,
            "table": args.table,
            "output": args.output,
            "rows": len(self.table),
            "rows_left_empty": int((~self.usable).sum()),
            "targets": target_names(self.model),
        }


def target_names(model: Any) -> list[str]:
    """Columns that a model predicts; one where its outputs are classes."""
    return [model.target_name_] if hasattr(model, "target_name_") else list(model.output_names_)


def load_model(path: str) -> Any:
    """Read a model, or say what is wrong with the file."""
    check_input(path)
    from localegop import LocalEGOPClassifier, LocalEGOPRegressor
    from localegop._data import archive

    try:
        classes = archive.read(path)[0].get("classes") is not None
        model: Any = (LocalEGOPClassifier if classes else LocalEGOPRegressor).load(path)
    except ValueError as error:
        text = one_line(error)
        raise Problem(text if path in text else f"{path}: {text}") from error
    return model


def open_queries(args: argparse.Namespace, console: Console) -> Queries:
    """Check the output, load the model, read the table and find its usable rows."""
    check_writable(args.output)
    stream = args.output == STREAM
    target = None if stream else check_output(args.output, args.model, args.table)
    return replace(read_queries(args, console), target=target, keep=args.keep)


def read_queries(args: argparse.Namespace, console: Console, treatment: str = "left empty") -> Queries:
    """Load the model, read the table and find its usable rows."""
    with console.timed("load"):
        model = load_model(args.model)
        model.n_jobs, model.verbose = args.jobs, int(console.progress)
    with console.timed("read"):
        table = read_table(args.table)
        with about(args.table):
            values = _features(model, table, args.drop_missing, console)
    missing = missing_rows(values)
    if missing.any():
        console.note(describe_missing(missing, treatment))
    known = list(getattr(model, "feature_names_in_", []))
    X = need("pandas").DataFrame(values[~missing], columns=known) if known else values[~missing]
    return Queries(model, table, X, ~missing)


def _features(
    model: LocalEGOPRegressor, table: Any, drop_missing: bool, console: Console
) -> NDArray[np.float64]:
    """Turn the table into the model's features, as its training table; NaN, where missing, if allowed."""
    columns = _columns(model, table, console)
    hint = "these are features of the model and must be numbers"
    numbers(table, [one.name for one in columns.columns if one.kind == "number"], hint)
    values = encode_table(columns, table, hint)
    filled = describe_filled(columns, table)
    for line in [*describe_unknown(columns, table), *([] if filled is None else [filled])]:
        console.note(line)
    if not drop_missing and columns.missing == "error":
        hint = "fill them in, or leave the results of these rows empty with --drop-missing"
        firsts = [columns.features.index(column.features[0]) for column in columns.columns]
        refuse_missing(values[:, firsts], [column.name for column in columns.columns], hint)
    elif missing_rows(values).all():
        raise Problem("every row has a missing feature: there is nothing to do")
    return values


def _columns(model: LocalEGOPRegressor, table: Any, console: Console) -> Columns:
    """Columns of the table that become the model's features, in the order of the model."""
    from localegop._data.table_columns import Column, Columns

    known: Columns | None = getattr(model, "columns_", None)
    if known is None:
        return Columns(tuple(Column(name) for name in model_features(model, table, console)))
    _refuse_absent([column.name for column in known.columns], list(table.columns))
    return known


def _refuse_absent(names: list[str], columns: list[str]) -> None:
    """Say which columns a table lacks, if any."""
    absent = [name for name in names if name not in columns]
    if absent:
        raise Problem(
            f"{counted(len(absent), 'feature')} of the model not in the table: {quoted(absent)}. "
            f"The table has {quoted(columns)}"
        )


def model_features(model: LocalEGOPRegressor, table: Any, console: Console) -> list[str]:
    """Columns of the table that are the model's features, in the order of the model."""
    columns = list(table.columns)
    if hasattr(model, "feature_names_in_"):
        names = [str(name) for name in model.feature_names_in_]
        _refuse_absent(names, columns)
        return names
    names = [name for name in columns if name not in target_names(model)]
    if len(names) != model.n_features_in_:
        raise Problem(
            f"the model was fitted to {counted(model.n_features_in_, 'feature')} without names, so the "
            "table must have as many columns, in the same order, besides the target; "
            f"it has {len(names)}: {quoted(names)}"
        )
    console.note("the model was fitted without feature names: columns are used in the order of the table")
    return names
