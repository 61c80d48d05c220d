"""`localegop predict`: predictions are those of the estimator."""

import json
import os

import numpy as np
import pandas as pd
from tests.cli.examples import FEATURES, refusal

from localegop import LocalEGOPRegressor


def test_predictions_are_those_of_the_estimator(run):
    code, out, err = run("predict one.model new.csv -o out.csv --std --interval 0.9")
    assert (code, err) == (0, "")
    train, new, out_table = pd.read_csv("train.csv"), pd.read_csv("new.csv"), pd.read_csv("out.csv")
    model = LocalEGOPRegressor().fit(train[FEATURES], train.y)
    value, std = model.predict(new[FEATURES], return_std=True)
    bounds = model.predict_interval(new[FEATURES], 0.9)
    assert list(out_table.columns) == ["prediction", "std", "lower", "upper"]
    np.testing.assert_allclose(out_table, np.column_stack([value, std, bounds]), rtol=1e-12)
    rmse = np.sqrt(np.mean((new.y - value) ** 2))
    assert f"RMSE {rmse:.4g}, R2 {model.score(new[FEATURES], new.y):.4f} (40 rows)" in out
    inside = np.mean((bounds[:, 0] <= new.y) & (new.y <= bounds[:, 1]))
    assert f"contains {inside:.1%} of the labels" in out


def test_order_of_columns_and_kind_of_file_do_not_matter(run):
    new = pd.read_csv("new.csv")
    new["name"] = "text"
    new[["c", "name", "b", "a"]].to_parquet("turned.parquet")
    assert run("predict one.model new.csv -o plain.csv")[0] == 0
    code, out, _ = run("predict one.model turned.parquet -o turned_out.pq --keep")
    assert code == 0
    assert "RMSE" not in out  # the target is not there
    turned = pd.read_parquet("turned_out.pq")
    assert list(turned.columns) == ["c", "name", "b", "a", "prediction"]
    np.testing.assert_allclose(turned.prediction, pd.read_csv("plain.csv").prediction, rtol=1e-12)


def test_several_targets_and_intervals(run):
    code, out, _ = run("predict two.model new.csv -o out.csv --interval 0.5 --interval 0.9 --json")
    assert code == 0
    ends = [f"{end}_{p}_" for p in ("0.5", "0.9") for end in ("lower", "upper")]
    expected = [f"{name}{target}" for target in "yz" for name in ("prediction_", *ends)]
    table = pd.read_csv("out.csv")
    assert list(table.columns) == expected
    facts = json.loads(out)
    assert facts["targets"] == ["y", "z"]
    for target in "yz":
        quality = facts["quality"][target]
        assert quality["r2"] > 0.5
        assert 0.2 < quality["coverage"]["0.5"] < quality["coverage"]["0.9"] <= 1.0
        widths = [table[f"upper_{p}_{target}"] - table[f"lower_{p}_{target}"] for p in ("0.5", "0.9")]
        assert (widths[0] < widths[1]).all()


def test_models_without_names_take_columns_in_order(run):
    train, new = pd.read_csv("train.csv"), pd.read_csv("new.csv")
    model = LocalEGOPRegressor("query", n_iter=3).fit(train[FEATURES].to_numpy(), train.y.to_numpy())
    model.save("nameless.model")
    new[[*FEATURES, "y"]].to_csv("bare.csv", index=False)
    code, _, err = run("predict nameless.model bare.csv -o out.csv")
    assert code == 0
    assert "columns are used in the order of the table" in err
    np.testing.assert_allclose(pd.read_csv("out.csv").prediction, model.predict(new[FEATURES].to_numpy()))
    assert "3 features without names" in refusal(run("predict nameless.model new.csv -o out.csv"))


def test_rows_with_missing_features_get_empty_predictions(run):
    new = pd.read_csv("new.csv")
    new.loc[[1, 4], "b"] = np.nan
    new.loc[5, "y"] = np.nan
    new.to_csv("holes.csv", index=False)
    line = refusal(run("predict one.model holes.csv -o out.csv"))
    assert "missing values in 2 rows: column 'b' (rows 2, 5); rows are counted from 1" in line
    assert "--drop-missing" in line
    code, out, err = run("predict one.model holes.csv -o out.csv --drop-missing --keep")
    assert code == 0
    assert "2 rows with missing values left empty: rows 2, 5" in err
    assert "(37 rows)" in out  # 40 without the two, and one without label
    table = pd.read_csv("out.csv")
    assert table.prediction.isna().to_numpy().nonzero()[0].tolist() == [1, 4]
    assert run("predict one.model new.csv -o full.csv")[0] == 0
    full = pd.read_csv("full.csv").prediction[table.prediction.notna()]
    np.testing.assert_allclose(table.prediction.dropna(), full, rtol=1e-12)


def test_features_that_the_table_lacks_are_named(run):
    pd.read_csv("new.csv")[["b", "y"]].to_csv("few.csv", index=False)
    line = refusal(run("predict one.model few.csv -o out.csv"))
    assert "2 features of the model not in the table: 'a', 'c'. The table has 'b', 'y'" in line
    assert not os.path.exists("out.csv")


def test_keep_does_not_hide_columns(run):
    assert run("predict one.model new.csv -o once.csv --keep")[0] == 0
    line = refusal(run("predict one.model once.csv -o o.csv --keep"))
    assert "already has columns called 'prediction': rename them" in line
    assert run("explain one.model once.csv -o o.csv --keep")[0] == 0
    assert "already has columns called 'value', " in refusal(run("explain one.model o.csv -o p.csv --keep"))


def test_rows_beyond_the_data_are_told_once_and_by_their_place_in_the_table(run):
    new = pd.read_csv("new.csv")
    new.loc[3, "a"] = np.nan
    new.loc[[5, 7], "b"] = [1e3, 1e5]
    new.to_csv("far.csv", index=False)
    command = "predict one.model far.csv -o out.csv --std --interval 0.9 --drop-missing"
    code, _, err = run(command)
    told = [line for line in err.splitlines() if "beyond" in line]
    assert code == 0 and len(told) == 1
    assert told[0].startswith("localegop: warning: 2 rows of 39 beyond the training rows, farthest row 8 (")
    facts = json.loads(run(f"{command} --json --quiet")[1])
    assert facts["rows_beyond_the_data"] == 2 and facts["rows_left_empty"] == 1
    std = pd.read_csv("out.csv")["std"]
    assert std[7] > 10.0 * std[5] > 10.0 * std.drop([5, 7]).max()


def test_other_warnings_are_still_shown(run):
    _, _, err = run("predict one.model new.csv -o out.csv --interval 0.99999")
    assert "asks for more than" in err
