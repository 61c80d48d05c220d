"""Ranks, errors and bars from made-up results."""

import bars
import numpy as np
import pytest
from comparison import summary
from comparison.datasets import TABLE
from tests.benchmarks.examples import failed, made_up, record


def bar(records, start):
    rows = [row for row in summary.must_show(records).rows if row["what"].startswith(start)]
    assert rows, start
    return rows[0]


def test_sets_that_are_not_finished_are_left_out():
    records = [record(d, m, 0.1) for d in ("diabetes", "uci_yacht") for m in ("local_egop", "forest")]
    records.append(record("uci_wine", "local_egop", 0.1))
    assert summary.complete_sets(records, TABLE) == ["uci_yacht", "diabetes"]
    assert bar(records, "place by mean rank over 2 tables")["measured"] == 1


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
    assert [bar(large, f"peak memory of field Local EGOP{s}")["met"] for s in ("", ", 200")] == [
        False,
        True,
    ]
    huge = changed(ours | {"dataset": "helix_200k"}, memory_gb=6.5)
    assert [bar(huge, f"peak memory of field Local EGOP{s}")["met"] for s in ("", ", 200")] == [True, False]
    broken = changed(ours | {"dataset": "image"}, status="error", error="")
    assert not bar(broken, "cells in which field Local EGOP failed")["met"]


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
