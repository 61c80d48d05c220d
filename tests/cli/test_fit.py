"""`localegop fit` and `localegop info`: options, weights, and what is facts of a model."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from tests.cli.examples import FEATURES, ROWS, refusal

from localegop import LocalEGOPRegressor
from localegop._data.archive import FORMAT


def test_info_and_fit_tell_the_same(run):
    code, out, _ = run("fit train.csv --target y --ignore z -o again.model --json")
    fitted = json.loads(out)
    assert code == 0
    code, out, _ = run("info again.model --json")
    assert code == 0
    facts = json.loads(out)
    assert facts["features"] == FEATURES
    assert facts["targets"] == ["y"]
    assert facts["rows"] == ROWS
    assert (facts["bytes"], facts["format"]) == (os.path.getsize("again.model"), FORMAT)
    assert 0.05 < facts["noise"]["y"] < 0.25
    assert sum(facts["global_importance"].values()) == pytest.approx(1.0)
    assert facts["choice"][0]["error"] < 0.3
    assert facts["seconds"]["total"] >= facts["seconds"]["load"] > 0.0
    for name in (
        "rows",
        "features",
        "targets",
        "strategy",
        "choice",
        "noise",
        "global_importance",
        "bytes",
    ):
        assert fitted[name] == facts[name]
    code, out, _ = run("info again.model")
    assert code == 0
    for words in (
        "200",
        "'a', 'b', 'c'",
        "'y'",
        "field",
        "held-out error",
        f"format {FORMAT}",
        "noise level",
        "importance",
    ):
        assert words in out


def test_weights_count_like_repeated_rows(run):
    train = pd.read_csv("train.csv")[:80]
    train["times"] = np.arange(80) % 3
    train.to_csv("weighted.csv", index=False)
    train.loc[train.index.repeat(train.times)].drop(columns="times").to_csv("repeated.csv", index=False)
    assert run("fit weighted.csv --target y --weight times -o weighted.model")[0] == 0
    assert run("fit repeated.csv --target y -o repeated.model")[0] == 0
    results = []
    for name in ("weighted", "repeated"):
        assert run(f"predict {name}.model new.csv -o {name}_out.csv")[0] == 0
        results.append(pd.read_csv(f"{name}_out.csv"))
    np.testing.assert_allclose(*results, rtol=1e-9)


def test_options_reach_the_estimator(run):
    options = "--strategy query --max-neighbors 30 --seed 7 --jobs 1"
    assert run(f"fit new.csv --target y {options} -o a.model")[0] == 0
    model = LocalEGOPRegressor.load("a.model")
    assert (model.strategy, model.max_neighbors, model.random_state) == ("query", 30, 7)
    assert (model.n_jobs, model.verbose) == (None, 0)
    assert run("fit new.csv --target y --paper -o a.model")[0] == 0
    parameters = LocalEGOPRegressor.load("a.model").get_params()
    assert parameters == parameters | LocalEGOPRegressor.paper_parameters()
    assert run("fit new.csv --target y --max-neighbors all -o a.model")[0] == 0
    assert LocalEGOPRegressor.load("a.model").max_neighbors is None


def test_wrong_labels_count_for_nothing_with_a_robust_loss(run):
    train = pd.read_csv("train.csv")
    train.loc[[11, 60], "y"] = 1e6
    train.to_csv("wrong.csv", index=False)
    code, out, _ = run("fit wrong.csv --target y --ignore z --loss huber -o robust.model --json")
    facts = json.loads(out)
    assert code == 0 and facts["loss"] == "huber"
    assert {12, 61} <= set(facts["outlying_labels"]) and len(facts["outlying_labels"]) <= 4
    assert facts["noise"]["y"] < 0.5
    _, out, _ = run("info robust.model")
    rows = ", ".join(map(str, facts["outlying_labels"]))
    assert f"count for nothing: rows {rows} (counted from 1 after the header)" in out
    _, out, _ = run("fit wrong.csv --target y --ignore z -o plain.model --json")
    assert json.loads(out)["outlying_labels"] == [] and json.loads(out)["noise"]["y"] > 1e4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,b,y\n1,x,3\n2,y,4\n",
            "not numeric: column 'b' (row 1: 'x'): use --categorical for categories, --dates for",
        ),
        (
            "a,b,y\n1,,3\n2,5,\n",
            "missing values in 2 rows: columns 'b' (row 1), 'y' (row 2); rows are counted",
        ),
        ("a,y\n1,u\n2,v\n", "not numeric: column 'y' (row 1: 'u'): a target must be numbers"),
        ("a,b,y\n", "no rows"),
        ("", "is empty"),
        ("a,a,y\n1,2,3\n", "more than once: 'a'"),
        ("y\n1\n2\n", "no features are left besides 'y'"),
        ("a,y\n1,5\n2,5\n3,5\n", "constant target: 'y' is the same in all 3 rows"),
        ("a,y\n1,5\n", "at least 2 rows are needed"),
        ("a,b\n1,5\n2,6\n", "--target: there is no column 'y'"),
        ("a,y\ninf,5\n2,6\n", "infinite values in column 'a' (row 1)"),
    ],
)
def test_training_tables_that_are_refused(run, tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    assert words in refusal(run("fit bad.csv --target y -o bad.model"))
    assert not (tmp_path / "bad.model").exists()


def test_negative_weights_and_nothing_left(run, tmp_path):
    (tmp_path / "bad.csv").write_text("a,y,w\n1,,1\n2,6,0\n3,7,2\n")
    line = refusal(run("fit bad.csv --target y --weight w --drop-missing -o m --quiet"))
    assert "at least 2 rows are needed, but 1 of 3 can be used" in line
    (tmp_path / "bad.csv").write_text("a,b,c\n,1,1\n")
    assert "every row has a missing feature" in refusal(
        run("predict one.model bad.csv -o o.csv --drop-missing")
    )
