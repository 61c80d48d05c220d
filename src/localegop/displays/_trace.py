"""Display of error, size and estimate at the steps of the recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localegop.displays._common import (
    BLUE,
    VERMILION,
    check_axes,
    check_index,
    legend_above,
    localized,
    numbers,
    one_output,
    pyplot,
)
from localegop.displays._steps import (
    check_chosen,
    label_steps,
    log_axis,
    mark_step,
    places_of,
    step_marker,
    trace_of,
    with_final,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits


class TraceDisplay:
    """Leave-one-out error, effective sample size and estimate, step by step.

    Parameters
    ----------
    loo_error, effective_size, value : array-like of shape (n_steps,)
    final : sequence of three floats
        Error, size and estimate of the final fit.
    chosen : int
        The step whose metric made the final fit; ``n_steps`` if it came after the last.
    std : float, optional
        Standard error of the final estimate.
    label_name : str, default="y"

    Attributes
    ----------
    axes_ : list of three matplotlib Axes
    ax_, figure_ : matplotlib Axes and Figure
        ``ax_`` is the lowest panel.
    lines_, final_points_, chosen_lines_ : lists of matplotlib Line2D
        One for each panel: the steps, the final fit, the chosen step.
    bar_ : matplotlib ErrorbarContainer or None
        The standard error.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> from localegop.displays import TraceDisplay
    >>> X, y = make_helix(150, 3, random_state=0)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> fits = model.localize(X[:2], trace=True)
    >>> display = TraceDisplay.from_fits(fits, index=1)
    >>> bool(display.final[2] == fits.value[1])
    True
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        loo_error: ArrayLike,
        effective_size: ArrayLike,
        value: ArrayLike,
        *,
        final: Sequence[float],
        chosen: int,
        std: float | None = None,
        label_name: str = "y",
    ) -> None:
        self.loo_error = numbers("loo_error", loo_error, (None,), finite=False)
        steps = len(self.loo_error)
        self.effective_size = numbers("effective_size", effective_size, (steps,))
        self.value = numbers("value", value, (steps,))
        self.final = numbers("final", final, (3,), finite=False)
        self.chosen = check_chosen(chosen, steps)
        self.std, self.label_name = std, label_name

    @classmethod
    def from_fits(cls, fits: LocalFits, *, index: int = 0, output: int | str | None = None) -> Self:
        """Make the display of one query.

        Parameters
        ----------
        fits : LocalFits
            From ``localize(X, trace=True)``.
        index : int, default=0
            Number of the query.
        output : int or str, optional
            Output, by number or name; needed if there are several.
        """
        fits = one_output(fits, output)
        index, trace = check_index(index, fits), trace_of(fits)
        errors, chosen = trace.loo_error[:, index], int(fits.step[index])
        # A step that was taken has the error by which it was chosen, which may be a sum instead of a mean.
        error = errors[chosen] if chosen < len(errors) else fits.loo_error[index]
        return cls(
            errors,
            trace.effective_size[:, index],
            trace.value[:, index],
            final=(error, fits.effective_size[index], fits.value[index]),
            chosen=chosen,
            std=float(fits.std[index]),
            label_name=fits.output_names[0],
        )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, index: int = 0, output: int | str | None = None
    ) -> Self:
        """Localize at the queries X and make the display of one of them; see :meth:`from_fits`."""
        return cls.from_fits(localized(estimator, X, trace=True), index=index, output=output)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw three panels that share the steps.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of three, optional
            A single one is divided into three; by default those of a new figure.

        Returns
        -------
        self
        """
        self.axes_ = _three_panels(ax)
        self.ax_ = self.axes_[-1]
        self.figure_ = self.ax_.figure
        self.lines_, self.final_points_, self.chosen_lines_ = [], [], []
        curves = (self.loo_error, self.effective_size, self.value)
        names = ("LOO error\n(mean square)", "effective\nsample size", f"estimate\nof {self.label_name}")
        for panel, curve, final, name in zip(self.axes_, curves, self.final, names, strict=True):
            places = places_of(with_final(curve, final, self.chosen))
            self.lines_ += panel.plot(*places, color=BLUE, marker=step_marker(len(curve)))
            self.chosen_lines_.append(mark_step(panel, self.chosen, len(curve)))
            self.final_points_ += panel.plot(self.chosen, final, "o", color=VERMILION, zorder=3)
            panel.set_ylabel(name)
        for panel, line in zip(self.axes_[:2], self.lines_[:2], strict=True):
            log_axis(panel, np.asarray(line.get_ydata()), least=3.0)
        self.bar_ = None
        if self.std is not None and np.isfinite(self.std):
            self.bar_ = self.ax_.errorbar(
                self.chosen, self.final[2], self.std, color=VERMILION, capsize=3, label="± 1 standard error"
            )
        label_steps(self.ax_, len(with_final(self.value, self.final[2], self.chosen)))
        handles = [self.chosen_lines_[0]] if self.bar_ is None else [self.chosen_lines_[0], self.bar_]
        self.legend_ = legend_above(self.axes_[0], handles, columns=2)
        return self


def _three_panels(ax: Any) -> list[Any]:
    plt = pyplot()
    if ax is None:
        return list(plt.subplots(3, 1, sharex=True, figsize=(5.6, 5.6), layout="constrained")[1])
    if np.ndim(ax) > 0:
        panels = [check_axes(panel) for panel in np.ravel(ax)]
        if len(panels) != 3:
            raise ValueError(f"ax must be one Axes or three, got {len(panels)}")
        return panels
    place = check_axes(ax).get_subplotspec()
    if place is None:
        raise ValueError(
            "ax is not part of a grid and cannot be divided: make it with plt.subplots, or give three"
        )
    ax.set_axis_off()
    grid = place.subgridspec(3, 1)
    first = ax.figure.add_subplot(grid[0])
    first.tick_params(labelbottom=False)
    second, third = (ax.figure.add_subplot(grid[row], sharex=first) for row in (1, 2))
    second.tick_params(labelbottom=False)
    return [first, second, third]
