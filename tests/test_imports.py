"""The house rules on imports: the reference stands alone, nothing heavy at start, no machine paths."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import localegop

PACKAGE = Path(localegop.__file__).parent


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_reference_imports_nothing_from_the_rest():
    modules = set(imported_modules(PACKAGE / "reference.py"))
    assert not {m for m in modules if m.startswith((".", "localegop"))}
    allowed = {"numpy", "numpy.typing"}
    assert {m for m in modules if m.split(".")[0] not in sys.stdlib_module_names} <= allowed


def test_import_leaves_optional_packages_alone():
    # pandas is not among them: scikit-learn imports it where it is installed.
    optional = {"matplotlib", "torch", "dask", "statsmodels", "skimage"}
    code = f"import sys, localegop, localegop.datasets; print(sorted({optional} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


RESEARCH = "localegop.research"
PRODUCT = [path for path in PACKAGE.rglob("*.py") if PACKAGE / "research" not in path.parents]


def research_named_in(path, text=None):
    """Names of research modules that a file imports, at its top or later, or holds in a string."""
    package = ["localegop", *path.relative_to(PACKAGE).parent.parts]
    names = []
    for node in ast.walk(ast.parse(text or path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*start, *filter(None, [node.module])])
            names += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            names.append(re.sub(r"^\.+", "localegop.", node.value))
    return [name for name in names if f"{name}.".startswith(f"{RESEARCH}.")]


@pytest.mark.parametrize(
    "line",
    [
        "import localegop.research.peers",
        "def f():\n    from localegop import research",
        "from ..research.theory import egop",
        "from .. import research",
        "import_module('localegop.research.paper')",
        "import_module(f'localegop.research.{name}')",
        "import_module('.research', 'localegop')",
    ],
)
def test_imports_of_research_are_found(line):
    assert research_named_in(PACKAGE / "cli" / "fit.py", line)


def test_the_product_imports_nothing_of_research():
    found = {str(path.relative_to(PACKAGE)): research_named_in(path) for path in PRODUCT}
    assert len(PRODUCT) > 50
    assert {path: names for path, names in found.items() if names} == {
        str(Path("cli") / "__init__.py"): ["localegop.research.paper.cli"]  # by name, in COMMANDS
    }


def test_without_research_the_rest_works_and_the_command_says_so():
    code = """
import pkgutil, sys
from importlib import import_module
sys.modules["localegop.research"] = None  # as if its folder were not there
import localegop
for module in pkgutil.walk_packages(localegop.__path__, "localegop."):
    if not module.name.startswith("localegop.research") and not module.name.endswith("__main__"):
        import_module(module.name)
from localegop.cli import main
print("codes", main(["--version"]), main(["paper", "run", "sphere", "--quick"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "codes 0 1"
    line = "localegop.research is not installed, so the paper cannot be reproduced: install localegop again"
    assert done.stderr.strip() == f"localegop: error: {line}"


def test_help_starts_without_scikit_learn():
    code = "import sys\nfrom localegop.cli import main\ntry:\n main(['--help'])\nexcept SystemExit: pass\n"
    code += "print('heavy', sorted({'sklearn', 'scipy', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "heavy []"
    assert localegop.LocalEGOPRegressor.__module__ == "localegop.regressor"
    assert "LocalEGOPRegressor" in dir(localegop)
