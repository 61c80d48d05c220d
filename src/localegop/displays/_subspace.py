"""Display of an active subspace: its spectrum, and labels over its first variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localegop.displays._common import BLUE, axes_for, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop._explain.subspace import ActiveSubspace


class ActiveSubspaceDisplay:
    """Eigenvalues with their intervals, and a summary plot: labels over the first active variable.

    Make it with :meth:`from_estimator` or :meth:`from_subspace`.

    Parameters
    ----------
    eigenvalues : array-like of shape (D,)
        The largest first.
    interval : array-like of shape (D, 2)
    active : array-like of shape (n,), optional
        First active variable of some rows,
    labels : array-like of shape (n,), optional
        and their labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : matplotlib Line2D
        Eigenvalues, or rows in the summary plot.
    intervals_ : matplotlib LineCollection
        Of the spectrum.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_engineering
    >>> from localegop.displays import ActiveSubspaceDisplay
    >>> X, y, gradients = make_engineering("otl_circuit", 40, random_state=0)
    >>> model = LocalEGOPRegressor().fit(X, y, gradients=gradients)
    >>> display = ActiveSubspaceDisplay.from_estimator(model, X, y)
    >>> display.eigenvalues.shape, display.active.shape
    ((6,), (40,))
    """

    ax_: Any
    figure_: Any
    points_: Any
    intervals_: Any

    def __init__(
        self,
        eigenvalues: ArrayLike,
        interval: ArrayLike,
        *,
        active: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> None:
        self.eigenvalues = numbers("eigenvalues", eigenvalues, (None,))
        self.interval = numbers("interval", interval, (len(self.eigenvalues), 2))
        if (active is None) != (labels is None):
            raise ValueError("active and labels belong together: give both, or none of them")
        self.active = None if active is None else numbers("active", active, (None,))
        self.labels = None if self.active is None else numbers("labels", labels, (len(self.active),))  # type: ignore[arg-type]

    @classmethod
    def from_subspace(
        cls, subspace: ActiveSubspace, X: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> Self:
        """Make the display of what ``active_subspace`` returned, with rows and labels for a summary."""
        active = None if X is None else subspace.transform(X)[:, 0]
        return cls(subspace.eigenvalues, subspace.interval, active=active, labels=y)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Make the display of a fitted estimator; see :meth:`from_subspace`."""
        return cls.from_subspace(estimator.active_subspace(1), X, y)

    def plot(self, ax: Axes | None = None, *, color: str = BLUE) -> Self:
        """Draw the spectrum: eigenvalues with their intervals, as far as they are not zero.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        color : str, optional

        Returns
        -------
        self
        """
        self._begin(ax)
        rank = np.arange(1, len(self.eigenvalues) + 1)
        shown = self.eigenvalues > 0.0
        low = np.maximum(self.interval[shown, 0], 1e-3 * self.eigenvalues[shown])
        self.intervals_ = self.ax_.vlines(
            rank[shown], low, self.interval[shown, 1], color=color, alpha=0.4, lw=4
        )
        (self.points_,) = self.ax_.plot(rank[shown], self.eigenvalues[shown], "o", color=color)
        if shown.any():
            self.ax_.set_yscale("log")
        self.ax_.set(xlabel="direction", ylabel="mean squared slope along it", xticks=rank)
        return self

    def plot_summary(self, ax: Axes | None = None, *, color: str = BLUE) -> Self:
        """Draw labels over the first active variable; for the parameters see :meth:`plot`."""
        if self.active is None or self.labels is None:
            raise ValueError("a summary plot needs rows and labels: from_estimator(model, X, y)")
        self._begin(ax)
        (self.points_,) = self.ax_.plot(self.active, self.labels, ".", color=color, ms=4)
        self.ax_.set(xlabel="first active variable", ylabel="label")
        return self

    def _begin(self, ax: Axes | None) -> None:
        self.ax_ = axes_for(ax, (5.0, 3.6))
        self.figure_ = self.ax_.figure
