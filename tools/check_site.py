"""Check a built site: every link and picture of every page leads to a file, and to an anchor that is there.

Every public method of every class of ours that has a page is described on it, inherited ones too.

Run with ``python tools/check_site.py docs/_build``. Links to other hosts are counted, not followed.
"""

from __future__ import annotations

import argparse
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of one page, and files that it loads from other hosts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        target = values.get("href") or values.get("src")
        if not target:
            return
        self.links.append(target)
        if urlsplit(target).netloc and (
            tag in ("script", "img", "iframe") or values.get("rel") == "stylesheet"
        ):
            self.loaded.append(target)


def read(folder: Path) -> dict[Path, Page]:
    """Read all pages of a folder."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Say what is wrong with the links of all pages."""
    for path, page in pages.items():
        yield from (f"{path}: loads {target} from another host" for target in page.loaded)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{path}: {link} leads nowhere"
            elif (
                parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                yield f"{path}: {link} has no such anchor"


def undescribed(pages: dict[Path, Page]) -> Iterator[str]:
    """Name public methods and properties of ours that the page of their class does not describe."""
    for path, page in pages.items():
        if path.parent.name != "generated" or not path.stem.startswith("localegop."):
            continue
        thing = pkgutil.resolve_name(path.stem)
        for name in own_members(thing) if inspect.isclass(thing) else ():
            if f"{path.stem}.{name}" not in page.anchors:
                yield f"{path}: {name} is not described"


def own_members(thing: type) -> Iterator[str]:
    """Names of the public methods and properties of a class that are written here and have a docstring."""
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        ours = str(getattr(function, "__module__", "")).startswith("localegop")
        if ours and not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield name


def main() -> None:
    """Check a folder and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    pages = read(folder)
    if not pages:
        sys.exit(f"'{folder}' has no pages: run make docs first")
    wrong = sorted({*broken(pages), *undescribed(pages)})
    count = sum(len(page.links) for page in pages.values())
    outside = sum(bool(urlsplit(link).netloc) for page in pages.values() for link in page.links)
    print(f"{len(pages)} pages, {count:,} links, {outside} of them to other hosts (not followed)")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
