"""Denoising and inpainting images: PSNR and time beside the methods that scikit-image has.

Run with ``python benchmarks/images.py``; the tables in docs/images.md are from it. Noise has a standard
deviation of 25/255. Images are those that scikit-image ships, in gray, by default the 256 x 256 pixels in
their middle (``--whole``: all of them). The other methods get the best of a few strengths *in hindsight*,
by the PSNR against the clean image; ours sees the noisy image and the strength of the noise only, and its
settings were made on other images (coins, coffee). ``--rows 8000`` learns from fewer pixels, in less
time.

- ``surroundings``: local regression of gray values on what surrounds them
  (`localegop.datasets.image_surroundings`); the noisy pixel then counts as much as errors nearby say.
- ``positions``: local regression on the position of the pixels alone, in neighborhoods that follow edges.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from skimage import color, data, restoration
from skimage.metrics import peak_signal_noise_ratio

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.datasets import image_surroundings
from localegop.research.runs.pages import markdown_table

Image = NDArray[np.float64]
Task = Callable[[float], Image]

SIGMA = 25.0 / 255.0
MISSING = 0.5
ROWS = 24_000  # pixels that are learned from; with 8,000 coins had 0.3 dB less
QUICK = {"initial_metric": "identity", "final": "polynomial", "degree": 1}
STRENGTHS = {
    "non-local means": (0.5, 0.6, 0.8, 1.0),
    "total variation": (0.05, 0.07, 0.1, 0.13, 0.17),
    "wavelet": (0.5, 0.75, 1.0, 1.5),
}


def load(name: str, whole: bool) -> Image:
    """Load an image of scikit-image as gray values from 0 to 1."""
    image = getattr(data, name)() / 255.0
    gray: Image = color.rgb2gray(image[..., :3]) if image.ndim == 3 else image
    if whole:
        return gray
    top, left = ((side - 256) // 2 for side in gray.shape)
    return gray[top : top + 256, left : left + 256]


def predict(X: Image, noisy: Image, known: NDArray[np.bool_], count: int) -> Image:
    """Gray values by local regression on features X, learned at so many known pixels."""
    rows = np.flatnonzero(known)
    rows = np.random.default_rng(0).permutation(rows)[:count]
    model = LocalEGOPRegressor(**QUICK).fit(X[rows], noisy.ravel()[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return np.asarray(model.predict(X)).reshape(noisy.shape)


def by_surroundings(noisy: Image, known: NDArray[np.bool_], sigma: float, count: int = ROWS) -> Image:
    """Predict from surroundings; known pixels count as far as errors nearby exceed the noise."""
    guess = predict(image_surroundings(noisy, known=known), noisy, known, count)
    return combine(guess, noisy, known, sigma)


def combine(
    guess: Image, noisy: Image, known: NDArray[np.bool_], sigma: float, reach: float = 3.0
) -> Image:
    """Mean of prediction and pixel by squared errors: the noise, and what residuals have beyond."""
    residual = np.where(known, noisy - guess, 0.0)
    near = gaussian_filter(known.astype(float), reach)
    squares = gaussian_filter(residual**2, reach) / np.maximum(near, 1e-6)
    excess = np.maximum(squares - sigma**2, 0.02 * sigma**2)
    return guess + excess / (excess + sigma**2) * residual


def by_positions(noisy: Image, known: NDArray[np.bool_]) -> Image:
    """Neighborhoods in the plane, learned from all known pixels."""
    X = np.indices(noisy.shape).reshape(2, -1).T.astype(float)
    rows = np.flatnonzero(known)
    model = LocalEGOPRegressor(**QUICK).fit(X[rows], noisy.ravel()[rows])
    return np.asarray(model.predict(X)).reshape(noisy.shape)


def others(noisy: Image) -> dict[str, Task]:
    """Return methods of scikit-image, as functions of their strength."""
    return {
        "non-local means": lambda h: restoration.denoise_nl_means(
            noisy, patch_size=7, patch_distance=11, h=h * SIGMA, sigma=SIGMA, fast_mode=True
        ),
        "total variation": lambda weight: restoration.denoise_tv_chambolle(noisy, weight=weight),
        "wavelet": lambda s: restoration.denoise_wavelet(
            noisy, sigma=s * SIGMA, method="BayesShrink", mode="soft", rescale_sigma=True
        ),
    }


def measured(clean: Image, task: Task, strengths: Iterable[float]) -> tuple[float, float]:
    """Best PSNR over the strengths, and the processor seconds of one of them."""
    strengths = list(strengths)
    start = time.process_time()
    found = [task(strength) for strength in strengths]
    seconds = (time.process_time() - start) / len(strengths)
    return max(psnr(clean, image) for image in found), seconds


def psnr(clean: Image, image: Image) -> float:
    """Peak signal to noise ratio in dB, of values from 0 to 1."""
    return float(peak_signal_noise_ratio(clean, np.clip(image, 0.0, 1.0), data_range=1.0))


def compare(
    clean: Image, known: NDArray[np.bool_], positions: bool, count: int
) -> dict[str, tuple[float, float]]:
    """PSNR and seconds of all methods on one image, of which some pixels are missing, or none."""
    noisy = clean + SIGMA * np.random.default_rng(0).normal(size=clean.shape)
    found = {"surroundings": measured(clean, lambda _: by_surroundings(noisy, known, SIGMA, count), [0.0])}
    if positions:
        found["positions"] = measured(clean, lambda _: by_positions(noisy, known), [0.0])
    start = time.process_time()
    filled = noisy if known.all() else restoration.inpaint_biharmonic(np.where(known, noisy, 0.0), ~known)
    filling = time.process_time() - start
    for name, task in others(filled).items():
        quality, seconds = measured(clean, task, STRENGTHS[name])
        found[name] = (quality, seconds + filling)
    return found


def table(images: dict[str, Image], missing: float, positions: bool, count: int) -> list[str]:
    """Lines of the table of one task: PSNR and seconds by image and method, ranks beside."""
    results = {}
    for name, clean in images.items():
        known = np.random.default_rng(1).uniform(size=clean.shape) >= missing
        results[name] = compare(clean, known, positions, count)
        print(name, {k: f"{v[0]:.2f} dB, {v[1]:.0f} s" for k, v in results[name].items()}, flush=True)
    methods = next(iter(results.values()))
    rows = []
    for method in methods:
        cells = []
        for found in results.values():
            place = 1 + sum(other[0] > found[method][0] for other in found.values())
            cells.append(f"{found[method][0]:.2f} ({place}), {found[method][1]:.0f} s")
        rows.append([method, *cells])
    return markdown_table(["method", *images], rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", nargs="+", default=["camera", "astronaut", "chelsea"])
    parser.add_argument("--rows", type=int, default=ROWS, help="pixels that are learned from")
    parser.add_argument("--whole", action="store_true", help="whole images instead of their middle")
    parser.add_argument(
        "--positions", action="store_true", help="neighborhoods in the plane too; takes long"
    )
    parser.add_argument("--only", choices=["denoising", "inpainting"], nargs="+")
    arguments = parser.parse_args()
    images = {name: load(name, arguments.whole) for name in arguments.images}
    for task, missing in (("denoising", 0.0), ("inpainting", MISSING)):
        if arguments.only is None or task in arguments.only:
            print("\n".join(["", f"{task}, PSNR in dB (place), processor seconds", ""]), flush=True)
            print("\n".join(table(images, missing, arguments.positions, arguments.rows)), flush=True)


if __name__ == "__main__":
    main()
