"""Display of the importance of features, at some queries or over all training rows."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.displays._common import (
    BLUE,
    COLORS,
    Array,
    axes_for,
    check_index,
    feature_names,
    last_step,
    legend_above,
    localized,
    numbers,
    one_output,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits

MOST_GROUPS = 5  # more queries than this are summarized
OFTEN = (10.0, 90.0)  # percentiles at the ends of the whiskers of a summary


class ImportanceDisplay:
    """Horizontal bars of how much each feature matters for the predictions, the largest on top.

    Bars of single queries, and those of the global importance, have lines of one standard error.

    Parameters
    ----------
    values : array-like of shape (q, D) or (D,)
        One row for each query; rows of NaN, where the function is flat, are left out of means.
    feature_names : sequence of D str
    names : sequence of q str, optional
        Names of the queries.
    quantity : str, default="importance"
        What the values are.
    unit : str, optional
        Their unit; None means shares that sum to one.
    errors : array-like like values, optional
        Standard errors of the values, drawn as lines of one error to either side; NaN where not known.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    order_ : ndarray
        Numbers of the features drawn, the largest first.
    bars_ : list of matplotlib BarContainer
        One for each query, or a single one of the means.
    whiskers_ : matplotlib LineCollection or None
        10th to 90th percentile over the queries, if summarized.
    errors_ : list of matplotlib ErrorbarContainer
        Standard errors, one for each bar container; empty if there are none, or if summarized.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> from localegop.displays import ImportanceDisplay
    >>> X, y = make_helix(150, 3, random_state=0)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> ImportanceDisplay.from_estimator(model).values.shape
    (1, 3)
    >>> ImportanceDisplay.from_estimator(model, X[:4], sensitivity=True).unit
    'y per feature sd'
    """

    ax_: Any
    figure_: Any
    order_: NDArray[np.int64]
    errors_: list[Any]
    legend_: Any

    def __init__(
        self,
        values: ArrayLike,
        feature_names: Sequence[str],
        *,
        names: Sequence[str] | None = None,
        quantity: str = "importance",
        unit: str | None = None,
        errors: ArrayLike | None = None,
    ) -> None:
        self.feature_names = tuple(str(name) for name in feature_names)
        rows = np.atleast_2d(values)
        self.values = numbers("values", rows, (None, len(self.feature_names)), finite=False)
        self._sloped = ~np.isnan(self.values).any(axis=1)
        if not self._sloped.any():
            raise ValueError(
                "values must have a row without NaN: the function is flat at all queries given"
            )
        self.names = tuple(f"query {row}" for row in range(len(rows))) if names is None else tuple(names)
        if len(self.names) != len(self.values):
            raise ValueError(
                f"names must be {len(self.values)}, one for each row of values, got {len(self.names)}"
            )
        self.quantity, self.unit = quantity, unit
        given = np.full_like(self.values, np.nan) if errors is None else np.atleast_2d(errors)
        self.errors = numbers("errors", given, self.values.shape, finite=False)

    @classmethod
    def from_fits(
        cls,
        fits: LocalFits,
        *,
        index: int | Sequence[int] | None = None,
        sensitivity: bool = False,
        output: int | str | None = None,
    ) -> Self:
        """Make the display of local importance.

        Parameters
        ----------
        fits : LocalFits
        index : int or sequence of int, optional
            Numbers of the queries; by default all.
        sensitivity : bool, default=False
            Whether to show root mean square slopes, in label units per feature standard deviation, instead
            of shares that sum to one.
        output : int or str, optional
            Output, by number or name; needed for fits with ``outputs="separate"``. Outputs that share a
            metric share the importance too; their sensitivity is the root mean square over outputs.
        """
        if len(fits.output_names) == 1 or fits.metric.ndim == 4:
            fits = one_output(fits, output)
        elif output is not None:
            raise ValueError(
                f"outputs share one importance, but output={output!r} was given: leave it out, or fit with "
                'outputs="separate"'
            )
        chosen: Any = (
            range(len(fits)) if index is None else [index] if isinstance(index, Integral) else index
        )
        rows = [check_index(i, fits) for i in chosen]
        if not rows:
            raise ValueError("index must name at least one query, got none")
        values = fits.sensitivity if sensitivity else fits.importance
        label = fits.output_names[0] if len(fits.output_names) == 1 else "label units"
        return cls(
            values[rows],
            fits.feature_names,
            names=[f"query {row}" for row in rows],
            quantity="sensitivity" if sensitivity else "importance",
            unit=f"{label} per feature sd" if sensitivity else None,
            errors=None if sensitivity else fits.importance_std[rows],
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        index: int | Sequence[int] | None = None,
        sensitivity: bool = False,
        output: int | str | None = None,
    ) -> Self:
        """Make the display of the global importance or, with queries X, of the local one.

        Of a pipeline, the features are those that its last step sees.

        ``index``, ``sensitivity`` and ``output`` are those of :meth:`from_fits` and need X.
        """
        if X is not None:
            fits = localized(estimator, X)
            return cls.from_fits(fits, index=index, sensitivity=sensitivity, output=output)
        if sensitivity or index is not None or output is not None:
            raise ValueError(
                "index, sensitivity and output are for local importance: give queries X, or leave them out"
            )
        last = last_step(estimator)
        if not hasattr(last, "global_importance"):
            raise TypeError(
                "estimator must be a fitted LocalEGOPRegressor, or a pipeline that ends with one, got "
                f"{type(last).__name__}"
            )
        values, errors = last.global_importance(return_std=True)
        return cls(
            values,
            feature_names(estimator),
            names=["all points"],
            quantity="global importance",
            errors=errors,
        )

    def plot(
        self, ax: Axes | None = None, *, max_features: int = 10, summarize: bool | None = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        max_features : int, default=10
            Features shown: those with the largest mean over the queries.
        summarize : bool, optional
            Whether to draw means over the queries with whiskers from the 10th to the 90th percentile
            instead of a bar for each query; by default with six or more queries.

        Returns
        -------
        self
        """
        if not isinstance(max_features, Integral) or max_features < 1:
            raise ValueError(f"max_features must be a positive integer, got {max_features!r}")
        mean = self.values[self._sloped].mean(axis=0)
        self.order_ = np.argsort(-mean, kind="stable")[: int(max_features)]
        if summarize is None:
            summarize = len(self.values) > MOST_GROUPS
        groups = 1 if summarize else len(self.values)
        height = 0.9 + len(self.order_) * max(0.26, 0.16 * groups)
        self.ax_ = ax = axes_for(ax, (5.6, height))
        self.figure_ = ax.figure
        self._draw_summary(mean) if summarize else self._draw_groups()
        ax.set_yticks(np.arange(len(self.order_)), [self.feature_names[number] for number in self.order_])
        ax.set_ylim(len(self.order_) - 0.5, -0.5)  # the largest on top
        ax.set_xlim(left=0.0)
        ax.set_xlabel(self._caption(mean))
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _draw_groups(self) -> None:
        count, self.whiskers_, self.legend_ = len(self.values), None, None
        thickness = 0.8 / count
        self.bars_, self.errors_ = [], []
        for row, (values, name) in enumerate(zip(self.values, self.names, strict=True)):
            places = np.arange(len(self.order_)) + (row - (count - 1) / 2) * thickness
            color = COLORS[row % len(COLORS)]
            self.bars_.append(
                self.ax_.barh(places, values[self.order_], 0.92 * thickness, color=color, label=name)
            )
            self._draw_errors(places, values, self.errors[row])
        if count > 1:
            self.legend_ = legend_above(self.ax_, self.bars_)

    def _draw_errors(self, places: NDArray[Any], values: Array, errors: Array) -> None:
        """Draw lines of one standard error to either side of the ends of bars."""
        if np.isnan(errors).all():
            return
        shown = self.order_
        low = np.minimum(errors[shown], np.maximum(values[shown], 0.0))  # importance is not negative
        lines = self.ax_.errorbar(
            values[shown],
            places,
            xerr=np.stack([low, errors[shown]]),
            fmt="none",
            ecolor="black",
            capsize=2,
        )
        self.errors_.append(lines)

    def _draw_summary(self, mean: Array) -> None:
        places, self.errors_ = np.arange(len(self.order_)), []
        low, high = np.percentile(self.values[self._sloped][:, self.order_], OFTEN, axis=0)
        bars = self.ax_.barh(
            places, mean[self.order_], 0.7, color=BLUE, label=f"mean of {self._sloped.sum()} queries"
        )
        self.bars_ = [bars]
        self.whiskers_ = self.ax_.hlines(
            places, low, high, color="black", linewidth=1.5, label="10th to 90th percentile"
        )
        self.legend_ = legend_above(self.ax_, [bars, self.whiskers_], columns=1)

    def _caption(self, mean: Array) -> str:
        name = f"{self.quantity} ({self.unit or 'share'})"
        shown, count = len(self.order_), len(self.feature_names)
        if shown == count:
            return name
        total = mean.sum()
        held = (
            f", {percent(mean[self.order_].sum() / total)} of it"
            if self.unit is None and total > 0.0
            else ""
        )
        return f"{name}\n{shown} of {count} features shown{held}"
