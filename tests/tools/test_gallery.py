"""Examples of the gallery: pages can be made of them, they use what is public, and they run."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "gallery"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
PUBLIC = {"localegop", *(f"localegop.{name}" for name in ("datasets", "displays", "distributed"))}
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


def test_there_are_examples():
    assert len(EXAMPLES) >= 12
    assert [int(path.stem.split("_")[1]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@each_example
def test_it_begins_with_a_title_and_what_it_answers(example):
    title, line, empty, *text = ast.get_docstring(
        ast.parse(example.read_text(encoding="utf-8"))
    ).splitlines()
    assert line == "=" * len(title)
    assert empty == ""
    assert text


@each_example
def test_it_imports_what_is_public(example):
    tree = ast.parse(example.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("localegop")} <= PUBLIC


@each_example
def test_its_tables_are_there(example):
    tables = re.findall(r'"(\.\./data/[^"]+)"', example.read_text(encoding="utf-8"))
    assert [table for table in tables if not (FOLDER / table).is_file()] == []


@pytest.mark.slow
@each_example
def test_it_runs(example):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", example.name]
    subprocess.run(command, cwd=FOLDER, env=environment, check=True, capture_output=True, timeout=600)
