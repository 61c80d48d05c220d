"""Versions of localegop by commit: built once, each installed in a folder of its own."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "CMakeLists.txt", "pyproject.toml")  # what a wheel is made of
# With a fixed date and author, the same changes give the same commit.
FIXED = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("DATE", "2000-01-01T00:00:00Z"), ("NAME", "nobody"), ("EMAIL", "nobody@localhost"))
}


def git(*arguments: str, **environment: str) -> str:
    """Return what git prints; a SystemExit says what it complains about."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def full_hash(revision: str) -> str:
    """Full hash of a commit given by branch, tag or short hash."""
    return git("rev-parse", "--verify", f"{revision}^{{commit}}")


def present_commit() -> str:
    """Full hash of a commit with the sources as they are now.

    It is HEAD, or with changes that are not committed one that belongs to no branch.
    """
    unknown = git("ls-files", "--others", "--exclude-standard", "--", *SOURCES)
    if unknown:
        raise SystemExit(f"git does not know {unknown.splitlines()[0]}: git add it, or remove it")
    changed = git("diff", "HEAD", "--name-only", "--", *SOURCES)
    return git("stash", "create", **FIXED) if changed else full_hash("HEAD")


def installed(commit: str, cache: Path) -> Path:
    """Folder in which the version of a commit is installed; it is built where the cache has none."""
    folder = cache.resolve() / commit
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made, _checkout(commit) as sources:
            wheels, target = Path(made) / "wheels", Path(made) / "installed"
            _pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(sources))
            _pip("install", "--no-deps", "--target", str(target), *map(str, wheels.glob("*.whl")))
            os.replace(target, folder)  # whole or not at all
    return folder


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """Sources of a commit in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "sources"
        git("worktree", "add", "--detach", str(sources), commit)
        try:
            yield sources
        finally:
            git("worktree", "remove", "--force", str(sources))


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pip {arguments[0]} failed:\n{done.stderr.strip()[-2000:]}")
