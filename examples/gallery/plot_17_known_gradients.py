"""
Known gradients
===============

An adjoint solver or automatic differentiation gives the gradient of a label for about the price of the
label. How much better is a fit that knows gradients, what does it predict for them, and what if they are
wrong? The label is the weight of a light aircraft's wing, a function of ten quantities.
"""

import matplotlib.pyplot as plt
import numpy as np

from localegop import LocalEGOPRegressor
from localegop.datasets import make_engineering
from localegop.displays import ActiveSubspaceDisplay

X, y, gradients = make_engineering("wing_weight", 1060, random_state=0)
train, test = slice(60), slice(60, None)


def error_of(model):
    """Mean squared error at other rows, over the variance of their labels."""
    return np.mean((model.predict(X[test]) - y[test]) ** 2) / y[test].var()


plain = LocalEGOPRegressor(n_jobs=2).fit(X[train], y[train])
informed = LocalEGOPRegressor(n_jobs=2).fit(X[train], y[train], gradients=gradients[train])
wrong = LocalEGOPRegressor(n_jobs=2).fit(X[train], y[train], gradients=-gradients[train])
for name, model in (("without", plain), ("with", informed), ("with wrong", wrong)):
    print(f"{name} gradients: error {error_of(model):.1e}, final fit {model.choice_.final.kind}")

# %%
# Derivatives out
# ---------------
# ``predict_gradient`` is the derivative of what ``predict`` answers, here beside the true one, per standard
# deviation of the features.
scale = X[train].std(axis=0)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, (("without", plain), ("with", informed)), strict=True):
    axis.plot(
        (gradients[test] * scale).ravel(), (model.predict_gradient(X[test]) * scale).ravel(), ".", ms=2
    )
    axis.set(title=f"{name} gradients", xlabel="true slope (lb)", ylabel="predicted slope (lb)")
    axis.axline((0, 0), slope=1, color="0.5", lw=1, zorder=0)
plt.show()

# %%
# The active subspace
# -------------------
# The direction along which the label varies most, over all rows: ten quantities become one, which tells
# nearly all. Bars are intervals.
subspace = informed.active_subspace(1)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
display = ActiveSubspaceDisplay.from_subspace(subspace, X[test], y[test])
display.plot(axes[0])
display.plot_summary(axes[1])
axes[1].set_ylabel("weight (lb)")
plt.show()
names = ("Sw", "Wfw", "A", "sweep", "q", "taper", "tc", "Nz", "Wdg", "Wp")
largest = np.argsort(-np.abs(subspace.directions[:, 0]))[:4]
print({names[a]: round(float(subspace.directions[a, 0]), 2) for a in largest})
