"""The benchmark against peers: entries, cells in child processes, ranks and bars from made-up results."""

import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localegop.research.peers import METHODS, PEERS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import bars  # noqa: E402
from comparison import cells, datasets, report, runs, summary  # noqa: E402
from comparison.cells import Cell, measure, own_warnings  # noqa: E402
from comparison.datasets import DATASETS, GROUPS, INDEX, SCALE, TABLE, split  # noqa: E402

UNREAD = {name for name, entry in DATASETS.items() if entry.missing}


def cell(**changes):
    return replace(Cell("diabetes", "neighbors", 60, 0, 30, 60, 1), **changes)


def record(dataset, method, error, **more):
    """Made-up record of a finished cell."""
    found = vars(cell(dataset=dataset, method=method)) | {
        "status": "ok",
        "n_fit": 60,
        "n_queries": 30,
        "mse_over_variance": error,
        "rmse": error**0.5,
        "fit_seconds": 1.0,
        "predict_seconds_per_1000": 1.0,
        "memory_gb": 0.5,
        "coverage": None,
        "gain_over_isotropic": None,
        "warnings": 0,
    }
    return found | more


def failed(dataset, method, **more):
    return vars(cell(dataset=dataset, method=method)) | {
        "status": "time limit",
        "error": "not finished after 1 s",
        "warnings": 0,
        **more,
    }


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_is_drawn_as_its_entry_says(name):
    entry = DATASETS[name]
    assert entry.group in GROUPS and entry.label
    assert set(entry.methods) | set(entry.settings) <= set(METHODS)
    assert list(entry.full.train) == sorted(entry.full.train)
    assert entry.quick is None or entry.quick.train[-1] <= entry.full.train[-1]
    if entry.missing:
        assert entry.file in entry.missing and "LOCALEGOP_DATA" in entry.missing
        pytest.skip(f"{name}: {entry.missing}")
    rows = split(entry, 60, 30, 0)
    assert len(rows.y) == 60 and len(rows.truth) == len(rows.y_test) == 30
    assert np.isfinite(rows.X).all() and rows.variance > 0.0
    again, other = split(entry, 60, 30, 0), split(entry, 60, 30, 1)
    np.testing.assert_array_equal(rows.X, again.X)
    np.testing.assert_array_equal(rows.y_test, again.y_test)
    assert not np.array_equal(rows.X, other.X)
    noise = np.std(rows.y_test - rows.truth) / rows.variance**0.5
    assert noise == 0.0 if "noise" not in entry.label and entry.group != "full rank" else 0.05 < noise < 0.2


def test_the_sets_that_the_bars_speak_of_are_there():
    groups = [entry.group for entry in DATASETS.values()]
    assert (groups.count(INDEX), groups.count(TABLE), groups.count(SCALE)) == (8, 7, 1)
    assert DATASETS["helix_200k"].full.train == (200_000,)


@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=[pytest.mark.extras] * bool(METHODS[name].module)) for name in METHODS],
)
def test_every_method_fits_and_predicts_in_a_cell(method):
    if not METHODS[method].available:
        pytest.skip(f"{method} needs {METHODS[method].module}: pip install 'localegop[bench]'")
    found = measure(cell(method=method, dataset="image"))  # two features: KernelReg needs long for more
    assert found["status"] == "ok", found
    assert found["warnings"] == 0, found["warning_texts"]
    assert found["mse_over_variance"] > 0.0 and found["memory_gb"] >= found["memory_before_gb"] > 0.0
    assert found["r2"] < 1.0 and found["n_fit"] == 60
    assert found["n_queries"] == min(30, METHODS[method].most_queries or 30)
    assert (found["coverage"] is not None) == METHODS[method].intervals
    assert (found["gain_over_isotropic"] is not None) == (method in ("local_egop", "local_linear"))
    json.dumps(found)


def test_a_method_gets_no_more_rows_than_it_can_handle(monkeypatch):
    few = replace(METHODS["neighbors"], largest_n=25, most_queries=4)
    monkeypatch.setitem(METHODS, "neighbors", few)
    found = measure(cell())
    assert (found["n_fit"], found["n_queries"], found["n_train"], found["n_test"]) == (25, 4, 60, 30)


def test_a_failure_is_a_record(monkeypatch):
    monkeypatch.setattr(cells, "_warm_up", lambda *_: 1 / 0)
    found = measure(cell())
    assert found["status"] == "error" and found["error"] == "ZeroDivisionError: division by zero"


def test_too_few_rows_are_told():
    with pytest.raises(ValueError, match="diabetes has 442 rows, too few for 500 test rows"):
        split(DATASETS["diabetes"], 60, 500, 0)


