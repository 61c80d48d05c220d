"""The table of all items: everything it names exists, and the stored page is what the command writes."""

from pathlib import Path

import pytest

from localegop.research.fidelity import __main__ as fidelity

DOCS = Path(__file__).parents[2] / "docs"


def test_there_are_62_items_and_nothing_is_missing():
    items = fidelity.read_items()
    assert len(items) == 62
    assert [name for item in items for name in fidelity.missing_names(item, DOCS)] == []
    text = fidelity.page(items, DOCS)
    assert "missing" not in text.lower()
    assert all(fidelity.verdict(item, DOCS) for item in items)


def test_the_stored_page_is_up_to_date():
    assert (DOCS / "fidelity.md").read_text(encoding="utf-8") == fidelity.page(fidelity.read_items(), DOCS)


@pytest.mark.parametrize(
    "changed",
    [
        "x | reference:no_such_name | test_reference.py::* | theory.md | | words",
        "x | reference:local_egop | test_reference.py::test_no_such | theory.md | | words",
        "x | reference:local_egop | test_reference.py::* | no_such.md | | words",
        "x | reference:local_egop | test_reference.py::* | theory.md | No such row | words",
    ],
)
def test_what_does_not_exist_is_found(changed):
    (item,) = fidelity.read_items(changed)
    assert len(fidelity.missing_names(item, DOCS)) == 1
