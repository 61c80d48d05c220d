"""Rows as tables: named arrays of equal length, kept in the order of the rows' numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]


def length(table: Table) -> int:
    """Count the rows."""
    return len(next(iter(table.values())))


def take(table: Table, rows: Any, names: Iterable[str] | None = None) -> Table:
    """Take some rows, of some columns."""
    return {name: table[name][rows] for name in (table if names is None else names)}


def stacked(tables: Sequence[Table]) -> Table:
    """Put tables one below the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def in_order(tables: Sequence[Table]) -> tuple[Table, NDArray[np.intp]]:
    """Tables one below the other, sorted by ``number``, and where each row was before."""
    together = stacked(tables)
    order = np.argsort(together["number"], kind="stable")
    return take(together, order), order