def test_only_warnings_of_the_package_count():
    from localegop import LocalEGOPRegressor

    X = np.random.default_rng(0).standard_normal((40, 2))
    model = LocalEGOPRegressor("query", exclusion_radius=0.5, schedule="power", n_iter=1).fit(X, X[:, 0])
    with own_warnings() as texts:
        warnings.warn("of the caller", UserWarning, stacklevel=1)
        np.float64(1.0) / np.float64(0.0)
        assert not texts
        model.predict([[50.0, 50.0]])
    assert len(texts) == 1 and "exclusion_radius" in texts[0]


def test_a_child_measures_what_this_process_does():
    here, there = measure(cell()), runs.in_child(cell(), 120.0)
    assert there["status"] == "ok", there
    assert there["rmse"] == pytest.approx(here["rmse"], rel=1e-12)


def test_a_child_that_is_late_or_dies_is_a_record(monkeypatch):
    late = runs.in_child(cell(), 0.01)
    assert late["status"] == "time limit" and "0.01 s" in late["error"]
    dead = runs.in_child(cell(dataset="no_such_set"), 120.0)
    assert dead["status"] == "error" and "no_such_set" in dead["error"]
    monkeypatch.setattr(runs, "__package__", "no_such_package")
    gone = runs.in_child(cell(), 120.0)
    assert gone["status"] == "error" and "code 1" in gone["error"]


PLAN = {"seeds": 1, "tuning_rows": 50, "threads": 1}


def test_a_plan_has_every_size_once_and_the_largest_for_all():
    sizes = DATASETS["malonaldehyde_md17"].full.train
    planned = runs.plan(["malonaldehyde_md17"], ["local_egop", "mlkr"], quick=False, **PLAN)
    assert [c.n_train for c in planned if c.method == "local_egop"] == list(sizes)
    assert [c.n_train for c in planned if c.method == "mlkr"] == [1000, sizes[-1]]
    scale = runs.plan(["helix_200k"], ["local_egop", "kernel_ridge"], quick=False, **PLAN)
    assert [c.method for c in scale] == ["local_egop"]
    given = runs.plan(["diabetes"], ["forest"], n_train=[40, 80], quick=True, **PLAN | {"seeds": 2})
    assert [(c.n_train, c.seed) for c in given] == [(40, 0), (80, 0), (40, 1), (80, 1)]
    assert len({c.key for c in given}) == 4


def test_finished_cells_are_kept_and_failed_ones_run_again(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    results = runs.Results(path, "quick")
    wanted = [cell(seed=seed) for seed in range(3)]
    statuses = iter(["ok", "time limit", "error"])

    def pretend(c, limit):
        return vars(c) | {"status": next(statuses), "time_limit": limit, "error": "", "warnings": 0} | {
            "mse_over_variance": 1.0, "fit_seconds": 1.0, "predict_seconds_per_1000": 1.0, "memory_gb": 1.0
        }  # fmt: skip

    monkeypatch.setattr(runs, "in_child", pretend)
    lines = []
    runs.run_cells(results, wanted, jobs=1, time_limit=1.0, say=lines.append)
    assert len(lines) == 3 and lines[0].startswith("[1/3, ")
    stored = runs.Results.load(path)
    assert stored.pending(wanted, 1.0) == wanted[2:]
    assert stored.pending(wanted, 2.0) == wanted[1:]
    assert stored.pending([replace(wanted[0], tuning_rows=7)], 1.0)
    assert stored.pending(wanted, 1.0, again=["neighbors"]) == wanted


def test_an_interrupt_keeps_cells_from_beginning(tmp_path, monkeypatch):
    begun = []

    def interrupted(c, limit):
        begun.append(c)
        time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "in_child", interrupted)
    wanted = [cell(seed=seed) for seed in range(200)]
    with pytest.raises(KeyboardInterrupt):
        runs.run_cells(runs.Results(tmp_path / "r.json", "quick"), wanted, jobs=1, time_limit=1.0)
    assert 1 <= len(begun) < 200


def test_sets_that_are_not_finished_are_left_out():
    records = [record(d, m, 0.1) for d in ("diabetes", "uci_yacht") for m in ("local_egop", "forest")]
    records.append(record("uci_wine", "local_egop", 0.1))
    assert summary.complete_sets(records, TABLE) == ["uci_yacht", "diabetes"]
    assert bar(records, "place by mean rank over 2 tables")["measured"] == 1


