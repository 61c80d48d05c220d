"""Display of how often prediction intervals contain the label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localegop.displays._common import (
    BLUE,
    Array,
    as_last_step_sees,
    axes_for,
    last_step,
    legend_above,
    numbers,
    output_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class CalibrationDisplay:
    """Observed against nominal coverage of prediction intervals.

    The band is where an exactly calibrated model would lie with that number of independent test points.

    Parameters
    ----------
    nominal : array-like of shape (k,)
        Promised coverages, each in (0, 1).
    observed : array-like of shape (k,)
        Shares of the labels that lie in the intervals.
    n_samples : int
        Number of test points.
    name : str, optional
        Name of the model in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D
    diagonal_ : matplotlib Line2D or None
    band_ : matplotlib PolyCollection or None
    legend_ : matplotlib Legend

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.displays import CalibrationDisplay
    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> intervals = np.array([[[-1.0, 1.0], [-3.0, 3.0]]] * 4)  # the same two at all points
    >>> CalibrationDisplay.from_intervals(y, intervals, [0.5, 0.9]).observed.tolist()
    [0.5, 1.0]
    """

    ax_: Any
    figure_: Any
    line_: Any
    diagonal_: Any
    band_: Any

    def __init__(
        self, nominal: ArrayLike, observed: ArrayLike, n_samples: int, *, name: str | None = None
    ) -> None:
        self.nominal = check_coverages(nominal)
        self.observed = numbers("observed", observed, (len(self.nominal),))
        if self.observed.min() < 0.0 or self.observed.max() > 1.0:
            raise ValueError(f"observed must be shares from 0 to 1, got {self.observed.tolist()}")
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples!r}")
        self.n_samples, self.name = int(n_samples), name

    @classmethod
    def from_intervals(
        cls, y: ArrayLike, intervals: ArrayLike, coverages: ArrayLike, *, name: str | None = None
    ) -> Self:
        """Make the display of given intervals.

        Parameters
        ----------
        y : array-like of shape (q,)
            Labels.
        intervals : array-like of shape (q, k, 2)
            Lower and upper ends for each coverage; ends belong to the interval.
        coverages : array-like of shape (k,)
            Promised coverages, each in (0, 1).
        name : str, optional
            Name in the legend.
        """
        nominal = check_coverages(coverages)
        y = numbers("y", y, (None,))
        if not len(y):
            raise ValueError("y must have at least one label, got none")
        # Ends may be infinite, where a model cannot promise anything narrower, but not missing.
        ends = numbers("intervals", intervals, (len(y), len(nominal), 2), finite=False)
        if np.isnan(ends).any():
            raise ValueError(f"intervals must not be NaN, but {np.count_nonzero(np.isnan(ends))} ends are")
        inside = (ends[..., 0] <= y[:, None]) & (y[:, None] <= ends[..., 1])
        return cls(nominal, inside.mean(axis=0), len(y), name=name)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        coverages: ArrayLike = COVERAGES,
        output: int | str | None = None,
        name: str | None = None,
    ) -> Self:
        """Predict intervals at test points and make the display of how many contain the label.

        Parameters
        ----------
        estimator : fitted estimator with ``predict_interval(X, coverage)``
        X : array-like of shape (q, D)
            Test points that the estimator has not seen.
        y : array-like of shape (q,) or (q, K)
            Their labels.
        coverages : array-like of shape (k,), default=0.1, 0.2, ..., 0.9, 0.95
        output : int or str, optional
            Output, by number or name; needed if there are several.
        name : str, optional
            Name in the legend.
        """
        X, estimator = as_last_step_sees(estimator, X), last_step(estimator)
        if not hasattr(estimator, "predict_interval"):
            raise TypeError(
                f"estimator must have the method predict_interval, but {type(estimator).__name__} has not; "
                "CalibrationDisplay.from_intervals takes intervals of any model"
            )
        nominal = check_coverages(coverages)
        labels = np.asarray(y)
        intervals = np.asarray(estimator.predict_interval(X, coverage=nominal.tolist()))
        if intervals.ndim == 4:
            number = output_number(output, estimator.output_names_)
            labels = numbers("y", labels, (len(intervals), intervals.shape[1]))[:, number]
            intervals = intervals[:, number]
        return cls.from_intervals(labels, intervals, nominal, name=name)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band: float = 0.95,
        reference: bool = True,
        color: Any = BLUE,
        marker: str = "o",
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        band : float, default=0.95
            Probability, in (0, 1), that a calibrated model lies in the band at any one coverage.
        reference : bool, default=True
            Whether to draw the diagonal and the band; False adds a model to a picture that has them.
        color, marker : matplotlib color and marker
            Of the line.

        Returns
        -------
        self
        """
        if not 0.0 < band < 1.0:
            raise ValueError(f"band must be a probability in (0, 1), got {band!r}")
        self.ax_ = ax = axes_for(ax, (4.6, 4.8))
        self.figure_ = ax.figure
        self.diagonal_ = self.band_ = None
        if reference:
            (self.diagonal_,) = ax.plot([0, 1], [0, 1], "--", color="0.4", linewidth=1, label="calibrated")
            promised, low, high = self._limits(band)
            name = f"{100.0 * band:g} % band for {self.n_samples} points"
            self.band_ = ax.fill_between(
                promised, low, high, color="0.85", linewidth=0, label=name, zorder=0
            )
            ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
            ax.set(xlabel="nominal coverage", ylabel="observed coverage")
        (self.line_,) = ax.plot(
            self.nominal,
            self.observed,
            color=color,
            marker=marker,
            markersize=5,
            clip_on=False,
            label=self.name or "intervals",
        )
        self.legend_ = legend_above(ax, ax.get_legend_handles_labels()[0], columns=1)
        return self

    def _limits(self, band: float) -> tuple[Array, Array, Array]:
        """Quantiles of the share of labels that the intervals of a calibrated model would contain."""
        from scipy.stats import binom

        promised = np.linspace(0.0, 1.0, 201)
        tail = 0.5 * (1.0 - band)
        low, high = (binom.ppf(p, self.n_samples, promised) / self.n_samples for p in (tail, 1.0 - tail))
        return promised, low, high


def check_coverages(coverages: ArrayLike) -> Array:
    """Coverages in (0, 1), at least one."""
    nominal = numbers("coverages", coverages, (None,))
    if not len(nominal) or nominal.min() <= 0.0 or nominal.max() >= 1.0:
        raise ValueError(f"coverages must be one or more numbers in (0, 1), got {nominal.tolist()}")
    return nominal
