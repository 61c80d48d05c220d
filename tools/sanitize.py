"""Build the core with sanitizers and run its tests and a few fits, once for every instruction set.

Run with ``make sanitize``. Two builds, each in an environment of its own below ``build/sanitize``, which
borrows the other packages from the one that runs this script: one finds wrong accesses to memory and
undefined behavior, the other finds threads that use the same place without waiting for each other. Python
itself has no sanitizer, so their libraries are loaded before it. Needs GCC.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from compilers import environment

from localegop import LocalEGOPRegressor, _core
from localegop.datasets import make_helix

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "sanitize"
PYTEST = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
CORE_TESTS = (
    "tests/engine/test_core.py",
    "tests/engine/test_covariances.py",
    "tests/engine/test_blend.py",
    "tests/test_kernels.py",
)
FITS = [str(Path(__file__).resolve()), "--fits"]  # and the number of rows


@dataclass(frozen=True)
class Sanitizer:
    """A build: its name, what it is compiled with, the libraries to load first, and what is run."""

    name: str
    flags: str
    libraries: tuple[str, ...]
    runs: tuple[list[str], ...]

    @property
    def variables(self) -> dict[str, str]:
        """Environment of a run: where reports go, and that one is an error."""
        options = f"log_path={PLACE / self.name / 'report'}:halt_on_error=1:exitcode=66"
        preload = " ".join(_library(name) for name in (*self.libraries, "libstdc++.so.6"))
        return {
            "LD_PRELOAD": preload,
            "ASAN_OPTIONS": f"{options}:detect_leaks=0",  # Python frees little at exit
            "UBSAN_OPTIONS": f"{options}:print_stacktrace=1",
            "TSAN_OPTIONS": options,
            "OPENBLAS_NUM_THREADS": "1",
        }


SANITIZERS = (
    Sanitizer(
        "address",
        "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS",
        ("libasan.so", "libubsan.so"),
        (
            [*PYTEST, *CORE_TESTS, "tests/test_hostile_inputs.py"],
            [*FITS, "200"],
        ),
    ),
    Sanitizer("thread", "-fsanitize=thread", ("libtsan.so",), ([*FITS, "60"],)),
)


def _library(name: str) -> str:
    """Path of a library that comes with GCC."""
    command = ["g++", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def build(python: Path, flags: str) -> None:
    """Install this package, compiled so."""
    settings = ["cmake.build-type=RelWithDebInfo", f"cmake.define.CMAKE_CXX_FLAGS={flags}"]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    options = [f"--config-settings={setting}" for setting in settings]
    subprocess.run([*command, *options, str(ROOT)], check=True, env=os.environ | {"CXX": "g++"})


def fixed_addresses() -> list[str]:
    """Command that runs another one without random addresses, which the thread sanitizer needs."""
    command = ["setarch", platform.machine(), "-R"]
    possible = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if possible else []


def is_clean(sanitizer: Sanitizer) -> bool:
    """Build, and run everything on all instruction sets; print what came of it."""
    place = PLACE / sanitizer.name
    python = environment(str(place))
    build(python, sanitizer.flags)
    start = fixed_addresses() if sanitizer.name == "thread" else []
    return all(
        [
            _runs_cleanly(sanitizer, [*start, str(python), *run], name)
            for name in _core.instruction_sets
            for run in sanitizer.runs
        ]
    )


def _runs_cleanly(sanitizer: Sanitizer, command: list[str], instruction_set: str) -> bool:
    variables = os.environ | sanitizer.variables | {"LOCALEGOP_ISA": instruction_set}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    reports = sorted((PLACE / sanitizer.name).glob("report.*"))
    clean = done.returncode == 0 and not reports
    if not clean:
        print(done.stdout, done.stderr, *(report.read_text() for report in reports), sep="\n")
    for report in reports:
        report.unlink()
    last = (done.stdout.strip().splitlines() or ["nothing printed"])[-1]
    verdict = "clean" if clean else f"NOT CLEAN (exit code {done.returncode})"
    print(f"{sanitizer.name} sanitizer, {instruction_set}: {verdict}: {last}", flush=True)
    return clean


def run_fits(n: int) -> None:
    """Fit and predict in every way that the core knows, with n rows, on two threads."""
    X, y = make_helix(n + 20, 4, random_state=0)
    chosen = [
        {"n_iter": 1},
        {"final": "kriging", "n_iter": 0},
        {"degree": 2, "ridge": 1e-3, "n_iter": 1},
        {"strategy": "query", "n_iter": 2, "n_subsamples": 20},
        {"kernel": "epanechnikov", "max_neighbors": 20, "n_iter": 1},
        {"kernel": "laplace", "exclusion_radius": 2.0, "degree": 0, "n_iter": 1},
        {"kernel": inverse, "n_iter": 1, "ridge": 1e-3, "degree": 1, "max_neighbors": 20},
    ]
    for parameters in chosen:
        model = LocalEGOPRegressor(n_jobs=2, **parameters).fit(X[:n], y[:n])
        fits = model.localize(X[n:], trace=True)
        if not (np.isfinite(fits.value).all() and np.isfinite(fits.agop).all()):
            raise AssertionError(f"the fit with {parameters} is not finite")
    print(f"{len(chosen)} fits to {n} rows on {_core.instruction_set}, threads of {_core.threading}")


def inverse(u: np.ndarray) -> np.ndarray:
    """Return the profile of a kernel that is evaluated in Python."""
    return 1.0 / (1.0 + u)


def main() -> int:
    """Go through all builds."""
    if sys.argv[1:2] == ["--fits"]:
        run_fits(int(sys.argv[2]))
        return 0
    return 0 if all([is_clean(sanitizer) for sanitizer in SANITIZERS]) else 1


if __name__ == "__main__":
    sys.exit(main())