def test_files_that_are_something_else_are_refused(tmp_path):
    path = tmp_path / "results.json"
    for text in ("{}", "[1]", "nonsense"):
        path.write_text(text)
        with pytest.raises(ValueError, match="is no result of this benchmark"):
            runs.Results.load(path)


def test_ranks_share_ties_and_put_failures_last():
    records = [
        record("diabetes", "local_egop", 0.2),
        record("diabetes", "neighbors", 0.1),
        record("diabetes", "forest", 0.2),
        failed("diabetes", "mlkr"),
        failed("diabetes", "xrfm"),
        record("diabetes", "paper_egop", 0.01),  # not ranked
    ]
    expected = {"local_egop": 2.5, "neighbors": 1.0, "forest": 2.5, "mlkr": 4.5, "xrfm": 4.5}
    assert summary.ranks(records, "diabetes") == expected


def test_errors_are_means_over_seeds_at_the_largest_size():
    records = [
        record("diabetes", "forest", 0.9, n_train=30),
        record("diabetes", "forest", 0.2),
        record("diabetes", "forest", 0.4, seed=1),
        record("diabetes", "xrfm", 0.1),
        failed("diabetes", "xrfm", seed=1),
    ]
    found = summary.errors(records, "diabetes")
    assert found["forest"] == pytest.approx(0.3)
    assert np.isnan(found["xrfm"]) and "local_egop" not in found


def test_methods_are_compared_on_the_splits_that_all_were_run_on():
    records = [record("diabetes", "forest", 0.2), record("diabetes", "xrfm", 0.1)]
    records += [record("diabetes", "xrfm", 0.7, seed=1), record("diabetes", "paper_egop", 0.1, seed=2)]
    assert summary.common_seeds(records, "diabetes") == {0}
    assert summary.errors(records, "diabetes") == pytest.approx({"forest": 0.2, "xrfm": 0.1})


def test_mean_ranks_are_of_methods_run_on_all_sets():
    records = [record(d, m, e) for d, m, e in (
        ("diabetes", "local_egop", 0.1), ("diabetes", "forest", 0.2), ("diabetes", "xrfm", 0.3),
        ("uci_yacht", "local_egop", 0.2), ("uci_yacht", "forest", 0.1),
    )]  # fmt: skip
    assert summary.mean_ranks(records, ["diabetes", "uci_yacht"]) == {"local_egop": 1.5, "forest": 1.5}


def test_the_critical_difference_is_that_of_the_tables():
    # Demsar 2006, table 5: q = 2.569 for four methods, 3.164 for ten.
    assert summary.critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3)
    assert summary.critical_difference(10, 20) == pytest.approx(3.164 * np.sqrt(110 / 120), rel=1e-3)


FEW_DIRECTIONS = {"local_egop": 0.01, "kernel_ridge": 0.05, "local_linear": 0.06, "xrfm": 0.04}
ELSEWHERE = {"local_egop": 0.10, "kernel_ridge": 0.09, "local_linear": 0.20, "xrfm": 0.08}


def made_up():
    """Results in which all bars are met."""
    records = []
    for name, entry in DATASETS.items():
        for method, error in (FEW_DIRECTIONS if entry.group == INDEX else ELSEWHERE).items():
            seconds = 2.0 if method == "xrfm" else 1.0
            gain = 5.0 if method == "local_egop" else None
            records.append(record(name, method, error, fit_seconds=seconds, gain_over_isotropic=gain))
    for name in ("helix_5", "malonaldehyde"):
        records.append(record(name, "local_egop", 0.02, n_train=30))
    return records


def bar(records, start):
    rows = [row for row in summary.must_show(records).rows if row["what"].startswith(start)]
    assert rows, start
    return rows[0]


def test_bars_are_met_when_they_are():
    rows = summary.must_show(made_up()).rows
    assert all(row["met"] for row in rows), [row["line"] for row in rows if not row["met"]]
    measured = {row["what"]: row["measured"] for row in rows}
    assert measured["helix, D=5: MSE of the best peer (xRFM) / ours"] == pytest.approx(4.0)
    assert measured["continuous-index sets with a factor of 2 in MSE"] == 8
    assert measured["place by mean rank over 7 tables (mean rank 3.0 of 4 methods)"] == 3
    ratio = next(value for what, value in measured.items() if what.startswith("worst RMSE"))
    assert ratio == pytest.approx((0.10 / 0.09) ** 0.5)


