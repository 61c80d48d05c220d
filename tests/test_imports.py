"""The house rules on imports: the reference stands alone, nothing heavy at start, no machine paths."""

import ast
import subprocess
import sys
from pathlib import Path

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


def test_help_starts_without_scikit_learn():
    code = "import sys\nfrom localegop.cli import main\ntry:\n main(['--help'])\nexcept SystemExit: pass\n"
    code += "print('heavy', sorted({'sklearn', 'scipy', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "heavy []"
    assert localegop.LocalEGOPRegressor.__module__ == "localegop.regressor"
    assert "LocalEGOPRegressor" in dir(localegop)
