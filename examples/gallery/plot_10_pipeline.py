"""
Categories and missing values, in a pipeline
============================================

Real tables have columns of words and holes. A scikit-learn pipeline prepares them, and standard errors,
intervals and explanations are asked of the last step.
"""

# %%
# Cars of 1970 to 1982 and how far they go with a gallon. Six horsepowers are missing; the origin is a
# word.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from localegop import LocalEGOPRegressor
from localegop.displays import ImportanceDisplay

cars = pd.read_csv("../data/cars.csv").drop(columns="name")
print(cars.isna().sum()[lambda count: count > 0])
X, y = cars.drop(columns="mpg"), cars["mpg"]
numbers = [name for name in X if name != "origin"]
prepare = make_column_transformer(
    (SimpleImputer(strategy="median"), numbers),
    (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["origin"]),
    verbose_feature_names_out=False,
).set_output(transform="pandas")

# %%
# Cross-validation
# ----------------
pipeline = make_pipeline(prepare, LocalEGOPRegressor(n_jobs=2))
boosting = make_pipeline(prepare, HistGradientBoostingRegressor(random_state=0))
for name, method in (("Local EGOP", pipeline), ("gradient boosting", boosting)):
    scores = cross_val_score(method, X, y, cv=KFold(3, shuffle=True, random_state=0))
    print(f"{name:18} R2 {scores.mean():.3f}, from {scores.min():.3f} to {scores.max():.3f}")

# %%
# Answers through the pipeline
# ----------------------------
# ``return_std`` is passed on by ``predict``; for other questions, prepare the rows and ask the last step.
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipeline.fit(X_train, y_train)
value, error = pipeline.predict(X_test, return_std=True)
low, high = pipeline[-1].predict_interval(pipeline[:-1].transform(X_test), 0.9).T
print(f"90 % intervals hold {np.mean((low <= y_test) & (y_test <= high)):.0%} of {len(y_test)} cars")

# %%
# Displays take pipelines and use the names of the prepared columns.
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
ImportanceDisplay.from_estimator(pipeline).plot(axes[0])
axes[1].errorbar(y_test, value, yerr=[value - low, high - value], fmt=".", lw=0.5, ecolor="silver")
axes[1].axline((20, 20), slope=1, color="gray", lw=1)
axes[1].set_xlabel("miles per gallon")
axes[1].set_ylabel("predicted, with 90 % intervals")
plt.show()
