"""Display of localizations in an image: which pixels contribute to a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.datasets.images import image_samples
from localegop.displays._common import (
    COLORS,
    Array,
    axes_for,
    check_rows,
    legend_above,
    localized,
    neighbors_of,
    numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localegop.results import LocalFits

Pixels = NDArray[np.int64]
INSET_SIZE = 0.42  # share of the picture's width and height
CORNERS = ((0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, 0.0))  # of the picture, in axes coordinates


class ImageLocalizationDisplay:
    """The pixels with the largest weights around chosen points, over a gray image.

    Parameters
    ----------
    image : array-like of shape (H, W)
        Gray values in [0, 1].
    points : array-like of shape (q, 2)
        Positions (row, column) of the queries.
    pixels : sequence of q array-likes of shape (k, 2)
        Positions of the pixels with the largest weights for each query, in decreasing order.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib AxesImage
    overlays_ : list of matplotlib AxesImage
        The pixels of each query: RGBA, transparent elsewhere.
    queries_ : list of matplotlib Line2D
    inset_ : matplotlib Axes or None
    legend_ : matplotlib Legend

    Examples
    --------
    >>> import numpy as np
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import image_samples
    >>> from localegop.displays import ImageLocalizationDisplay
    >>> image = np.tile(np.linspace(0.0, 1.0, 20), (16, 1))  # varies along rows only
    >>> X, y = image_samples(image)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> display = ImageLocalizationDisplay.from_estimator(model, image, [[8, 10]], n_pixels=10)
    >>> len(display.pixels[0])
    10
    """

    ax_: Any
    figure_: Any

    def __init__(self, image: ArrayLike, points: ArrayLike, pixels: Sequence[ArrayLike]) -> None:
        self.image = numbers("image", image, (None, None))
        self.points = numbers("points", points, (None, 2))
        if len(pixels) != len(self.points):
            raise ValueError(
                f"pixels must be {len(self.points)} arrays, one for each point, got {len(pixels)}"
            )
        self.pixels = [_whole_positions(part, self.image.shape) for part in pixels]

    @classmethod
    def from_fits(
        cls,
        fits: LocalFits,
        image: Any,
        X: ArrayLike | None = None,
        *,
        n_pixels: int = 125,
    ) -> Self:
        """Make the display of all queries of the fits.

        Parameters
        ----------
        fits : LocalFits
            Of an estimator fitted to pixels as :func:`localegop.datasets.image_samples` returns them.
        image : array or path
            What was given to ``image_samples``.
        X : array-like of shape (n, 2), optional
            Positions given to ``fit``; by default all pixels of the image, row by row.
        n_pixels : int, default=125
            Number of pixels shown for each query.
        """
        if n_pixels < 1:
            raise ValueError(f"n_pixels must be at least 1, got {n_pixels!r}")
        everywhere, values = image_samples(image)
        height, width = (everywhere[-1] + 1.0).astype(int)
        positions = everywhere if X is None else numbers("X", X, (None, 2))
        chosen = []
        for query in range(len(fits)):
            chosen.append(positions[neighbors_of(fits, query, len(positions)).index[:n_pixels]])
        return cls(values.reshape(height, width), fits.query, chosen)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        image: Any,
        points: ArrayLike,
        X: ArrayLike | None = None,
        *,
        n_pixels: int = 125,
    ) -> Self:
        """Localize at points (q, 2), each (row, column), and make the display; see :meth:`from_fits`."""
        positions = image_samples(image)[0] if X is None else numbers("X", X, (None, 2))
        check_rows(estimator, len(positions))
        return cls.from_fits(localized(estimator, points), image, positions, n_pixels=n_pixels)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        inset: int | None = None,
        opacity: float = 0.8,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        inset : int, optional
            Number of the query shown magnified in a corner: the one where it hides least.
        opacity : float, default=0.8
            Of the pixels' color, in (0, 1].
        names : sequence of str, optional
            Names of the queries; by default their numbers.

        Returns
        -------
        self
        """
        count, (height, width) = len(self.points), self.image.shape
        if inset is not None and not 0 <= inset < count:
            raise ValueError(f"inset must be the number of a query from 0 to {count - 1}, got {inset!r}")
        if not 0.0 < opacity <= 1.0:
            raise ValueError(f"opacity must lie in (0, 1], got {opacity!r}")
        labels = [f"query {number}" for number in range(count)] if names is None else list(names)
        if len(labels) != count:
            raise ValueError(f"names must be {count}, one for each query, got {len(labels)}")
        self.ax_ = ax = axes_for(ax, (5.6, 0.6 + 5.2 * height / width))
        self.figure_ = ax.figure
        self.image_, self.overlays_, self.queries_ = self._draw(ax, opacity, labels)
        ax.set(xlabel="column (pixels)", ylabel="row (pixels)")
        self.inset_ = None if inset is None else self._magnify(inset, opacity, labels)
        self.legend_ = legend_above(ax, self.queries_, columns=4)
        return self

    def _draw(self, ax: Any, opacity: float, labels: Sequence[str]) -> tuple[Any, list[Any], list[Any]]:
        picture = ax.imshow(self.image, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        overlays, marks = [], []
        for number, pixels in enumerate(self.pixels):
            color = COLORS[number % len(COLORS)]
            overlays.append(ax.imshow(self._layer(pixels, color, opacity), interpolation="nearest"))
        for number, (row, column) in enumerate(self.points):
            color = COLORS[number % len(COLORS)]
            marks += ax.plot(
                column, row, "P", ms=7, mfc=color, mec="white", mew=0.8, ls="", label=labels[number]
            )
        return picture, overlays, marks

    def _layer(self, pixels: Pixels, color: str, opacity: float) -> Array:
        from matplotlib.colors import to_rgba

        layer = np.zeros((*self.image.shape, 4))
        layer[tuple(pixels.T)] = to_rgba(color, opacity)
        return layer

    def _magnify(self, query: int, opacity: float, labels: Sequence[str]) -> Any:
        """Show a query's pixels magnified in the corner that hides the fewest colored ones."""
        from matplotlib.patches import Rectangle

        taken = np.vstack([*self.pixels, np.rint(self.points)])
        height, width = self.image.shape
        places = np.column_stack([(taken[:, 1] + 0.5) / width, 1.0 - (taken[:, 0] + 0.5) / height])
        hidden = [
            np.count_nonzero(np.all(np.abs(places - corner) <= INSET_SIZE, axis=1)) for corner in CORNERS
        ]
        left, bottom = (side * (1.0 - INSET_SIZE) for side in CORNERS[int(np.argmin(hidden))])
        inset = self.ax_.inset_axes((left, bottom, INSET_SIZE, INSET_SIZE))
        self._draw(inset, opacity, labels)
        shown = np.vstack([self.pixels[query], self.points[query]])
        middle = 0.5 * (shown.min(axis=0) + shown.max(axis=0))
        # Square pixels: the window has the shape of the picture.
        reach = max(np.max((shown.max(axis=0) - middle + 1.5) / (height, width)), 2.0 / min(height, width))
        inset.set_xlim(middle[1] - reach * width, middle[1] + reach * width)
        inset.set_ylim(middle[0] + reach * height, middle[0] - reach * height)
        inset.set(xticks=[], yticks=[])
        inset.spines[:].set_color("white")
        corner = (middle[1] - reach * width, middle[0] - reach * height)
        frame = Rectangle(corner, 2.0 * reach * width, 2.0 * reach * height, fill=False, color="white")
        self.ax_.add_patch(frame)
        return inset


def _whole_positions(pixels: ArrayLike, shape: tuple[int, ...]) -> Pixels:
    """Positions inside the image."""
    given = numbers("pixels", pixels, (None, 2))
    whole: Pixels = np.rint(given).astype(np.int64)
    if np.any(whole != given) or np.any(whole < 0) or np.any(whole >= shape):
        raise ValueError(
            f"pixels must be whole positions (row, column) inside an image of shape {shape}, as "
            "image_samples returns them"
        )
    return whole
