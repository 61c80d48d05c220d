"""The table of the package's structure, made for a small package in which everything is known."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import house  # noqa: E402

FILES = {
    "__init__.py": '"""A package."""\n\nfrom made.first import one\n',
    "first.py": '"""Imports second, which imports it back."""\n\nimport made.second\n\n\n'
    'def one(self, a, b=1, *args, c: int, **rest) -> int:\n    """Add.\n\n    More.\n    """\n'
    "    total = a + b  # a comment\n\n    # another\n    return (\n        total + c\n    )\n",
    "second.py": "from . import first\nfrom numpy import array\n",
    "third.py": "def lazily():\n    from .inner import fourth\n\n    return fourth\n",
    "inner/__init__.py": "",
    "inner/fourth.py": "import typing\n\nif typing.TYPE_CHECKING:\n    from ..third import lazily\n"
    "else:\n    from made import _core\n",
    "_hidden.py": "import made.inner.fourth\n",
    "_core.pyi": "number: int\n",
    "paper/__init__.py": "from made.first import one\nfrom made._hidden import x\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "made"


@pytest.fixture
def modules(tree):
    return {module.name: module for module in house.read_tree(tree)}


def test_imports_are_found_eager_and_lazy(modules):
    assert modules["made"].eager == {"made.first"}
    assert modules["made.second"].eager == {"made.first"}
    assert modules["made.third"].eager == set()
    assert modules["made.third"].lazy == {"made.inner.fourth"}
    assert modules["made.inner.fourth"].lazy == {"made.third"}
    assert modules["made.inner.fourth"].eager == {"made._core"}


def test_function_length_leaves_out_docstring_comments_and_blank_lines(modules):
    (one,) = modules["made.first"].functions
    assert (one.length, one.parameters) == (4, 3)
    assert one.has_docstring and one.has_return_type and one.public
    (lazily,) = modules["made.third"].functions
    assert (lazily.length, lazily.has_docstring, lazily.has_return_type) == (2, False, False)


def test_code_lines_of_a_file(modules):
    assert (modules["made.first"].lines, modules["made.first"].code_lines) == (16, 6)
    source = 'x = """one\n\ntwo"""\n'  # a string that is no docstring counts with its blank line
    assert house.code_lines_of(source, ast.parse(source)) == {1, 2, 3}


def test_cycles(modules):
    eager = house.import_graph(list(modules.values()), lazy=False)
    both = house.import_graph(list(modules.values()), lazy=True)
    assert house.cycles(eager) == [["made.first", "made.second"]]
    assert house.cycles(both) == [["made.first", "made.second"], ["made.inner.fourth", "made.third"]]


def test_longer_cycles_are_one_group():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert house.cycles(graph) == [["a", "b", "c"], ["d", "e"]]
    assert house.import_depth(graph) == 6


def test_depth_and_fans(modules):
    chain = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert house.import_depth(chain) == 3
    assert house.fan_in(list(modules.values())) == "3 (`first`)"
    assert house.fan_out(list(modules.values())) == "2 (`paper`)"


def test_product_leaves_out_research(modules):
    product = house.without(list(modules.values()), house.RESEARCH)
    assert {module.name for module in modules.values()} - {m.name for m in product} == {"made.paper"}
    assert house.at_root(product, underscored=False) == "4 (3 modules, 1 packages)"
    assert house.at_root(list(modules.values()), underscored=False) == "5 (3 modules, 2 packages)"
    assert house.at_root(product, underscored=True) == "1 (1 modules, 0 packages)"


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 100])
def test_percentile_is_exceeded_by_at_most_a_tenth(count):
    values = [7 * k % count for k in range(count)]
    found = house.percentile_90(values)
    assert sum(value > found for value in values) <= 0.1 * count
    assert sum(value < found for value in values) <= 0.9 * count


def test_two_trees_side_by_side(tree, capsys):
    house.main([str(tree), str(tree), "--apart", "third,inner"])
    printed = capsys.readouterr().out
    assert "| | before, product | before, all | after, product | after, all |" in printed
    assert "| Python files | 5 | 8 | 5 | 8 |" in printed
    assert "| import cycles with lazy imports | 1 | 2 | 1 | 2 |" in printed
    assert "- after, cycle at import time, 2 modules: `first`, `second`" in printed
    assert "- after, cycle with lazy imports, 2 modules: `inner.fourth`, `third`" in printed


def test_the_present_package_has_no_cycle_at_import_time(capsys):
    house.main([])
    printed = capsys.readouterr().out
    assert "| import cycles at import time | 0 | 0 |" in printed


def test_wrong_trees_are_refused(tree, capsys):
    with pytest.raises(SystemExit, match=r"is not the folder of a package"):
        house.main([str(tree.parent)])
    with pytest.raises(SystemExit):
        house.main([str(tree)] * 3)
    assert "at most two source trees" in capsys.readouterr().err
