"""The trial of the process of a partly jagged function, in axes of its own.

Its axes and its constants are found together. While choices are compared they are those of rows that the
first fold leaves; after the choice they are found again at all rows, and do not depend on the fold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from localegop._engine.choice import Choice
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import spread_points
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.local_data import LocalData
from localegop._fit.backend import D, M_co
from localegop._fit.trials import Search, Trial
from localegop._selection.jagged_search import JaggedFit, find_jagged

FEWEST_PER_LENGTH = 8  # rows a feature, from which on two lengths for each may be found
FEW_SEARCHED, MOST_SEARCHED = 400, 600  # rows, before the choice and after it


class JaggedTrial(Trial[D, M_co]):
    """The trial; ``whole`` if its axes and process were found at all rows."""

    def __init__(self, search: Search[D, M_co], found: JaggedFit, *, whole: bool = False) -> None:
        super().__init__(search, search.start.in_axes(found.axes), origin="jagged", known=found.process)
        self.whole = whole


def trial_of_jagged(search: Search[D, M_co], first: Trial[D, M_co]) -> list[Trial[D, M_co]]:
    """Make the trial, if it may compete; ``first`` is that in the initial axes."""
    data = search.start.data
    if search.settings.classifies or data.knows_gradients or not search.may_use_all_rows:
        return []
    rest = first.holdout.fold(0).everything
    if rest.n < FEWEST_PER_LENGTH * rest.dimension:
        return []
    found = _find_at(rest, FEW_SEARCHED)
    return [JaggedTrial(search, found)] if found is not None and found.is_jagged else []


def found_again(trial: Trial[Any, Any]) -> Trial[Any, Any]:
    """Return the trial with axes and process of all rows; other trials stay as they are."""
    if not isinstance(trial, JaggedTrial) or trial.whole:
        return trial
    search, data = trial.search, trial.search.start.data
    found = _find_at(search.backend.gather(data, np.arange(data.n)), MOST_SEARCHED)
    return trial if found is None else JaggedTrial(search, found, whole=True)


def choice_again(choice: Choice, process: GlobalKriging | None) -> Choice:
    """Return a choice with the process that was found again, if it is one of this kind."""
    if process is None or not isinstance(choice.final, JaggedKriging):
        return choice
    return replace(choice, final=process)


def _find_at(rows: LocalData, most: int) -> JaggedFit | None:
    """Find axes and process at some of these rows."""
    some = rows.subset(spread_points(rows.n, most))
    return find_jagged(some.rows, some.labels, some.sample_weight)
