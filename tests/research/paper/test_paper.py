"""The paper's experiments: a smoke test of each, and what runner, command and report promise."""

import csv
import json
import multiprocessing
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from localegop.research.paper import EXPERIMENTS, cli, load_experiment, mandrill, runner, store
from localegop.research.paper.__main__ import main
from localegop.research.paper.diffusion_map import share_of_angle
from localegop.research.paper.experiment import (
    SIZES,
    Finding,
    Refused,
    Skipped,
    join_tables,
    select_rows,
    table_of_rows,
)
from localegop.research.paper.report import write_report
from localegop.research.paper.runner import Run, execute, findings, stored_parts, summary
from localegop.research.paper.store import Damaged, Store
from localegop.research.runs.workers import side_by_side

LIGHT = "diffusion_map"  # quick, and of two parts
NEED_MORE = ("dimensions", "malonaldehyde")  # their claims compare more cases than "tiny" has


def silent(line):
    pass


def same(first, second):
    assert list(first) == list(second)
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


# The experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_smoke(name, tmp_path):
    run = Run(name, "tiny", output=tmp_path)
    result = execute(run, say=silent)
    if not result.refused:
        assert set(result.tables) | set(run_skips(run, result)) == set(
            load_experiment(name).parts(run.parameters)
        )
    assert result.figures
    for figure in result.figures:
        assert figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 5000
        assert figure.stem in load_experiment(name).CAPTIONS
    found = findings(run, result.tables)
    assert all(isinstance(each, Finding) for each in found)
    assert found or name in NEED_MORE
    columns = {len(column) for column in summary(run, result.tables).values()}
    assert len(columns) <= 1


