"""Images as regression data: gray value as a function of the position of the pixel."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._arguments import Array, RandomStateLike, as_generator, check_count

_LUMA = np.array([0.299, 0.587, 0.114])  # weights of red, green and blue, ITU-R BT.601


def image_samples(
    image: ArrayLike | str | PathLike[str],
    *,
    n_samples: int | None = None,
    random_state: RandomStateLike = None,
) -> tuple[Array, Array]:
    """Turn an image into regression data.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4), or path
        Gray or color image, or the path of a PNG file (other formats if Pillow reads them; needs
        the extra ``plot``). Colors become luma, 0.299 R + 0.587 G + 0.114 B; a fourth channel,
        opacity, is left out. Values are floats in [0, 1], bools, or integers: unsigned ones of 8 or
        16 bits use their full range, other integers 0 to 255.
    n_samples : int, optional
        Number of pixels, drawn without replacement; by default all, row by row.
    random_state : int, None, Generator or RandomState, default None
        An int draws the same pixels in every call.

    Returns
    -------
    X : array of shape (n_samples, 2)
        Positions (row, column) in pixels.
    y : array of shape (n_samples,)
        Gray values in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets.images import image_samples
    >>> X, y = image_samples(np.array([[0, 51], [102, 255]], dtype=np.uint8))
    >>> X.tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> y.tolist()
    [0.0, 0.2, 0.4, 1.0]
    """
    pixels = _read(image) if isinstance(image, str | PathLike) else np.asarray(image)
    gray = _gray(_unit_range(_check_layout(pixels)))
    positions = np.indices(gray.shape).reshape(2, -1).T.astype(np.float64)
    values = gray.ravel()
    if n_samples is None:
        return positions, values
    n_samples = check_count("n_samples", n_samples, 1, values.size)
    chosen = as_generator(random_state).choice(values.size, size=n_samples, replace=False)
    return positions[chosen], values[chosen]


def _read(path: str | PathLike[str]) -> NDArray[Any]:
    """Pixels of an image file."""
    try:
        from matplotlib.image import imread
    except ImportError as error:
        raise ImportError(
            "Reading an image file needs matplotlib: pip install 'localegop[plot]', or give an array."
        ) from error
    try:
        return np.asarray(imread(fspath(path)))
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises on other files
        raise ValueError(f"image={fspath(path)!r} cannot be read as an image: {error}") from error


def _check_layout(pixels: NDArray[Any]) -> NDArray[Any]:
    """Refuse arrays that are not images."""
    is_gray = pixels.ndim == 2
    is_color = pixels.ndim == 3 and pixels.shape[2] in (3, 4)
    if not (is_gray or is_color) or pixels.size == 0:
        raise ValueError(
            f"image has shape {pixels.shape}: give a gray image (H, W) or a color one (H, W, 3) or "
            "(H, W, 4), not empty."
        )
    if pixels.dtype.kind not in "buif":
        raise ValueError(f"image has dtype {pixels.dtype}: give bools, integers or floats.")
    return pixels


def _unit_range(pixels: NDArray[Any]) -> Array:
    """Scale integers to [0, 1] by what their type can hold; floats must be there already."""
    if pixels.dtype.kind in "fb":
        top = 1.0
    elif pixels.dtype in (np.uint8, np.uint16):
        top = float(np.iinfo(pixels.dtype).max)
    else:
        top = 255.0
    values = pixels.astype(np.float64)
    if not (np.isfinite(values).all() and values.min() >= 0.0 and values.max() <= top):
        raise ValueError(
            f"image has values from {values.min():g} to {values.max():g}: for dtype {pixels.dtype} "
            f"give finite values in [0, {top:g}]."
        )
    scaled: Array = values / top
    return scaled


def _gray(pixels: Array) -> Array:
    """Luma of color images, shape (H, W)."""
    if pixels.ndim == 2:
        return pixels
    luma: Array = pixels[:, :, :3] @ _LUMA
    return np.minimum(luma, 1.0)  # the weights sum to one only up to rounding
