"""Parts in processes: values, refusals, bugs, crashes, time limits, interrupts, and lines about them."""

import json
import math
import multiprocessing
import os
import time

import pytest

from localegop.research.runs import files, workers
from localegop.research.runs.progress import PartsProgress
from localegop.research.runs.workers import Outcome, Part, Refused, TimeLimit, run_parts, side_by_side


def nothing(name):
    pass


def test_each_part_ends_in_its_own_way():
    parts = [
        Part("value", math.sqrt, (4.0,)),
        Part("bug", divmod, (1, 0)),
        Part("crash", os._exit, (3,)),
    ]
    begun = []
    found = {each.name: each for each in side_by_side(parts, 2, begun.append)}
    assert sorted(begun) == sorted(found) == ["bug", "crash", "value"]
    assert found["value"].value == 2.0 and found["value"].error is None
    assert found["value"].wall_seconds > found["value"].seconds >= 0.0
    assert "part bug failed" in str(found["bug"].error) and "ZeroDivisionError" in str(found["bug"].error)
    assert str(found["crash"].error) == "the process of part crash ended with code 3"
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("jobs", [None, 1])
def test_refusals_come_as_they_are(tmp_path, jobs):
    (tmp_path / "file").touch()
    outcomes, lines = [], []

    def keep(outcome):
        outcomes.append(outcome)
        return "refused"

    part = Part("part", files.make_folder, (tmp_path / "file" / "folder",))
    run_parts([part], keep, PartsProgress({"part": 1.0}, lines.append), jobs=jobs)
    assert isinstance(outcomes[0].error, Refused) and "Not a directory" in str(outcomes[0].error)
    assert lines == ["[1/1, 0.0 s left] part: refused"]


def test_a_late_part_is_stopped():
    (late,) = side_by_side([Part("late", time.sleep, (600.0,))], 2, nothing, time_limit=0.5)
    assert isinstance(late.error, TimeLimit) and str(late.error) == "not finished after 0.5 s"
    assert 0.5 <= late.wall_seconds < 60.0 and not multiprocessing.active_children()


def test_an_interrupt_ends_what_runs_and_begins_nothing_more():
    begun = []

    def interrupt(name):
        begun.append(name)
        raise KeyboardInterrupt

    parts = [Part(str(k), time.sleep, (600.0,)) for k in range(50)]
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(parts, 2, interrupt))
    assert begun == ["0"] and not multiprocessing.active_children()


def test_a_failure_to_keep_ends_what_runs(monkeypatch):
    stopped = []

    def pretend(parts, jobs, started, limit):
        try:
            for part in parts:
                started(part.name)
                yield Outcome(part.name, value=1)
        finally:
            stopped.append(True)

    monkeypatch.setattr(workers, "side_by_side", pretend)
    progress = PartsProgress({"a": 1.0, "b": 1.0}, nothing)
    with pytest.raises(ZeroDivisionError):
        run_parts([Part("a", abs), Part("b", abs)], lambda outcome: 1 / 0, progress, jobs=1)
    assert stopped == [True]


def test_lines_say_how_far_a_run_is(monkeypatch):
    lines = []
    progress = PartsProgress({"long": 2.0, "short": 1.0}, lines.append, "study")
    monkeypatch.setattr(time, "monotonic", lambda: progress.start + 30.0)
    with progress:
        progress.begin_part("long")
        progress.end_part("long", "took 30 s")
        progress.end_part("short", "not computed")
    assert lines == [
        "[1/2, 15 s left] study: long: took 30 s",
        "[2/2, 0.0 s left] study: short: not computed",
    ]


def test_a_bar_names_the_part_that_runs(monkeypatch, capsys):
    progress = PartsProgress({"long": 3.0, "b": 1.0}, pytest.fail, "study", bar=True)
    start = progress.start
    monkeypatch.setattr(time, "monotonic", lambda: start + 30.0)
    progress.begin_part("b")
    progress.end_part("b", "took 30 s")
    shown = capsys.readouterr().err
    assert shown.startswith("\rstudy [") and shown.rstrip().endswith(", b")


def test_files_are_whole_or_not_there(tmp_path):
    path = tmp_path / "record.json"
    files.write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        files.write_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(Refused, match=r"cannot write to the folder .* give another with --output"):
        files.write_json(tmp_path / "none" / "record.json", {})


def test_settings_are_compared_as_json_holds_them():
    record = {"sizes": [1, 2], "seed": 0, "more": True}
    assert files.has_settings(record, {"sizes": (1, 2), "seed": 0})
    assert not files.has_settings(record, {"seed": 1})
    assert not files.has_settings({}, {"seed": 0})


def test_peak_memory_is_that_of_a_process():
    (found,) = side_by_side([Part("memory", workers.peak_memory)], 1, nothing)
    assert 0.005 < found.value < 10.0
