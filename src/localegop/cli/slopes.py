"""Columns of a table that hold gradients: named by a pattern, such as ``dlift_{column}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import numbers
from localegop.cli.problems import Problem, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop._data.table_columns import Columns

Names = Mapping[tuple[str, str], str]  # of the column with the slope of a target along a feature


def find_gradient_columns(columns: Sequence[str], targets: Sequence[str], pattern: str | None) -> Names:
    """Find the columns that a pattern names, for each target and each other column."""
    if pattern is None:
        return {}
    needed = ["{column}"] if len(targets) == 1 else ["{column}", "{target}"]
    for part in needed:
        if part not in pattern:
            raise Problem(
                f"--gradients {pattern!r} must contain {part}, which stands for the name of a "
                f"{'feature' if part == '{column}' else 'target'}, as in 'd{{target}}_{{column}}'"
            )
    found = {
        (target, column): pattern.replace("{column}", column).replace("{target}", target)
        for target in targets
        for column in columns
    }
    known = {pair: name for pair, name in found.items() if name in columns}
    if not known:
        example = found[targets[0], next(name for name in columns if name not in targets)]
        raise Problem(
            f"--gradients {pattern!r} names no column of the table, such as {example!r}; the columns are "
            f"{quoted(list(columns))}"
        )
    return known


def read_gradients(
    table: Any, names: Names, targets: Sequence[str], columns: Columns
) -> NDArray[np.float64] | None:
    """Gradients (n, K, D) of the features that a table became, NaN where there is no column; or None."""
    if not names:
        return None
    import numpy as np

    found = np.full((len(table), len(targets), len(columns.features)), np.nan)
    plain = {column.name: column.features[0] for column in columns.columns if column.kind == "number"}
    for (target, feature), name in names.items():
        if feature in plain:
            place = columns.features.index(plain[feature])
            found[:, targets.index(target), place] = numbers(table, [name], "gradients must be numbers")[
                :, 0
            ]
    return found
