"""
Classes with probabilities
==========================

Two half moons, with labels that are partly chance. ``LocalEGOPClassifier`` tells how probable each class
is, and which classes belong to a set that holds the true one nearly always.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from localegop import ExtrapolationWarning, LocalEGOPClassifier
from localegop.displays import CalibrationDisplay

X, y = make_moons(1200, noise=0.3, random_state=0)
names = np.array(["lower", "upper"])[1 - y]
model = LocalEGOPClassifier(n_jobs=2).fit(X[:400], names[:400])
print(model.summary())

# %%
# scikit-learn's display of decision boundaries draws the probabilities, which fade where moons overlap. It
# asks for points far from the moons, too, about which the model warns.

warnings.simplefilter("ignore", ExtrapolationWarning)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
DecisionBoundaryDisplay.from_estimator(
    model,
    X,
    response_method="predict_proba",
    class_of_interest="upper",
    cmap="RdBu",
    vmin=0,
    vmax=1,
    ax=left,
)
left.scatter(*X[:400].T, c=y[:400], cmap="RdBu_r", s=14, edgecolor="white", linewidth=0.5)
left.set_title("probability of the upper moon")
CalibrationDisplay.from_estimator(model, X[400:], names[400:]).plot(right)

# %%
# Where a set holds both classes, the model does not know, and says so.

sets = model.predict_set(X[400:], coverage=0.97)
held = sets[np.arange(800), np.searchsorted(model.classes_, names[400:])]
print(f"{held.mean():.1%} of the sets hold the true class; {np.mean(sets.all(axis=1)):.1%} hold both")
