"""A model with a hostile column name that the tests of the explorer share."""

import numpy as np
import pandas as pd

from localegop import LocalEGOPClassifier, LocalEGOPRegressor

HOSTILE = "<script>window.hacked = 1</script>"
NAMES = [HOSTILE, "width", "<img src=x onerror='window.hacked = 2'>"]
QUICK = {"n_iter": 2, "n_jobs": 1, "degree": 1, "ridge": 1e-3}


def make_rows(count, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(count, 3)), columns=NAMES)
    y = np.sin(3.0 * np.hypot(X[HOSTILE], X["width"])) + 0.05 * rng.normal(size=count)
    return X, pd.Series(y, name="<b>price</b>")


def make_model():
    return LocalEGOPRegressor(**QUICK).fit(*make_rows(200, 0))


def make_class_rows(count, seed):
    """Rows of three classes around centers, of which one has a hostile name."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 3, count)
    X = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])[number] + rng.normal(size=(count, 3))
    species = np.array(["<i>ant</i>", "bee", "cicada"], dtype=object)[number]
    return pd.DataFrame(X, columns=NAMES), pd.Series(species, name="<b>species</b>")


def make_class_model():
    return LocalEGOPClassifier(n_iter=2, n_jobs=1, final="polynomial").fit(*make_class_rows(150, 0))


def near(found, expected):
    """Whether numbers of a page are those of Python."""
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-9, atol=1e-12)
