"""The way from Algorithm 1 to the defaults: where it begins, where it ends, and what it writes."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import ablation  # noqa: E402

from localegop import LocalEGOPRegressor  # noqa: E402
from localegop.research.runs.pages import replace_block  # noqa: E402


def test_the_way_goes_from_the_papers_parameters_to_the_defaults():
    assert ablation.parameters_of(0, "identity") == LocalEGOPRegressor.paper_parameters()
    defaults = LocalEGOPRegressor().get_params()
    last = ablation.parameters_of(10, "identity")
    assert last == {name: defaults[name] for name in last}
    assert not ablation.STAGES[10].exact and all(stage.exact for stage in ablation.STAGES[:10])


def test_every_row_changes_something():
    rows = [ablation.parameters_of(k, "identity") for k in range(10)]
    assert all(one != following for one, following in pairwise(rows))


def test_tables_go_between_the_comments_of_a_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ablation: begin -->\nold\n<!-- ablation: end -->\nafter\n")
    ablation.main(["--rows", "60", "--queries", "2", "--sets", "helix D=5", "--page", str(page)])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| 0 | Algorithm 1 | " in text and "| 10 | blended predictions | " in text
    assert "| 10 | blended predictions | " in capsys.readouterr().out
    page.write_text("nothing")
    with pytest.raises(ValueError, match="must have the comments"):
        replace_block(page, "ablation", ["x"])
