"""What the figures have in common: colors, panels, slopes. Needs matplotlib, imported when drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# Okabe and Ito's colors, distinguishable without color vision.
BLACK, BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW = (
    "#000000",
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
)
COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, YELLOW)


def panels(
    n_rows: int = 1, n_columns: int = 1, *, width: float = 3.6, height: float = 3.2, **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure and its axes, an array of shape (n_rows, n_columns); sizes in inches per panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def slope_fit(x: Array, y: Array) -> tuple[float, float]:
    """Slope of log y against log x by least squares, and its standard error (NaN below three points).

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.paper.drawing import slope_fit
    >>> slope, error = slope_fit(np.array([1.0, 2.0, 4.0]), np.array([8.0, 2.0, 0.5]))
    >>> round(slope, 6), round(error, 6)
    (-2.0, 0.0)
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    spread = float(np.sum((u - u.mean()) ** 2))
    slope = float(np.sum((u - u.mean()) * (v - v.mean())) / spread)
    residual = v - v.mean() - slope * (u - u.mean())
    error = np.sqrt(np.sum(residual**2) / (len(u) - 2) / spread) if len(u) > 2 else np.nan
    return slope, float(error)


def mean_and_error(values: Array) -> tuple[float, float]:
    """Mean and its standard error over replicates (NaN for one)."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)
