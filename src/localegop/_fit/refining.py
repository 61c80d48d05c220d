"""A process of all rows that was chosen, with its length and ridge looked for more closely.

A trial finds length and ridge at the rows that one fold leaves, in moves by factors of 2 and 10, so which
of several processes that do about equally well is found depends on the rows that happen to be held out.
After the choice nothing needs to be held out any more: finer moves, by the leave-one-out error of all rows,
lead from any of them to about the same place. Without noise errors are those of a few rows at the edge of
the data, and say less than held-out points do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from localegop._engine.choice import Choice
from localegop._engine.global_kriging import GlobalKriging
from localegop._fit.trials import Trial
from localegop._predict.rivals import Rivals
from localegop._selection.global_search import GlobalSearch
from localegop._selection.kriging import PRECISE

MOST_ROWS = 700  # beyond, one leave-one-out error takes too much of the time of a fit


def refine_process(best: Trial[Any, Any], choice: Choice, rivals: Rivals) -> tuple[Choice, Rivals]:
    """Refine the choice of a trial, if it is a process of all rows, and remember the refined one first."""
    data, classifies = best.start.data, best.search.settings.classifies  # classes count by another loss
    tells = data.n <= MOST_ROWS and choice.error > PRECISE and not classifies
    if type(choice.final) is not GlobalKriging or not tells:
        return choice, rivals
    rows = best.search.backend.gather(data, np.arange(data.n))
    search = GlobalSearch(rows.rows, rows.labels, rows.sample_weight)
    final = search.refine(choice.final)
    first = rivals.every[0]
    remembered = replace(first, choice=replace(first.choice, final=final))
    return replace(choice, final=final), replace(rivals, every=(remembered, *rivals.every[1:]))
