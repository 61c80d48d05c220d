"""`localegop fit --gradients`: columns with known slopes."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.examples import refusal

from localegop import LocalEGOPRegressor
from localegop.datasets import make_engineering


@pytest.fixture
def table(run):
    X, y, gradients = make_engineering("otl_circuit", 60, random_state=0)
    names = ["Rb1", "Rb2", "Rf", "Rc1", "Rc2", "beta"]
    frame = pd.DataFrame(X, columns=names).assign(V=y)
    for name, slope in zip(names, gradients.T, strict=True):
        frame[f"dV_{name}"] = slope
    frame.loc[3, "dV_Rf"] = np.nan
    frame.to_csv("circuit.csv", index=False)
    return frame


def test_slopes_are_read_by_their_names(run, table):
    code, out, _ = run("fit circuit.csv --target V --gradients dV_{column} -o circuit.model --json")
    assert code == 0
    facts = json.loads(out)
    assert facts["features"] == ["Rb1", "Rb2", "Rf", "Rc1", "Rc2", "beta"]
    assert facts["choice"][0]["final"] == "gradients" and facts["rows_left_out"] == 0
    X, slopes = table.iloc[:, :6], table.iloc[:, 7:]
    same = LocalEGOPRegressor().fit(X, table["V"], gradients=slopes)
    assert LocalEGOPRegressor.load("circuit.model").predict(X) == pytest.approx(same.predict(X), rel=1e-9)
    code, out, _ = run("info circuit.model")
    assert code == 0 and "with gradients in" in out


def test_patterns_that_name_nothing_are_refused(run, table):
    message = refusal(run("fit circuit.csv --target V --gradients slope -o a.model"))
    assert "must contain {column}" in message
    message = refusal(run("fit circuit.csv --target V --gradients slope_{column} -o a.model"))
    assert "names no column of the table, such as 'slope_Rb1'" in message
    message = refusal(run("fit circuit.csv --target V,Rf --gradients dV_{column} -o a.model"))
    assert "must contain {target}" in message
