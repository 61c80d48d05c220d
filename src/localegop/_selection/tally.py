"""Which choice would be the best if other held-out points had been met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._selection.race import Race, expected_errors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Choices of several races and their errors at the same held-out points.

    Parameters
    ----------
    owners : list of int
        The race of each choice.
    choices : list of Choice
    errors : ndarray of shape (point, choice)
    weight : ndarray of shape (point,)
    variances : ndarray of shape (choice,)
    is_process : ndarray of shape (choice,)
    """

    owners: list[int]
    choices: list[Choice]
    errors: Array
    weight: Array
    variances: Array
    is_process: NDArray[np.bool_]
    noise: float | None = None

    @classmethod
    def of(cls, races: Sequence[Race]) -> Tally:
        """Return the state of races, at the points that all choices have met."""
        points = min(race.points for race in races if race.choices)
        return cls(
            [r for r, race in enumerate(races) for _ in race.choices],
            [choice for race in races for choice in race.choices],
            np.concatenate([race.errors[:points] for race in races if race.choices], axis=1),
            next(race.weight for race in races if race.choices)[:points],
            np.concatenate([race.variances for race in races]),
            np.concatenate([race.is_process for race in races]),
            races[0].holdout.noise,
        )

    def winner(self, times: Array) -> int:
        """Tell the best choice if every point counted so many times."""
        weight = self.weight * times
        if not weight.sum() > 0.0:
            weight = self.weight
        expected = expected_errors(self.errors, weight, self.variances, self.is_process, self.noise)
        return int(np.argmin(expected))
