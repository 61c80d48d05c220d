"""The final: the best of several races, at as many held-out points as it takes to tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.gradient_kriging import GradientKriging
from localegop._selection.holdout import weighted_means
from localegop._selection.kriging import PRECISE
from localegop._selection.race import Looks, Race, choose_best, differences, expected_errors

Array = NDArray[np.float64]

SEMIFINALISTS, FINALISTS, LAST_FINALISTS = 8, 4, 2
SEMIFINALISTS_OF_EACH_KIND, FINALISTS_OF_EACH_KIND = 2, 1  # in any case, unless clearly worse
MOST_POINTS = 2000  # held-out points that they meet where fits are precise; more took half of their time
MOST_NOISY_POINTS = 4000  # elsewhere: differences that matter hide in the noise
SURE = 2.0  # standard errors of a difference that is taken for real
MATTERS = 0.1  # share of the expected error below which a difference does not matter


class Final:
    """The choices that came through several races, at the same held-out points."""

    def __init__(self, races: Sequence[Race]) -> None:
        self.races = races

    @property
    def best(self) -> tuple[int, Choice]:
        """The best choice, with its mean error, and the number of its race."""
        race, k = self._owners[int(np.argmin(self._expected()))]
        means = self.races[race].means
        return race, replace(self.races[race].choices[k], error=float(means[k]))

    def find_finalists(self, looks: Looks) -> None:
        """Let some choices meet more points, and the better half of them the points of the last look.

        A race in which one process that knows slopes was clearly ahead may have met fewer than others.
        """
        points = self.points
        for race in self.races:
            race.run_to(points)
        self._keep(SEMIFINALISTS, SEMIFINALISTS_OF_EACH_KIND)
        self._run_to(looks.third)
        self._keep(FINALISTS, FINALISTS_OF_EACH_KIND)
        self._run_to(looks.last)

    def decide(self) -> None:
        """Let the finalists meet more and more points, until it does not matter which of them is taken.

        There is an end to it: some thousand points, or the first fold where that has more.
        """
        holdout, (errors, weight) = self.races[0].holdout, self._errors()
        precise = float(weighted_means(errors, weight).min()) < PRECISE
        enough = MOST_POINTS if precise else MOST_NOISY_POINTS
        most = min(holdout.count, max(enough, holdout.first_count))
        while self.points < most and self._undecided():
            self._keep(LAST_FINALISTS, FINALISTS_OF_EACH_KIND)
            self._run_to(2 * self.points)

    @property
    def points(self) -> int:
        """Number of held-out points met so far."""
        return max(race.points for race in self.races if race.choices)

    @property
    def _owners(self) -> list[tuple[int, int]]:
        """Race and number in it of every choice."""
        return [(r, k) for r, race in enumerate(self.races) for k in range(len(race.choices))]

    def _errors(self) -> tuple[Array, Array]:
        errors = np.concatenate([race.errors for race in self.races if race.choices], axis=1)
        return errors, next(race.weight for race in self.races if race.choices)

    def _expected(self) -> Array:
        variances = np.concatenate([race.variances for race in self.races])
        is_process = np.concatenate([race.is_process for race in self.races])
        return expected_errors(*self._errors(), variances, is_process, self.races[0].holdout.noise)

    def _run_to(self, points: int) -> None:
        """Let all meet more points, but a process that knows slopes, which takes long, not alone."""
        if is_alone_with_slopes([choice for race in self.races for choice in race.choices]):
            return
        for race in self.races:
            if race.choices:
                race.run_to(points)

    def _keep(self, count: int, of_each_kind: int = 0) -> None:
        """Let only the best go on, as in a race."""
        kinds = [type(choice.final) for race in self.races for choice in race.choices]
        best = choose_best(self._expected(), *self._errors(), kinds, count, of_each_kind)
        kept = [self._owners[number] for number in best]
        for r, race in enumerate(self.races):
            race.keep_only(np.array([k for owner, k in kept if owner == r], dtype=np.intp))

    def _undecided(self) -> bool:
        """Whether another choice may be better than the best by an error that matters."""
        expected = self._expected()
        best = int(np.argmin(expected))
        seen, doubt = differences(*self._errors(), best)
        return bool(np.any((np.abs(seen) < SURE * doubt) & (doubt > MATTERS * expected[best])))


def is_alone_with_slopes(choices: Sequence[Choice]) -> bool:
    """Whether a process that knows slopes is all that is left, and takes long for nothing if it goes on."""
    return len(choices) == 1 and isinstance(choices[0].final, GradientKriging)
