"""
Finding a curve in 20 dimensions
================================

Twenty features, but the label depends only on where along a curve a point lies. Round neighborhoods are
hopeless: in 20 dimensions nothing is near. Learned ones are thin along the curve and wide across.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix
from localegop.displays import LocalizationDisplay

data = make_helix(1500, 20, random_state=0, return_bunch=True)
X, y = data.data[:1000], data.target[:1000]
X_test, y_test = data.data[1000:], data.target[1000:]

# %%
# Against methods that know nothing of directions
# ------------------------------------------------
model = LocalEGOPRegressor(n_jobs=2).fit(X, y)
peers = {
    "5 nearest neighbors": KNeighborsRegressor().fit(X, y),
    "random forest": RandomForestRegressor(200, random_state=0, n_jobs=2).fit(X, y),
    "Local EGOP": model,
}
for name, peer in peers.items():
    error = np.mean((peer.predict(X_test) - y_test) ** 2) / y_test.var()
    print(f"{name:20} error {error:.1e} of the label variance")

# %%
# What was found
# --------------
# The leading direction of the learned slopes at each new point, against the true direction of the curve
# there, and in how many directions the function is found to vary.
fits = model.localize(X_test, errors=False)
found = fits.spectrum[1][:, :, 0]
true = data.gradient(X_test)
true /= np.linalg.norm(true, axis=1, keepdims=True)
angle = np.degrees(np.arccos(np.clip(np.abs(np.sum(found * true, axis=1)), 0, 1)))
middle, most = np.quantile(angle, [0.5, 0.95])
print(f"angle to the true gradient: median {middle:.2g} degrees, 95 % below {most:.2g}")
print(f"directions in which f varies nearby: median {np.median(fits.intrinsic_dimension):.2f} of 20")

# %%
# One neighborhood in its two leading directions: opaque points contribute.
query = X_test[:1]
LocalizationDisplay.from_estimator(model, X, y, query).plot()
plt.show()
