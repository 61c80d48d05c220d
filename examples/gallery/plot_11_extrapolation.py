"""
Detecting extrapolation
=======================

A model that is asked beyond its data should say so. Every prediction has a *remoteness*: above 1 the
query lies beyond the data, ``predict`` warns, and intervals grow with the distance.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from localegop import ExtrapolationWarning, LocalEGOPRegressor, Status

# %%
# A gap and two ends
# ------------------
rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(0, 4, 200), rng.uniform(6, 10, 200)])
y = np.sin(x) + 0.1 * rng.normal(size=x.size)
model = LocalEGOPRegressor(n_jobs=2).fit(x[:, None], y)

grid = np.linspace(-4, 14, 400)[:, None]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    value = model.predict(grid)
print(next(w.message for w in caught if issubclass(w.category, ExtrapolationWarning)))

# %%
fits = model.localize(grid, errors=False)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ExtrapolationWarning)
    low, high = model.predict_interval(grid, 0.9).T
figure, axes = plt.subplots(2, 1, figsize=(8, 5.4), layout="constrained", sharex=True, height_ratios=[2, 1])
axes[0].plot(x, y, ".", ms=3, color="gray")
axes[0].plot(grid, np.sin(grid), "--", color="black", lw=1)
axes[0].plot(grid, value)
axes[0].fill_between(grid[:, 0], low, high, alpha=0.25)
axes[0].set_ylim(-4, 4)
axes[0].set_title("predictions with 90 % intervals; dashed the truth")
axes[1].semilogy(grid, np.maximum(fits.remoteness, 1e-2))
axes[1].axhline(1.0, color="tab:red", lw=1)
axes[1].set_ylabel("remoteness")
plt.show()

# %%
# In a table
# ----------
# The same with cars: a model learned from European and Japanese cars meets American ones. Which of them
# should it not be asked about?
cars = pd.read_csv("../data/cars.csv").dropna()
features = ["displacement", "horsepower", "weight", "acceleration", "year"]
american = cars["origin"] == "USA"
model = LocalEGOPRegressor(n_jobs=2).fit(cars.loc[~american, features], cars.loc[~american, "mpg"])
fits = model.localize(cars.loc[american, features], errors=False)
beyond = fits.status == int(Status.EXTRAPOLATED)
error = np.abs(fits.value - cars.loc[american, "mpg"])
print(f"{beyond.sum()} of {american.sum()} American cars are marked")
print(f"mean error of these {error[beyond].mean():.1f} mpg, of the others {error[~beyond].mean():.1f}")
