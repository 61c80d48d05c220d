"""The script that changes code to see whether tests notice: what it changes, and what it leaves alone."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import mutants


def changes(code):
    """All versions of some code with one change."""
    counter = mutants.Changer()
    counter.visit(ast.parse(code))
    found = []
    for number in range(len(counter.found)):
        tree = mutants.Changer(number).visit(ast.parse(code))
        found.append(ast.unparse(ast.fix_missing_locations(tree)))
    return found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b", ["a >= b"]),
        ("a + b", ["a - b"]),
        ("-a", ["a"]),
        ("n = 3", ["n = 4"]),
        ("n = 300", ["n = 900"]),
        ("FAR, CROWD = 3, a", ["FAR, CROWD = (4, a)"]),
        ("x = 0.5", ["x = 1.5"]),
        ("f(True)", ["f(False)"]),
        ("min(a)", ["max(a)"]),
        ("np.argmax(a)", ["np.argmin(a)"]),
        ("a if b else c", ["c if b else a"]),
        ("a and b", ["a or b"]),
        ("if a:\n    b\nelse:\n    c", ["if a:\n    c\nelse:\n    b"]),
        ("if a:\n    b", ["if not a:\n    b"]),
        ("a = [1] + b", ["a = [2] + b"]),
    ],
)
def test_one_thing_is_changed_at_a_time(code, expected):
    assert changes(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError(3 + 4)",
        "f'{1 + 2} rows'",
        "'text' + name",
        "zip(a, b, strict=True)",
        "def bytes_each(self):\n    return 8 * 3",
        "from a import min",
        "x: Literal[3]",
        "BLOCK = 512",
        "x = 0x9E3779B97F4A7C15",
        "CROWDED_DIMENSION, CROWD = 8, 200_000",
        "def query_seeds(rows, seed):\n    return rows * 3 + seed",
    ],
)
def test_what_decides_nothing_is_left_alone(code):
    assert changes(code) == []


def test_every_file_that_computes_has_tests_and_can_be_changed():
    every = list(mutants.all_mutants())
    files = {each.file for each in every}
    assert len(every) > 1000 and {file.split("/")[0] for file in files} == set(mutants.FOLDERS)
    for file in files:
        assert len(mutants.tests_for(file)) >= len(mutants.RULES)
    for file, others in mutants.ALSO.items():
        assert (mutants.PACKAGE / file).exists(), file
        assert all((mutants.ROOT / "tests" / each).exists() for each in others), others
