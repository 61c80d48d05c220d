"""Fitted models that the tests of displays share."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from tests.displays.examples import (
    FRAME,
    HELIX_Y,
    IMAGE,
    PLANE_X,
    PLANE_Y,
    QUERIES,
    QUICK,
    TWO_Y,
)

from localegop import LocalEGOPRegressor
from localegop.datasets import image_samples


@pytest.fixture(autouse=True)
def quiet_figures():
    before = plt.get_fignums()
    plt.switch_backend("Agg")
    yield
    for number in set(plt.get_fignums()) - set(before):
        plt.close(number)


@pytest.fixture(scope="session")
def plane():
    return LocalEGOPRegressor(**QUICK).fit(PLANE_X, PLANE_Y)


@pytest.fixture(scope="session")
def field():
    return LocalEGOPRegressor(**QUICK).fit(FRAME, pd.Series(HELIX_Y, name="depth"))


@pytest.fixture(scope="session")
def fits(field):
    return field.localize(FRAME[QUERIES], trace=True)


@pytest.fixture(scope="session")
def query_fits():
    paper = LocalEGOPRegressor.paper_parameters() | {"n_iter": 12, "n_subsamples": 30, "n_jobs": 1}
    return LocalEGOPRegressor(**paper).fit(PLANE_X, PLANE_Y).localize(PLANE_X[QUERIES], trace=True)


@pytest.fixture(scope="session")
def shared():
    return LocalEGOPRegressor(**QUICK).fit(FRAME, TWO_Y)


@pytest.fixture(scope="session")
def separate():
    return LocalEGOPRegressor(**QUICK, outputs="separate").fit(FRAME, TWO_Y)


@pytest.fixture(scope="session")
def picture():
    return LocalEGOPRegressor(**QUICK).fit(*image_samples(IMAGE))
