"""`localegop explain`: explanations are those of the estimator."""

import json
import re

import numpy as np
import pandas as pd
from tests.cli.examples import FEATURES, make_table

from localegop import LocalEGOPRegressor


def test_explanations_are_those_of_the_estimator(run):
    code, out, err = run("explain one.model new.csv -o out.csv --neighbors 3")
    assert (code, err) == (0, "")
    table, new = pd.read_csv("out.csv"), pd.read_csv("new.csv")
    model = LocalEGOPRegressor.load("one.model")
    fits = model.localize(new[FEATURES])
    names = [f"neighbor_{k}" for k in (1, 2, 3)], [f"weight_{k}" for k in (1, 2, 3)]
    assert list(table.columns) == [*fits.to_frame().columns, *names[0], *names[1]]
    np.testing.assert_allclose(table[[f"gradient_{name}" for name in FEATURES]], fits.gradient, rtol=1e-9)
    np.testing.assert_allclose(table[[f"importance_{name}" for name in FEATURES]].sum(axis=1), 1.0)
    errors = table[[f"importance_std_{name}" for name in FEATURES]]
    np.testing.assert_allclose(errors, fits.importance_std, rtol=1e-9)
    assert table.importance_a.mean() > table.importance_c.mean()
    np.testing.assert_array_equal(table.loc[7, names[0]], fits.neighbors(7).index[:3] + 1)
    np.testing.assert_allclose(table.loc[7, names[1]].astype(float), fits.neighbors(7).weight[:3])
    assert "mean over these rows" in out


def test_help_defines_every_column(run):
    assert run("explain one.model new.csv -o out.csv --neighbors 2")[0] == 0
    defined = {line.split()[0] for line in run("explain --help")[1].splitlines() if line.startswith("  ")}
    for column in pd.read_csv("out.csv").columns:
        general = re.sub(r"_[abc]$", "_F", re.sub(r"_[12]$", "_K", column))
        assert general in defined, f"explain --help does not define the column {column!r}"


def test_neighbors_are_rows_of_the_training_table_even_if_rows_were_left_out(run):
    train = make_table(60, 2)
    train.loc[[0, 3, 10], "b"] = np.nan
    train.to_csv("holes.csv", index=False)
    fit = "fit holes.csv --target y --features a,b --drop-missing -o holes.model"
    code, out, err = run(fit)
    assert code == 0
    assert err == (
        "localegop: 3 rows with missing values left out: rows 1, 4, 11 (counted from 1 after the header)\n"
    )
    assert "3 rows with missing values" in out
    assert run("explain holes.model holes.csv -o out.csv --drop-missing --neighbors 60")[0] == 0
    table = pd.read_csv("out.csv")
    assert table.loc[[0, 3, 10]].isna().all(axis=None)
    full = table.dropna(how="all")
    assert len(full) == 57
    nearest = full.neighbor_1.astype(int) - 1
    distance = np.abs(train.loc[nearest, "a"].to_numpy() - train.loc[full.index, "a"].to_numpy())
    assert np.median(distance) < 0.2
    spoke = full.filter(regex="^neighbor_").stack()
    assert not spoke.isin([1, 4, 11]).any()


def test_separate_outputs_have_their_own_columns(run):
    fit = "fit new.csv --target y,z --outputs separate -o two_metrics.model --json"
    code, out, _ = run(fit)
    assert code == 0
    assert [choice["targets"] for choice in json.loads(out)["choice"]] == [["y"], ["z"]]
    assert run("explain two_metrics.model new.csv -o out.csv --neighbors 1")[0] == 0
    names = set(pd.read_csv("out.csv").columns)
    assert {"gradient_std_z_a", "importance_std_y_a", "intrinsic_dimension_std_z"} <= names
    assert {"value_y", "gradient_z_a", "importance_y_a", "neighbor_y_1", "weight_z_1"} <= names
