"""Calibration of intervals when residuals are spread: quantiles of scores without gathering all of them.

Summaries of each partition's scores bracket a quantile; only scores inside the bracket travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from localegop._predict.uncertainty import needed_share
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

MARKS = 500  # scores in a summary


def lazy_multipliers(tables: list[Any], levels: Array) -> Any:
    """Factors (k, K) as :class:`.uncertainty.Calibration` gives them for all rows, lazily."""
    brackets = delayed(_brackets)([delayed(_summary)(table) for table in tables], levels)
    inside = [delayed(_inside)(table, brackets) for table in tables]
    return delayed(_selected)(brackets, inside)


@dataclass(frozen=True)
class Bracket:
    """Ends of an interval (low, high] that holds the score of share ``needed``."""

    low: float
    high: float
    needed: float


def _sorted(table: Table, output: int) -> tuple[Array, Array]:
    order = np.argsort(table["score"][:, output], kind="stable")
    return table["score"][order, output], np.cumsum(table["share"][order])


def _summary(table: Table) -> list[tuple[Array, Array]]:
    """Take some scores of each output, the last among them, and the share of all up to each."""
    found = []
    for output in range(table["score"].shape[1]):
        scores, share = _sorted(table, output)
        at = np.unique(np.linspace(0, len(scores) - 1, MARKS).astype(int))
        found.append((scores[at], share[at]))
    return found


def _brackets(summaries: list[list[tuple[Array, Array]]], levels: Array) -> list[list[Bracket]]:
    """Brackets for each output and level."""
    found = []
    for parts in zip(*summaries, strict=True):
        marks = np.unique(np.concatenate([scores for scores, _ in parts]))
        least, most = np.zeros(len(marks)), np.zeros(len(marks))
        for scores, share in parts:
            at = np.searchsorted(scores, marks, side="right")  # scores up to each mark
            least += np.concatenate([[0.0], share])[at]
            most += np.concatenate([share, share[-1:]])[at]
        total = sum(share[-1] for _, share in parts)
        brackets = []
        for needed in needed_share(levels, total):
            low = np.flatnonzero(most < needed)
            high = np.flatnonzero(least >= needed)
            brackets.append(
                Bracket(
                    marks[low[-1]] if len(low) else -np.inf,
                    marks[high[0]] if len(high) else np.inf,
                    float(needed),
                )
            )
        found.append(brackets)
    return found


def _inside(table: Table, brackets: list[list[Bracket]]) -> list[list[tuple[float, Array, Array]]]:
    """Share below each bracket, and scores in it with their weights."""
    found = []
    for output, some in enumerate(brackets):
        scores, row = table["score"][:, output], []
        for bracket in some:
            here = (scores > bracket.low) & (scores <= bracket.high)
            below = float(table["share"][scores <= bracket.low].sum())
            row.append((below, scores[here], table["share"][here]))
        found.append(row)
    return found


def _selected(brackets: list[list[Bracket]], inside: list[Any]) -> Array:
    """Scores whose share is that needed; infinite where there are too few."""
    factors = np.full((len(brackets[0]), len(brackets)), np.inf)
    for output, some in enumerate(brackets):
        for i, bracket in enumerate(some):
            parts = [part[output][i] for part in inside]
            scores = np.concatenate([part[1] for part in parts])
            order = np.argsort(scores, kind="stable")
            share = np.cumsum(np.concatenate([part[2] for part in parts])[order])
            at = int(np.searchsorted(share + sum(part[0] for part in parts), bracket.needed))
            if at < len(scores):
                factors[i, output] = scores[order[at]]
    return factors
