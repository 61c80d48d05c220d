"""
Calibrated intervals
====================

An interval of 90 % should hold 90 % of new labels, where the noise is small as well as where it is large,
and although nobody says what the noise is like.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from localegop import LocalEGOPRegressor
from localegop.displays import CalibrationDisplay

# %%
# Noise that grows
# ----------------
# Noise of 0.05 on the left and 0.5 on the right, with heavy tails.
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 1200))
y = np.sin(x) + (0.05 + 0.045 * x) * rng.standard_t(4, size=x.size)
known, new = np.arange(0, 1200, 2), np.arange(1, 1200, 2)
model = LocalEGOPRegressor(n_jobs=2).fit(x[known, None], y[known])
value = model.predict(x[new, None])
low, high = model.predict_interval(x[new, None], 0.9).T

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
axes[0].plot(x[known], y[known], ".", ms=3, color="gray")
axes[0].fill_between(x[new], low, high, alpha=0.25)
axes[0].plot(x[new], value)
axes[0].set_title("90 % intervals")
CalibrationDisplay.from_estimator(model, x[new, None], y[new]).plot(axes[1])
plt.show()
for side, rows in (("left", slice(0, 300)), ("right", slice(300, 600))):
    inside = np.mean((low[rows] <= y[new][rows]) & (y[new][rows] <= high[rows]))
    width = np.mean(high[rows] - low[rows])
    print(f"{side:5} half: intervals hold {inside:.1%}, mean width {width:.2f}")

# %%
# Patients
# --------
# Real data: 442 diabetes patients, each third left out once.
X, y = load_diabetes(return_X_y=True)
inside = np.zeros((2, len(y)), dtype=bool)
for train, test in KFold(3, shuffle=True, random_state=0).split(X):
    intervals = LocalEGOPRegressor(n_jobs=2).fit(X[train], y[train]).predict_interval(X[test], [0.5, 0.9])
    inside[:, test] = np.array(
        [(ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1]) for ends in np.moveaxis(intervals, 1, 0)]
    )
print(f"patients: intervals of 50 % hold {inside[0].mean():.1%}, those of 90 % hold {inside[1].mean():.1%}")
