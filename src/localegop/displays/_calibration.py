"""Display of how often intervals contain the label, or classes are as probable as predicted."""

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

COVERAGE_LABELS = ("nominal coverage", "observed coverage")
COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class CalibrationDisplay:
    """Observed against nominal coverage of prediction intervals; of probabilities, a reliability diagram.

    The band is where an exactly calibrated model would lie with that number of independent test points.

    Parameters
    ----------
    nominal : array-like of shape (k,)
        Promised coverages, each in (0, 1), or mean probabilities of groups of test points.
    observed : array-like of shape (k,)
        Shares of the labels that lie in the intervals, or that were predicted with such probabilities.
    n_samples : int
        Number of test points, of each group if there are groups.
    name : str, optional
        Name of the model in the legend.
    of_classes : bool, default=False
        Whether these are probabilities of classes.

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
        self,
        nominal: ArrayLike,
        observed: ArrayLike,
        n_samples: int,
        *,
        name: str | None = None,
        of_classes: bool = False,
    ) -> None:
        self.nominal = check_coverages(nominal)
        self.observed = numbers("observed", observed, (len(self.nominal),))
        if self.observed.min() < 0.0 or self.observed.max() > 1.0:
            raise ValueError(f"observed must be shares from 0 to 1, got {self.observed.tolist()}")
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples!r}")
        self.n_samples, self.name, self.of_classes = int(n_samples), name, of_classes

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
    def from_probabilities(
        cls,
        y: ArrayLike,
        probabilities: ArrayLike,
        classes: ArrayLike,
        *,
        n_groups: int = 10,
        name: str | None = None,
    ) -> Self:
        """Make the reliability diagram of given probabilities of classes.

        The probabilities of all classes at all points are sorted and divided into groups of the same size.
        In each, the share of those that belong to the true class is compared with their mean.

        Parameters
        ----------
        y : array-like of shape (q,)
            Classes of test points.
        probabilities : array-like of shape (q, K)
        classes : array-like of shape (K,)
            Labels of the columns.
        n_groups : int, default=10
        name : str, optional
            Name in the legend.
        """
        labels, columns = np.asarray(y), np.asarray(classes)
        p = numbers("probabilities", probabilities, (len(labels), len(columns)))
        if not 1 <= n_groups <= p.size:
            raise ValueError(f"n_groups must be from 1 to {p.size}, got {n_groups!r}")
        unknown = np.setdiff1d(labels, columns)
        if len(unknown):
            raise ValueError(
                f"y has {unknown.tolist()[0]!r}, which is none of the classes {columns.tolist()}"
            )
        true = (labels[:, None] == columns).ravel()
        groups = np.array_split(np.argsort(p.ravel(), kind="stable"), n_groups)
        nominal = np.clip([p.ravel()[group].mean() for group in groups], 1e-9, 1.0 - 1e-9)
        observed = [true[group].mean() for group in groups]
        return cls(nominal, observed, p.size // n_groups, name=name, of_classes=True)

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

        Of a classifier it is the reliability diagram; see :meth:`from_probabilities`.

        Parameters
        ----------
        estimator : fitted estimator with ``predict_interval(X, coverage)`` or ``predict_proba(X)``
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
        if hasattr(estimator, "predict_proba"):
            return cls.from_probabilities(y, estimator.predict_proba(X), estimator.classes_, name=name)
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
            each = " each" if self.of_classes else ""
            name = f"{100.0 * band:g} % band for {self.n_samples} points{each}"
            self.band_ = ax.fill_between(
                promised, low, high, color="0.85", linewidth=0, label=name, zorder=0
            )
            ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
            labels = ("probability", "share of true classes") if self.of_classes else COVERAGE_LABELS
            ax.set(xlabel=labels[0], ylabel=labels[1])
        (self.line_,) = ax.plot(
            self.nominal,
            self.observed,
            color=color,
            marker=marker,
            markersize=5,
            clip_on=False,
            label=self.name or ("probabilities" if self.of_classes else "intervals"),
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
