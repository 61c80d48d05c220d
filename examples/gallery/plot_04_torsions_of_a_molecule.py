"""
Torsions of a molecule
======================

Malonaldehyde is nine atoms that shake; two of its torsions are the slow motions a chemist cares about.
Can they be read off from angles *within* triples of atoms, none of which is a torsion? The frames of a
molecular dynamics run come with the package.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from localegop import LocalEGOPRegressor
from localegop.datasets import load_malonaldehyde

molecule = load_malonaldehyde(torsion=["tau1", "tau2"])
rng = np.random.default_rng(0)
rows = rng.permutation(len(molecule.data))
train, test = rows[:600], rows[1000:1400]
X, y = molecule.data, molecule.target
print(f"{len(X):,} frames, {X.shape[1]} features, of which 600 frames are learned from")

# %%
# Both torsions at once
# ---------------------
# Several outputs share neighborhoods, learned from the sum of their slopes.
model = LocalEGOPRegressor(n_jobs=2).fit(X[train], y[train])
methods = {
    "linear regression": LinearRegression().fit(X[train], y[train]),
    "5 nearest neighbors": KNeighborsRegressor().fit(X[train], y[train]),
    "Local EGOP": model,
}
for name, method in methods.items():
    error = np.degrees(np.sqrt(np.mean((method.predict(X[test]) - y[test]) ** 2, axis=0)))
    print(f"{name:20} root mean square error {error[0]:5.2f} and {error[1]:5.2f} degrees")

# %%
# Few directions out of 50
# ------------------------
# The participation ratio of the slopes says in how many directions the torsions vary nearby; colors show
# the energy of the frame.
predicted = model.predict(X[test])
fits = model.localize(X[test[:100]], errors=False)
print(
    f"both torsions vary in {np.median(fits.intrinsic_dimension):.1f} directions of 50 at the median frame"
)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for axis, k in zip(axes, range(2), strict=True):
    shown = axis.scatter(
        np.degrees(y[test, k]), np.degrees(predicted[:, k]), c=molecule.energies[test], s=8, cmap="viridis"
    )
    axis.axline((90, 90), slope=1, color="gray", lw=1, zorder=0)
    axis.set_xlabel(f"torsion {k + 1}, degrees")
    axis.set_ylabel("predicted")
figure.colorbar(shown, ax=axes, label="energy above the minimum, kcal/mol")
plt.show()
