"""Rows as tables: named arrays of equal length, kept in the order of the rows' numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]


def take(
    table: Table, rows: slice | NDArray[np.bool_] | NDArray[np.intp], names: Iterable[str] | None = None
) -> Table:
    """Take some rows, of some columns."""
    return {name: table[name][rows] for name in (table if names is None else names)}


def stack(tables: Sequence[Table]) -> Table:
    """Put tables one below the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def merge_sorted(tables: Sequence[Table]) -> Table:
    """Put tables one below the other and sort the rows by ``number``."""
    together = stack(tables)
    return take(together, np.argsort(together["number"], kind="stable"))
