"""Processes of all rows in all axes that were tried, and their mean in place of the one that was chosen.

Which of several choices that do about equally well is taken depends on the rows that happen to be held out,
and so do length and ridge of a process, which are found at the rows that one fold leaves. After the choice
nothing needs to be held out any more. Finer moves of length and ridge, by the leave-one-out error of all
rows, lead from any of them to about the same place. And the mean of the processes that do about equally
well hardly depends on chance, and predicts better than one of them. Without noise errors are those of a few
rows at the edge of the data, and say less than held-out points do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.blas import limited_blas
from localegop._engine.choice import Choice
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import spread_points
from localegop._engine.gradient_kriging import GradientKriging
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.mixture import Mixture, Part
from localegop._fit.jagged_trial import found_again
from localegop._fit.trials import Trial
from localegop._predict.rivals import Rival, Rivals
from localegop._selection.global_search import GlobalSearch
from localegop._selection.kriging import PRECISE

Array = NDArray[np.float64]
AnyTrial = Trial[Any, Any]

MOST_ROWS = 1500  # beyond, several processes of all rows take too much of the time of a fit
SAMPLE = 800  # rows at which they are compared
MOST_REFINED = 700  # rows up to which a process that was asked for is looked for more closely
STEEPNESS = 20.0  # shares are errors to the power of minus this: half as much for 3.5 % more error
FEWEST_SHARE, MOST_PARTS = 0.05, 5
AS_GOOD = 1.05  # times the error of a local fit up to which the mean is taken in its place


@dataclass(frozen=True)
class _Candidate:
    """A process in the axes of a trial, and its leave-one-out error."""

    search: GlobalSearch
    trial: AnyTrial
    process: GlobalKriging
    error: float


def mix_processes(
    trials: Sequence[AnyTrial], best: AnyTrial, choice: Choice, rivals: Rivals, tied: float
) -> tuple[AnyTrial, Choice, Rivals]:
    """Put a mean of processes in the place of a choice, if these are about as good; see the top.

    ``tied`` is the least error of the processes of all rows that came to the final. What is remembered
    first is the mean, in the axes of its leading process.
    """
    settings, n = best.search.settings, best.start.data.n
    noisy, many = choice.error > PRECISE, n > MOST_ROWS
    if settings.classifies or many or not noisy or best.start.data.knows_gradients:
        return best, choice, rivals  # classes count by another loss
    if tied > AS_GOOD * choice.error or isinstance(choice.final, GradientKriging):
        return best, choice, rivals
    first = _candidates(trials)
    if settings.final == "global" and isinstance(choice.final, GlobalKriging):  # one was asked for
        if n > MOST_REFINED:
            return best, choice, rivals
        first = [_Candidate(_search(best, MOST_REFINED), best, choice.final, 1.0)]
    first = [
        one for one in first if np.isfinite(one.error)
    ]  # rounding may leave none where labels are huge
    if not first:
        return best, choice, rivals
    parts = _shared(_refine(_shared(first)))
    leading = parts[0][0].trial
    final = parts[0][0].process if len(parts) == 1 else _mean(parts)
    mixed = replace(choice, step=0, size=None, gradient_size=None, final=final)
    remembered = Rival(replace(mixed, error=rivals.every[0].choice.error), leading.origin)
    return leading, mixed, replace(rivals, every=(remembered, *rivals.every[1:]))


def _mean(parts: list[tuple[_Candidate, float]]) -> Mixture:
    """Put processes together, in the axes (D, r) of the first."""
    leading = parts[0][0].trial
    with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
        back = np.linalg.pinv(leading.start.axes)
        relative = [back @ one.trial.start.axes for one, _ in parts]
    return Mixture.of(
        *(
            Part(share, one.process) if one.trial is leading else Part.in_axes(share, one.process, axes)
            for (one, share), axes in zip(parts, relative, strict=True)
        )
    )


def _search(trial: AnyTrial, most: int = SAMPLE) -> GlobalSearch:
    """Search for processes at all rows, or as many as may be compared, in the axes of a trial."""
    data = trial.start.data
    rows = trial.search.backend.gather(data, spread_points(data.n, most))
    return GlobalSearch(rows.rows, rows.labels, rows.sample_weight, trial.search.settings.threads)


def _candidates(trials: Sequence[AnyTrial]) -> list[_Candidate]:
    """List the processes of all trials."""
    found = []
    for trial in map(found_again, trials):
        search = _search(trial)
        found += [_Candidate(search, trial, one, search.error(one)) for one in trial.global_processes]
    return found


def _refine(candidates: list[tuple[_Candidate, float]]) -> list[_Candidate]:
    """Look for length and ridge of each more closely."""
    found = []
    for one, _ in candidates:
        process = one.process
        if not isinstance(process, JaggedKriging):  # of which the likelihood of all rows has told all
            process = one.search.refine(process)
        found.append(replace(one, process=process, error=one.search.error(process)))
    return found


def _shared(candidates: list[_Candidate]) -> list[tuple[_Candidate, float]]:
    """Take the better ones with their shares, the largest first."""
    errors = np.maximum([one.error for one in candidates], np.finfo(float).tiny)
    shares: Array = (errors.min() / errors) ** STEEPNESS
    shares /= shares.sum()
    order = [k for k in np.argsort(-shares, kind="stable")[:MOST_PARTS] if shares[k] >= FEWEST_SHARE]
    kept = shares[order] / shares[order].sum()
    return [(candidates[k], float(share)) for k, share in zip(order, kept, strict=True)]
