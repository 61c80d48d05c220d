"""Every public name is in the reference and has an example that runs as a doctest."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import localegop

REFERENCE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
MODULES = ("datasets", "displays", "distributed", "kernels", "reference", "schedules")


def public_objects():
    """Classes and functions that users may import, by their full names."""
    found = {f"localegop.{name}": getattr(localegop, name) for name in localegop.__all__}
    for name in MODULES:
        module = import_module(f"localegop.{name}")
        for each in getattr(module, "__all__", vars(module)):
            thing = getattr(module, each)
            own = inspect.isclass(thing) or inspect.isfunction(thing)
            if own and not each.startswith("_") and thing.__module__.startswith(f"localegop.{name}"):
                found[f"localegop.{name}.{each}"] = thing
    return found


@pytest.mark.parametrize("name", sorted(public_objects()))
def test_every_public_name_has_an_example(name):
    assert ">>> " in inspect.getdoc(public_objects()[name])


def test_the_reference_lists_what_the_package_exports():
    listed = set(re.findall(r"^   localegop\.([\w.]+)$", REFERENCE, re.M))
    assert listed == {*localegop.__all__, *MODULES}
