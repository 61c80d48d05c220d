"""What commands tell about a choice."""

import pytest

from localegop import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop.cli.facts import _choice_facts, _choice_text


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (
            Choice(4, 60.0, Polynomial(2, 3, 1e-4), 0.1),
            "step 4, effective size 60, polynomial of degree 2 in 3 directions, ridge 1.0e-04",
        ),
        (Choice(0, None, Polynomial(0, 0, 0.1)), "step 0, polynomial of degree 0, ridge 1.0e-01"),
        (
            Choice(1, 60.0, Kriging(2.0, 1e-2)),
            "step 1, effective size 60, kriging of length 2, ridge 1.0e-02",
        ),
        (
            Choice(1, 60.0, Kriging(16.0, 1.0, trend=False, rough=True)),
            "step 1, effective size 60, rough kriging without trend of length 16, ridge 1.0e+00",
        ),
    ],
)
def test_choices_in_words(choice, text):
    assert _choice_text(choice) == text


def test_choices_as_facts():
    facts = _choice_facts(Choice(4, 60.0, Polynomial(2, 3, 1e-4), 0.1))
    assert facts == {
        "step": 4,
        "size": 60.0,
        "error": 0.1,
        "final": "polynomial",
        "degree": 2,
        "n_quadratic_directions": 3,
        "ridge": 1e-4,
    }
    assert _choice_facts(Choice(1, 60.0, Kriging(2.0, 1e-2)))["length"] == 2.0
