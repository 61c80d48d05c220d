"""Features of a pixel that follow from the pixels around it, never from the pixel itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from localegop._arguments import Array, check_positive

_POWERS = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))  # of the offsets in rows and columns


def image_surroundings(
    image: ArrayLike,
    *,
    known: ArrayLike | None = None,
    scales: Sequence[float] = (1.0, 2.0, 4.0),
) -> Array:
    """Describe the surroundings of every pixel: gray value, slope and bend around it, at several scales.

    The pixel itself counts for nothing. So, if the noise of different pixels is independent, a regression
    of noisy gray values on these features cannot learn the noise: it predicts denoised gray values. Unknown
    pixels do not count either, so that a regression learned at known pixels fills in the others.

    Parameters
    ----------
    image : array-like of shape (H, W)
        Gray values; noise may lead beyond [0, 1].
    known : array-like of bool of shape (H, W), optional
        Which pixels are known; by default all. Values of the others are ignored and may be NaN.
    scales : sequence of float, default (1, 2, 4)
        Standard deviations, in pixels, of the Gaussian weights around a pixel, which end at four of them.

    Returns
    -------
    X : array of shape (H * W, 6 * len(scales))
        One row a pixel, row by row as in :func:`image_samples`. For each scale s: the weighted mean of the
        gray values around the pixel, then their covariances with the offsets in rows and columns, r and c
        in units of s, and with r^2, r c and c^2.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets import image_surroundings
    >>> ramp = np.tile(np.arange(9.0), (9, 1))
    >>> X = image_surroundings(ramp, scales=[1.0])
    >>> X[40].round(2).tolist()  # the middle: its mean, no slope down, some to the right, no bend
    [4.0, 0.0, 1.19, 0.0, 0.0, 0.0]
    """
    values = np.asarray(image, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"image has shape {values.shape}: give gray values of shape (H, W), not empty.")
    mask = np.ones(values.shape, dtype=bool) if known is None else np.asarray(known, dtype=bool)
    if mask.shape != values.shape:
        raise ValueError(f"known has shape {mask.shape}, the image {values.shape}: give the same shape.")
    if not mask.any():
        raise ValueError("known has no pixel that is: give at least one.")
    if not np.isfinite(values[mask]).all():
        raise ValueError("image has known pixels that are not finite: mark them as unknown.")
    if len(scales) == 0:
        raise ValueError("scales is empty: give at least one, in pixels.")
    filled = np.where(mask, values - values[mask].mean(), 0.0)
    features = [_at_scale(filled, mask.astype(np.float64), check_positive("scales", s)) for s in scales]
    described: Array = np.concatenate(features)
    described[:: len(_POWERS)] += values[mask].mean()
    return np.ascontiguousarray(described.reshape(len(described), -1).T)


def _at_scale(values: Array, mask: Array, scale: float) -> Array:
    """Mean and covariances of all pixels (6, H, W); where nothing known is near, those of a flat image."""
    reach = max(int(np.ceil(4.0 * scale)), 1)
    offsets = np.arange(-reach, reach + 1) / scale
    profile = np.exp(-0.5 * offsets**2)
    weighted = np.array([_moment(values, offsets, profile, *powers) for powers in _POWERS])
    plain = np.array([_moment(mask, offsets, profile, *powers) for powers in _POWERS])
    weighted[0] -= values  # the pixel itself, which has weight one and offset zero
    plain[0] -= mask
    total = plain[0]
    near = total > 1e-6
    means: Array = np.divide(weighted, total, out=np.zeros_like(weighted), where=near)
    plain = np.divide(plain, total, out=np.zeros_like(plain), where=near)
    means[1:] -= plain[1:] * means[0]
    return means


def _moment(values: NDArray[np.float64], offsets: Array, profile: Array, rows: int, columns: int) -> Array:
    """Sum over the surroundings of values, weights and powers of offsets."""
    down = correlate1d(values, profile * offsets**rows, axis=0, mode="constant")
    across: Array = correlate1d(down, profile * offsets**columns, axis=1, mode="constant")
    return across
