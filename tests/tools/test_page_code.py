"""The Python of README and pages runs: the blocks of a page one after the other, in an empty folder."""

import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A comment before a block says why it is not run: <!-- not run: needs a cluster -->
BLOCK = re.compile(r"(?P<skip><!-- not run: [^>]+ -->\n)?^```python\n(?P<code>.*?)^```$", re.M | re.S)
SLOW = {"README", "choosing", "classification", "displays", "get_started"}  # take more than some seconds


def blocks(page):
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if blocks(page)]
MARKED = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else [])
    for page in PAGES
]


def test_pages_with_code_are_found():
    assert {"README", "get_started", "index", "explanations", "displays"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_python(page):
    for block in blocks(page):
        compile(block["code"], page.name, "exec")


@pytest.mark.parametrize("page", MARKED)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    variables = {"__name__": "page"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks(page):
            if block["skip"] is None:
                exec(compile(block["code"], str(page), "exec"), variables)
    plt.close("all")


@pytest.mark.slow
def test_the_commands_of_get_started_run(tmp_path):
    """Those of the last part, after the tables of the first part have been written."""
    page = ROOT / "docs" / "get_started.md"
    tables = next(block["code"] for block in blocks(page) if "to_csv" in block["code"])
    subprocess.run([sys.executable, "-c", tables], cwd=tmp_path, check=True)
    lines = re.findall(r"^localegop .*$", page.read_text(encoding="utf-8"), re.M)
    assert len(lines) == 4
    for line in lines:
        subprocess.run([sys.executable, "-m", *shlex.split(line)], cwd=tmp_path, check=True, timeout=300)
    for name in ("diabetes.model", "predictions.csv", "reasons.csv", "patients.html"):
        assert (tmp_path / name).stat().st_size > 0
