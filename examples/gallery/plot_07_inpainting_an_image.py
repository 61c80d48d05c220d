"""
Filling in missing pixels
=========================

Half of the pixels are gone, and the others are noisy. The known ones teach how gray values follow from
known surroundings; the others are predicted, with standard errors.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from skimage import data, restoration
from skimage.metrics import peak_signal_noise_ratio

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.datasets import image_surroundings

SIGMA = 25 / 255
rng = np.random.default_rng(0)
clean = data.camera()[70:166, 160:256] / 255.0
known = rng.uniform(size=clean.shape) < 0.5
noisy = np.where(known, clean + SIGMA * rng.normal(size=clean.shape), np.nan)

# %%
# Learn at known pixels, predict all
# ----------------------------------
# Neither the pixel itself nor unknown pixels are in its features, so the same model serves both.
X = image_surroundings(noisy, known=known)
rows = np.flatnonzero(known)
model = LocalEGOPRegressor(n_jobs=2, initial_metric="identity", final="polynomial", degree=1)
model.fit(X[rows], noisy.ravel()[rows])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ExtrapolationWarning)  # a pixel or two with unusual surroundings
    value, error = model.predict(X, return_std=True)
filled, error = value.reshape(clean.shape), error.reshape(clean.shape)

# %%
# Beside scikit-image
# -------------------
# Biharmonic functions fill in; then non-local means or total variation denoise, each at its best strength
# in hindsight.


def quality(image):
    """Peak signal to noise ratio in dB."""
    return peak_signal_noise_ratio(clean, np.clip(image, 0, 1), data_range=1)


biharmonic = restoration.inpaint_biharmonic(np.nan_to_num(noisy), ~known)
means = max(
    (restoration.denoise_nl_means(biharmonic, 7, 11, h=h * SIGMA, sigma=SIGMA) for h in (0.5, 0.6, 0.8)),
    key=quality,
)
variation = max(
    (restoration.denoise_tv_chambolle(biharmonic, weight=w) for w in (0.07, 0.1, 0.13)), key=quality
)

shown = {
    "known pixels": np.where(known, noisy, 0.0),
    "from surroundings": filled,
    "clean": clean,
    "biharmonic, non-local means": means,
    "biharmonic, total variation": variation,
}
figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
for axis, (name, image) in zip(axes.flat, shown.items(), strict=False):
    axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set_title(name if name in ("clean", "known pixels") else f"{name}\n{quality(image):.2f} dB")
    axis.set_axis_off()
axes[1, 2].imshow(error, cmap="magma")
axes[1, 2].set_title("standard error")
axes[1, 2].set_axis_off()
plt.show()
