"""
Edges of an image
=================

A gray image is a function of two features, the position of a pixel. It varies across edges and not along
them, so neighborhoods should lie along edges. Nobody tells the estimator what an edge is.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data, transform

from localegop import LocalEGOPRegressor
from localegop.datasets import image_samples
from localegop.displays import ImageLocalizationDisplay

photograph = transform.rescale(data.camera()[20:260, 130:370] / 255.0, 0.4, anti_aliasing=True)
X, y = image_samples(photograph)
model = LocalEGOPRegressor(n_jobs=2, initial_metric="identity", final="polynomial", degree=1).fit(X, y)
print(f"{len(X):,} pixels; isotropic fits have {model.gain_over_isotropic_:.2f} times the error")

# %%
# Neighborhoods
# -------------
# The pixels with the largest weights around six points.
points = [[30, 41], [52, 50], [20, 52], [60, 62], [70, 20], [12, 80]]
figure, axis = plt.subplots(figsize=(5.4, 5.4), layout="constrained")
ImageLocalizationDisplay.from_estimator(model, photograph, points, n_pixels=60).plot(axis)
plt.show()

# %%
# An edge detector
# ----------------
# How much of the squared slope nearby lies in one direction, times the slope: large at edges, small in
# flat and in rough regions.
fits = model.localize(X, errors=False)
values = fits.spectrum[0]
edge = np.sqrt(np.maximum(values[:, 0] - values[:, 1], 0.0)).reshape(photograph.shape)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
axes[0].imshow(photograph, cmap="gray")
axes[1].imshow(edge, cmap="magma")
for axis in axes:
    axis.set_axis_off()
plt.show()
