"""The pages: links lead somewhere, and the reference names every public module."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import house  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Public through what they export or run: the estimators, their results, the command line. Research is not.
DESCRIBED_ELSEWHERE = {"regressor", "classifier", "results", "cli", "research"}


def as_source(file):
    """A page of the gallery is made from a script, the others are files."""
    if not file.startswith("gallery/"):
        return file
    script = "GALLERY_HEADER.rst" if file == "gallery/index.rst" else f"{Path(file).stem}.py"
    return f"../examples/gallery/{script}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    files = [target for target in targets if not target.startswith(("http://", "https://"))]
    assert [file for file in files if not (page.parent / as_source(file)).exists()] == []


@pytest.mark.parametrize("page", ["reference.md", "api.md"])
def test_every_public_module_is_named(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    public = {name for name in house.root_names(house.read_tree(house.PRESENT)) if not name.startswith("_")}
    named = set(re.findall(r"\blocalegop\.(\w+)", text))
    assert public - DESCRIBED_ELSEWHERE <= named


def contents(page):
    """Pages that the tables of contents of a page list."""
    tables = re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = [re.sub(r"^.*<(\w+)>$", r"\1", line) for table in tables for line in table.splitlines()]
    return {line for line in lines if re.fullmatch(r"\w+", line)}


def test_the_tables_of_contents_have_every_page():
    pages = {page.stem: page for page in (ROOT / "docs").glob("*.md")}
    reached, waiting = {"index"}, ["index"]
    while waiting:
        found = contents(pages[waiting.pop()]) - reached
        reached |= found
        waiting += found
    assert reached == set(pages)
