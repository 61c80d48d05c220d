"""
Explore every prediction
========================

One line makes a page on which every prediction can be looked into: its neighborhood, neighbors, slopes,
interval, the steps of the recursion, and what the prediction would be if a feature were different. Below
it is at work; in a notebook it is live, and ``save`` writes it as one file to send to somebody.
"""

# sphinx_gallery_thumbnail_path = "figures/explorer.png"
from html import escape

import pandas as pd

from localegop import LocalEGOPRegressor

cars = pd.read_csv("../data/cars.csv").dropna()
features = ["horsepower", "weight", "acceleration", "year"]
model = LocalEGOPRegressor(n_jobs=2).fit(cars[features], cars["mpg"])
explorer = model.explore(cars[features], cars["mpg"], title="Cars of 1970 to 1982")
print(explorer)

# %%
# Click a point, or move with the arrow keys. (In a notebook ``explorer`` alone is enough. This document is
# not one, so the page of 100 cars is put into a frame here.)


class Frame:
    """A page within a page."""

    def _repr_html_(self):
        page = escape(explorer.to_html(rows=100))
        return (
            f'<iframe srcdoc="{page}" style="width: 100%; height: 52rem; border: 1px solid gray"></iframe>'
        )


Frame()
