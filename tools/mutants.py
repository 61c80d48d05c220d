"""Change the code that computes, one small thing at a time, and see whether the tests notice.

    python tools/mutants.py --count 100 --seed 0 --jobs 2

Each *mutant* is a copy of the package with one change: another constant, a comparison turned round, a sign,
min for max, swapped branches. The quick tests that bear on the changed file run on it; a mutant is noticed
if one of them fails, or takes longer than all tests without a change. At the end stand the share noticed
and the mutants that were not: each is a test that is missing, or a change that does not matter, which takes
reading to tell. Nothing of the working copy is touched.

What does not decide results is left alone: messages, types, memory estimates, hints for speed, how much is
done at a time, the constants of a hash.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "localegop"
FOLDERS = ("_engine", "_selection", "_fit", "_predict", "_data")
# Files that keep, name or read things, and have tests of their own kind (altered files, hostile inputs).
LEFT_ALONE = {
    "storage.py", "file_rules.py", "parameters.py", "tracing.py", "archive.py", "schema.py", "inputs.py",
    "table_columns.py", "blas.py", "threads.py", "chunks.py", "remembering.py", "later.py", "__init__.py",
}  # fmt: skip
# The last one is a hash: any constants that mix well would do, and none of them is a decision.
FUNCTIONS_LEFT_ALONE = {"bytes_each", "__repr__", "__str__", "_repr_html_", "query_seeds"}
# How much is done or kept at a time, and which of two ways to search that find the same neighbors is taken:
# time and memory change with them, results do not (tests compare the ways and the sizes of parts).
CONSTANTS_LEFT_ALONE = {
    "BLOCK", "STRIP", "PART", "KEPT_BYTES",
    "TREE_DIMENSION", "CROWDED_DIMENSION", "CROWD", "POINTS_PER_NEIGHBOR",
}  # fmt: skip
LARGEST_COUNT = 2**32  # larger whole numbers are factors of hashes
MANY = 10  # one more or less of so many decides nothing: these are tripled, as other constants are
KEYWORDS_LEFT_ALONE = {"strict", "optimize", "copy", "stacklevel", "threads", "kind", "frozen", "slots"}
CALLS_LEFT_ALONE = {"limited_blas", "chunks", "print"}  # threads, and how much is done at a time
# Besides RULES and tests/FOLDER/test_MODULE.py.
ALSO: dict[str, tuple[str, ...]] = {
    "_data/curves.py": ("fit/test_initial_curves.py",),
    "_engine/blend.py": ("predict/test_blending.py",),
    "_engine/choice.py": ("selection/test_search_grid.py", "selection/test_holdout.py"),
    "_engine/final_fits.py": ("selection/test_holdout.py", "engine/test_global_kriging.py"),
    "_engine/local_data.py": ("engine/test_centers.py", "engine/test_sites.py", "fit/test_pilot_fits.py"),
    "_engine/placement.py": ("engine/test_gradient_field.py",),
    "_engine/query_sampling.py": ("engine/test_recursion.py", "engine/test_core.py"),
    "_engine/settings.py": ("selection/test_search_grid.py",),
    "_engine/work.py": ("engine/test_sites.py", "fit/test_pilot_fits.py"),
    "_engine/lapack.py": ("selection/test_global_search.py",),
    "_selection/race.py": ("selection/test_final.py",),
    "_fit/blend_choice.py": ("predict/test_blending.py",),
    "_fit/leave_one_out.py": ("fit/test_process.py", "predict/test_gaps.py"),
    "_fit/backend.py": ("fit/test_process.py",),
    "_fit/initial_units.py": (
        "data/test_units.py",
        "fit/test_initial_curves.py",
        "test_skewed_features.py",
    ),
    "_fit/robustness.py": ("test_huber.py",),
    "_predict/blocks.py": ("predict/test_gaps.py",),
    "_predict/uncertainty.py": ("predict/test_gaps.py",),
    "_predict/model.py": (
        "predict/test_blending.py",
        "predict/test_support.py",
        "test_results.py",
        "predict/test_uncertainty.py",
    ),
    "_predict/decisions.py": ("fit/test_robustness.py",),
    "_predict/rivals.py": ("explain/test_errors.py",),
    "_data/rows.py": ("data/test_sums.py",),
    "_data/units.py": ("test_local_slopes.py",),
    "_data/class_labels.py": ("test_classifier.py",),
    "_engine/few_functions.py": ("predict/test_function_final.py",),
    "_fit/class_calibration.py": ("test_classifier.py",),
    "_fit/growing.py": ("fit/test_growing_with_slopes.py", "predict/test_function_final.py"),
    "_fit/trials.py": ("fit/test_plan.py",),
    "_predict/classes.py": ("test_classifier.py",),
    "_predict/coverage.py": ("predict/test_uncertainty.py",),
    "_selection/averaged_labels.py": ("fit/test_averaged_trial.py",),
    "_selection/climbing.py": ("selection/test_jagged_search.py",),
    "_selection/holdout.py": ("fit/test_trials.py",),
    "_selection/losses.py": ("selection/test_logistic_search.py", "test_classifier.py"),
    "_selection/tally.py": ("selection/test_final.py", "predict/test_rivals.py"),
}
RULES = ("test_rules_that_decide.py", "test_known_answers.py")  # for all that computes
SLOWER, LIMIT = 2.0, 60.0  # times the CPU seconds of all tests without a change; seconds if not known


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    number: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.what}"


SWAPPED_NAMES = {
    "min": "max", "minimum": "maximum", "argmin": "argmax", "all": "any", "floor": "ceil",
    "nanmin": "nanmax", "cumsum": "cumprod", "median": "mean",
}  # fmt: skip
SWAPPED_NAMES |= {after: before for before, after in SWAPPED_NAMES.items()}
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changed(node: ast.AST) -> ast.AST | None:
    """Return the node as a mutant has it, if it is one that can be changed."""
    match node:
        case ast.Constant(value=bool()):
            return ast.Constant(not node.value)
        case ast.Constant(value=int()) if abs(node.value) < LARGEST_COUNT:
            return ast.Constant(node.value + 1 if abs(node.value) < MANY else 3 * node.value)
        case ast.Constant(value=float()):
            return ast.Constant(3.0 * node.value if node.value else 1.0)
        case ast.Compare(ops=[op]) if type(op) in OPPOSITES:
            return ast.Compare(node.left, [OPPOSITES[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in OPPOSITES and not _joins(node):
            return ast.BinOp(node.left, OPPOSITES[type(op)](), node.right)
        case ast.BoolOp():
            return ast.BoolOp(OPPOSITES[type(node.op)](), node.values)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return node.operand
        case ast.Attribute(attr=name) if name in SWAPPED_NAMES:
            return ast.Attribute(node.value, SWAPPED_NAMES[name], node.ctx)
        case ast.Name(id=name, ctx=ast.Load()) if name in SWAPPED_NAMES:
            return ast.Name(SWAPPED_NAMES[name], node.ctx)
        case ast.IfExp():
            return ast.IfExp(node.test, node.orelse, node.body)
        case ast.If(orelse=[]):
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, [])
        case ast.If():
            return ast.If(node.test, node.orelse, node.body)
    return None


def _joins(node: ast.BinOp) -> bool:
    """Whether a sum puts sequences together."""
    sequences = (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp)
    texts = [
        isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
    ]
    return any(texts) or isinstance(node.left, sequences) or isinstance(node.right, sequences)


class Changer(ast.NodeTransformer):
    """Goes through what decides results, counts what can be changed, and changes one of it."""

    def __init__(self, number: int = -1) -> None:
        self.number, self.found = number, list[tuple[int, str]]()

    def visit(self, node: ast.AST) -> ast.AST:
        """Change a node, or look into it."""
        if self._is_left_alone(node):
            return node
        other = changed(node)
        if other is not None:
            self.found.append((node.lineno, f"{_told(node)}  ->  {_told(other)}"))  # type: ignore[attr-defined]
            if len(self.found) - 1 == self.number:
                return ast.copy_location(other, node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "type_params"):
                self._visit_field(node, name, value)
        return node

    def _visit_field(self, node: ast.AST, name: str, value: object) -> None:
        if isinstance(value, list):
            value[:] = [self.visit(each) if isinstance(each, ast.AST) else each for each in value]
        elif isinstance(value, ast.AST):
            setattr(node, name, self.visit(value))

    def _is_left_alone(self, node: ast.AST) -> bool:
        match node:
            case ast.FunctionDef(name=name):
                return name in FUNCTIONS_LEFT_ALONE
            case ast.keyword(arg=name):
                return name in KEYWORDS_LEFT_ALONE
            case ast.Call(func=ast.Name(id=name)):
                return name in CALLS_LEFT_ALONE
            case ast.Assign(targets=[target]):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                return all(isinstance(one, ast.Name) and one.id in CONSTANTS_LEFT_ALONE for one in names)
        return isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom))


def _told(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).split("\n")[0][:90]


def all_mutants(folders: Sequence[str] = FOLDERS) -> Iterator[Mutant]:
    """All changes that could be made."""
    for folder in folders:
        for path in sorted((PACKAGE / folder).glob("*.py")):
            if path.name not in LEFT_ALONE:
                changer = Changer()
                changer.visit(ast.parse(path.read_text()))
                for number, (line, what) in enumerate(changer.found):
                    yield Mutant(f"{folder}/{path.name}", number, line, what)


def tests_for(file: str) -> list[str]:
    """Test files that bear on a file of the package, the quickest first."""
    folder, name = file.split("/")
    wanted = [*RULES, f"{folder.strip('_')}/test_{name}", *ALSO.get(file, ())]
    return [str(ROOT / "tests" / each) for each in wanted if (ROOT / "tests" / each).exists()]


def copy_package(folder: Path) -> Path:
    """Copy the package, with its compiled core, to a folder."""
    target = folder / "localegop"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import localegop._core as core; print(core.__file__)"
    core = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    shutil.copy(core.strip(), target)
    return target


def begin(folder: Path, tests: Sequence[str], seconds: float) -> int:
    """Start tests in a fork, on the package in a folder; its number. What they need is imported already."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1), os.dup2(output, 2)
        sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in type(finder).__name__]
        sys.meta_path[:] = [
            finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__
        ]
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        import pytest

        import localegop

        assert localegop.__file__.startswith(str(folder)), localegop.__file__
        options = [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        code = int(pytest.main([*options, f"--rootdir={ROOT}", *tests]))
    finally:
        os._exit(code)


def import_what_tests_need() -> None:
    """Import other packages once, so that forks need not."""
    import hypothesis  # noqa: F401
    import joblib  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.spatial
    import scipy.special
    import scipy.stats  # noqa: F401
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection
    import sklearn.pipeline
    import sklearn.utils.validation  # noqa: F401


@dataclass
class Job:
    """Tests that run on a mutant."""

    mutant: Mutant | None
    folder: Path
    begun: float


class Runner:
    """Runs tests on packages, several at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.running = jobs, dict[int, Job]()

    def run(
        self, tasks: Iterator[tuple[Mutant | None, Path, Sequence[str], float]], done: Callable[..., None]
    ) -> None:
        """Run all tasks; ``done`` is told mutant, exit code and CPU seconds of each."""
        for mutant, folder, tests, seconds in tasks:
            while len(self.running) >= self.jobs:
                self._wait(done)
            self.running[begin(folder, tests, seconds)] = Job(mutant, folder, time.monotonic())
        while self.running:
            self._wait(done)

    def _wait(self, done: Callable[..., None]) -> None:
        child, status, usage = os.wait4(-1, 0)
        job = self.running.pop(child)
        done(job, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        shutil.rmtree(job.folder, ignore_errors=True)


def write_mutant(mutant: Mutant | None, original: Path, folder: Path) -> Path:
    """Put a copy of the package, with a change, into a folder of its own."""
    shutil.copytree(original, folder / "localegop", copy_function=os.link)
    if mutant is not None:
        path = folder / "localegop" / mutant.file
        tree = Changer(mutant.number).visit(ast.parse(path.read_text()))
        path.unlink()
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    return folder


def main() -> int:
    """Make mutants, run tests on them, and tell what was not noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, help="mutants; 0 for all there are")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=FOLDERS, help="folders, or files as in _fit/plan.py")
    parser.add_argument("--bar", type=float, default=0.85, help="share that must be noticed")
    parser.add_argument("--trust", action="store_true", help="the tests are known to pass without a change")
    parser.add_argument("--minutes", type=float, default=1e9, help="no mutant is begun after so long")
    arguments = parser.parse_args()
    start = time.monotonic()
    mutants = [each for each in all_mutants() if any(each.file.startswith(only) for only in arguments.only)]
    random.Random(arguments.seed).shuffle(mutants)
    there, mutants = len(mutants), mutants[: arguments.count or None]
    import_what_tests_need()
    seconds: list[float] = []
    outcomes: dict[str, list[Mutant]] = {"noticed": [], "too slow": [], "not noticed": []}
    with tempfile.TemporaryDirectory() as temporary:
        home, runner = Path(temporary), Runner(arguments.jobs)
        original = copy_package(home / "original")

        def prepare(mutant: Mutant | None, name: str) -> Path:
            return write_mutant(mutant, original, home / name)

        def know(job: Job, code: int, took: float) -> None:
            if code:
                print((job.folder / "output.txt").read_text()[-3000:])
                raise SystemExit(f"tests fail without any change (code {code})")
            seconds.append(took)

        if not arguments.trust:
            tests = sorted({test for each in mutants for test in tests_for(each.file)})
            runner.run(iter([(None, prepare(None, "unchanged"), tests, 3600.0)]), know)

        limit = SLOWER * seconds[0] if seconds else LIMIT

        def judge(job: Job, code: int, took: float) -> None:
            outcome = "not noticed" if code == 0 else "noticed" if code > 0 else "too slow"
            outcomes[outcome].append(job.mutant)
            print(f"{outcome:12} {took:5.1f} s  {job.mutant}", flush=True)

        runner.run(
            (
                (
                    each,
                    prepare(each, f"mutant{k}"),
                    tests_for(each.file),
                    limit,
                )
                for k, each in enumerate(mutants)
                if time.monotonic() - start < 60.0 * arguments.minutes
            ),
            judge,
        )
    return report(outcomes, there, arguments.bar)


def report(outcomes: dict[str, list[Mutant]], there: int, bar: float) -> int:
    """Print the share that was noticed and what was not; 1 if that is below the bar."""
    missed = outcomes["not noticed"]
    total = sum(map(len, outcomes.values()))
    share = 1.0 - len(missed) / max(total, 1)
    print(f"\n{total - len(missed)} of {total} mutants noticed ({share:.0%}; {there} could be made)")
    by_folder = Counter(each.file.split("/")[0] for group in outcomes.values() for each in group)
    for folder, count in sorted(by_folder.items()):
        lost = sum(each.file.startswith(folder + "/") for each in missed)
        print(f"  {folder:12} {count - lost} of {count}")
    if missed:
        print("not noticed:", *sorted(map(str, missed)), sep="\n  ")
    return 0 if share >= bar else 1


if __name__ == "__main__":
    sys.exit(main())
