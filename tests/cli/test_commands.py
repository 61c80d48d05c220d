"""All commands: usage, files, damaged models, output for programs."""

import json
import sys
import types

import pytest
from tests.cli.examples import refusal

from localegop.cli import COMMANDS


def test_quiet_says_nothing_and_json_nothing_else(run):
    assert run("predict one.model new.csv -o out.csv --quiet") == (0, "", "")
    code, out, err = run("predict one.model new.csv -o out.csv --quiet --json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == 40


def test_progress_is_shown_when_asked_for(run, monkeypatch):
    from localegop._progress import ProgressBar

    asked, leave = [], ProgressBar.__exit__

    def note(self, *why):
        asked.append((self.title, self.verbose))
        return leave(self, *why)

    monkeypatch.setattr(ProgressBar, "__exit__", note)
    for option, shown in (("", False), ("--progress", True), ("--no-progress", False)):
        asked.clear()
        assert run(f"explain one.model new.csv -o out.csv {option}")[0] == 0
        assert ("explain", shown) in asked
        assert run(f"predict one.model new.csv -o out.csv {option}")[0] == 0
        assert ("predict", shown) in asked


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit none.csv --target y -o m", "none.csv: no such file"),
        ("fit . --target y -o m", "does not tell the format of a table"),
        ("fit train.csv --target y -o .", "is a folder"),
        ("fit train.csv --target y -o none/m", "there is no folder"),
        ("fit train.csv --target y -o train.csv", "also read by this command"),
        ("fit train.csv --target y --weight a -o m", "weights in 'a' are negative: rows"),
        ("fit one.model --target y -o m", "ending '.model' does not tell the format of a table"),
        ("predict none.model new.csv -o o.csv", "none.model: no such file"),
        ("predict . new.csv -o o.csv", "is a folder"),
        ("predict one.model none.csv -o o.csv", "none.csv: no such file"),
        ("predict one.model new.csv -o o.txt", "ending '.txt' does not tell the format of a table"),
        ("predict one.model new.csv -o new.csv", "also read by this command"),
        ("info none.model", "no such file"),
    ],
)
def test_files_that_are_refused(run, command, words):
    assert words in refusal(run(command))


@pytest.mark.parametrize(
    "command",
    [
        "",
        "bake",
        "fit train.csv -o m",
        "fit train.csv --target y",
        "fit train.csv --target y -o m --features a --ignore b",
        "fit train.csv --target y -o m --paper --strategy field",
        "fit train.csv --target y -o m --max-neighbors 1",
        "fit train.csv --target y -o m --max-neighbors many",
        "fit train.csv --target y -o m --seed -1",
        "fit train.csv --target y -o m --jobs 0",
        "predict one.model new.csv -o o.csv --interval 1.5",
        "predict one.model new.csv -o o.csv --interval most",
        "explain one.model new.csv -o o.csv --neighbors -1",
        "info",
    ],
)
def test_wrong_usage(run, command):
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert "usage: localegop" in err
    assert "error: " in err.splitlines()[-1]


@pytest.mark.parametrize("name", ["demo", "fit", "predict", "explain", "info"])
def test_every_command_has_an_example(run, name):
    code, out, _ = run(f"{name} --help")
    assert code == 0
    assert f"example:\n  localegop {name}" in out


def test_other_packages_add_commands(run, monkeypatch):
    def add_command(subparsers):
        parser = subparsers.add_parser("greet", help="say hello")
        parser.add_argument("name")
        parser.set_defaults(run=greet)

    def greet(args):
        if args.name == "nobody":
            raise ValueError("nobody is there")
        print("hello", args.name)
        return 0

    module = types.ModuleType("greetings")
    module.add_command = add_command
    monkeypatch.setitem(sys.modules, "greetings", module)
    monkeypatch.setattr("localegop.cli.COMMANDS", (*COMMANDS, "greetings"))
    assert run("greet you") == (0, "hello you\n", "")
    assert refusal(run("greet nobody")).endswith("nobody is there")
    assert "say hello" in run("--help")[1]


def test_damaged_and_foreign_models_are_refused(run, home, tmp_path):
    whole = (home / "one.model").read_bytes()
    damaged = {
        "truncated.model": whole[: len(whole) // 2],
        "header_only.model": whole[:10],
        "flipped.model": whole[: len(whole) // 2]
        + bytes([whole[len(whole) // 2] ^ 1])
        + whole[len(whole) // 2 + 1 :],
        "foreign.model": b"PK\x03\x04 this is not a model",
        "text.model": (home / "train.csv").read_bytes(),
        "empty.model": b"",
    }
    lines = set()
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        for command in (
            f"info {name}",
            f"predict {name} new.csv -o out.csv",
            f"explain {name} new.csv -o o.csv",
        ):
            line = refusal(run(command))
            assert name in line
            lines.add(line.replace(name, ""))
    assert len(lines) > 1  # says what is wrong, not only that something is
    assert not (tmp_path / "out.csv").exists()
