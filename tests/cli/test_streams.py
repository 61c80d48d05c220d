"""Tables on standard input and output."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
from tests.cli.examples import refusal


def test_commands_as_a_pipe(home, run, tmp_path, monkeypatch):
    """Fit to, and predict, what comes through pipes; the report goes to standard error.

    Processes of their own take the pipes of the system; that nothing is said if asked is seen in this one.
    """

    def localegop(command, given):
        arguments = [sys.executable, "-m", "localegop", *command.split()]
        return subprocess.run(arguments, input=given, capture_output=True, check=True, cwd=home)

    train, new = (home / "train.csv").read_bytes(), (home / "new.csv").read_bytes()
    localegop("fit - --target y --ignore z -o piped.model --quiet", train)
    assert (home / "piped.model").read_bytes() == (home / "one.model").read_bytes()
    done = localegop("predict piped.model - -o - --std", new)
    assert run("predict one.model new.csv -o direct.csv --std")[0] == 0
    found, expected = pd.read_csv(io.BytesIO(done.stdout)), pd.read_csv(tmp_path / "direct.csv")
    pd.testing.assert_frame_equal(found, expected)
    assert b"predicted" in done.stderr and b"errors of y" in done.stderr
    for command, column in (("predict", "prediction"), ("explain", "value")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(new)))
        code, out, err = run(f"{command} one.model - -o - --quiet")
        assert (code, err) == (0, "")
        np.testing.assert_allclose(pd.read_csv(io.StringIO(out))[column], expected.prediction)


def test_one_thing_at_a_time_on_standard_output(run):
    assert "both write to standard output" in refusal(run("predict one.model new.csv -o - --json"))


def test_an_empty_input_is_refused(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "-: is empty: a header" in refusal(run("predict one.model - -o out.csv"))
