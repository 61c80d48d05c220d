"""Build the core with GCC and Clang, with and without OpenMP, and run its tests with each.

Run with ``make compilers``. Every build goes into an environment of its own below ``build/compilers``,
which borrows the other packages from the one that runs this script. The last build has only the loops in
standard C++ that processors other than x86 get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "compilers"
COMPILERS = ("g++", "clang++")
BUILDS = [(compiler, [f"LOCALEGOP_OPENMP={openmp}"]) for compiler in COMPILERS for openmp in ("ON", "OFF")]
BUILDS.append(("g++", ["LOCALEGOP_OPENMP=OFF", "LOCALEGOP_PLAIN=ON"]))
TESTS = ["tests/engine", "tests/test_kernels.py"]
ABOUT = "from localegop import _core; print(_core.threading, *_core.instruction_sets)"


def environment(name: str) -> Path:
    """Python of a new environment that sees the packages of this one, but not its localegop."""
    place = PLACE / name
    venv.create(place, clear=True)
    python = place / "bin" / "python"
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", query], check=True, capture_output=True, text=True).stdout.strip()
    # A path in a .pth file is searched, but .pth files there, as those of editable installs, are not read.
    (Path(own) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def build(python: Path, compiler: str, options: list[str]) -> None:
    """Install this package, compiled so."""
    settings = [f"--config-settings=cmake.define.{option}" for option in options]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*command, *settings, str(ROOT)], check=True, env=os.environ | {"CXX": compiler})


def passes(compiler: str, options: list[str]) -> bool:
    """Build and test once; print what came of it."""
    name = " ".join([compiler, *options])
    python = environment(name.replace(" ", "_"))
    build(python, compiler, options)
    about = subprocess.run(
        [python, "-c", ABOUT], check=True, capture_output=True, text=True, cwd=PLACE
    ).stdout
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
    print(f"{name}: {about.strip()}: {done.stdout.strip().splitlines()[-1]}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Go through all builds."""
    missing = [compiler for compiler in COMPILERS if shutil.which(compiler) is None]
    if missing:
        print(
            f"not found: {', '.join(missing)}. Install them (Debian: apt-get install g++ clang libomp-dev)."
        )
        return 1
    return 0 if all([passes(compiler, options) for compiler, options in BUILDS]) else 1


if __name__ == "__main__":
    sys.exit(main())
