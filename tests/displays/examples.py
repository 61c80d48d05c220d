"""Data that the tests of displays share."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from localegop.datasets import make_annulus, make_helix

QUICK = {"n_iter": 2, "n_jobs": 1, "degree": 1, "ridge": 1e-3}
PLANE_X, PLANE_Y = make_annulus(150, random_state=0)
HELIX_X, HELIX_Y = make_helix(160, 4, noise=0.1, random_state=0)
NAMES = ("north", "east", "up", "heat")
FRAME = pd.DataFrame(HELIX_X * [1.0, 10.0, 0.1, 1.0], columns=NAMES)
TWO_Y = pd.DataFrame({"speed": HELIX_Y, "load": -HELIX_Y + HELIX_X[:, 0]})
IMAGE = np.clip(np.add.outer(np.linspace(0, 0.5, 14), np.linspace(0, 0.5, 18) ** 2), 0, 1)
QUERIES = slice(0, 3)


def new_axes():
    return Figure().subplots()


def variances(metric):
    return 1.0 / np.linalg.eigvalsh(metric)


def widths(bars):
    return [bar.get_width() for bar in bars]
