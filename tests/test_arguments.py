"""The shared checks of arguments: what passes comes back in its working form, the rest is named."""

import re
from functools import partial

import numpy as np
import pytest

from localegop import _arguments as arguments


def test_allowed_values_come_back_in_their_working_form():
    count = arguments.check_count("n", np.int64(3), 1, 3)
    assert count == 3 and type(count) is int
    number = arguments.check_real("x", np.float32(0.5), least=0.5, most=0.5)
    assert number == 0.5 and type(number) is float
    assert arguments.check_optional_positive("x", None) is None
    assert arguments.check_interval("range", [1, 2]) == (1.0, 2.0)
    assert arguments.check_choice("kind", "a", {"a": 1, "b": 2}) == "a"
    np.testing.assert_array_equal(arguments.check_points("X", [[1, 2]]), [[1.0, 2.0]])
    F = arguments.factor_of("covariance", [[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(F @ F.T, [[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(arguments.check_count, "n", 0), "n=0 is not allowed: give an integer >= 1."),
        (partial(arguments.check_count, "n", True), "n=True is not allowed: give an integer >= 1."),
        (
            partial(arguments.check_count, "n", 5, 1, 4, " here"),
            "n=5 is not allowed: give an integer from 1 to 4 here.",
        ),
        (partial(arguments.check_real, "x", "1"), "x='1' is not allowed: give a finite number."),
        (partial(arguments.check_real, "x", np.inf), "x=inf is not allowed: give a finite number."),
        (
            partial(arguments.check_real, "x", 1.0, least=0, below=1, why=", so it falls"),
            "x=1.0 is not allowed: give a finite number >= 0 and < 1, so it falls.",
        ),
        (
            partial(arguments.check_real, "x", 0, above=0, most=1),
            "x=0 is not allowed: give a finite number > 0 and <= 1.",
        ),
        (partial(arguments.check_positive, "x", -2), "x=-2 is not allowed: give a finite number > 0."),
        (partial(arguments.check_choice, "k", 1, ("a", "b")), "k=1 is not allowed: give one of 'a', 'b'."),
        (
            partial(arguments.check_points, "X", "abc"),
            "X does not hold numbers (could not convert string to float: 'abc'): "
            "give points of shape (k, D).",
        ),
        (
            partial(arguments.check_point, "x0", [np.nan]),
            "x0 contains NaN or infinite values: give one point of shape (D,), all finite.",
        ),
        (
            partial(arguments.check_symmetric, "H", np.ones((2, 3)), 2),
            "H has shape (2, 3): give a symmetric matrix of shape (2, 2).",
        ),
    ],
)
def test_refused_values_are_named_with_what_to_give(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_a_random_state_that_is_an_object_goes_on():
    state = np.random.RandomState(0)
    first, second = (arguments.as_generator(state).random() for _ in range(2))
    assert first != second
    assert arguments.as_generator(3).random() == arguments.as_generator(3).random()
