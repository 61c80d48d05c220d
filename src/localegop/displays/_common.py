"""What the displays have in common: matplotlib when it is needed, colors, and checks of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits, Neighbors

Array = NDArray[np.float64]

# Okabe and Ito's colors, distinguishable without color vision.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)


def pyplot() -> Any:
    """Import matplotlib's pyplot, or say which extra installs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("displays draw with matplotlib: pip install 'localegop[plot]'") from error
    return plt


def axes_for(ax: Axes | None, figsize: tuple[float, float]) -> Any:
    """Return the axes given, or those of a new figure."""
    plt = pyplot()
    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    return check_axes(ax)


def check_axes(ax: Any) -> Any:
    """Return the axes, after checking that they are matplotlib's."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes, or None for a new figure, got {type(ax).__name__}")
    return ax


def legend_above(ax: Any, handles: Sequence[Any], columns: int = 3) -> Any:
    """Put a legend above the axes, where it covers no data."""
    return ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=columns,
        frameon=False,
        handlelength=1.6,
        columnspacing=1.4,
        fontsize="small",
    )


def percent(share: float) -> str:
    """Format a share as a percentage, in which a small share is not 0 and a large one not 100."""
    if 0.0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1.0 else f"{100.0 * share:.0f} %"


def numbers(name: str, given: ArrayLike, shape: Sequence[int | None], *, finite: bool = True) -> Array:
    """Array of floats of that shape, where None stands for any length."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, but {error}") from error
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}")
    if finite and not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite, but has {np.count_nonzero(~np.isfinite(array))} NaN or inf"
        )
    return array


def check_index(index: Any, fits: LocalFits) -> int:
    """Return the number of a query."""
    if not isinstance(index, Integral) or isinstance(index, bool) or not 0 <= int(index) < len(fits):
        raise ValueError(
            f"index must be an integer from 0 to {len(fits) - 1}, as there are {len(fits)} queries, "
            f"got {index!r}"
        )
    return int(index)


def position(what: str, given: Any, names: Sequence[str]) -> int:
    """Return the number of a feature or output that is given by number or by name."""
    if isinstance(given, str) and given in names:
        return list(names).index(given)
    if isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < len(names):
        return int(given)
    raise ValueError(
        f"{what} must be one of {listed(names)}, or a number from 0 to {len(names) - 1}, got {given!r}"
    )


def listed(names: Sequence[str], most: int = 8) -> str:
    """Join names for a message, at most ``most`` of them."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def output_number(output: Any, names: Sequence[str]) -> int:
    """Return the number of an output, which must be chosen if there are several."""
    if output is not None:
        return position("output", output, names)
    if len(names) > 1:
        raise ValueError(
            f"there are {len(names)} outputs, {listed(names)}: choose one with output=..., a name or number"
        )
    return 0


def one_output(fits: LocalFits, output: int | str | None) -> LocalFits:
    """Return the fits of one output."""
    return fits.output(output_number(output, fits.output_names))


def neighbors_of(fits: LocalFits, query: int, rows: int) -> Neighbors:
    """Neighbors of a query among the rows given to ``fit``, of which there must be enough."""
    near = fits.neighbors(query)
    last = int(np.max(near.index, initial=-1))
    if last >= rows:
        raise ValueError(
            f"X has {rows} rows, but row {last} is a neighbor of query {query}: give X as it was for fit"
        )
    return near


def check_rows(estimator: Any, rows: int) -> None:
    """Refuse X that cannot be the one given to ``fit``."""
    fitted = getattr(last_step(estimator), "n_samples_", rows)
    if fitted != rows:
        raise ValueError(
            f"X has {rows} rows, but the estimator was fitted to {fitted}: give X as it was for fit"
        )


def localized(estimator: Any, X: Any, *, trace: bool = False) -> LocalFits:
    """Local fits of a fitted estimator or pipeline."""
    last = last_step(estimator)
    if not hasattr(last, "localize"):
        raise TypeError(
            "estimator must be a fitted LocalEGOPRegressor, or a pipeline that ends with one, got "
            f"{type(last).__name__}"
        )
    fits: LocalFits = last.localize(as_last_step_sees(estimator, X), trace=trace)
    return replace(fits, feature_names=feature_names(estimator))


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, any other estimator as it is."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def as_last_step_sees(estimator: Any, X: Any) -> Any:
    """Return X as the steps before the last one of a pipeline transform it."""
    return estimator[:-1].transform(X) if isinstance(estimator, Pipeline) and len(estimator) > 1 else X


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Names of the features that the last step of a pipeline sees; x0, x1, ... where there are none."""
    last = last_step(estimator)
    names = getattr(last, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step does not know the names of what it makes
            names = None
    made_up = [f"x{number}" for number in range(last.n_features_in_)]
    return tuple(map(str, made_up if names is None else names))
