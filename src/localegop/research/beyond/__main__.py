"""Compute the tables of docs/beyond.md and print them; ``--page FILE`` puts them into the page.

``python -m localegop.research.beyond [limits] [samples] [bending] [--quick] [--page docs/beyond.md]``
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from localegop.research.runs.pages import markdown_table, replace_block

from . import limits, samples, two_ends


def limit_lines(quick: bool) -> list[str]:
    """Rates with exact derivatives."""
    names = limits.NAMES[:2] if quick else limits.NAMES
    return markdown_table(limits.HEAD, limits.table(limits.rates(name) for name in names))


def sample_lines(quick: bool) -> list[str]:
    """Errors on data around manifolds."""
    sizes, noises, queries = ([300], [0.3], 5) if quick else ([4000], [0.3], 150)
    names = list(samples.SETS)[: 1 if quick else None]
    found = [
        samples.compare(name, n, noise, queries=queries)
        for name in names
        for n in sizes
        for noise in noises
    ]
    return markdown_table(samples.HEAD, samples.table(found))


def bending_lines(quick: bool) -> list[str]:
    """Errors where level sets are circles and spheres."""
    cases = [(2, 0.3)] if quick else [(D, noise) for D in (2, 3) for noise in (0.0, 0.1, 0.3)]
    n, queries, held_out = (200, 5, 5) if quick else (2000, 300, 600)
    found = [two_ends.compare(D, n, noise, queries=queries, held_out=held_out) for D, noise in cases]
    return markdown_table(two_ends.HEAD, two_ends.table(found))


TABLES: dict[str, Callable[[bool], list[str]]] = {
    "limits": limit_lines,
    "samples": sample_lines,
    "bending": bending_lines,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, print, and write the page if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)} (all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables into this page")
    given = parser.parse_args(arguments)
    unknown = set(given.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table is called {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in given.tables or TABLES:
        lines = TABLES[name](given.quick)
        print(f"{name}\n", *lines, "", sep="\n", flush=True)
        if given.page:
            replace_block(given.page, name, lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
