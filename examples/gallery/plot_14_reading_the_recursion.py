"""
Reading the recursion
=====================

How did a neighborhood come about? ``localize(trace=True)`` keeps every step: where weights are, which
directions were learned, and how error and size changed.
"""

import matplotlib.pyplot as plt
import numpy as np

from localegop import LocalEGOPRegressor
from localegop.datasets import make_annulus
from localegop.displays import LocalizationDisplay, SpectrumDisplay, TraceDisplay

# %%
# Points on half of a ring; labels depend on the angle only. Algorithm 1 of the paper, with the paper's
# constants, makes 150 small steps from a round neighborhood to a long one.
X, y = make_annulus(1200, angle=150, noise_std=0.02, random_state=3)
model = LocalEGOPRegressor(**LocalEGOPRegressor.paper_parameters(), n_jobs=2).fit(X, y)
fits = model.localize([[1.0, 0.0]], trace=True)
print(fits.trace)

# %%
# The neighborhood that made the prediction: long along the radius, where labels do not change.
LocalizationDisplay.from_fits(fits, X, y).plot()
plt.show()

# %%
# Directions: two lines that separate mean that a direction was learned. The dashed line marks the step
# that was chosen, by the leave-one-out error in the neighborhood.
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
SpectrumDisplay.from_fits(fits).plot(axis)
plt.show()

# %%
# Error, effective size and estimate, step by step. Where neighboring steps agree, the choice of the step
# matters little.
TraceDisplay.from_fits(fits).plot()
plt.show()

# %%
# The same numbers without pictures:
ratio = [np.sqrt(np.linalg.cond(metric)) for metric in fits.trace.metric[:, 0]]
for t in sorted({0, 1, 5, 20, int(fits.step[0])}):
    print(
        f"step {t:3}: {fits.trace.effective_size[t, 0]:6.1f} rows count, "
        f"{ratio[t]:5.1f} times as long as wide, estimate {fits.trace.value[t, 0]:.3f}"
    )
