"""Every script of benchmarks, tools and examples can be started, those that nobody has run for long too."""

import importlib
import runpy
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "tools", "examples")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))
# The gallery's examples do all their work when imported; tests/tools/test_gallery.py runs them.
PARTS = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).glob("*/*.py") if path.parent.name != "gallery"
)
# Needed by one script only and not on every machine; where missing, something empty takes their place.
RARE = ("ase", "ase.data", "ase.md", "ase.md.langevin", "ase.optimize", "tblite", "tblite.ase")
REPLACED = tuple(name for name in RARE if find_spec(name.split(".")[0]) is None)


def relative(path):
    return path.relative_to(ROOT).as_posix()


class Anything(types.ModuleType):
    """A module that has whatever is asked of it."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)


@pytest.fixture(autouse=True)
def as_started_by_hand(monkeypatch):
    """Leave modules and paths of this process as they were."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in REPLACED:
        monkeypatch.setitem(sys.modules, name, Anything(name))


@pytest.mark.parametrize("script", SCRIPTS, ids=relative)
def test_every_script_starts(script, monkeypatch, capsys):
    """It is imported, or asked for help if it takes arguments."""
    monkeypatch.syspath_prepend(script.parent)
    if "ArgumentParser(" not in script.read_text(encoding="utf-8"):
        assert runpy.run_path(str(script), run_name="imported")["__doc__"]
        return
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(script), run_name="__main__")
    assert stop.value.code == 0
    assert f"usage: {script.name}" in capsys.readouterr().out


@pytest.mark.parametrize("part", PARTS, ids=relative)
def test_every_part_of_a_script_is_imported(part, monkeypatch):
    monkeypatch.syspath_prepend(part.parents[1])
    name = part.parent.name if part.stem == "__init__" else f"{part.parent.name}.{part.stem}"
    assert Path(importlib.import_module(name).__file__) == part


def test_scripts_are_found():
    assert {path.parent.name for path in SCRIPTS} == set(FOLDERS)
