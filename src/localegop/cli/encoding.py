"""From columns of a table to features: categories, dates, and what is filled in for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import float_column, named_columns, numbers, row_list
from localegop.cli.problems import Problem, counted, need, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop._data.table_columns import Column, Columns

MOST_CATEGORIES = 50  # of a column: with more, it is a name or a number rather than a category
AUTO = "auto"
TRAINING_HINT = (
    "use --categorical for categories, --dates for dates, --ignore to leave out columns, or turn them into "
    "numbers"
)


def choose_columns(
    table: Any, features: Sequence[str], categorical: Sequence[str], dates: Sequence[str], missing: str
) -> Columns:
    """Decide what the columns of a training table become."""
    from localegop._data.table_columns import Column, Columns

    named = _named(table, features, categorical, "--categorical")
    days = _named(table, features, dates, "--dates")
    both = [name for name in named if name in days]
    if both:
        raise Problem(f"column {quoted(both)} is given with --categorical and --dates: choose one")
    if AUTO in categorical and AUTO not in features:
        named |= {name for name in features if name not in days and float_column(table[name]) is None}
    columns = []
    for name in features:
        if name in named:
            columns.append(Column(name, "categories", _find_categories(table[name])))
        else:
            columns.append(Column(name, "date" if name in days else "number"))
    chosen = Columns(tuple(columns), missing)
    twice = [name for name in chosen.features if chosen.features.count(name) > 1]
    if twice:
        raise Problem(f"two features would be called {quoted(twice[:1])}: rename a column")
    return chosen if missing != "impute" else _with_fills(chosen, table)


def _named(table: Any, features: Sequence[str], given: Sequence[str], option: str) -> set[str]:
    """Names of features that an option gives."""
    asked = [text for text in given if text != AUTO or AUTO in features or option != "--categorical"]
    names = set(named_columns(asked, list(table.columns), option)) if asked else set()
    others = sorted(names - set(features))
    if others:
        raise Problem(
            f"{option}: column {quoted(others)} is no feature: remove it, or the option that says so"
        )
    return names


def _find_categories(column: Any) -> tuple[str, ...]:
    """All categories of a training column, sorted."""
    found = sorted({text for text in _texts(column) if text is not None})
    if not found:
        raise Problem(f"column {column.name!r} has no categories: all of it is missing")
    if len(found) > MOST_CATEGORIES:
        raise Problem(
            f"column {column.name!r} has {len(found)} categories, more than {MOST_CATEGORIES}, such as "
            f"{quoted(found, 3)}: leave it out with --ignore, or join categories"
        )
    return tuple(found)


def _texts(column: Any) -> list[str | None]:
    """Entries as texts, None where missing; whole numbers look alike however a table stores them."""
    missing = column.isna().to_numpy()
    entries = column.to_numpy(dtype=object)
    return [None if gap else _text(entry) for entry, gap in zip(entries, missing, strict=True)]


def _text(entry: Any) -> str:
    return str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry)


def _with_fills(columns: Columns, table: Any) -> Columns:
    """Find what to fill in: the median, or the most frequent category."""
    import numpy as np

    filled = []
    for column in columns.columns:
        values = _values(column, table[column.name], TRAINING_HINT)
        if column.categories is None:
            if np.isnan(values).all():
                raise Problem(f"column {column.name!r} has no values: leave it out with --ignore")
            filled.append(replace(column, fill=float(np.nanmedian(values))))
        else:
            filled.append(replace(column, fill=float(np.nansum(values, axis=0).argmax())))
    return replace(columns, columns=tuple(filled))


def encode_table(columns: Columns, table: Any, hint: str) -> NDArray[np.float64]:
    """Features (n, D), with NaN where a value is missing and nothing is filled in."""
    import numpy as np

    return np.column_stack([_filled(one, _values(one, table[one.name], hint)) for one in columns.columns])


def _filled(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    if column.fill is None:
        return values
    if column.categories is None:
        return np.where(np.isnan(values), column.fill, values)
    return np.where(np.isnan(values), np.eye(len(column.categories))[int(column.fill)], values)


def _values(column: Column, given: Any, hint: str) -> NDArray[np.float64]:
    """Numbers (n, 1), or ones and zeros (n, categories), of one column; NaN where missing."""
    import numpy as np

    if column.kind == "date":
        return _days(given)[:, None]
    if column.categories is None:
        return numbers(given.to_frame(column.name), [column.name], hint)
    texts = _texts(given)
    places = {text: k for k, text in enumerate(column.categories)}
    values = np.zeros((len(texts), len(places)))
    for row, text in enumerate(texts):
        if text is None:
            values[row] = np.nan
        elif text in places:
            values[row, places[text]] = 1.0
    return values


def _days(given: Any) -> NDArray[np.float64]:
    """Days since the beginning of 1970, in universal time; NaN where missing."""
    import numpy as np

    pandas = need("pandas")
    if float_column(given) is not None and given.notna().any():
        raise Problem(f"--dates: column {given.name!r} holds numbers, not dates: leave it as it is")
    times = pandas.to_datetime(
        given, utc=True, errors="coerce", format="ISO8601" if given.dtype.kind != "M" else None
    )
    bad = (times.isna() & given.notna()).to_numpy()
    if bad.any():
        first = str(given[bad].iloc[0])
        raise Problem(
            f"column {given.name!r} has entries that are no dates such as 2020-01-31 ({row_list(bad)}: "
            f"{first[:30]!r}): write them so, or leave the column out"
        )
    days = (times - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(days=1)
    return np.asarray(days.to_numpy(dtype=float))


def describe_unknown(columns: Columns, table: Any) -> list[str]:
    """Say which columns have categories that the training table had not, one line each."""
    told = []
    for column in columns.columns:
        if column.categories is not None:
            texts = _texts(table[column.name])
            unknown = [text for text in texts if text is not None and text not in column.categories]
            if unknown:
                names = quoted(sorted(set(unknown)), 3)
                rows = counted(len(unknown), "row")
                told.append(
                    f"column {column.name!r} has categories unknown to the model in {rows}: {names}"
                )
    return told


def describe_filled(columns: Columns, table: Any) -> str | None:
    """Say which rows have missing features that are filled in; None if there are none."""
    names = [column.name for column in columns.columns if column.fill is not None]
    gaps = table[names].isna().any(axis=1).to_numpy()
    if not gaps.any():
        return None
    return f"{counted(int(gaps.sum()), 'row')} with missing features filled in: {row_list(gaps)}"
