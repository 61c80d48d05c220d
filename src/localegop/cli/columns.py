"""Columns of a table: named by the user, turned into numbers, missing values found."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localegop.cli.problems import Problem, counted, need, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROWS = 5  # row numbers listed for a column
MOST_COLUMNS = 5
COUNTING = "counted from 1 after the header"


@dataclass(frozen=True)
class Roles:
    """Which columns are features, targets and the weight of a row."""

    features: list[str]
    targets: list[str]
    weight: str | None


def named_columns(given: Sequence[str], columns: Sequence[str], option: str) -> list[str]:
    """Resolve names given one by one or separated by commas; the name of a column may contain a comma."""
    names: list[str] = []
    for text in given:
        parts = [text] if text in columns else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    if not names:
        raise Problem(f"{option} names no column; the columns are {quoted(list(columns))}")
    unknown = [name for name in names if name not in columns]
    if unknown:
        close = difflib.get_close_matches(unknown[0], columns, 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise Problem(
            f"{option}: there is no column {quoted(unknown)}{hint} The columns are {quoted(list(columns))}"
        )
    return list(dict.fromkeys(names))


def choose_roles(
    columns: Sequence[str],
    target: Sequence[str],
    weight: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str] | None,
) -> Roles:
    """Decide what each column of a training table is for."""
    targets = named_columns(target, columns, "--target")
    if weight is not None:
        named_columns([weight], columns, "--weight")
    taken = [*targets, *([] if weight is None else [weight])]
    if weight in targets:
        raise Problem(f"column {weight!r} is given as --target and as --weight")
    left_out = named_columns(ignore, columns, "--ignore") if ignore else []
    chosen = named_columns(features, columns, "--features") if features else None
    for option, names in (("--ignore", left_out), ("--features", chosen or [])):
        both = [name for name in names if name in taken]
        if both:
            raise Problem(f"column {quoted(both)} is given with {option} and as --target or --weight")
    if chosen is None:
        chosen = [name for name in columns if name not in taken and name not in left_out]
        if not chosen:
            raise Problem(
                f"no features are left besides {quoted([*taken, *left_out])}: nothing to predict from"
            )
        nameless = [name for name in chosen if name.startswith("Unnamed: ")]
        if nameless:
            raise Problem(
                "a column has no name and may contain row numbers: leave it out with "
                f"--ignore {nameless[0]!r}, or give it a name"
            )
    return Roles(chosen, targets, weight)


def numbers(table: Any, names: Sequence[str], hint: str) -> NDArray[np.float64]:
    """Turn columns into an array (rows, columns), NaN where missing; refuse what is not numeric."""
    import numpy as np

    values = np.empty((len(table), len(names)))
    refused = []
    for k, name in enumerate(names):
        column = float_column(table[name])
        if column is not None:
            values[:, k] = column
            continue
        row = _first_bad(table[name])
        text = repr(str(table[name].iloc[row]))
        refused.append(
            (name, f"{name!r} (row {row + 1}: {text if len(text) <= 30 else text[:27] + '...'})")
        )
    if refused:
        listed = ", ".join(text for _, text in refused[:MOST_COLUMNS])
        more = refused[MOST_COLUMNS:]
        listed += f" and {quoted([name for name, _ in more], 50)}" if more else ""
        raise Problem(f"not numeric: {'column' if len(refused) == 1 else 'columns'} {listed}: {hint}")
    infinite = np.isinf(values)
    if infinite.any():
        raise Problem(f"infinite values in {_where(infinite, names)}: correct or remove these rows")
    return values


def float_column(column: Any) -> NDArray[np.float64] | None:
    """Turn a column into floats, NaN where missing; None if it contains anything but numbers."""
    import numpy as np

    pandas = need("pandas")
    kind = pandas.api.types
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return None  # numbers there are names of categories
    if kind.is_numeric_dtype(column.dtype) and not kind.is_complex_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype="float64", na_value=float("nan")))
    missing = column.isna().to_numpy()
    entries = column.to_numpy(dtype=object, copy=True)
    # booleans with gaps, decimals and integers of any size come as objects; dates have no float
    if all(hasattr(entry, "__float__") for entry in entries[~missing]):
        entries[missing] = float("nan")
        return np.asarray(entries, dtype=float)
    return None


def _first_bad(column: Any) -> int:
    """Find the first entry that is not a number: the '?' rather than the digits around it."""
    present = column.notna().to_numpy()
    texts = column.astype(object)
    bad = need("pandas").to_numeric(texts, errors="coerce").isna().to_numpy() & present
    return int((bad if bad.any() else present).argmax())


def missing_rows(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the rows in which something is missing."""
    import numpy as np

    return np.asarray(np.isnan(values).any(axis=1))


def refuse_missing(values: NDArray[np.float64], names: Sequence[str], hint: str) -> None:
    """Say where values are missing, if any are."""
    import numpy as np

    missing = np.isnan(values)
    if missing.any():
        rows = counted(int(missing.any(axis=1).sum()), "row")
        raise Problem(f"missing values in {rows}: {_where(missing, names)}: {hint}")


def _where(marked: NDArray[np.bool_], names: Sequence[str]) -> str:
    """List columns and row numbers of the marked entries."""
    columns = [k for k in range(len(names)) if marked[:, k].any()]
    parts = [f"{names[k]!r} ({row_list(marked[:, k])})" for k in columns[:MOST_COLUMNS]]
    more = len(columns) - MOST_COLUMNS
    end = f" and {counted(more, 'more column')}" if more > 0 else ""
    noun = "column" if len(columns) == 1 else "columns"
    return f"{noun} {', '.join(parts)}{end}; rows are {COUNTING}"


def describe_missing(missing: NDArray[np.bool_], treatment: str) -> str:
    """Say which rows have missing values and what is done with them."""
    rows = counted(int(missing.sum()), "row")
    return f"{rows} with missing values {treatment}: {row_list(missing)} ({COUNTING})"


def row_list(marked: NDArray[np.bool_]) -> str:
    """List the numbers of the marked rows, the first few of them."""
    rows = marked.nonzero()[0] + 1
    shown = ", ".join(str(row) for row in rows[:MOST_ROWS])
    more = f" and {len(rows) - MOST_ROWS:,} more" if len(rows) > MOST_ROWS else ""
    return f"row{'' if len(rows) == 1 else 's'} {shown}{more}"
