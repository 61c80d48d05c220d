"""What can happen on the way: one clear line, and no half-written file."""

import json
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
from tests.cli.examples import refusal

import localegop
from localegop import LocalEGOPRegressor


@pytest.mark.parametrize(
    "command",
    ["fit new.csv --target y --strategy query -o kept.csv", "predict one.model new.csv -o kept.csv"],
)
def test_ctrl_c_leaves_no_half_written_file(run, tmp_path, monkeypatch, heed_ctrl_c, command):
    written = []

    def interrupt(source, target):
        written.append(os.path.getsize(source))
        os.kill(os.getpid(), signal.SIGINT)

    (tmp_path / "kept.csv").write_text("old")
    before = sorted(os.listdir())
    monkeypatch.setattr(os, "replace", interrupt)  # at the last moment: the new file is all there
    assert run(command) == (130, "", "localegop: interrupted\n")
    assert written[0] > 100
    assert (tmp_path / "kept.csv").read_text() == "old"
    assert sorted(os.listdir()) == before


def test_failed_writing_leaves_the_old_table(run, tmp_path, monkeypatch):
    def write_half(self, path, **_):
        with open(path, "w") as file:
            file.write("half")
        raise OSError(28, "No space left on device", str(path))

    (tmp_path / "kept.csv").write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", write_half)
    assert "no space left on device" in refusal(run("predict one.model new.csv -o kept.csv"))
    assert (tmp_path / "kept.csv").read_text() == "old"
    assert not [name for name in os.listdir() if name.startswith(".")]


@pytest.mark.parametrize(("module", "table"), [("pandas", "new.csv"), ("pyarrow", "new.parquet")])
def test_missing_packages_are_named_with_the_extra(run, monkeypatch, module, table):
    pd.read_csv("new.csv").to_parquet("new.parquet")
    monkeypatch.setitem(sys.modules, module, None)
    line = refusal(run(f"predict one.model {table} -o out.csv"))
    assert f"tables need {module}" in line
    assert "pip install 'localegop[table]'" in line


def test_the_unexpected_is_one_line_too(run, monkeypatch):
    def fail(self, X, **_):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr(LocalEGOPRegressor, "localize", fail)
    assert refusal(run("explain one.model new.csv -o o.csv")).endswith("RuntimeError: something odd")
    code, _, err = run("explain one.model new.csv -o o.csv --traceback")
    assert code == 1
    assert "Traceback" in err


def test_warnings_of_the_estimator_are_one_line(run, monkeypatch, recwarn):
    import warnings

    predict = LocalEGOPRegressor.predict

    def warn(self, X, **options):
        warnings.simplefilter("always")  # as outside of the tests, where warnings are no errors
        warnings.warn("the queries\nare far away", UserWarning, stacklevel=1)
        return predict(self, X, **options)

    monkeypatch.setattr(LocalEGOPRegressor, "predict", warn)
    code, _, err = run("predict one.model new.csv -o out.csv")
    assert (code, err) == (0, "localegop: warning: the queries are far away\n")
    assert run("predict one.model new.csv -o out.csv --quiet") == (0, "", "")


def started(*arguments, **options):
    """Start the command line in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, "-m", "localegop", *arguments], **pipes)


def test_as_a_process(home, tmp_path):
    new, model, out = home / "new.csv", home / "one.model", tmp_path / "out.csv"
    with started("predict", str(model), str(new), "-o", str(out), "--json") as process:
        text, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(text)["output"] == str(out)
    assert len(pd.read_csv(out)) == 40
    with started("info", str(new)) as process:
        text, errors = process.communicate()
    assert (process.returncode, text) == (1, "")
    assert errors.startswith("localegop: error: ")
    assert errors.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(home):
    with started("info", str(home / "one.model")) as process:
        process.stdout.close()  # before anything is written: starting takes longer
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, "")


def test_parsing_imports_nothing_heavy():
    """Without the package's own __init__, which is not the command line's business."""
    code = f"""
import sys, types
package = types.ModuleType("localegop")
package.__path__ = {list(localegop.__path__)!r}
sys.modules["localegop"] = package
from localegop.cli import main
assert main(["fit", "--help"]) == 0
assert main(["fit", "x"]) == 2
heavy = {{"numpy", "scipy", "sklearn", "pandas", "joblib", "matplotlib"}} & set(sys.modules)
assert not heavy, heavy
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
