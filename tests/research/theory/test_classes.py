"""What of the theory carries over to classes."""

import numpy as np
import pytest

from localegop.research.theory.claims import SECTIONS, classes


@pytest.mark.parametrize("floor", classes.FLOORS)
def test_bias_and_excess_are_bounded(floor):
    for scale in classes.SCALES:
        run = classes.three_classes(floor, scale)
        assert 0.0 < run.bias <= run.bound
        assert 0.0 < run.excess <= run.bound / floor


def test_small_excess_is_that_of_squared_errors_over_probabilities():
    run = classes.two_classes(0.5 * np.pi, 0.01)  # p = 1/2: excess is bias / (2 p), summed over two classes
    assert run.excess == pytest.approx(run.bias, rel=1e-3)
    assert run.form == pytest.approx(2.0 * 0.25 * 0.01**2, rel=1e-3)


def test_nothing_bounds_excess_where_a_probability_is_zero():
    near, nearer = (classes.two_classes(0.0, width) for width in (0.1, 0.01))
    assert nearer.excess / nearer.form > 90.0 * near.excess / near.form
    assert classes.excess_slope(0.5 * np.pi) == pytest.approx(0.0, abs=0.05)


def test_all_rows_of_the_page_hold():
    assert [claim.holds for claim in SECTIONS["Classes"]()] == [True] * 3
