"""
Explore every prediction
========================

One line makes a page on which every prediction can be looked into: its neighborhood, neighbors, slopes,
interval, the steps of the recursion, and what the prediction would be if a feature were different. Below
it is at work; in a notebook it is live, and ``save`` writes it as one file to send to somebody.
"""

import pandas as pd

from localegop import LocalEGOPRegressor

cars = pd.read_csv("../data/cars.csv").dropna()
features = ["horsepower", "weight", "acceleration", "year"]
model = LocalEGOPRegressor(n_jobs=2).fit(cars[features], cars["mpg"])
explorer = model.explore(cars[features][:120], cars["mpg"][:120])
explorer.save("cars.html")

# %%
# Click a point, or move with the arrow keys.
explorer
