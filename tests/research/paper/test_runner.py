"""Runs of experiments: what is stored is not computed again, and parts side by side are the same."""

import multiprocessing
import re
import shutil

import numpy as np
import pytest

from localegop.research.paper import load_experiment, runner
from localegop.research.paper.__main__ import main
from localegop.research.paper.experiment import Refused, Skipped
from localegop.research.paper.runner import Run, execute, stored_parts
from localegop.research.runs.workers import side_by_side

LIGHT = "diffusion_map"  # quick
MAPS = "[sw]*"  # two of its parts, sector and whole


def silent(line):
    pass


def same(first, second):
    assert list(first) == list(second)
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """A folder with the two parts computed, and their tables."""
    folder = tmp_path_factory.mktemp("maps")
    return folder, execute(Run(LIGHT, "tiny", output=folder), parts=MAPS, say=silent).tables


@pytest.fixture
def run(maps, tmp_path):
    """The run in a copy of this folder, which a test may change."""
    return Run(LIGHT, "tiny", output=shutil.copytree(maps[0], tmp_path / "output"))


# Resuming


def test_a_second_run_computes_nothing(maps, run, monkeypatch):
    monkeypatch.setattr(load_experiment(LIGHT), "compute", lambda *_: pytest.fail("computed again"))
    lines = []
    second = execute(run, parts=MAPS, say=lines.append)
    assert lines == [f"{LIGHT}: 2 of 5 parts are there already"]
    assert set(second.tables) == {"sector", "whole"}
    for part, table in maps[1].items():
        same(table, second.tables[part])


def test_parts_of_a_run_are_computed_alone_and_the_rest_later(tmp_path):
    run = Run(LIGHT, "tiny", output=tmp_path)
    assert set(execute(run, parts="sec*", say=silent).tables) == {"sector"}
    assert set(execute(run, parts="whole", say=silent).tables) == {"sector", "whole"}
    with pytest.raises(Refused, match=r"no part of diffusion_map is like 'x\*'; there are sector, whole"):
        execute(run, parts="x*", say=silent)


def test_other_parameters_seeds_and_revisions_are_computed(run, monkeypatch):
    assert stored_parts(run).tables
    assert not stored_parts(Run(LIGHT, "tiny", 1, run.output)).tables
    assert not stored_parts(Run(LIGHT, "tiny", output=run.output, changes={"n_samples": 150})).tables
    monkeypatch.setattr(load_experiment(LIGHT), "REVISION", 99, raising=False)
    assert not stored_parts(run).tables


def test_again_computes_stored_parts(run, monkeypatch):
    calls = []
    compute = load_experiment(LIGHT).compute
    monkeypatch.setattr(
        load_experiment(LIGHT), "compute", lambda *args: calls.append(args[0]) or compute(*args)
    )
    execute(run, again=True, parts=MAPS, say=silent)
    assert calls == ["sector", "whole"]


def cut_in_half(path):
    path.write_text(path.read_text()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: cut_in_half(folder / "sector.csv"),
        lambda folder: cut_in_half(folder / "sector.json"),
        lambda folder: (folder / "sector.csv").unlink(),
        lambda folder: (folder / "sector.csv").write_bytes(b"\xff\xfe"),
        lambda folder: (folder / "sector.json").write_text("[]"),
        lambda folder: (folder / "sector.csv").write_text((folder / "sector.csv").read_text() + "1,2,3\n"),
    ],
)
def test_damaged_parts_are_computed_again(maps, run, damage):
    damage(run.folder)
    lines = []
    after = execute(run, parts=MAPS, say=lines.append)
    assert re.match(f"{LIGHT}: stored part sector is damaged \\(.+\\) and is computed again", lines[0])
    assert sum("took" in line for line in lines) == 1
    same(maps[1]["sector"], after.tables["sector"])


