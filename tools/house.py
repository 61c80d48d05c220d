"""Measure how the package is built, for one source tree or for two side by side, as a Markdown table.

    python tools/house.py                       # the present src/localegop
    python tools/house.py OLD/src/localegop src/localegop

*Product* is everything except the research packages (``--apart`` names others). An import counts as lazy
inside a function or under ``TYPE_CHECKING``; modules named by strings (``import_module``) are not seen.
Code lines leave out docstrings, blank lines and comments; the length of a function is that of its body. A
cycle is a strongly connected component of the import graph. Importing a submodule does not count as
importing its package.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PRESENT = Path(__file__).parents[1] / "src" / "localegop"
RESEARCH = ("research", "paper", "theory", "peers")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | FunctionNode
Graph = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Function:
    """One function or method."""

    name: str
    length: int
    parameters: int
    has_docstring: bool
    has_return_type: bool

    @property
    def public(self) -> bool:
        """Whether the name starts without an underscore."""
        return not self.name.startswith("_")


@dataclass(frozen=True)
class Module:
    """One file: its size, its functions, and the modules of the package that it imports."""

    name: str
    is_package: bool
    lines: int
    code_lines: int
    functions: tuple[Function, ...]
    eager: frozenset[str]
    lazy: frozenset[str]

    @property
    def imports(self) -> frozenset[str]:
        """All imports, eager and lazy."""
        return self.eager | self.lazy


# Reading one file


def code_lines_of(source: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node) is not None:
            lines.difference_update(_lines_of(node.body[0]))
    return lines


def _lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def functions_of(tree: ast.Module, code: set[int]) -> Iterator[Function]:
    """Yield every function of a file, methods and inner functions too."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            yield Function(
                node.name,
                length=len(code.intersection(range(node.body[0].lineno, _lines_of(node).stop))),
                parameters=_parameter_count(node.args),
                has_docstring=ast.get_docstring(node) is not None,
                has_return_type=node.returns is not None,
            )


def _parameter_count(arguments: ast.arguments) -> int:
    """Count parameters, without ``self``, ``cls``, ``*args`` and ``**kwargs``."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named)


def import_statements(node: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield import statements, each with whether it runs later than the import of the file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from import_statements(ast.Module(child.body, []), True)
            yield from import_statements(ast.Module(child.orelse, []), lazy)
        else:
            yield from import_statements(child, lazy or isinstance(child, FunctionNode))


def imported_names(statement: ast.stmt, package: str) -> list[str]:
    """Return the full dotted names that a statement imports; relative ones start at ``package``."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert isinstance(statement, ast.ImportFrom)
    source = statement.module or ""
    if statement.level:
        parents = package.split(".")
        parents = parents[: len(parents) - statement.level + 1]
        source = ".".join([*parents, source]).rstrip(".")
    return [f"{source}.{alias.name}" for alias in statement.names]


def known_module(name: str, known: Collection[str]) -> str | None:
    """Return the module that a dotted name is or lies in, or None if it belongs to another package."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def read_module(path: Path, name: str, known: Collection[str]) -> Module:
    """Measure one file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    code = code_lines_of(source, tree)
    is_package = path.stem == "__init__"
    package = name if is_package else name.rpartition(".")[0]
    imports: dict[bool, set[str]] = {False: set(), True: set()}
    for statement, lazy in import_statements(tree):
        found = (known_module(target, known) for target in imported_names(statement, package))
        imports[lazy].update(target for target in found if target not in (None, name))
    return Module(
        name,
        is_package,
        len(source.splitlines()),
        len(code),
        tuple(functions_of(tree, code)),
        frozenset(imports[False]),
        frozenset(imports[True]),
    )


# Reading a tree


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file, starting with the name of the package."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_tree(root: Path) -> list[Module]:
    """Measure every Python file below a package's folder."""
    if not (root / "__init__.py").is_file():
        raise SystemExit(f"{root} is not the folder of a package: it has no __init__.py")
    files = {module_name(path, root): path for path in sorted(root.rglob("*.py"))}
    stubs = {module_name(path, root) for path in root.rglob("*.pyi")}  # compiled modules
    return [read_module(path, name, files.keys() | stubs) for name, path in files.items()]


def without(modules: Sequence[Module], apart: Collection[str]) -> list[Module]:
    """Leave out packages and modules at the root by name."""
    return [module for module in modules if (module.name + "..").split(".")[1] not in apart]


def root_names(modules: Sequence[Module]) -> dict[str, bool]:
    """Return the names directly below the root, each with whether it is a package."""
    top = {m.name.split(".")[1]: m.is_package for m in modules if m.name.count(".") == 1}
    return {name: package for name, package in top.items() if not name.startswith("__")}


# The import graph


def import_graph(modules: Sequence[Module], lazy: bool) -> dict[str, set[str]]:
    """Return who imports whom among these modules, with or without lazy imports."""
    names = {module.name for module in modules}
    return {m.name: set(m.imports if lazy else m.eager) & names for m in modules}


