"""Display of a localization: which points contribute to a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.displays._common import (
    VERMILION,
    Array,
    as_last_step_sees,
    axes_for,
    check_index,
    check_rows,
    legend_above,
    localized,
    neighbors_of,
    numbers,
    output_number,
)
from localegop.displays._directions import plane_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits

FAINT = "0.85"
VISIBLE = 0.01  # points with this share of the largest weight can be seen


class LocalizationDisplay:
    """Points around a query in two directions, the more opaque the larger their weight, colored by label.

    The ellipses show the metric: one and two standard deviations of the localization N(query, M⁻¹),
    projected onto the two directions. With two features and the Gaussian kernel a point on them has 37 %
    and 2 % of the weight of a point at the query; with more features, at most that.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        All points, in the two directions.
    weights : array-like of shape (n,)
        Their weights; opacity is the weight divided by the largest.
    query : array-like of shape (2,)
    labels : array-like of shape (n,)
    covariance : array-like of shape (2, 2), optional
        Of the localization in the two directions; without it no ellipses are drawn.
    names : sequence of two str, default=("x0", "x1")
        Names of the directions.
    label_name : str, default="y"

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    background_, neighbors_ : matplotlib PathCollection
        All points, and those of positive weight, lightest first.
    query_ : matplotlib Line2D
    ellipses_ : list of matplotlib Ellipse
    colorbar_ : matplotlib Colorbar or None
    legend_ : matplotlib Legend

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_annulus
    >>> from localegop.displays import LocalizationDisplay
    >>> X, y = make_annulus(150, random_state=0)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> display = LocalizationDisplay.from_estimator(model, X, y, [[1.0, 0.0]])
    >>> display.points.shape, round(float(display.weights.sum()), 6)
    ((150, 2), 1.0)
    """

    ax_: Any
    figure_: Any
    query_: Any

    def __init__(
        self,
        points: ArrayLike,
        weights: ArrayLike,
        query: ArrayLike,
        labels: ArrayLike,
        *,
        covariance: ArrayLike | None = None,
        names: Sequence[str] = ("x0", "x1"),
        label_name: str = "y",
    ) -> None:
        self.points = numbers("points", points, (None, 2))
        self.weights = numbers("weights", weights, (len(self.points),))
        if not (self.weights.min(initial=0.0) >= 0.0 and self.weights.max(initial=0.0) > 0.0):
            raise ValueError("weights must be >= 0 and some of them positive")
        self.query = numbers("query", query, (2,))
        self.labels = numbers("labels", labels, (len(self.points),))
        self.covariance = None if covariance is None else numbers("covariance", covariance, (2, 2))
        if len(names) != 2:
            raise ValueError(f"names must be two, one for each direction, got {names!r}")
        self.names, self.label_name = tuple(names), label_name

    @classmethod
    def from_fits(
        cls,
        fits: LocalFits,
        X: Any,
        y: Any,
        *,
        index: int = 0,
        directions: Sequence[int | str] | str | None = None,
        output: int | str | None = None,
    ) -> Self:
        """Make the display of one query.

        Parameters
        ----------
        fits : LocalFits
        X : array-like of shape (n, D)
            The points given to ``fit``, in the same order.
        y : array-like of shape (n,) or (n, K)
            Their labels.
        index : int, default=0
            Number of the query.
        directions : pair of features or "leading", optional
            Two features, by number or name, or "leading": the two leading eigenvectors of the query's AGOP,
            in units of feature standard deviations around the query. By default the features if there
            are two, otherwise "leading".
        output : int or str, optional
            Output, by number or name; needed if there are several.
        """
        number, n_outputs = output_number(output, fits.output_names), len(fits.output_names)
        fits = fits.output(number)
        index = check_index(index, fits)
        X = numbers("X", X, (None, len(fits.feature_names)), finite=False)
        plane, near = plane_of(fits, index, directions), neighbors_of(fits, index, len(X))
        weights = np.zeros(len(X))
        weights[near.index] = near.weight
        labels = _labels(y, len(X), number, n_outputs)
        known = np.isfinite(X).all(axis=1) & np.isfinite(labels)  # the others were dropped by fit
        return cls(
            plane.shown(X[known]),
            weights[known],
            plane.shown(fits.query[index]),
            labels[known],
            covariance=plane.projected_covariance(fits.metric[index], fits.feature_scale[index]),
            names=plane.names,
            label_name=fits.output_names[0],
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        query: Any,
        *,
        index: int = 0,
        directions: Sequence[int | str] | str | None = None,
        output: int | str | None = None,
    ) -> Self:
        """Localize at the queries (q, D) and make the display of one of them; see :meth:`from_fits`."""
        check_rows(estimator, len(X))
        fits = localized(estimator, query)
        X = as_last_step_sees(estimator, X)
        return cls.from_fits(fits, X, y, index=index, directions=directions, output=output)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        zoom: bool = False,
        n_std: Sequence[float] = (1.0, 2.0),
        marker_size: float | None = None,
        cmap: str = "viridis",
        color_range: str = "neighbors",
        colorbar: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        zoom : bool, default=False
            Whether to show the surroundings of the neighbors only: those with at least 1 % of the largest
            weight.
        n_std : sequence of float, default=(1, 2)
            Standard deviations at which ellipses are drawn.
        marker_size : float, optional
            Area of a marker in points squared; by default the fewer points, the larger.
        cmap : str, default="viridis"
            Colors of the labels.
        color_range : {"neighbors", "all"}, default="neighbors"
            Which labels the colors range over: those of points with at least 1 % of the largest weight, or
            of all points, which makes pictures comparable.
        colorbar : bool, default=True
            Whether to draw the bar of label colors.

        Returns
        -------
        self
        """
        if color_range not in ("neighbors", "all"):
            raise ValueError(f"color_range must be 'neighbors' or 'all', got {color_range!r}")
        axes = self.ax_ = axes_for(ax, (5.6, 4.6))
        self.figure_ = axes.figure
        size = marker_size if marker_size is not None else float(np.clip(2e4 / len(self.points), 5.0, 28.0))
        spanned = self.labels[self._visible()] if color_range == "neighbors" else self.labels
        order = np.argsort(self.weights, kind="stable")
        order = order[self.weights[order] > 0.0]  # the heaviest last, on top
        self.background_ = axes.scatter(*self.points.T, s=size, color=FAINT, linewidths=0)
        self.neighbors_ = axes.scatter(
            *self.points[order].T,
            s=size,
            c=self.labels[order],
            alpha=self.weights[order] / self.weights.max(),
            cmap=cmap,
            vmin=spanned.min(),
            vmax=spanned.max(),
            linewidths=0,
        )
        (self.query_,) = axes.plot(
            *self.query, "P", mfc=VERMILION, mec="white", ms=12, label="query", ls=""
        )
        self._keep_in_sight(zoom)
        self.ellipses_ = self._ellipses(n_std)
        self.colorbar_ = self._colorbar(cmap) if colorbar else None
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        self.legend_ = legend_above(axes, [self.query_, *map(_as_line, self.ellipses_)])
        return self

    def _visible(self) -> NDArray[np.bool_]:
        visible: NDArray[np.bool_] = self.weights >= VISIBLE * self.weights.max()
        return visible

    def _keep_in_sight(self, zoom: bool) -> None:
        """Fix the limits by the points, before ellipses that may be very long."""
        seen = np.vstack([self.points[self._visible()] if zoom else self.points, self.query])
        low, high = seen.min(axis=0), seen.max(axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        self.ax_.set_xlim(low[0] - margin[0], high[0] + margin[0])
        self.ax_.set_ylim(low[1] - margin[1], high[1] + margin[1])

    def _ellipses(self, n_std: Sequence[float]) -> list[Any]:
        from matplotlib.patches import Ellipse

        if self.covariance is None:
            return []
        variances, axes = np.linalg.eigh(self.covariance)
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        lengths = np.sqrt(np.maximum(variances, 0.0))
        drawn = []
        for number, deviations in enumerate(n_std):
            ellipse = Ellipse(
                tuple(self.query),
                2.0 * deviations * lengths[1],
                2.0 * deviations * lengths[0],
                angle=angle,
                fill=False,
                color=VERMILION,
                linestyle=("-", "--", ":")[min(number, 2)],
                linewidth=1.5,
                label=f"{deviations:g} sd",
            )
            drawn.append(self.ax_.add_patch(ellipse))
        return drawn

    def _colorbar(self, cmap: str) -> Any:
        from matplotlib.cm import ScalarMappable

        # Not of the points themselves: a bar as transparent as they are would be unreadable.
        mappable = ScalarMappable(self.neighbors_.norm, cmap)
        bar = self.figure_.colorbar(mappable, ax=self.ax_, label=self.label_name)
        return bar


def _as_line(ellipse: Any) -> Any:
    """Legend entry of an ellipse, which would be a box."""
    from matplotlib.lines import Line2D

    style = ellipse.get_linestyle()
    return Line2D([], [], color=ellipse.get_edgecolor(), linestyle=style, label=ellipse.get_label())


def _labels(y: Any, count: int, output: int, n_outputs: int) -> Array:
    """Labels of one output; missing ones are NaN."""
    given = np.asarray(y)
    if given.ndim == 1:
        return numbers("y", given, (count,), finite=False)
    return numbers("y", given, (count, n_outputs), finite=False)[:, output]
