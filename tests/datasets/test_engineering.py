"""Test functions of engineering, their gradients by complex steps."""

import numpy as np
import pytest

from localegop.datasets import make_engineering
from localegop.datasets.engineering import FUNCTIONS

# at the middle of all ranges, computed with the published formulas in one line each
MIDDLE = {"borehole": 70.886, "otl_circuit": 5.3106, "piston": 0.4643, "wing_weight": 267.62}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_complex_steps(name):
    function = FUNCTIONS[name]
    X, y, gradients = make_engineering(name, 50, random_state=1)
    low, high = np.array(list(function.bounds.values())).T
    assert ((low <= X) & (high >= X)).all() and np.isrealobj(y)
    for a, unit in enumerate(np.eye(len(low))):
        slope = function(X + 1e-30j * unit).imag / 1e-30
        assert gradients[:, a] == pytest.approx(slope, rel=1e-8, abs=1e-12 * np.abs(slope).max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_in_the_middle_of_the_ranges(name):
    middle = np.mean(list(FUNCTIONS[name].bounds.values()), axis=1)
    assert FUNCTIONS[name](middle[None])[0] == pytest.approx(MIDDLE[name], rel=2e-3)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"must be one of 'borehole', .*got 'hole'"):
        make_engineering("hole")
    with pytest.raises(ValueError, match="n_samples"):
        make_engineering("piston", 0)
    with pytest.raises(ValueError, match=r"7 columns M, S, .*shape \(2, 3\)"):
        FUNCTIONS["piston"](np.zeros((2, 3)))
