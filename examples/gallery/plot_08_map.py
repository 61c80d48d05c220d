"""
A map: coefficients that change from place to place
===================================================

Geographically weighted regression asks how strongly things are related *here*. Its classic example are
the counties of Georgia: how does the share of people with a bachelor's degree depend on how rural, how
poor and how immigrant a county is, and does that differ between north and south? Local fits answer it
with gradients, and predict at new places too.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

from localegop import LocalEGOPRegressor

counties = pd.read_csv("../data/georgia.csv")
places, causes = ["east_km", "north_km"], ["rural", "poverty", "foreign_born"]
X, y = counties[places + causes], counties["bachelor"]

# %%
# Do places matter?
# -----------------
# By predictions of counties left out: one linear model for the whole state, ours without and with
# positions.
folds = KFold(5, shuffle=True, random_state=0)
for name, method, columns in (
    ("one linear model", LinearRegression(), causes),
    ("Local EGOP without positions", LocalEGOPRegressor(n_jobs=2), causes),
    ("Local EGOP with positions", LocalEGOPRegressor(n_jobs=2), places + causes),
):
    left_out = cross_val_predict(method, X[columns], y, cv=folds)
    print(f"{name:30} root mean square error {np.sqrt(np.mean((left_out - y) ** 2)):.2f} percent")

# %%
# Local coefficients
# ------------------
# The gradient with respect to each cause, with standard errors: percent of bachelors per percent of the
# cause. A ring marks counties whose coefficient is at least two standard errors from zero.
model = LocalEGOPRegressor(n_jobs=2).fit(X, y)
fits = model.localize(X)
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained", sharey=True)
for axis, cause in zip(axes, causes, strict=True):
    k = fits.feature_names.index(cause)
    slope, certain = fits.gradient[:, k], np.abs(fits.gradient[:, k]) > 2 * fits.gradient_std[:, k]
    limit = np.abs(slope).max()
    shown = axis.scatter(
        X["east_km"],
        X["north_km"],
        c=slope,
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        s=42,
        edgecolors=np.where(certain, "black", "none"),
    )
    axis.set_title(cause.replace("_", " "))
    axis.set_aspect("equal")
    axis.set_xlabel("km east")
    figure.colorbar(shown, ax=axis, shrink=0.7)
axes[0].set_ylabel("km north")
plt.show()

# %%
# At a new place
# --------------
# Half way between Atlanta and the coast, a county that is as rural and as poor as the average:
place = X.mean().to_frame().T
value, error = model.predict(place, return_std=True)
low, high = model.predict_interval(place, 0.9)[0]
print(f"{value[0]:.1f} +- {error[0]:.1f} percent; 90 % of such counties from {low:.1f} to {high:.1f}")
