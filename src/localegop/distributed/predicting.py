"""Queries on a cluster: each goes to the partition it lies in, and what else it needs comes there.

The graph is lazy. For each block of queries and each partition there are three tasks: how far its queries
reach, what it lends to queries at home elsewhere, and their fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from localegop._engine.gradient_field import GradientField
from localegop._predict.model import Aftermath, Model
from localegop.distributed.backend import LearnedField
from localegop.distributed.halo import Reach, lent, neighbors_needed, reach_of
from localegop.distributed.partitions import local_data
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table, in_order, take
from localegop.results import LocalFits, Neighbors, joined, reordered

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Head:
    """What queries have to know of a fit: the model without data, and how data are looked at."""

    model: Model
    options: dict[str, Any]
    n: int
    boxes: tuple[int, ...]  # numbers of the boxes of the splits that have rows

    @property
    def needed(self) -> int:
        """How many of the nearest rows a query needs."""
        return neighbors_needed(self.options["max_neighbors"], self.model.units.transform.shape[1], self.n)


@dataclass(frozen=True)
class What:
    """What to find out: values, with ``spread`` their noise, with ``full`` everything."""

    spread: bool = False
    full: bool = False
    trace: bool = False

    def columns(self, steps: int) -> list[str]:
        """Columns that are needed for that."""
        names = ["number", "rows", "labels", "share", *(f"gradients_{t}" for t in range(steps))]
        if self.spread or self.full:
            names += ["after_residuals", "after_noise", "after_gradients"]
        return names + [f"errors_{t}" for t in range(steps) if self.trace]


@dataclass(frozen=True)
class Routed:
    """A block of queries in the units of the recursion, and the partition of each."""

    X: Array
    centers: Array
    home: NDArray[np.int64]


def lazy_fits(block: Delayed, head: Head, field: LearnedField, what: What) -> Delayed:
    """Local fits at a block of queries."""
    head = delayed(head)
    routed = delayed(_routed, pure=False)(block, head, field.splits)
    reaches = [delayed(_reach, pure=False)(routed, p, table, head) for p, table in enumerate(field.tables)]
    lendings = []
    if len(field.tables) > 1:
        lendings = [
            delayed(_lendings, pure=False)(table, reaches, q, head, what)
            for q, table in enumerate(field.tables)
        ]
    fits = [
        delayed(_fits, pure=False)(routed, p, table, lendings, head, what)
        for p, table in enumerate(field.tables)
    ]
    return delayed(_together, pure=False)(routed, fits, head, what)


def _routed(X: Array, head: Head, splits: Splits) -> Routed:
    centers = head.model.centers(X)
    at = splits.home(centers)
    # queries in a box without rows go to the first partition: it finds out who has their neighbors
    home = np.zeros(splits.count, dtype=np.int64)
    home[list(head.boxes)] = np.arange(len(head.boxes))
    return Routed(X, centers, home[at])


def _reach(routed: Routed, p: int, table: Table, head: Head) -> Reach:
    return reach_of(table["rows"], routed.centers[routed.home == p], head.needed)


def _lendings(table: Table, reaches: Sequence[Reach], q: int, head: Head, what: What) -> list[Table | None]:
    """Rows that partition q lends to each of the others."""
    found: list[Table | None] = []
    for p, reach in enumerate(reaches):
        positions = lent(table["rows"], reach, head.needed) if p != q else np.zeros(0, dtype=np.intp)
        columns = what.columns(head.model.choice.step)
        found.append(take(table, positions, columns) if len(positions) else None)
    return found


def _fits(
    routed: Routed, p: int, table: Table, lendings: list[list[Table | None]], head: Head, what: What
) -> LocalFits | None:
    here = routed.home == p
    if not here.any():
        return None
    columns = what.columns(head.model.choice.step)
    borrowed = [part for lending in lendings if (part := lending[p]) is not None]
    together, _ = in_order([take(table, slice(None), columns), *borrowed])
    return _fits_in(together, routed.X[here], head, what)


def _fits_in(table: Table, X: Array, head: Head, what: What) -> LocalFits:
    model = placed_model(head, table)
    fits = model.fits(
        X, spread=what.spread, full=what.full, trace=what.trace, threads=head.options["threads"], verbose=0
    )
    return replace(fits, _neighbors_at=_neighbors_elsewhere)


def placed_model(head: Head, table: Table) -> Model:
    """Model that knows the rows of a table only."""
    data, steps = local_data(table, head.n, head.options), head.model.choice.step
    field = GradientField(
        data,
        head.model.rules,
        head.model.settings.ridges,
        [np.ascontiguousarray(table[f"gradients_{t}"]) for t in range(steps)],
        [table[f"errors_{t}"] for t in range(steps) if f"errors_{t}" in table],
    )
    after = None
    if "after_noise" in table:
        names = ("after_residuals", "after_noise", "after_gradients")
        after = Aftermath(*(np.ascontiguousarray(table[name]) for name in names))
    return replace(head.model, data=data, field=field, after=after)


def _together(routed: Routed, fits: list[LocalFits | None], head: Head, what: What) -> LocalFits | None:
    """Fits in the order of the queries; None if there were none."""
    found = [part for part in fits if part is not None]
    if not found:
        return None
    order = np.concatenate(
        [np.flatnonzero(routed.home == p) for p, part in enumerate(fits) if part is not None]
    )
    return reordered(joined(found), np.argsort(order))


def _neighbors_elsewhere(query: Array) -> Neighbors:
    raise ValueError(
        "training rows stay on the cluster, so fits from there cannot name them: gather the model with "
        "to_local(), whose localize(X).neighbors(i) can"
    )
