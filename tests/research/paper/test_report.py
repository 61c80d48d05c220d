"""The page of the paper's results."""

import csv
import re
import shutil

import numpy as np
import pytest

from localegop.research.paper import EXPERIMENTS, load_experiment
from localegop.research.paper.report import write_report
from localegop.research.paper.runner import Run, execute, findings

LIGHT = "diffusion_map"  # quick


def silent(line):
    pass


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A folder with a tiny run of the quick experiment, and the tables of the run."""
    folder = tmp_path_factory.mktemp("computed")
    return folder, execute(Run(LIGHT, "tiny", output=folder), say=silent).tables


@pytest.fixture
def output(computed, tmp_path):
    """A copy of this folder, which a test may change."""
    return shutil.copytree(computed[0], tmp_path / "output")


def test_report(computed, output, tmp_path):
    docs, run = tmp_path / "docs", Run(LIGHT, "tiny", output=output)
    written = write_report(output, docs, size="tiny")
    text = (docs / "paper.md").read_text(encoding="utf-8")
    table = docs / "paper_tables" / "diffusion_map.csv"  # of errors; those of the maps are large
    assert written == [docs / "paper.md", docs / "figures" / "paper_diffusion_map.png", table]
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (docs / link).exists()
    assert text.count("Not run yet") == len(EXPERIMENTS) - 1
    assert load_experiment(LIGHT).CAPTIONS[LIGHT] in text
    for finding in findings(run, computed[1]):
        assert f"| {finding.claim} | {finding.paper} | {finding.ours} | {finding.agrees} |" in text
    assert '"n_samples": 200' in text and "all parts" in text


def test_report_keeps_small_tables(tmp_path):
    result = execute(Run("momentum", "tiny", output=tmp_path / "output"), say=silent)
    old = tmp_path / "docs" / "paper_tables" / "momentum_old.csv"
    old.parent.mkdir(parents=True)
    old.touch()
    written = write_report(tmp_path / "output", tmp_path / "docs", size="tiny")
    path = tmp_path / "docs" / "paper_tables" / "momentum.csv"
    assert not old.exists()
    assert path in written and "(paper_tables/momentum.csv)" in (tmp_path / "docs" / "paper.md").read_text()
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    steps = {part: table for part, table in result.tables.items() if "eigenvalue1" in table}
    assert steps
    for part, table in steps.items():
        column = [float(row["eigenvalue1"]) for row in rows if row["part"] == part]
        np.testing.assert_array_equal(column, table["eigenvalue1"])


def test_report_takes_the_most_complete_size(tmp_path, monkeypatch):
    tiny = load_experiment(LIGHT).PARAMETERS["tiny"]
    for size in ("quick", "default"):
        monkeypatch.setitem(load_experiment(LIGHT).PARAMETERS, size, tiny)
        execute(Run(LIGHT, size, output=tmp_path / "output"), say=silent)
    write_report(tmp_path / "output", tmp_path / "docs")
    assert "`localegop paper run diffusion_map`: all parts" in (tmp_path / "docs" / "paper.md").read_text()
    (Run(LIGHT, output=tmp_path / "output").folder / "whole.json").unlink()
    write_report(tmp_path / "output", tmp_path / "docs")
    assert (
        "`localegop paper run diffusion_map --quick`: all" in (tmp_path / "docs" / "paper.md").read_text()
    )


def test_report_needs_results(tmp_path, one_line_and_two):
    line = one_line_and_two(["report", "-o", tmp_path / "output", "--docs", tmp_path / "docs"])
    assert "run 'localegop paper all --quick' first" in line
    assert not (tmp_path / "docs").exists()


def test_report_folder_that_cannot_be_written(tmp_path, one_line_and_two, monkeypatch):
    experiment = load_experiment(LIGHT)
    monkeypatch.setitem(experiment.PARAMETERS, "quick", experiment.PARAMETERS["tiny"])
    execute(Run(LIGHT, "quick", output=tmp_path), parts="sector", say=silent)
    (tmp_path / "file").write_text("in the way")
    line = one_line_and_two(["report", "-o", tmp_path, "--docs", tmp_path / "file"])
    assert "cannot write to the folder" in line


def test_report_keeps_what_was_there_and_adds_what_is_stored(output, tmp_path):
    docs, run = tmp_path / "docs", Run(LIGHT, "tiny", output=output)
    write_report(output, docs, size="tiny")
    old = (docs / "paper.md").read_text(encoding="utf-8")
    for part in ("sector", "whole"):
        (run.folder / f"{part}.json").unlink()
    for _ in range(2):  # what was kept and added once is not kept twice
        write_report(output, docs, size="tiny", keep=True)
        text = (docs / "paper.md").read_text(encoding="utf-8")
        assert text.count("Kept from an earlier run") == text.count("Computed since") == 1
        assert text.count("diffusion maps do not find exactly") == 1 and "| kept |" in text
        assert text.count("errors on these data") == 2  # kept, and added
    assert load_experiment(LIGHT).CAPTIONS[LIGHT] in old and load_experiment(LIGHT).CAPTIONS[LIGHT] in text
    write_report(output, docs, size="tiny", note="On a quiet machine.")
    assert "\nOn a quiet machine.\n" in (docs / "paper.md").read_text(encoding="utf-8")
    assert "Kept from" not in (docs / "paper.md").read_text(encoding="utf-8")
