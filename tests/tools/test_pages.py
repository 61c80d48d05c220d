"""The pages: links lead somewhere, and the reference names every public module."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import house  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Public through what they export or run: the estimator, its results, the command line. Research is not.
DESCRIBED_ELSEWHERE = {"regressor", "results", "cli", "research"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    files = [target for target in targets if not target.startswith(("http://", "https://"))]
    assert [file for file in files if not (page.parent / file).exists()] == []


@pytest.mark.parametrize("page", ["reference.md", "api.md"])
def test_every_public_module_is_named(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    public = {name for name in house.root_names(house.read_tree(house.PRESENT)) if not name.startswith("_")}
    named = set(re.findall(r"\blocalegop\.(\w+)", text))
    assert public - DESCRIBED_ELSEWHERE <= named


def test_the_table_of_contents_has_every_page():
    listed = set(re.findall(r"^\w+$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.M))
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= listed
