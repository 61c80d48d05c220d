"""Categories, dates and missing values: what fit does with them, predict repeats."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.examples import refusal

from localegop import LocalEGOPRegressor
from localegop._data.table_columns import Column, Columns
from localegop.cli.encoding import choose_columns, encode_table
from localegop.cli.problems import Problem

CITIES = {"Bern": 1.0, "Oslo": -1.0, "Rome": 0.0}


def make_flats(count, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"area": rng.normal(size=count), "city": rng.choice(list(CITIES), count)})
    table["built"] = pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, count), unit="D")
    years = (table.built - pd.Timestamp("1990-01-01")).dt.days / 9000
    table["price"] = table.area + table.city.map(CITIES) + years + 0.05 * rng.normal(size=count)
    return table


@pytest.fixture
def flats(run):
    """Tables of flats in the folder of the test, and the command line."""
    make_flats(200, 0).to_csv("flats.csv", index=False)
    make_flats(50, 1).to_csv("more.csv", index=False)
    return run


def test_categories_and_dates_are_repeated_by_predict(flats):
    fit = "fit flats.csv --target price --categorical auto --dates built -o m.model --json"
    code, out, err = flats(fit)
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["features"] == ["area", "city=Bern", "city=Oslo", "city=Rome", "built"]
    code, out, _ = flats("predict m.model more.csv -o out.csv")
    assert code == 0 and "R2 0.9" in out
    more, model = pd.read_csv("more.csv"), LocalEGOPRegressor.load("m.model")
    X = pd.DataFrame({"area": more.area} | {f"city={name}": (more.city == name) * 1.0 for name in CITIES})
    X["built"] = (pd.to_datetime(more.built) - pd.Timestamp(0)).dt.days.astype(float)
    np.testing.assert_allclose(pd.read_csv("out.csv").prediction, model.predict(X), rtol=1e-12)
    shown = flats("info m.model")[1]
    assert "categories" in shown and "dates" in shown and "refused" in shown
    assert flats("explain m.model more.csv -o why.csv")[0] == 0
    assert "gradient_city=Rome" in pd.read_csv("why.csv").columns
    assert flats("explore m.model more.csv -o page.html --rows 3")[0] == 0


def test_the_same_table_in_another_form_gives_the_same_predictions(flats):
    table = pd.read_csv("flats.csv")
    table["rooms"] = np.arange(200) % 4 + 1
    table.to_csv("flats.csv", index=False)
    assert flats("fit flats.csv --target price --categorical city,rooms --dates built -o m.model")[0] == 0
    parquet = table.assign(built=pd.to_datetime(table.built), city=table.city.astype("category"))
    parquet = parquet.assign(rooms=parquet.rooms.astype(float))[::-1].reset_index(drop=True)
    parquet.to_parquet("other.parquet")
    assert flats("predict m.model flats.csv -o a.csv")[0] == 0
    assert flats("predict m.model other.parquet -o b.csv")[0] == 0
    np.testing.assert_array_equal(pd.read_csv("a.csv")[::-1], pd.read_csv("b.csv"))


def test_missing_values_are_filled_in_the_same_way(flats):
    table = make_flats(200, 0)
    table.loc[3, "area"], table.loc[[5, 6], "city"], table.loc[7, "price"] = np.nan, None, np.nan
    table.to_csv("holes.csv", index=False)
    fit = "fit holes.csv --target price --categorical city --dates built -o m.model"
    line = refusal(flats(fit))
    assert "missing values in 4 rows: columns 'area' (row 4), 'city' (rows 6, 7), 'price' (row 8)" in line
    code, _, err = flats(f"{fit} --missing impute")
    assert code == 0
    assert "3 rows with missing features filled in: rows 4, 6, 7" in err
    assert "1 row with missing values left out: row 8" in err
    more = make_flats(50, 1)
    holes = more.copy()
    holes.loc[0, "area"], holes.loc[1, "city"] = np.nan, None
    holes.to_csv("holes.csv", index=False)
    more.loc[0, "area"], more.loc[1, "city"] = table.area.median(), table.city.mode()[0]
    more.to_csv("full.csv", index=False)
    code, _, err = flats("predict m.model holes.csv -o a.csv")
    assert code == 0 and "2 rows with missing features filled in: rows 1, 2" in err
    assert flats("predict m.model full.csv -o b.csv")[0] == 0
    np.testing.assert_allclose(pd.read_csv("a.csv"), pd.read_csv("b.csv"), rtol=1e-12)
    assert "filled in" in flats("info m.model")[1]


def test_models_that_leave_out_rows_do_it_again(flats):
    fit = "fit flats.csv --target price --features area --missing drop -o m.model"
    assert flats(fit)[0] == 0
    holes = make_flats(50, 1)
    holes.loc[2, "area"] = np.nan
    holes.to_csv("holes.csv", index=False)
    code, _, err = flats("predict m.model holes.csv -o out.csv")
    assert code == 0 and "1 row with missing values left empty: row 3" in err
    assert pd.read_csv("out.csv", skip_blank_lines=False).prediction.isna().to_numpy().nonzero()[
        0
    ].tolist() == [2]


def test_unknown_categories_are_told(flats):
    assert flats("fit flats.csv --target price --features area,city --categorical city -o m.model")[0] == 0
    more = make_flats(50, 1)
    more.loc[[4, 9], "city"] = "Paris"
    more.to_csv("more.csv", index=False)
    code, _, err = flats("predict m.model more.csv -o out.csv")
    assert code == 0
    assert "column 'city' has categories unknown to the model in 2 rows: 'Paris'" in err
    more.drop(columns="city").to_csv("few.csv", index=False)
    assert "1 feature of the model not in the table: 'city'. The table" in refusal(
        flats("predict m.model few.csv -o out.csv")
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "not numeric: columns 'city' (row 1: "),
        ("--categorical nope", "--categorical: there is no column 'nope'. The columns are"),
        ("--categorical price", "--categorical: column 'price' is no feature"),
        ("--categorical city --dates city", "'city' is given with --categorical and --dates"),
        (
            "--categorical city,area --ignore built",
            "column 'area' has 200 categories, more than 50, such as",
        ),
        ("--dates city --ignore built", "column 'city' has entries that are no dates such as 2020-01-31 ("),
        ("--dates area,built --ignore city", "--dates: column 'area' holds numbers, not dates"),
    ],
)
def test_what_is_refused(flats, options, words):
    assert words in refusal(flats(f"fit flats.csv --target price -o m.model {options}"))


def test_a_column_called_auto_is_a_column():
    table = pd.DataFrame({"auto": ["a", "b"], "n": [1.0, 2.0]})
    chosen = choose_columns(table, ["auto", "n"], ["auto"], [], "error")
    assert chosen.features == ["auto=a", "auto=b", "n"]
    with pytest.raises(Problem, match="two features would be called 'auto=a'"):
        choose_columns(table.assign(**{"auto=a": 1.0}), ["auto", "auto=a"], ["auto"], [], "error")


def test_values_of_columns():
    columns = Columns(
        (Column("c", "categories", ("1", "x"), fill=1.0), Column("d", "date"), Column("n", fill=7.0))
    )
    table = pd.DataFrame(
        {"c": [1.0, "x", None], "d": ["1970-01-03", None, "1969-12-31T12:00"], "n": [1, None, 3]}
    )
    expected = [[1, 0, 2, 1], [0, 1, np.nan, 7], [0, 1, -0.5, 3]]
    np.testing.assert_array_equal(encode_table(columns, table, ""), expected)


def test_refitted_models_forget_columns(flats):
    assert flats("fit flats.csv --target price --features area,city --categorical city -o m.model")[0] == 0
    model = LocalEGOPRegressor.load("m.model")
    assert model.columns_.columns[1].categories == ("Bern", "Oslo", "Rome")
    assert not hasattr(model.fit(np.eye(9), np.arange(9.0)), "columns_")
