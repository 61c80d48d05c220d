"""What a fit remembers of the choices that came close to the one it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from localegop._engine.choice import Choice
from localegop._fit.trials import Trial
from localegop._predict.rivals import PAIRS, Rival, Rivals, in_half
from localegop._selection.tally import Tally


def remember_rivals(tally: Tally, trials: Sequence[Trial[Any, Any]], winner: int, choice: Choice) -> Rivals:
    """Remember the choices of some trials that halves of the points lead to, after the one that was taken.

    ``winner`` is the number of the trial whose ``choice`` was taken.
    """
    search = trials[0].search
    seed, points = search.settings.seed, trials[0].points[: len(tally.weight)]
    picks = [tally.winner(2.0 * in_half(points, half, seed).astype(float)) for half in range(2 * PAIRS)]
    taken = next(
        number
        for number, (owner, one) in enumerate(zip(tally.owners, tally.choices, strict=True))
        if owner == winner and replace(one, error=choice.error) == choice
    )
    numbers = [taken, *sorted({*picks} - {taken})]
    return Rivals(
        search.start.decisions.units.transform,
        tuple(Rival(tally.choices[number], trials[tally.owners[number]].origin) for number in numbers),
        tuple(numbers.index(pick) for pick in picks),
    )
