"""
A fast stand-in for a simulation
================================

A simulation that takes an hour is run some hundred times; a *surrogate* learned from these runs answers
all further questions at once, with error bars and gradients. Here the simulation is a robot's arm of four
segments in the plane: eight inputs (four angles, four lengths), and the distance of the hand from the
shoulder.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import qmc

from localegop import LocalEGOPRegressor


def reach(inputs):
    """Distance of the hand: angles in turns from 0 to 1/2, lengths from 0.5 to 1."""
    angles = np.cumsum(np.pi * inputs[:, :4], axis=1)
    lengths = 0.5 + 0.5 * inputs[:, 4:]
    return np.hypot(np.sum(lengths * np.cos(angles), axis=1), np.sum(lengths * np.sin(angles), axis=1))


inputs = qmc.Sobol(8, seed=0).random(1024)
X, y = inputs[:800], reach(inputs[:800])
X_new = np.random.default_rng(1).uniform(size=(500, 8))
y_new = reach(X_new)

names = [f"angle {i}" for i in range(1, 5)] + [f"length {i}" for i in range(1, 5)]
model = LocalEGOPRegressor(n_jobs=2).fit(X, y)
value, error = model.predict(X_new, return_std=True)
off = np.sqrt(np.mean((value - y_new) ** 2))
print(f"root mean square error {off:.4f}, reaches from {y.min():.2f} to {y.max():.2f}")

# %%
# Gradients for free
# ------------------
# The first angle turns the whole arm and cannot matter; the surrogate has found that. Slopes against
# exact ones:
fits = model.localize(X_new[:100], errors=False)
step = 1e-6
exact = np.stack([(reach(X_new[:100] + step * e) - reach(X_new[:100])) / step for e in np.eye(8)], axis=1)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].barh(names[::-1], model.global_importance(errors=False)[::-1], color="tab:blue")
axes[0].set_xlabel("share of the squared slope")
axes[1].plot(exact[:, 1:4], fits.gradient[:, 1:4], ".")
axes[1].axline((0, 0), slope=1, color="gray", lw=1)
axes[1].set_xlabel("exact slope")
axes[1].set_ylabel("slope of the surrogate")
axes[1].legend(names[1:4])
plt.show()

# %%
# Where to run the simulation next
# --------------------------------
# Where the interval is widest. Its width also says how far to trust the surrogate now.
low, high = model.predict_interval(X_new, 0.9).T
inside = np.mean((low <= y_new) & (y_new <= high))
print(
    f"90 % intervals hold {inside:.0%}; widest {np.max(high - low):.2f}, narrowest {np.min(high - low):.3f}"
)
print("next run at", X_new[np.argmax(high - low)].round(2))
