"""The benchmark against peers: data sets, and one cell, here and in a child process."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from comparison import cells, datasets, runs
from comparison.cells import collect_own_warnings, measure
from comparison.datasets import CLEAN, DATASETS, GROUPS, INDEX, NOISY, SCALE, TABLE, held_out_quarter, split
from tests.benchmarks.examples import cell

from localegop.research.peers import METHODS
from localegop.research.runs.workers import Outcome, Part, side_by_side


def test_groups_of_sets_are_known():
    assert datasets.GROUPS.keys() == {entry.group for entry in DATASETS.values()}


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


def test_a_held_out_quarter_is_of_training_rows():
    entry = DATASETS["helix_20_noise"]
    whole = split(entry, max(entry.full.train), entry.full.test, 1)
    parts = held_out_quarter("helix_20_noise", 100, 1)
    np.testing.assert_array_equal(np.vstack([parts.X_test, parts.X]), whole.X[:100])
    np.testing.assert_array_equal(np.concatenate([parts.y_test, parts.y]), whole.y[:100])
    np.testing.assert_array_equal(np.concatenate([parts.truth, parts.clean]), whole.clean[:100])
    assert len(parts.truth) == 25 and np.std(parts.y_test - parts.truth) > 0.0
    assert len(held_out_quarter("diabetes", None, 0).y) == 353 - 353 // 4


def test_the_usual_sets_can_be_read(monkeypatch):
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    usual = datasets.usual_sets()
    assert "helix_5" in usual and not {"uci_yacht", *datasets.SKIPPED} & set(usual)


def test_the_sets_that_the_bars_speak_of_are_there():
    groups = [entry.group for entry in DATASETS.values()]
    assert (groups.count(INDEX), groups.count(TABLE), groups.count(SCALE)) == (8, 7, 2)
    assert groups.count(CLEAN) == groups.count(NOISY) >= 20
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
    with collect_own_warnings() as texts:
        warnings.warn("of the caller", UserWarning, stacklevel=1)
        np.float64(1.0) / np.float64(0.0)
        assert not texts
        model.predict([[50.0, 50.0]])
    assert len(texts) == 2
    assert "ExtrapolationWarning" in texts[0] and "exclusion_radius" in texts[1]


def in_child(asked, time_limit=120.0):
    """Record of one cell, measured in a process of its own."""
    (outcome,) = side_by_side([Part(asked.key, measure, (asked,))], 1, lambda name: None, time_limit)
    return runs.record_of(asked, outcome, time_limit)


def test_a_child_measures_what_this_process_does():
    here, there = measure(cell()), in_child(cell())
    assert there["status"] == "ok", there
    assert there["rmse"] == pytest.approx(here["rmse"], rel=1e-12)
    assert there["wall_seconds"] > there["fit_seconds"]


def test_a_child_that_is_late_or_dies_is_a_record():
    late = in_child(cell(), 0.01)
    assert late["status"] == "time limit" and "0.01 s" in late["error"]
    dead = in_child(cell(dataset="no_such_set"))
    assert dead["status"] == "error" and "no_such_set" in dead["error"]
    gone = runs.record_of(cell(), Outcome("", error=RuntimeError("ended with code 1")), 1.0)
    assert gone["status"] == "error" and "code 1" in gone["error"] and "time_limit" not in gone
