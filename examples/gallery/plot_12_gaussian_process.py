"""
Against a Gaussian process
==========================

The closest relative: smooth, with error bars, one length for each feature. Which of the two when? Both on
a function whose directions change from place to place, and on one that has the same everywhere.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix


def gaussian_process(dimension):
    """One length for each feature, found by maximum likelihood."""
    kernel = ConstantKernel() * RBF(np.ones(dimension)) + WhiteKernel(1e-3, (1e-8, 1.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


sets = {
    "curve in 10 dimensions": make_helix(1000, 10, random_state=0),
    "Friedman 1": make_friedman1(1000, 5, noise=0.5, random_state=0),
}
found = {}
for name, (X, y) in sets.items():
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for label, method in (
        ("Gaussian process", gaussian_process(X.shape[1])),
        ("Local EGOP", LocalEGOPRegressor(n_jobs=2)),
    ):
        start = time.perf_counter()
        method.fit(X[:400], y[:400])
        value, error = method.predict(X[400:], return_std=True)
        seconds = time.perf_counter() - start
        left = np.mean((value - y[400:]) ** 2) / y[400:].var()
        found[name, label] = value
        print(f"{name:24}{label:18} error {left:.1e} of the label variance, {seconds:4.1f} s")

# %%
# Where the direction changes along a curve, one length for each feature cannot describe it, and the
# process needs more rows. Where the function is smooth in all features everywhere, a process of all rows
# is hard to beat; Local EGOP then uses one itself, if it is better at rows left out.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for axis, (name, (_, y)) in zip(axes, sets.items(), strict=True):
    for label in ("Gaussian process", "Local EGOP"):
        axis.plot(y[400:], found[name, label] - y[400:], ".", ms=4, alpha=0.6, label=label)
    axis.axhline(0, color="gray", lw=1)
    axis.set_title(name)
    axis.set_xlabel("label")
axes[0].set_ylabel("prediction - label")
axes[0].legend()
plt.show()
