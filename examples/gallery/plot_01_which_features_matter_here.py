"""
Which features matter here?
===========================

A feature may matter for one patient and not for the next. Global importance is one list for all; a local
fit has a list for every prediction, with standard errors.
"""

# %%
# 442 diabetes patients with ten measurements; the label says how far the disease had progressed after a
# year. The table comes with scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from localegop import LocalEGOPRegressor
from localegop.displays import ImportanceDisplay

patients, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_test, y, y_test = train_test_split(patients, progression, random_state=0)
model = LocalEGOPRegressor(n_jobs=2).fit(X, y)
print(f"R2 at {len(X_test)} new patients: {model.score(X_test, y_test):.2f}")

# %%
# Overall
# -------
# The share of each measurement in the squared slope of the function, over all patients. ``s5`` is the
# logarithm of triglycerides; some of the others move together, and ``grouped_importance`` tells what they
# have in common.
print(model.global_importance(as_frame=True).round(3).head(5))
for group in sorted(model.grouped_importance(), key=lambda g: -g.importance)[:4]:
    print(f"{' + '.join(group.features):12} {group.importance:.2f} +- {group.importance_std:.2f}")

# %%
# Here
# ----
# Two patients: the one for whom the body mass index has the largest share, and the one for whom it has
# the smallest. Lines are standard errors: where they are as long as the bars, the rows cannot tell.
fits = model.localize(X_test)
bmi = fits.feature_names.index("bmi")
most, least = np.argmax(fits.importance[:, bmi]), np.argmin(fits.importance[:, bmi])

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
ImportanceDisplay.from_estimator(model).plot(axes[0])
ImportanceDisplay.from_fits(fits, index=[int(most), int(least)]).plot(axes[1])
plt.show()

# %%
# The slope itself, in units of the label per unit of the feature, says which way:
for row in (most, least):
    slope, error = fits.gradient[row, bmi], fits.gradient_std[row, bmi]
    print(f"bmi {X_test.iloc[row]['bmi']:.1f}: {slope:+.1f} +- {error:.1f} per unit of body mass index")
