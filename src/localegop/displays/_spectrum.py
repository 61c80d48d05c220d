"""Display of the spectrum of a localization, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localegop.displays._common import (
    VERMILION,
    axes_for,
    check_index,
    legend_above,
    localized,
    numbers,
    pyplot,
)
from localegop.displays._steps import (
    check_chosen,
    label_steps,
    log_axis,
    mark_step,
    one_metric,
    places_of,
    step_marker,
    trace_of,
    variances,
    with_final,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits

MANY_LINES = 8  # beyond this the legend names the outermost lines only


class SpectrumDisplay:
    """Eigenvalues of the covariance Σ_t = M_t⁻¹ of a localization, step by step.

    Where lines separate, the neighborhood has learned a direction: the falling ones are those in which the
    function varies, the others those along which distant points may contribute.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_steps, n_features)
        Variances of the localization, in decreasing order within each step; infinite ones are not drawn.
    final : array-like of shape (n_features,)
        Those of the final fit.
    chosen : int
        The step whose metric made the final fit; ``n_steps`` if it came after the last.
    unit : str, default="feature units"
        Unit of a standard deviation.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        One for each eigenvalue, largest first.
    chosen_line_, chosen_points_ : matplotlib Line2D
        The chosen step and the eigenvalues of the final fit.
    legend_ : matplotlib Legend

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> from localegop.displays import SpectrumDisplay
    >>> X, y = make_helix(150, 3, random_state=0)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> display = SpectrumDisplay.from_estimator(model, X[:1])
    >>> display.eigenvalues.shape[1], display.final.shape
    (3, (3,))
    """

    ax_: Any
    figure_: Any
    chosen_points_: Any

    def __init__(
        self, eigenvalues: ArrayLike, final: ArrayLike, *, chosen: int, unit: str = "feature units"
    ) -> None:
        self.eigenvalues = numbers("eigenvalues", eigenvalues, (None, None), finite=False)
        self.final = numbers("final", final, (self.eigenvalues.shape[1],), finite=False)
        self.chosen = check_chosen(chosen, len(self.eigenvalues))
        self.unit = unit

    @classmethod
    def from_fits(
        cls, fits: LocalFits, *, index: int = 0, output: int | str | None = None, unit: str = "data"
    ) -> Self:
        """Make the display of one query.

        Parameters
        ----------
        fits : LocalFits
            From ``localize(X, trace=True)``.
        index : int, default=0
            Number of the query.
        output : int or str, optional
            Output, by number or name; needed where every output has its own metric.
        unit : {"data", "sd"}, default="data"
            Units of the features: as they are, or their standard deviations, which makes features of
            different units comparable.
        """
        if unit not in ("data", "sd"):
            raise ValueError(f"unit must be 'data' or 'sd', got {unit!r}")
        fits = one_metric(fits, output)
        index, trace = check_index(index, fits), trace_of(fits)
        scale = fits.feature_scale[index] if unit == "sd" else np.ones(fits.metric.shape[-1])
        return cls(
            variances(trace.metric[:, index] * np.outer(scale, scale)),
            variances(fits.metric[index] * np.outer(scale, scale)),
            chosen=int(fits.step[index]),
            unit="feature sd" if unit == "sd" else "feature units",
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        index: int = 0,
        output: int | str | None = None,
        unit: str = "data",
    ) -> Self:
        """Localize at the queries X and make the display of one of them; see :meth:`from_fits`."""
        return cls.from_fits(localized(estimator, X, trace=True), index=index, output=output, unit=unit)

    def plot(self, ax: Axes | None = None, *, cmap: str = "viridis") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        cmap : str, default="viridis"
            Colors of the eigenvalues, by their rank.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(ax, (5.6, 3.8))
        self.figure_ = ax.figure
        count = self.eigenvalues.shape[1]
        colors = pyplot().get_cmap(cmap)(np.linspace(0.0, 0.88, count))  # the last tones are too pale
        curves = with_final(self.eigenvalues, self.final, self.chosen)
        places, drawn = places_of(np.where(np.isfinite(curves) & (curves > 0.0), curves, np.nan))
        self.lines_ = [
            ax.plot(
                places,
                drawn[:, rank],
                color=colors[rank],
                marker=step_marker(len(curves)),
                label=_rank_name(rank, count),
            )[0]
            for rank in range(count)
        ]
        log_axis(ax, drawn)
        self.chosen_line_ = mark_step(ax, self.chosen, len(self.eigenvalues))
        (self.chosen_points_,) = ax.plot(
            np.full(count, self.chosen), self.final, "o", mfc="none", color=VERMILION, clip_on=False
        )
        label_steps(ax, len(curves))
        ax.set_ylabel(f"eigenvalues of $M_t^{{-1}}$ ({self.unit}²)")
        shown = self.lines_ if count <= MANY_LINES else [self.lines_[0], self.lines_[-1]]
        self.legend_ = legend_above(ax, [*shown, self.chosen_line_])
        return self


def _rank_name(rank: int, count: int) -> str:
    if rank == 0:
        return "largest"
    return "smallest" if rank == count - 1 else f"number {rank + 1}"