def test_every_bar_can_fail():
    def changed(where, **values):
        return [r | values if all(r[k] == v for k, v in where.items()) else r for r in made_up()]

    ours = {"method": "local_egop", "n_train": 60}
    index = changed(ours | {"dataset": "helix_5"}, mse_over_variance=0.03)
    assert bar(index, "helix, D=5: rank")["met"] and bar(index, "helix, D=5: MSE")["met"]
    assert bar(index, "continuous-index sets")["measured"] == 7
    worse = changed(ours | {"dataset": "helix_5"}, mse_over_variance=0.06)
    assert not bar(worse, "helix, D=5: rank")["met"] and not bar(worse, "helix, D=5: MSE")["met"]
    table = changed(ours | {"dataset": "uci_wine"}, rmse=1.4 * 0.3, mse_over_variance=1.0)
    worst = bar(table, "worst RMSE")
    assert bar(table, "place by mean rank")["measured"] == 3
    assert not bar(changed(ours, mse_over_variance=1.0), "place by mean rank")["met"]
    assert not worst["met"] and "uci wine" in worst["what"]
    slow = changed(ours | {"dataset": "malonaldehyde"}, fit_seconds=3.0)
    assert not bar(slow, "malonaldehyde, shipped: fit + predict")["met"]
    assert bar(slow, "malonaldehyde, revised MD17: fit + predict")["met"]
    assert not bar(changed({"method": "xrfm", "dataset": "diabetes"}, warnings=1), "warnings")["met"]
    large = changed(ours | {"dataset": "image"}, memory_gb=2.5)
    assert [bar(large, f"peak memory of Local EGOP{s}")["met"] for s in ("", ", 200")] == [False, True]
    huge = changed(ours | {"dataset": "helix_200k"}, memory_gb=6.5)
    assert [bar(huge, f"peak memory of Local EGOP{s}")["met"] for s in ("", ", 200")] == [True, False]
    broken = changed(ours | {"dataset": "image"}, status="error", error="")
    assert not bar(broken, "cells in which Local EGOP failed")["met"]


def test_time_counts_predictions_of_all_test_rows():
    records = [record("malonaldehyde", "xrfm", 0.1, predict_seconds_per_1000=10.0, n_queries=500)]
    assert summary.total_seconds(records, "malonaldehyde", "xrfm") == pytest.approx(6.0)


def test_what_was_not_measured_meets_no_bar():
    for records in ([], [record("diabetes", "forest", 0.1)]):
        table = summary.must_show(records)
        row = next(row for row in table.rows if row["what"].startswith("torus"))
        assert not row["met"] and "not measured" in row["line"] and row["line"].endswith("| - |")


def test_bars_are_printed_as_they_come(capsys):
    table = bars.Table()
    table.add("speed", 2.0, 1.5, " x", at_least=True)
    table.add("error", 2.0, 1.5)
    assert capsys.readouterr().out == "| speed | 2 x | >= 1.5 x | yes |\n| error | 2 | <= 1.5 | NO |\n"
    assert table.markdown().splitlines()[0] == "| what | measured | bar | met |"


def test_the_report_is_made_from_results(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'localegop[plot]'")
    results = runs.Results(tmp_path / "results.json", "full")
    lost = failed("diabetes", "mlkr") | {"traceback": "File /home/somebody"}
    records = [*made_up(), lost, record("diabetes", "paper_egop", 0.3)]
    results.cells = {f"{i}": each for i, each in enumerate(records)}
    written = report.write_report(results, tmp_path / "docs")
    assert all(path.stat().st_size > 0 for path in written)
    assert {path.name for path in written} >= {
        "benchmarks.md", "benchmarks_ranks.png", "benchmarks_time.png", "benchmarks_size.png"
    }  # fmt: skip
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "- helix, D=5: the best peer, xRFM, has 4 times the error." in page
    assert "- diabetes: rank 3; xRFM has 0.8 times our error." in page
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
        "diabetes",
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
    assert "2 of 2 cells to run" in first.stdout and "| warnings from our own code | 0 |" in first.stdout
    assert (tmp_path / "out" / "tables.md").exists() and (tmp_path / "out" / "ranks.png").exists()
    assert "holds results: go on with --resume" in script(*asked, "--output", out).stderr
    second = script(*asked[:2], *asked[3:], "--output", out, "--resume")
    assert "0 of 2 cells to run" in second.stdout
    docs = str(tmp_path / "docs")
    told = script("report", "--input", str(tmp_path / "out" / "results.json"), "--docs", docs)
    assert told.returncode == 0 and (tmp_path / "docs" / "benchmarks.md").exists(), told.stderr


def test_the_script_lists_all_entries():
    lines = script("list").stdout
    assert all(name in lines for name in (*DATASETS, *PEERS))


def test_groups_of_sets_are_known():
    assert datasets.GROUPS.keys() == {entry.group for entry in DATASETS.values()}
