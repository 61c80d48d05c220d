"""The command `localegop paper`: what it prints, and one line for every problem."""

import subprocess
import sys

import numpy as np
import pytest

from localegop.research.paper import EXPERIMENTS, cli, load_experiment, runner
from localegop.research.paper.__main__ import main

LIGHT = "diffusion_map"  # quick


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


def test_images_that_cannot_be_read(tmp_path, one_line_and_two, image_file, stripes):
    run = ["run", "mandrill", "-o", tmp_path, "--image"]
    assert "No such file" in one_line_and_two([*run, tmp_path / "none.png"])
    (tmp_path / "text.png").write_text("not an image")
    assert "give a PNG or JPEG file" in one_line_and_two([*run, tmp_path / "text.png"])
    image_file(tmp_path / "flat.png", np.full((80, 80), 0.3))
    assert "one gray value" in one_line_and_two([*run, tmp_path / "flat.png"])
    image_file(tmp_path / "small.png", stripes((20, 20)))
    assert "sides of at least 50" in one_line_and_two([*run, tmp_path / "small.png"])
    assert "mandrill only" in one_line_and_two(["run", LIGHT, "--image", tmp_path / "flat.png"])


def test_folders_that_cannot_be_written(tmp_path, one_line_and_two):
    (tmp_path / "file").write_text("in the way")
    for command in (["run", LIGHT], ["all"]):
        line = one_line_and_two([*command, "-o", tmp_path / "file" / "folder"])
        assert "cannot write to the folder" in line and "give another with --output" in line


def without(monkeypatch, *modules):
    """Let the runner find all modules but these, whatever is installed here."""
    monkeypatch.setattr(runner, "find_spec", lambda name: None if name in modules else True)


@pytest.mark.parametrize(
    "missing", [("torch",), ("rtdl_revisiting_models",), ("torch", "rtdl_revisiting_models")]
)
def test_without_torch_the_rest_of_the_annulus_runs(missing, tmp_path, monkeypatch, capsys):
    without(monkeypatch, *missing)
    monkeypatch.setitem(
        load_experiment("annulus").PARAMETERS, "quick", load_experiment("annulus").PARAMETERS["tiny"]
    )
    assert main(["run", "annulus", "--quick", "-o", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    wanted = f"transformer is left out for want of {' and '.join(missing)}: pip install 'localegop[paper]'"
    assert wanted in err
    assert "annulus.png" in out and "Algorithm 1" in out


def test_without_matplotlib_nothing_starts(tmp_path, monkeypatch, one_line_and_two):
    without(monkeypatch, "matplotlib")
    line = one_line_and_two(["run", LIGHT, "-o", tmp_path])
    assert line == "localegop: error: figures need matplotlib: pip install 'localegop[plot]'"
    assert not list(tmp_path.iterdir())


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
