"""Models fitted by the command line, and a way to run it."""

import os

import pytest
from tests.cli.examples import ROWS, make_table

from localegop.cli import main


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with tables, and models of one and two targets fitted by the command line."""
    folder = tmp_path_factory.mktemp("cli")
    make_table(ROWS, 0).to_csv(folder / "train.csv", index=False)
    make_table(40, 1).to_csv(folder / "new.csv", index=False)
    fit = ["fit", str(folder / "train.csv"), "--quiet"]
    assert main([*fit, "--target", "y", "--ignore", "z", "-o", str(folder / "one.model")]) == 0
    assert main([*fit, "--target", "y,z", "-o", str(folder / "two.model")]) == 0
    return folder


@pytest.fixture
def run(home, tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own, to which the tables and models are linked."""
    monkeypatch.chdir(tmp_path)
    for path in home.iterdir():
        os.symlink(path, path.name)

    def call(command):
        capsys.readouterr()
        code = main(command if isinstance(command, list) else command.split())
        return code, *capsys.readouterr()

    return call
