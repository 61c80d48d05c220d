"""Generators that the tests of a file share begin anew with each test; see conftest.py."""

from copy import deepcopy

import numpy as np
import pytest

RNG = np.random.default_rng(0)
BEFORE = RNG.normal(size=3)  # drawn by the file: tests go on from here
FIRST = deepcopy(RNG).normal(size=5).tolist()


@pytest.mark.parametrize("time", range(3))
def test_every_test_draws_as_if_it_were_the_first(time):
    assert RNG.normal(size=5).tolist() == FIRST
    RNG.normal(size=time)
