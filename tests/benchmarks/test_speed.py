"""Times against other methods, at sizes that take no time."""

import numpy as np
import pytest
import speed
import turns
from records import Records

TINY = [speed.Problem("Friedman", 40, 5, (speed.GRID, *speed.TUNED))]


def make_run(path=None, usable=(speed.GRID, speed.RIDGE)):
    return speed.Run(Records(path), frozenset(usable), threads=1, repeats=1)


def made_up(method, column, *others):
    """Work that fails for one method."""
    if method == "bad":
        raise ValueError("cannot")
    return {column: float(len(method))}


def test_methods_take_turns_and_failures_are_kept():
    found = turns.take_turns(made_up, ["good", "bad"], 1, "seconds")
    assert found["good"] == [{"seconds": 4.0}] and "ValueError: cannot" in found["bad"]
    assert turns.median(found, "good", "seconds") == 4.0
    assert np.isnan(turns.median(found, "bad", "seconds"))
    assert np.isnan(turns.median(found, "absent", "seconds"))


@pytest.fixture
def here(monkeypatch):
    """Measure in this process, which takes less time than to start others."""
    monkeypatch.setattr(turns, "measure_fresh", lambda work, *others: work(*others))


def test_all_have_a_turn_before_the_next(here):
    order = []

    def note(method):
        order.append(method)
        return {"error": "cannot"} if method == "bad" else {}

    assert turns.take_turns(note, ["good", "bad"], 3) == {"good": [{}] * 3, "bad": "cannot"}
    assert order == ["good", "bad", "good", "good"]


def test_ratios_are_ours_over_theirs(tmp_path, monkeypatch, capsys, here):
    monkeypatch.setattr(speed, "FITS", TINY)
    monkeypatch.setattr(speed, "PREDICTIONS", [speed.Problem("helix", 50, 3, (speed.RIDGE,))])
    run = make_run(tmp_path / "times.json")
    found = speed.tables(run, large=False, sets=False)
    assert found.keys() == {"Fits", "Predictions of 1,000 rows"}
    (row,) = found["Fits"][2:]
    cells = row.strip("| ").split(" | ")
    assert cells[0] == "Friedman, 40 x 5" and cells[2] == "kernel ridge, 16 settings in 3 folds"
    ours, theirs = (float(cells[i].removesuffix(" s")) for i in (1, 3))
    assert float(cells[4]) == pytest.approx(ours / theirs, rel=0.02)
    text = speed.page(found, run)
    assert row in text and "## Predictions of 1,000 rows" in text and row in capsys.readouterr().out
    monkeypatch.setattr(speed, "take_turns", lambda *others: pytest.fail("measured again"))
    assert speed.tables(make_run(tmp_path / "times.json"), large=False, sets=False) == found


def test_large_fits_tell_memory_and_leave_out_who_cannot(monkeypatch, capsys, here):
    monkeypatch.setattr(speed, "FITS", [])
    monkeypatch.setattr(speed, "PREDICTIONS", [])
    monkeypatch.setattr(speed, "LARGE", [speed.Problem("helix", 60, 3, (speed.GRID,))])
    monkeypatch.setitem(speed.MOST_ROWS, speed.GRID, 50)
    found = speed.tables(make_run(), large=True, sets=False)["Fits of many rows"]
    assert "too many rows for kernel ridge" in capsys.readouterr().out
    assert found[0].endswith("| memory, ours | theirs |") and " GB | - |" in found[2]


def test_geometric_means_are_over_sets_of_both(monkeypatch, capsys):
    def pretend(work, methods, repeats, name, threads):
        seconds = {"diabetes": (4.0, 1.0), "helix_5": (1.0, 1.0)}[name]
        record = dict(zip(methods, ([{speed.FIT: each}] for each in seconds), strict=False))
        return record | ({"xrfm": "it failed"} if "xrfm" in methods else {})

    monkeypatch.setattr(speed, "take_turns", pretend)
    lines = speed.sets_table(make_run(usable=speed.TUNED[1:]), ["diabetes", "helix_5"])
    assert lines[2:] == ["| LightGBM | 2 | 2 s | 1 s | 2 | 4 (diabetes) |"]
    failing = speed.sets_table(make_run(usable=speed.TUNED[:1]), ["diabetes"])
    assert failing[2:] == [] and "diabetes: xRFM failed: it failed" in capsys.readouterr().out


def test_a_set_is_timed(monkeypatch):
    record = speed.time_on_set("neighbors", "diabetes", 1)
    assert record.keys() == {speed.FIT, speed.PREDICT, speed.MEMORY} and min(record.values()) > 0.0
    monkeypatch.setattr(speed, "measure", lambda cell: {"status": "error", "error": "too few rows"})
    with pytest.raises(RuntimeError, match="too few rows"):
        speed.time_on_set("neighbors", "diabetes", 1)


def test_what_is_not_installed_is_told(monkeypatch, capsys):
    monkeypatch.setattr("localegop.research.peers.registry.find_spec", lambda module: None)
    assert speed.usable_methods() == {speed.GRID, speed.RIDGE}
    assert "xRFM skipped: it needs xrfm: pip install 'localegop[paper]'" in capsys.readouterr().out
