"""Processes made of few functions, looked for more closely where one may be the best, and made of more.

In the first look of a trial they are found by a few hundred rows and made of a few hundred functions, which
takes little time. Of all trials, one process goes on from there, if it is not far behind: its length and
ridge are looked for with more rows, and its functions are doubled as long as that lowers the error. So does
one that knows given slopes: it gets as many functions as it may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from localegop._engine.chunks import spread_points
from localegop._engine.few_functions import FunctionKriging, most_places
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_kriging import GradientKriging
from localegop._fit.backend import D, M_co
from localegop._fit.trials import Trial
from localegop._selection.global_search import GlobalSearch, as_choice, for_more_rows
from localegop._selection.gradient_search import GradientSearch
from localegop._selection.race import Race

P = TypeVar("P", bound=GlobalKriging)

NOT_FAR = 3.0  # times the least error so far
SEARCHED_ROWS, ROWS_WITH_SLOPES = 2000, 500
PAYS = 0.9  # share of the error that twice the functions have to come down to


def let_functions_grow(trials: Sequence[Trial[D, M_co]]) -> None:
    """Let the processes of few functions that do best go on, in the races of their trials."""
    limit = NOT_FAR * min(float(trial.opening.means.min()) for trial in trials)
    found = _near(trials, limit, FunctionKriging)
    if found:
        _, trial, process = min(found, key=lambda one: one[0])
        trial.opening.join([as_choice(_grown(trial, process))])
    informed = [one for one in _near(trials, limit, GradientKriging) if one[2].n_places > 0]
    if informed:
        _grow_with_slopes(informed)


def _near(
    trials: Sequence[Trial[D, M_co]], limit: float, kind: type[P]
) -> list[tuple[float, Trial[D, M_co], P]]:
    """List processes of a kind whose errors are below a limit, with these and their trials."""
    return [
        (float(mean), trial, choice.final)
        for trial in trials
        for choice, mean in zip(trial.opening.choices, trial.opening.means, strict=True)
        if mean < limit and isinstance(choice.final, kind)
    ]


def _grow_with_slopes(found: list[tuple[float, Trial[D, M_co], GradientKriging]]) -> None:
    """Let the best of the processes that know slopes grow; what errs more in its trial is left out.

    They are compared by errors without a row, too, as the first look sees few points.
    """
    searches = [
        GradientSearch.of(trial.holdout.fold(0).everything, ROWS_WITH_SLOPES) for _, trial, _ in found
    ]

    def error(number: int) -> float:
        held_out, trial, process = found[number]
        points, rows = trial.opening.points, searches[number].sample.n
        alone = float(searches[number].error(process))
        return float((points * held_out + rows * alone) / (points + rows))

    best = min(range(len(found)), key=error)
    search, (_, trial, process) = searches[best], found[best]
    race, (grown, limit) = trial.opening, search.grow(process, trial.holdout.fold(0).everything.n)
    worse = [
        isinstance(one.final, GradientKriging) and search.error(one.final) > limit for one in race.choices
    ]
    race.keep_only(np.flatnonzero(np.logical_not(worse)))
    race.join([as_choice(grown)])


def _grown(trial: Trial[D, M_co], process: FunctionKriging) -> FunctionKriging:
    """Find length and ridge of a process with more rows, and as many functions as pay."""
    rows = trial.holdout.fold(0).everything
    some = rows.subset(spread_points(rows.n, SEARCHED_ROWS))
    search = GlobalSearch(some.rows, some.labels, some.sample_weight, rows.threads)
    best = search.best([process])[0]
    race = Race(trial.holdout)
    race.run_to(trial.opening.points)

    def error(one: FunctionKriging) -> float:
        race.join([as_choice(one)])
        return float(race.means[race.choices.index(as_choice(one))])

    best = min(best, for_more_rows(best), key=error)
    while best.n_places < most_places(rows.n):
        more = replace(best, n_places=min(2 * best.n_places, most_places(rows.n)))
        if not error(more) < PAYS * error(best):
            break
        best = more
    return best
