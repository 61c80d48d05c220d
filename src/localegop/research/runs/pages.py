"""Pages in markdown: tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localegop.research.runs.files import make_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Lines of a table.

    Examples
    --------
    >>> from localegop.research.runs.pages import markdown_table
    >>> markdown_table(["claim", "holds"], [["|a| < 1", "yes"]])
    ['| claim | holds |', '|---|---|', '| \\|a\\| < 1 | yes |']
    """
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def replace_block(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the comments ``name: begin`` and ``name: end`` of a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = "\n".join([begin, "", *lines, "", end])
    text, count = re.subn(
        f"{begin}.*?{end}", lambda _: block, page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"'{page}' must have the comments {begin} and {end} once, in this order")
    page.write_text(text, encoding="utf-8")


def save_figures(figures: Mapping[str, Figure], folder: Path, prefix: str = "") -> dict[str, Path]:
    """Write figures as PNG files and return their paths by name."""
    make_folder(folder)
    paths = {name: folder / f"{prefix}{name}.png" for name in figures}
    for name, figure in figures.items():
        figure.savefig(paths[name], dpi=150, metadata={"Software": None})
    return paths
