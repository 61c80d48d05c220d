"""Processes made of few functions, looked for more closely where one may be the best, and made of more.

In the first look of a trial they are found by a few hundred rows and made of a few hundred functions, which
takes little time. Of all trials, one process goes on from there, if it is not far behind: its length and
ridge are looked for with more rows, and its functions are doubled as long as that lowers the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localegop._engine.chunks import spread_points
from localegop._engine.few_functions import FunctionKriging, most_places
from localegop._fit.backend import D, M_co
from localegop._fit.trials import Trial
from localegop._selection.global_search import GlobalSearch, as_choice, for_more_rows
from localegop._selection.race import Race

NOT_FAR = 3.0  # times the least error so far
SEARCHED_ROWS = 2000
PAYS = 0.9  # share of the error that twice the functions have to come down to


def let_functions_grow(trials: Sequence[Trial[D, M_co]]) -> None:
    """Let the process of few functions that does best go on, in the race of its trial."""
    found = [
        (float(mean), number, choice.final)
        for number, trial in enumerate(trials)
        for choice, mean in zip(trial.opening.choices, trial.opening.means, strict=True)
        if isinstance(choice.final, FunctionKriging)
    ]
    if not found:
        return
    error, number, process = min(found, key=lambda one: one[0])
    if error < NOT_FAR * min(float(trial.opening.means.min()) for trial in trials):
        trials[number].opening.join([as_choice(_grown(trials[number], process))])


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
