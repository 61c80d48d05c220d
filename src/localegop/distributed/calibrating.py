"""Calibration of intervals when residuals are on a cluster: quantiles without gathering all scores.

Summaries of each partition's scores bracket a quantile; only the scores inside the bracket are sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Future
from numpy.typing import NDArray

from localegop._predict.uncertainty import needed_weight
from localegop.distributed.tables import Table

Array = NDArray[np.float64]
# Weight of the scores below a bracket, and the scores inside it with their weights.
Inside = tuple[float, Array, Array]

SUMMARY = 500  # scores in a summary


def lazy_multipliers(tables: list[Future[Table]], levels: Array) -> Delayed:
    """Multipliers (k, K) as :class:`.uncertainty.Calibration` gives them for all rows, lazily."""
    brackets = delayed(_find_brackets)([delayed(_summarize)(table) for table in tables], levels)
    inside = [delayed(_scores_inside)(table, brackets) for table in tables]
    return delayed(_pick_scores)(brackets, inside)


@dataclass(frozen=True)
class Bracket:
    """An interval (low, high] that contains the score up to which the weight is ``needed``."""

    low: float
    high: float
    needed: float


def _sorted_scores(table: Table, output: int) -> tuple[Array, Array]:
    """Scores of an output, rising, and the weight of all up to each."""
    order = np.argsort(table["score"][:, output], kind="stable")
    return table["score"][order, output], np.cumsum(table["sample_weight"][order])


def _summarize(table: Table) -> list[tuple[Array, Array]]:
    """Take some scores of each output, the largest among them, and the weight of all up to each."""
    found = []
    for output in range(table["score"].shape[1]):
        scores, weight = _sorted_scores(table, output)
        at = np.unique(np.linspace(0, len(scores) - 1, SUMMARY).astype(int))
        found.append((scores[at], weight[at]))
    return found


def _find_brackets(summaries: list[list[tuple[Array, Array]]], levels: Array) -> list[list[Bracket]]:
    """Brackets for each output and level."""
    found = []
    for parts in zip(*summaries, strict=True):
        marks = np.unique(np.concatenate([scores for scores, _ in parts]))
        least, most = np.zeros(len(marks)), np.zeros(len(marks))
        for scores, weight in parts:
            at = np.searchsorted(scores, marks, side="right")  # scores up to each mark
            least += np.concatenate([[0.0], weight])[at]
            most += np.concatenate([weight, weight[-1:]])[at]
        total = sum(weight[-1] for _, weight in parts)
        brackets = []
        for needed in needed_weight(levels, total):
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


def _scores_inside(table: Table, brackets: list[list[Bracket]]) -> list[list[Inside]]:
    """Weight below each bracket, and the scores in it with their weights."""
    found = []
    for output, some in enumerate(brackets):
        scores, row = table["score"][:, output], []
        for bracket in some:
            here = (scores > bracket.low) & (scores <= bracket.high)
            below = float(table["sample_weight"][scores <= bracket.low].sum())
            row.append((below, scores[here], table["sample_weight"][here]))
        found.append(row)
    return found


def _pick_scores(brackets: list[list[Bracket]], inside: list[list[list[Inside]]]) -> Array:
    """Scores up to which the weight is the one needed; infinite where there are too few."""
    factors = np.full((len(brackets[0]), len(brackets)), np.inf)
    for output, some in enumerate(brackets):
        for i, bracket in enumerate(some):
            parts = [part[output][i] for part in inside]
            scores = np.concatenate([part[1] for part in parts])
            order = np.argsort(scores, kind="stable")
            weight = np.cumsum(np.concatenate([part[2] for part in parts])[order])
            at = int(np.searchsorted(weight + sum(part[0] for part in parts), bracket.needed))
            if at < len(scores):
                factors[i, output] = scores[order[at]]
    return factors