def components(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components, imported ones before those that import them (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in order:
                visit(target)
            if target in stack:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == order[node]:
            found.append(stack[stack.index(node) :])
            del stack[stack.index(node) :]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    return sorted(sorted(group) for group in components(graph) if len(group) > 1)


def import_depth(graph: Graph) -> int:
    """Count the modules in the longest chain of imports; a cycle counts with all its modules."""
    depth: dict[str, int] = {}
    for group in components(graph):
        below = {target for node in group for target in graph[node]} - set(group)
        length = len(group) + max((depth[target] for target in below), default=0)
        depth.update(dict.fromkeys(group, length))
    return max(depth.values(), default=0)


def largest(counts: Mapping[str, int]) -> str:
    """Name the module with the largest count."""
    name = min(counts, key=lambda name: (-counts[name], name))
    return f"{counts[name]} (`{_short(name)}`)"


def fan_in(modules: Sequence[Module]) -> str:
    """Say which module is imported by the most others."""
    names = [module.name for module in modules]
    return largest({name: sum(name in module.imports for module in modules) for name in names})


def fan_out(modules: Sequence[Module]) -> str:
    """Say which module imports the most others."""
    return largest({name: len(targets) for name, targets in import_graph(modules, lazy=True).items()})


def _short(name: str) -> str:
    """Drop the package's own name."""
    return name.partition(".")[2] or name


# The table


def at_root(modules: Sequence[Module], underscored: bool) -> str:
    """Count the public or underscored names at the root."""
    kinds = [
        package for name, package in root_names(modules).items() if name.startswith("_") == underscored
    ]
    return f"{len(kinds)} ({kinds.count(False)} modules, {kinds.count(True)} packages)"


def distribution(values: Sequence[int]) -> str:
    """Return median, 90th percentile and maximum."""
    return f"{statistics.median(values):g} / {percentile_90(values)} / {max(values)}"


def percentile_90(values: Sequence[int]) -> int:
    """Return the smallest value that is larger than or equal to nine tenths of the values."""
    return sorted(values)[min(int(0.9 * len(values)), len(values) - 1)]


def share(marks: Sequence[bool]) -> str:
    """Return the share of marks that are set."""
    return f"{100.0 * sum(marks) / len(marks):.0f} %" if marks else "-"


def _functions(modules: Sequence[Module]) -> list[Function]:
    return [function for module in modules for function in module.functions]


def _parameters(modules: Sequence[Module]) -> str:
    counts = [function.parameters for function in _functions(modules)]
    return f"{percentile_90(counts)} / {max(counts)}"


def _docstrings(modules: Sequence[Module]) -> str:
    functions = _functions(modules)
    public = share([function.has_docstring for function in functions if function.public])
    return f"{public} ({share([function.has_docstring for function in functions])})"


ROWS: dict[str, Callable[[Sequence[Module]], str]] = {
    "public names at the root": lambda modules: at_root(modules, underscored=False),
    "underscored names at the root": lambda modules: at_root(modules, underscored=True),
    "Python files": lambda modules: f"{len(modules)}",
    "lines (code lines)": lambda modules: (
        f"{sum(m.lines for m in modules):,} ({sum(m.code_lines for m in modules):,})"
    ),
    "lines of a file: median / p90 / max": lambda modules: distribution([m.lines for m in modules]),
    "functions": lambda modules: f"{len(_functions(modules)):,}",
    "code lines of a function: median / p90 / max": lambda modules: distribution(
        [function.length for function in _functions(modules)]
    ),
    "parameters: p90 / max": _parameters,
    "largest fan-in": fan_in,
    "largest fan-out": fan_out,
    "import depth": lambda modules: f"{import_depth(import_graph(modules, lazy=False))}",
    "import cycles at import time": lambda modules: f"{len(cycles(import_graph(modules, lazy=False)))}",
    "import cycles with lazy imports": lambda modules: f"{len(cycles(import_graph(modules, lazy=True)))}",
    "docstrings, public functions (all)": _docstrings,
    "return types": lambda modules: share([f.has_return_type for f in _functions(modules)]),
}


def table(trees: Mapping[str, Sequence[Module]], apart: Collection[str]) -> str:
    """Return the Markdown table of trees by their titles, each as product and as a whole."""
    columns = {}
    for title, modules in trees.items():
        columns[f"{title}product"] = without(modules, apart)
        columns[f"{title}all"] = list(modules)
    lines = [f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for label, measure in ROWS.items():
        lines.append(f"| {label} | {' | '.join(measure(modules) for modules in columns.values())} |")
    return "\n".join(lines)


def list_cycles(title: str, modules: Sequence[Module]) -> list[str]:
    """Return one line for every cycle of a tree."""
    lines = []
    for kind, lazy in (("at import time", False), ("with lazy imports", True)):
        for group in cycles(import_graph(modules, lazy)):
            names = ", ".join(f"`{_short(name)}`" for name in group)
            lines.append(f"- {title}cycle {kind}, {len(group)} modules: {names}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and the cycles below it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", nargs="*", type=Path, help="folder of the package; two: before and after")
    parser.add_argument(
        "--apart",
        metavar="NAMES",
        default=",".join(RESEARCH),
        help="names at the root that are not product, separated by commas (default: %(default)s)",
    )
    given = parser.parse_args(arguments)
    if len(given.source) > 2:
        parser.error(f"at most two source trees can be compared, got {len(given.source)}")
    sources = given.source or [PRESENT]
    titles = ["before, ", "after, "] if len(sources) == 2 else [""]
    trees = {title: read_tree(source) for title, source in zip(titles, sources, strict=True)}
    print(table(trees, given.apart.split(",")))
    notes = [line for title, modules in trees.items() for line in list_cycles(title, modules)]
    print("\n" + "\n".join(notes or ["No import cycles."]))


if __name__ == "__main__":
    main()
