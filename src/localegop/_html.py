"""Small tables for notebooks. All text is escaped: names of columns may be anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

CELL = "text-align:right;padding:2px 8px"


def number(value: float, digits: int = 4) -> str:
    """Format a number for people."""
    return f"{value:.{digits}g}"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts as HTML."""
    lines = "".join(_line("td", row) for row in rows)
    return (
        f'<table class="localegop"><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead>{_line('th', head)}</thead><tbody>{lines}</tbody></table>"
    )


def _line(tag: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<{tag} style="{CELL}">{escape(text)}</{tag}>' for text in texts) + "</tr>"