def run_skips(run, result):
    """Parts that do not apply here."""
    return (
        set(load_experiment(run.name).parts(run.parameters)) - set(result.tables) if result.skipped else ()
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_contract(name):
    experiment = load_experiment(name)
    assert set(experiment.PARAMETERS) == set(SIZES)
    keys = {size: set(parameters) for size, parameters in experiment.PARAMETERS.items()}
    assert len({frozenset(each) for each in keys.values()}) == 1
    for parameters in experiment.PARAMETERS.values():
        assert json.loads(json.dumps(parameters)) == parameters
        assert all(cost > 0 for cost in experiment.parts(parameters).values())
    assert all(figure == name or figure.startswith(f"{name}_") for figure in experiment.CAPTIONS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_missing_parts_are_no_error(name, tmp_path):
    experiment, parameters = load_experiment(name), load_experiment(name).PARAMETERS["tiny"]
    needs = getattr(experiment, "needs", lambda part: ())
    part = next(part for part in experiment.parts(parameters) if all(map(find_spec, needs(part))))
    try:
        tables = {part: experiment.compute(part, parameters, 0, 1)}
    except Skipped:
        pytest.skip("the first part does not apply here")
    experiment.draw(tables, parameters)
    experiment.findings(tables, parameters)


# Patches, rings


def stripes(shape=(80, 100), period=16.0):
    """An image of waves that go up to the right at 45 degrees."""
    rows, columns = np.indices(shape)
    return 0.5 + 0.5 * np.sin(2.0 * np.pi * (rows + columns) / period)


def image_file(path, pixels):
    from matplotlib.image import imsave

    imsave(path, pixels, cmap="gray", vmin=0, vmax=1)
    return path


def test_patches_follow_the_stripes_of_an_image(tmp_path):
    changes, tag = mandrill.image_parameters(image_file(tmp_path / "a b.png", stripes()))
    assert tag == "a_b"
    result = execute(Run("mandrill", "tiny", output=tmp_path, changes=changes, tag=tag), say=silent)
    table = select_rows(result.tables["point1"], kind="heaviest")
    values, vectors = np.linalg.eigh(np.cov(np.vstack([table["row"], table["column"]])))
    assert values[1] > 9.0 * values[0]
    assert abs(vectors[:, 1] @ [1.0, -1.0]) > 0.99 * np.sqrt(2.0)
    assert (tmp_path / "mandrill" / "tiny-seed0-a_b" / "mandrill.png").exists()


def test_edge_points_sit_on_edges_and_apart():
    gray = np.zeros((200, 300))
    gray[:, 100:] = 1.0
    points = mandrill.edge_points(gray, 3)
    assert np.all(np.abs(points[:, 1] - 99.5) <= 3)
    gaps = np.abs(points[:, None, 0] - points[None, :, 0])[np.triu_indices(3, 1)]
    assert gaps.min() > 30


def test_large_images_are_shrunk():
    large = stripes((1300, 700), 200.0)
    small = mandrill._shrink(large, 600)
    assert small.shape == (433, 233)
    assert np.isclose(small.mean(), large[:1299, :699].mean())


def test_share_of_angle():
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(0.6, 1.8, 4000), rng.uniform(-0.2, 0.2, 4000)
    table = {
        "kind": np.repeat("sample", 4000), "x1": radius * np.cos(angle), "x2": radius * np.sin(angle),
    }  # fmt: skip
    assert share_of_angle(table | {"distance": np.abs(angle)}) > 0.99
    assert share_of_angle(table | {"distance": radius}) < 0.05


# Resuming


def test_a_second_run_computes_nothing(tmp_path, monkeypatch):
    run = Run(LIGHT, "tiny", output=tmp_path)
    first = execute(run, say=silent)
    monkeypatch.setattr(load_experiment(LIGHT), "compute", lambda *_: pytest.fail("computed again"))
    lines = []
    second = execute(run, say=lines.append)
    assert lines == [f"{LIGHT}: 2 of 2 parts are there already"]
    for part, table in first.tables.items():
        same(table, second.tables[part])


def test_other_parameters_seeds_and_revisions_are_computed(tmp_path, monkeypatch):
    run = Run(LIGHT, "tiny", output=tmp_path)
    execute(run, say=silent)
    assert not stored_parts(Run(LIGHT, "tiny", 1, tmp_path)).tables
    assert not stored_parts(Run(LIGHT, "tiny", output=tmp_path, changes={"n_samples": 150})).tables
    monkeypatch.setattr(load_experiment(LIGHT), "REVISION", 99, raising=False)
    assert not stored_parts(run).tables


def test_again_computes_stored_parts(tmp_path, monkeypatch):
    run = Run(LIGHT, "tiny", output=tmp_path)
    execute(run, say=silent)
    calls = []
    compute = load_experiment(LIGHT).compute
    monkeypatch.setattr(
        load_experiment(LIGHT), "compute", lambda *args: calls.append(args[0]) or compute(*args)
    )
    execute(run, again=True, say=silent)
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
def test_damaged_parts_are_computed_again(tmp_path, damage):
    run = Run(LIGHT, "tiny", output=tmp_path)
    before = execute(run, say=silent)
    damage(run.folder)
    lines = []
    after = execute(run, say=lines.append)
    assert re.match(f"{LIGHT}: stored part sector is damaged \\(.+\\) and is computed again", lines[0])
    assert sum("took" in line for line in lines) == 1
    same(before.tables["sector"], after.tables["sector"])


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


def test_parts_side_by_side_are_the_same(tmp_path):
    one = execute(Run(LIGHT, "tiny", output=tmp_path / "one"), say=silent)
    two = execute(Run(LIGHT, "tiny", output=tmp_path / "two"), jobs=2, say=silent)
    assert set(one.tables) == set(two.tables)
    for part in one.tables:
        same(one.tables[part], two.tables[part])


def test_failures_in_processes_are_seen(tmp_path):
    broken = Run(LIGHT, "tiny", output=tmp_path, changes={"n_samples": -5})
    with pytest.raises(RuntimeError, match=r"(?s)part (sector|whole) failed:.*n_samples"):
        execute(broken, jobs=2, say=silent)
    assert not multiprocessing.active_children()


def test_the_sudden_end_of_a_process_is_seen(tmp_path):
    def kill(part):
        for process in multiprocessing.active_children():
            process.kill()

    run = Run(LIGHT, "tiny", output=tmp_path)
    outcomes = list(side_by_side(runner._parts(run, ["sector", "whole"], 2), 2, kill))
    assert all("ended with code -9" in str(outcome.error) for outcome in outcomes)


# Stored tables


def test_tables_are_stored_exactly(tmp_path):
    table = {
        "number": np.array([0.1, 1e-300, np.nan, -np.inf, 1 / 3]),
        "count": np.array([1, -2, 3, 2**62, 0]),
        "flag": np.array([True, False, True, True, False]),
        "text": np.array(["a", 'with "quotes", commas', "", "new\nline", "µ"]),
    }
    kept = Store(tmp_path, {"a": [1, 2]}, 3)
    kept.save("part", table, 1.25)
    found = kept.load("part")
    same(found.table, table)
    assert found.record["seconds"] == 1.25 and found.record["seed"] == 3
    assert {"python", "numpy", "localegop"} <= set(found.record["versions"])
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": np.zeros(2), "b": np.zeros(3)}, "columns of one length"),
        ({"a": np.zeros((2, 2))}, "columns of one length"),
        ({"a": np.array([None])}, "numbers or strings"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, table, message):
    with pytest.raises(ValueError, match=message):
        Store(tmp_path, {}, 0).save("part", table, 0.0)


def test_part_names_cannot_leave_the_folder(tmp_path):
    with pytest.raises(ValueError, match="letters, digits"):
        Store(tmp_path, {}, 0).load("../part")


def test_columns_that_do_not_fit_their_record_are_damage(tmp_path):
    kept = Store(tmp_path, {}, 0)
    kept.save("part", {"a": np.array(["x"])}, 0.0)
    record = json.loads((tmp_path / "part.json").read_text())
    (tmp_path / "part.json").write_text(json.dumps(record | {"columns": {"a": "float"}}))
    with pytest.raises(Damaged, match="could not convert"):
        kept.load("part")


def test_helpers_of_tables():
    table = table_of_rows([{"n": 1, "name": "a"}, {"n": 2, "name": "b"}])
    same(
        select_rows(join_tables([table, table]), name="b"),
        {"n": np.array([2, 2]), "name": np.array(["b", "b"])},
    )
    assert join_tables([]) == select_rows({}, n=1) == {}
    with pytest.raises(ValueError, match="same keys"):
        table_of_rows([{"n": 1}, {"m": 1}])
    with pytest.raises(ValueError, match="at least one row"):
        table_of_rows([])
    with pytest.raises(ValueError, match="'in part'"):
        Finding("claim", "paper", "ours", "perhaps")


# The command


def test_list(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)


def test_run_prints_findings_and_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        load_experiment(LIGHT).PARAMETERS, "quick", load_experiment(LIGHT).PARAMETERS["tiny"]
    )
    assert main(["run", LIGHT, "--quick", "--seed", "5", "--jobs", "1", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "agrees: yes" in printed
    assert str(tmp_path / LIGHT / "quick-seed5" / "diffusion_map.png") in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing"], "invalid choice"),
        (["run", LIGHT, "--quick", "--full"], "not allowed with"),
        (["run", LIGHT, "--jobs", "0"], "must be at least 1, not 0"),
        (["run", LIGHT, "--seed", "-1"], "must be at least 0, not -1"),
        ([], "required"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def one_line_and_two(arguments, capsys):
    assert main([str(argument) for argument in arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


def test_images_that_cannot_be_read(tmp_path, capsys):
    run = ["run", "mandrill", "-o", tmp_path, "--image"]
    assert "No such file" in one_line_and_two([*run, tmp_path / "none.png"], capsys)
    (tmp_path / "text.png").write_text("not an image")
    assert "give a PNG or JPEG file" in one_line_and_two([*run, tmp_path / "text.png"], capsys)
    image_file(tmp_path / "flat.png", np.full((80, 80), 0.3))
    assert "one gray value" in one_line_and_two([*run, tmp_path / "flat.png"], capsys)
    image_file(tmp_path / "small.png", stripes((20, 20)))
    assert "sides of at least 50" in one_line_and_two([*run, tmp_path / "small.png"], capsys)
    assert "mandrill only" in one_line_and_two(["run", LIGHT, "--image", tmp_path / "flat.png"], capsys)


def test_folders_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    for command in (["run", LIGHT], ["all"]):
        line = one_line_and_two([*command, "-o", tmp_path / "file" / "folder"], capsys)
        assert "cannot write to the folder" in line and "give another with --output" in line


def without(monkeypatch, *modules):
    monkeypatch.setattr(runner, "find_spec", lambda name: None if name in modules else find_spec(name))


def test_without_torch_the_rest_of_the_annulus_runs(tmp_path, monkeypatch, capsys):
    without(monkeypatch, "torch")
    monkeypatch.setitem(
        load_experiment("annulus").PARAMETERS, "quick", load_experiment("annulus").PARAMETERS["tiny"]
    )
    assert main(["run", "annulus", "--quick", "-o", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "transformer is left out for want of torch: pip install 'localegop[paper]'" in err
    assert "annulus.png" in out and "Local EGOP" in out


def test_without_matplotlib_nothing_starts(tmp_path, monkeypatch, capsys):
    without(monkeypatch, "matplotlib")
    line = one_line_and_two(["run", LIGHT, "-o", tmp_path], capsys)
    assert line == "localegop: error: figures need matplotlib: pip install 'localegop[plot]'"
    assert not list(tmp_path.iterdir())


def test_refused_and_skipped_parts(tmp_path, monkeypatch):
    def compute(part, *rest):
        raise Refused("set a folder") if part == "sector" else Skipped("not here")

    monkeypatch.setattr(load_experiment(LIGHT), "compute", compute)
    lines = []
    result = execute(Run(LIGHT, "tiny", output=tmp_path), say=lines.append)
    assert result.refused == [f"{LIGHT}: set a folder"] and result.skipped == [f"{LIGHT}: not here"]
    assert {f"{LIGHT}: set a folder", f"{LIGHT}: not here"} <= set(lines)
    assert result.tables == {} and result.figures == []


def test_all_runs_everything_and_keeps_the_worst_code(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        cli, "_execute", lambda run, args: seen.append(run.name) or 2 * (run.name == "sphere")
    )
    assert main(["all", "--quick", "-o", str(tmp_path)]) == 2
    assert seen == list(EXPERIMENTS)


def test_parsing_imports_nothing_heavy():
    code = (
        "import argparse, sys; before = set(sys.modules);"
        "from localegop.research.paper.cli import add_command;"
        "parser = argparse.ArgumentParser(); add_command(parser.add_subparsers());"
        "args = parser.parse_args(['paper', 'run', 'networks']); assert callable(args.run);"
        "print(sorted({m for m in sys.modules if m.split('.')[0] in ('matplotlib', 'torch', 'skimage')"
        " or m.startswith('localegop.research.paper.')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['localegop.research.paper.cli']"


def test_runs_know_what_is_allowed(tmp_path):
    with pytest.raises(ValueError, match=r"size='huge' .* one of 'tiny', 'quick', 'default', 'full'"):
        Run(LIGHT, "huge")
    with pytest.raises(ValueError, match="no parameters"):
        Run(LIGHT, "tiny", changes={"colour": 1})
    with pytest.raises(ValueError, match="there are mandrill"):
        load_experiment("nothing")
    with pytest.raises(ValueError, match="jobs=0 is not allowed"):
        execute(Run(LIGHT, "tiny", output=tmp_path), jobs=0)


# The report


def test_report(tmp_path):
    output, docs = tmp_path / "output", tmp_path / "docs"
    run = Run(LIGHT, "tiny", output=output)
    result = execute(run, say=silent)
    written = write_report(output, docs, size="tiny")
    text = (docs / "paper.md").read_text(encoding="utf-8")
    assert written == [docs / "paper.md", docs / "figures" / "paper_diffusion_map.png"]
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (docs / link).exists()
    assert text.count("Not run yet") == len(EXPERIMENTS) - 1
    assert load_experiment(LIGHT).CAPTIONS[LIGHT] in text
    for finding in findings(run, result.tables):
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
    for part, table in result.tables.items():
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


def test_report_needs_results(tmp_path, capsys):
    line = one_line_and_two(["report", "-o", tmp_path / "output", "--docs", tmp_path / "docs"], capsys)
    assert "run 'localegop paper all --quick' first" in line
    assert not (tmp_path / "docs").exists()


def test_report_folder_that_cannot_be_written(tmp_path, capsys):
    execute(Run(LIGHT, "quick", output=tmp_path, changes={}), say=silent)
    (tmp_path / "file").write_text("in the way")
    line = one_line_and_two(["report", "-o", tmp_path, "--docs", tmp_path / "file"], capsys)
    assert "cannot write to the folder" in line


def test_versions_name_the_packages():
    assert store.versions()["numpy"] == np.__version__
