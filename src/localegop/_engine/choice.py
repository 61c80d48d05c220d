"""What a fit settles on: the number of steps, the size of the neighborhood and the kind of final fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localegop._engine.centers import Widths
from localegop._engine.final_fits import FinalFit, GlobalFit, Kriging, Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate, Sized
from localegop._html import table


@dataclass(frozen=True)
class Choice:
    """The final fit: how it is made and the mean squared error it had at held-out points.

    Parameters
    ----------
    step : int
        Number of steps of the recursion before it.
    size : float or None
        Effective sample size of its neighborhood; None for that of the schedule at that step, and where all
        rows are used at once.
    final : Polynomial, Logistic, SlopePolynomial, Kriging, GlobalKriging, or one of the kinds of the latter
        The kind of fit, with its constants.
    error : float
        In units of the label variance, or of the log loss of the class frequencies; NaN if there was
        nothing to choose.
    gradient_size : float or None
        Effective sample size of the neighborhoods in which gradients are learned at the first step, half of
        it at the last; None for the sizes of the schedule.

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
    final: Polynomial | Kriging | GlobalKriging
    error: float = np.nan
    gradient_size: float | None = None

    def _repr_html_(self) -> str:
        unsized = "all rows at once" if isinstance(self.final, GlobalKriging) else "that of the schedule"
        size = unsized if self.size is None else f"{self.size:.4g} rows"
        error = (
            "nothing was compared" if np.isnan(self.error) else f"{self.error:.3g} of the label variance"
        )
        steps = "0: one metric everywhere" if self.step == 0 else str(self.step)
        facts = {"local steps": steps, "effective size": size, "final fit": repr(self.final)}
        if self.gradient_size is not None:
            facts["gradients learned from"] = f"{self.gradient_size:.4g} rows at first"
        rows = [list(fact) for fact in (facts | {"error at held-out rows": error}).items()]
        return table("Choice", ["what", "chosen"], rows)

    @property
    def degree(self) -> int:
        """Degree of the polynomial, or of the trend of kriging."""
        return self.final.degree

    @property
    def ridge(self) -> float:
        """Ridge of the final fit."""
        return self.final.ridge

    def widths(self, update: MetricUpdate, count: int, data: Sized) -> Widths:
        """Widths of the neighborhoods of so many centers; of a global process, those of its covariance."""
        if isinstance(self.final, GlobalKriging):
            return Widths.of_scale(data.dimension * self.final.scale, count)
        return update.widths(self.step, count, data, self.sizes)

    def fit_with(self, anchors: LocalData | None) -> FinalFit:
        """Return the final fit, ready for queries; a global process needs the anchors, all rows."""
        if isinstance(self.final, GlobalKriging):
            assert anchors is not None
            return GlobalFit(self.final, anchors)
        return self.final

    def largest_size(self, usual: float) -> float:
        """Largest effective size that is asked of neighborhoods where gradients are learned."""
        return usual if self.gradient_size is None else max(usual, self.gradient_size)

    @property
    def sizes(self) -> tuple[float] | None:
        """Effective size of the neighborhood as a list; None for that of the schedule."""
        return None if self.size is None else (self.size,)