def test_ctrl_c_keeps_finished_parts(tmp_path, monkeypatch, capsys):
    compute = load_experiment(LIGHT).compute

    def interrupted(part, *rest):
        if part == "whole":
            raise KeyboardInterrupt
        return compute(part, *rest)

    monkeypatch.setattr(load_experiment(LIGHT), "compute", interrupted)
    monkeypatch.setitem(
        load_experiment(LIGHT).PARAMETERS, "quick", load_experiment(LIGHT).PARAMETERS["tiny"]
    )
    assert main(["run", LIGHT, "--quick", "-o", str(tmp_path)]) == 130
    assert "goes on from there" in capsys.readouterr().err
    assert list(stored_parts(Run(LIGHT, "quick", output=tmp_path)).tables) == ["sector"]


def test_a_bug_in_a_part_ends_the_run_and_keeps_the_others(tmp_path, monkeypatch):
    compute = load_experiment(LIGHT).compute
    monkeypatch.setattr(
        load_experiment(LIGHT),
        "compute",
        lambda part, *rest: compute(part, *rest) if part == "sector" else 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        execute(Run(LIGHT, "tiny", output=tmp_path), say=silent)
    assert list(stored_parts(Run(LIGHT, "tiny", output=tmp_path)).tables) == ["sector"]


# Side by side


def same_up_to_rounding(first, second):
    """Eigenvectors of another process, whose threads may share the work in another way."""
    assert list(first) == list(second)
    for key, expected in second.items():
        if expected.dtype.kind == "f":
            scale = np.nanmax(np.abs(expected))
            np.testing.assert_allclose(first[key], expected, rtol=0, atol=1e-10 * scale)
        else:
            np.testing.assert_array_equal(first[key], expected)


@pytest.mark.slow
def test_parts_side_by_side_are_the_same(maps, tmp_path):
    two = execute(Run(LIGHT, "tiny", output=tmp_path), jobs=2, parts=MAPS, say=silent)
    assert set(maps[1]) == set(two.tables)
    for part, table in maps[1].items():
        same_up_to_rounding(table, two.tables[part])


def test_failures_in_processes_are_seen(tmp_path):
    broken = Run(LIGHT, "tiny", output=tmp_path, changes={"n_samples": -5})
    with pytest.raises(RuntimeError, match=r"(?s)part (sector|whole) failed:.*n_samples"):
        execute(broken, jobs=2, parts=MAPS, say=silent)
    assert not multiprocessing.active_children()


def test_the_sudden_end_of_a_process_is_seen(tmp_path):
    def kill(part):
        for process in multiprocessing.active_children():
            process.kill()

    run = Run(LIGHT, "tiny", output=tmp_path)
    outcomes = list(side_by_side(runner._parts(run, ["sector", "whole"], 2), 2, kill))
    assert all("ended with code -9" in str(outcome.error) for outcome in outcomes)


# What is left out, and what is allowed


def test_refused_and_skipped_parts(tmp_path, monkeypatch):
    def compute(part, *rest):
        raise Refused("set a folder") if part == "sector" else Skipped("not here")

    monkeypatch.setattr(load_experiment(LIGHT), "compute", compute)
    lines = []
    result = execute(Run(LIGHT, "tiny", output=tmp_path), say=lines.append)
    assert result.refused == [f"{LIGHT}: set a folder"] and result.skipped == [f"{LIGHT}: not here"]
    assert {f"{LIGHT}: set a folder", f"{LIGHT}: not here"} <= set(lines)
    assert result.tables == {} and result.figures == []


def test_runs_know_what_is_allowed(tmp_path):
    with pytest.raises(ValueError, match=r"size='huge' .* one of 'tiny', 'quick', 'default', 'full'"):
        Run(LIGHT, "huge")
    with pytest.raises(ValueError, match="no parameters"):
        Run(LIGHT, "tiny", changes={"colour": 1})
    with pytest.raises(ValueError, match="there are mandrill"):
        load_experiment("nothing")
    with pytest.raises(ValueError, match="jobs=0 is not allowed"):
        execute(Run(LIGHT, "tiny", output=tmp_path), jobs=0)
