"""Print the oldest versions of the dependencies that pyproject.toml allows, as requirements for pip.

Run with ``make test-oldest``. Extras are given as arguments: ``python tools/oldest.py plot table dask``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def pinned(requirement: str) -> str:
    """Turn ``name>=1.2`` into ``name==1.2``."""
    found = re.fullmatch(r"([\w.-]+(?:\[[\w,]+\])?)>=([\w.]+)", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} in pyproject.toml must have the form name>=version")
    return f"{found[1]}=={found[2]}"


def main(extras: list[str]) -> None:
    """Print one requirement per line."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    for requirement in (requirement for requirements in lists for requirement in requirements):
        print(pinned(requirement))


if __name__ == "__main__":
    main(sys.argv[1:])
