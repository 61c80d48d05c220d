"""
Denoising an image
==================

A clean gray value follows from what surrounds the pixel; noise does not. So learn the one from the other:
features describe the surroundings of a pixel *without the pixel itself*, labels are the noisy gray
values. Whatever the regression finds is not noise, and the noisy pixel then counts as much as the errors
nearby say that it should.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from skimage import data, restoration
from skimage.metrics import peak_signal_noise_ratio

from localegop import LocalEGOPRegressor
from localegop.datasets import image_surroundings

SIGMA = 25 / 255
clean = data.camera()[60:220, 140:300] / 255.0
noisy = clean + SIGMA * np.random.default_rng(0).normal(size=clean.shape)

# %%
# Predict every pixel from its surroundings
# -----------------------------------------
# Mean gray value, slope and bend around the pixel, at three scales: 18 features. A part of the pixels
# suffices to learn from.
X, y = image_surroundings(noisy), noisy.ravel()
rows = np.random.default_rng(1).permutation(len(y))[:8000]
model = LocalEGOPRegressor(n_jobs=2, initial_metric="identity", final="polynomial", degree=1)
guess = model.fit(X[rows], y[rows]).predict(X).reshape(clean.shape)

# %%
# Let the pixel itself count
# --------------------------
# What residuals have nearby beyond the noise is the squared error of the prediction. The mean of
# prediction and noisy pixel, weighted by the squared error of the other, is better than both.
residual = noisy - guess
excess = np.maximum(gaussian_filter(residual**2, 3) - SIGMA**2, 0.02 * SIGMA**2)
denoised = guess + excess / (excess + SIGMA**2) * residual

# %%
# Beside scikit-image
# -------------------
# Its methods get the best of three strengths in hindsight. ``benchmarks/images.py`` prints a table for
# three images.


def best(method, strengths):
    """Run a method at its best strength for this image."""
    return max((method(s) for s in strengths), key=lambda image: quality(image))


def quality(image):
    """Peak signal to noise ratio in dB."""
    return peak_signal_noise_ratio(clean, np.clip(image, 0, 1), data_range=1)


means = best(
    lambda h: restoration.denoise_nl_means(noisy, 7, 11, h=h * SIGMA, sigma=SIGMA, fast_mode=True),
    (0.5, 0.6, 0.8),
)
variation = best(lambda w: restoration.denoise_tv_chambolle(noisy, weight=w), (0.07, 0.1, 0.13))
wavelet = best(
    lambda s: restoration.denoise_wavelet(noisy, sigma=s * SIGMA, rescale_sigma=True), (0.5, 0.75, 1.0)
)
shown = {
    "noisy": noisy,
    "from surroundings": denoised,
    "clean": clean,
    "non-local means": means,
    "total variation": variation,
    "wavelet": wavelet,
}
figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
for axis, (name, image) in zip(axes.flat, shown.items(), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set_title(name if name == "clean" else f"{name}: {quality(image):.2f} dB")
    axis.set_axis_off()
plt.show()

# %%
# What was learned
# ----------------
# In how many directions of the 18 gray values vary, at most pixels, and which features matter most.
fits = model.localize(X[rows[:500]], errors=False)
print(f"{np.median(fits.intrinsic_dimension):.1f} directions at the median pixel")
names = [
    f"{what}, scale {s}"
    for s in (1, 2, 4)
    for what in ("mean", "down", "right", "down^2", "down right", "right^2")
]
importance = model.global_importance(errors=False)
for k in np.argsort(importance)[::-1][:5]:
    print(f"{importance[k]:.2f}  {names[k]}")
