"""The report, and the script that makes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from comparison import report, runs
from comparison.datasets import DATASETS
from tests.benchmarks.examples import failed, made_up, record

from localegop.research.peers import PEERS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_report_is_made_from_results(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'localegop[plot]'")
    results = runs.Results(tmp_path / "results.json", "full")
    lost = failed("diabetes", "mlkr") | {"traceback": "File /home/somebody"}
    records = [*made_up(), lost, record("diabetes", "paper_egop", 0.3)]
    results.about["note"] = "Some times are of a busy machine."
    results.cells = {f"{i}": each for i, each in enumerate(records)}
    written = report.write_report(results, tmp_path / "docs")
    assert all(path.stat().st_size > 0 for path in written)
    assert {path.name for path in written} >= {
        "benchmarks.md", "benchmarks_ranks.png", "benchmarks_time.png", "benchmarks_size.png"
    }  # fmt: skip
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "[benchmarks.json](benchmarks.json). Some times are of a busy machine.\n" in page
    assert "- helix, D=5: the best peer, xRFM, has 4 times the error." in page
    assert "- diabetes: rank 3; xRFM has 0.8 times our error." in page
    advice = next(line for line in page.splitlines() if line.startswith("| tables |"))
    assert "xRFM (1.00); kernel ridge, Gaussian (1.06); field Local EGOP (1.12)" in advice
    assert "3 of 4 (1.12)" in advice and "Who is not here" in page and "## Against each peer" in page
    assert "| uci wine | 5 | 2 | 0.8 |" in page  # gain told, gain seen, best peer
    assert "| MLKR + k-NN |" in page and "failed" in page
    assert "diabetes, MLKR + k-NN, n=60, seed 0: not finished after 1 s" in page
    for path in written[2:]:
        assert f"figures/{path.name}" in page
    stored = json.loads((tmp_path / "docs" / "benchmarks.json").read_text())
    assert len(stored["cells"]) == len(records)
    assert "somebody" not in json.dumps(stored)


def test_nothing_is_reported_from_nothing(tmp_path):
    with pytest.raises(SystemExit, match="holds no finished cell"):
        report.write_report(runs.Results(tmp_path / "results.json", "quick"), tmp_path)


def script(*arguments, **environment):
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "peers.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.mark.slow
def test_the_script_runs_resumes_and_reports(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'localegop[plot]'")
    out = str(tmp_path / "out")
    asked = [
        "--datasets",
        "helix_5",
        "multi_index",
        "uci_yacht",
        "--methods",
        "neighbors",
        "local_linear",
        "--n-train",
        "50",
    ]
    first = script(*asked, "--output", out, LOCALEGOP_DATA="")
    assert first.returncode == 0, first.stderr
    assert "uci_yacht skipped: name a folder with uci_yacht.npz in LOCALEGOP_DATA" in first.stdout
    assert "4 of 4 cells to run" in first.stdout and "| warnings from our own code | 0 |" in first.stdout
    assert (tmp_path / "out" / "tables.md").exists() and (tmp_path / "out" / "ranks.png").exists()
    assert "holds results: go on with --resume" in script(*asked, "--output", out).stderr
    second = script(*asked[:3], *asked[4:], "--output", out, "--resume")
    assert "0 of 4 cells to run" in second.stdout
    docs = str(tmp_path / "docs")
    told = script("report", "--input", str(tmp_path / "out" / "results.json"), "--docs", docs)
    assert told.returncode == 0 and (tmp_path / "docs" / "benchmarks.md").exists(), told.stderr


def test_the_script_lists_all_entries():
    lines = script("list").stdout
    assert all(name in lines for name in (*DATASETS, *PEERS))
