"""What a fit settles on: the number of steps, the size of the neighborhood and the kind of final fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localegop._engine.final_fits import Kriging, Polynomial


@dataclass(frozen=True)
class Choice:
    """The final fit: how it is made and the mean squared error it had at held-out points.

    Parameters
    ----------
    step : int
        Number of steps of the recursion before it.
    size : float or None
        Effective sample size of its neighborhood; None for that of the schedule at that step.
    final : Polynomial or Kriging
        The kind of fit, with its constants.
    error : float
        In units of the label variance; NaN if there was nothing to choose.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(300, 3, random_state=0)
    >>> choice = LocalEGOPRegressor(degree=2, ridge=1e-4).fit(X, y).choice_
    >>> choice.degree, choice.final.ridge
    (2, 0.0001)
    """

    step: int
    size: float | None
    final: Polynomial | Kriging
    error: float = np.nan

    @property
    def degree(self) -> int:
        """Degree of the polynomial, or of the trend of kriging."""
        return self.final.degree

    @property
    def ridge(self) -> float:
        """Ridge of the final fit."""
        return self.final.ridge

    @property
    def sizes(self) -> tuple[float] | None:
        """Effective size of the neighborhood as a list; None for that of the schedule."""
        return None if self.size is None else (self.size,)
