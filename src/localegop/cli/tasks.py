"""What a target is: numbers to predict, or classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from localegop.cli.columns import float_column
from localegop.cli.problems import Problem, need, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NUMBERED = 10  # different whole numbers that may be classes
MOST_NAMED = 50  # different texts
ROWS_EACH = 10  # on average, for whole numbers to be classes


def is_classification(asked: str, table: Any, targets: list[str]) -> bool:
    """Whether targets are classes: as asked for, or a single target that is text or few whole numbers."""
    if asked == "classification" and len(targets) > 1:
        raise Problem(
            f"--task classification takes one target, but --target names {len(targets)}: {quoted(targets)}"
            ": fit one model each"
        )
    if asked != "auto" or len(targets) > 1:
        return asked == "classification"
    column = table[targets[0]].dropna()
    different, numeric = column.nunique(), float_column(column)
    if column.dtype == bool:
        return True
    if numeric is None:  # text, unless single cells of a column of numbers are wrong
        repeated = 2 * different <= len(column)
        return bool(repeated and different <= MOST_NAMED and float_column(column.iloc[:1]) is None)
    whole = bool((numeric == numeric.round()).all()) and bool((abs(numeric) < 2**31).all())
    return whole and 2 <= different <= MOST_NUMBERED and len(column) >= ROWS_EACH * different


def class_labels(column: Any) -> tuple[Any, NDArray[np.float64]]:
    """Labels of classes, None where missing, and their numbers (n, 1), NaN where missing."""
    import numpy as np

    numeric = None if column.dtype == bool else float_column(column)
    known = column.notna()
    if numeric is not None and bool((numeric[known] == numeric[known].round()).all()):
        labels = np.array(
            [int(value) if ok else None for value, ok in zip(numeric, known, strict=True)], object
        )
    else:
        texts = zip(column, known, strict=True)
        labels = np.array(
            [(bool(v) if column.dtype == bool else str(v)) if ok else None for v, ok in texts], object
        )
    codes = need("pandas").factorize(labels)[0].astype(float)
    codes[codes < 0.0] = np.nan
    return labels, codes[:, None]
