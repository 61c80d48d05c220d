"""Write the table of all items: ``python -m localegop.research.fidelity --output docs``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path

from localegop.research.fidelity.items import TABLE
from localegop.research.runs.pages import markdown_table

COLUMNS = ("", "item of the paper", "implemented", "tested", "shown", "verdict")
_INTRODUCTION = """\
# Item by item

Everything that the paper *Local EGOP for Continuous Index Learning* states, defines, sets or draws, and
where it is in this repository: code below `localegop`, tests below `tests`, pages of this folder. Verdicts
of [theory.md](theory.md) and [paper.md](paper.md) are those of the rows about the item; where one does not
hold, the note at the row has the corrected statement. This page is written by

    python -m localegop.research.fidelity --output docs

which fails if anything that it names does not exist.
"""


@dataclass(frozen=True)
class Item:
    """One line of the table."""

    what: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    page: str
    rows: tuple[str, ...]
    words: str


def read_items(text: str = TABLE) -> list[Item]:
    """Items in the order of the paper."""
    items = []
    for line in text.strip().splitlines():
        what, code, tests, page, rows, words = (part.strip() for part in line.split(" |"))
        several = [
            tuple(each.strip() for each in part.split(";") if each.strip()) for part in (code, tests)
        ]
        claims = tuple(each.strip() for each in rows.split(";") if each.strip())
        items.append(Item(what, several[0], several[1], page, claims, words))
    return items


def missing_names(item: Item, docs: Path) -> list[str]:
    """Names of code, tests, pages and rows that there are not."""
    missing = [name for name in item.code if not _is_code(name)]
    tests = docs.parent / "tests"
    missing += [name for name in item.tests if not _is_test(name, tests)]
    page = docs / item.page
    if not page.exists():
        return [*missing, str(page)]
    text = page.read_text(encoding="utf-8")
    found = [row for row in item.rows if f"\n| {row}" in text]
    # Names of methods have changed: a page of results may be older than the names.
    alternatives = item.page == "paper.md" and bool(found)
    return missing if alternatives else missing + [row for row in item.rows if row not in found]


def _is_code(name: str) -> bool:
    module, _, attribute = name.partition(":")
    try:
        reduce(getattr, attribute.split("."), import_module(f"localegop.{module}"))
    except (ImportError, AttributeError):
        return False
    return True


def _is_test(name: str, folder: Path) -> bool:
    file, _, function = name.partition("::")
    path = folder / file
    if not path.exists():
        return False
    return function == "*" or f"def {function}(" in path.read_text(encoding="utf-8")


def verdict(item: Item, docs: Path) -> str:
    """Words about an item, and the verdicts of its rows."""
    text = (docs / item.page).read_text(encoding="utf-8")
    found = [
        re.sub(r"\s*\(\d+\)$", "", line.rstrip(" |").rsplit(" | ", 1)[-1]).strip("* ")
        for row in item.rows
        for line in text.splitlines()
        if line.startswith(f"| {row}")
    ]
    counts = {each: found.count(each) for each in dict.fromkeys(found)}
    if item.page == "paper.md":
        counts = {f"agrees: {each}": number for each, number in counts.items()}
    listed = ", ".join(f"{each} ({number})" if len(found) > 1 else each for each, number in counts.items())
    return "; ".join(part for part in (listed, item.words) if part)


def page(items: Sequence[Item], docs: Path) -> str:
    """Return the whole page."""
    rows = []
    for number, item in enumerate(items, 1):
        code = ", ".join(f"`{name.replace(':', '.')}`" for name in item.code)
        tests = ", ".join(f"`{name}`" for name in item.tests)
        rows.append(
            (str(number), item.what, code, tests, f"[{item.page}]({item.page})", verdict(item, docs))
        )
    return "\n".join([_INTRODUCTION, *markdown_table(COLUMNS, rows), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all items and write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"), help="folder of the pages (docs)")
    docs = parser.parse_args(arguments).output
    items = read_items()
    missing = [f"{item.what}: {name}" for item in items for name in missing_names(item, docs)]
    for each in missing:
        print(f"there is no {each}")
    if not missing:
        (docs / "fidelity.md").write_text(page(items, docs), encoding="utf-8")
        print(f"{len(items)} items in {docs / 'fidelity.md'}")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
