"""Tables of the command line: what is read, what is refused and with which words, and writing at once."""

import gzip
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from localegop.cli.columns import choose_roles, float_column, named_columns, numbers, refuse_missing
from localegop.cli.console import duration, file_size, plain
from localegop.cli.files import check_output, replacing
from localegop.cli.problems import Problem, counted, one_line, quoted
from localegop.cli.tables import read_table, write_table

COLUMNS = ["a", "b", "y"]


def written(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_csv_and_parquet_hold_the_same_numbers(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-9, 9, (50, 1)), columns=COLUMNS)
    for name in ("t.csv", "t.tsv", "t.parquet", "t.PQ", "t.csv.gz", "t.TSV.GZ"):
        write_table(table, tmp_path / name)
        pd.testing.assert_frame_equal(read_table(str(tmp_path / name)), table, check_exact=True)


def test_semicolons_separate_and_then_commas_may_be_decimal(tmp_path):
    expected = {"a": [1.5, -2.25], "b": [3, 4], "c": ["u", "v,w"]}
    for text in ("a;b;c\n1,5;3;u\n-2,25;4;v,w\n", "a;b;c\n1.5;3;u\n-2.25;4;v,w\n"):
        assert read_table(written(tmp_path, text)).to_dict("list") == expected
    assert read_table(written(tmp_path, "a;x,b\n1,5\n")).to_dict("list") == {"a;x": [1], "b": [5]}


def test_gzip_is_read_and_written_the_same_every_time(tmp_path):
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")
    table = read_table(path)
    assert table.to_dict("list") == {"a": [1], "b": [2]}
    for name in ("p.csv.gz", "q.csv.gz"):
        write_table(table, tmp_path / name)
    packed = [(tmp_path / name).read_bytes() for name in ("p.csv.gz", "q.csv.gz")]
    assert gzip.decompress(packed[0]) == b"a,b\n1,2\n"
    for wrong in (b"a,b\n1,2\n", gzip.compress(b"a,b\n1,2\n" * 99)[:-12]):
        with pytest.raises(Problem, match="is not a gzip file, or is cut short"):
            read_table(written(tmp_path, wrong, "t.csv.gz"))


def test_names_of_rows_survive_parquet_and_csv(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["p", "q"], name="station"))
    write_table(table, tmp_path / "t.parquet")
    again = read_table(str(tmp_path / "t.parquet"))
    assert list(again.columns) == ["a"]
    write_table(again, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "station,a\np,1.0\nq,2.0\n"


def test_byte_order_mark_blanks_and_blank_lines_are_no_trouble(tmp_path):
    table = read_table(written(tmp_path, b"\xef\xbb\xbf\na, b\n1, 2\n\n3, 4\n\n"))
    assert table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty: a header"),
        ("\n\n", "is empty: a header"),
        ("a,b\n", "has columns but no rows"),
        ("a,b,a\n1,2,3\n", "occur more than once: 'a'"),
        ("a|b\n1|2\n", "separated by commas or semicolons"),
        ("0.5,1.5\n1,2\n", "first line contains numbers"),
        ("a,b\n1,2,3\n4,5,6\n", "more fields than the 2 of the header"),
        ("a,b\n1,2\n4,5,6\n", "Expected 2 fields in line 3, saw 3"),
        (b"a,b\n\xff\xfe,2\n", "is not text in UTF-8"),
        (b"\x00\xff\xfe\x00", "is not text in UTF-8"),
    ],
)
def test_csv_that_is_refused(tmp_path, text, words):
    with pytest.raises(Problem, match=words) as caught:
        read_table(written(tmp_path, text))
    assert "table.csv" in str(caught.value)


def test_other_files_that_are_refused(tmp_path):
    with pytest.raises(Problem, match="no such file"):
        read_table(str(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(Problem, match="is a folder"):
        read_table(str(tmp_path / "folder.csv"))
    with pytest.raises(
        Problem, match=r"ending '\.xlsx' does not tell the format of a table: use \.csv, \.tsv, \.csv\.gz, "
    ):
        read_table(written(tmp_path, "a", "book.xlsx"))
    with pytest.raises(Problem, match="without an ending"):
        read_table(written(tmp_path, "a", "book"))
    with pytest.raises(Problem, match="cannot be read as Parquet"):
        read_table(written(tmp_path, "a,b\n1,2\n", "t.parquet"))


def test_parquet_with_a_name_twice_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table([[1.0], [2.0]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(Problem, match="more than once: 'a'"):
        read_table(str(tmp_path / "t.parquet"))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([True, False], [1, 0]),
        ([True, None], [1, np.nan]),
        (pd.array([1, None], dtype="Int64"), [1, np.nan]),
        ([Decimal("1.5"), None], [1.5, np.nan]),
        ([2**70, 1], [2.0**70, 1]),
        ([None, None], [np.nan, np.nan]),
        (["1", "2"], None),
        (["a", None], None),
        (pd.to_datetime(["2020-01-01", None]), None),
        (pd.to_timedelta([1, 2], unit="s"), None),
        (pd.Categorical([1, 2]), None),
        ([1j, 2.0], None),
    ],
)
def test_what_counts_as_numbers(column, expected):
    found = float_column(pd.Series(column))
    if expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, np.array(expected, dtype=float))


def test_columns_without_numbers_are_named_with_the_first_culprit(tmp_path):
    table = read_table(written(tmp_path, "a,city,b,day\n1,Rome,3,2020-01-01\n2,Bern,?,2020-01-02\n"))
    with pytest.raises(Problem) as caught:
        numbers(table, list(table.columns), "do something")
    text = str(caught.value)
    assert (
        "columns 'city' (row 1: 'Rome'), 'b' (row 2: '?'), 'day' (row 1: '2020-01-01'): do something"
        in text
    )
    with pytest.raises(Problem, match=r"infinite values in column 'a' \(row 2\)"):
        numbers(pd.DataFrame({"a": [1.0, -np.inf]}), ["a"], "")


def test_missing_values_are_listed_by_column_and_row():
    values = np.zeros((20, 7))
    refuse_missing(values, list("abcdefg"), "")
    values[3:, 0] = np.nan
    values[19, 1:] = np.nan
    with pytest.raises(Problem) as caught:
        refuse_missing(values, list("abcdefg"), "fill them in")
    assert str(caught.value) == (
        "missing values in 17 rows: columns 'a' (rows 4, 5, 6, 7, 8 and 12 more), 'b' (row 20), "
        "'c' (row 20), 'd' (row 20), 'e' (row 20) and 2 more columns; rows are counted from 1 after the "
        "header: fill them in"
    )


def test_names_with_commas_and_names_that_do_not_exist():
    assert named_columns(["a,b", "y"], COLUMNS, "--x") == COLUMNS
    assert named_columns(["a, b ,a"], COLUMNS, "--x") == ["a", "b"]
    assert named_columns(["a,b"], [*COLUMNS, "a,b"], "--x") == ["a,b"]
    with pytest.raises(Problem, match="there is no column 'prize'; did you mean 'price'"):
        named_columns(["prize"], ["price", "size"], "--target")
    with pytest.raises(Problem, match="names no column"):
        named_columns([","], COLUMNS, "--target")


def test_roles():
    roles = choose_roles(COLUMNS, ["y"], None, None, None)
    assert (roles.features, roles.targets, roles.weight) == (["a", "b"], ["y"], None)
    assert choose_roles(COLUMNS, ["y"], "b", None, None).features == ["a"]
    assert choose_roles(COLUMNS, ["y"], None, ["b"], None).features == ["b"]
    assert choose_roles(COLUMNS, ["y"], None, None, ["b"]).features == ["a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["y"], "y", None, None), "'y' is given as --target and as --weight"),
        ((["y"], None, ["y"], None), "'y' is given with --features and as --target"),
        ((["y"], None, None, ["y"]), "'y' is given with --ignore and as --target"),
        ((["y"], "b", None, ["a"]), "no features are left besides 'y', 'b', 'a'"),
        ((["y", "a", "b"], None, None, None), "no features are left"),
        ((["y"], "c", None, None), r"--weight: there is no column 'c'\. The columns are"),
    ],
)
def test_roles_that_are_refused(arguments, words):
    with pytest.raises(Problem, match=words):
        choose_roles(COLUMNS, *arguments)


def test_a_column_without_name_is_no_feature_by_itself(tmp_path):
    table = read_table(written(tmp_path, ",a,y\n0,5,1\n1,6,2\n"))
    with pytest.raises(Problem, match="--ignore 'Unnamed: 0'"):
        choose_roles(list(table.columns), ["y"], None, None, None)
    assert choose_roles(list(table.columns), ["y"], None, None, ["Unnamed: 0"]).features == ["a"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "t.csv"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(target) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_outputs_that_are_refused(tmp_path):
    with pytest.raises(Problem, match="is a folder"):
        check_output(str(tmp_path))
    with pytest.raises(Problem, match="there is no folder"):
        check_output(str(tmp_path / "none" / "t.csv"))
    with pytest.raises(Problem, match="not a regular file"):
        check_output(os.devnull)
    table = written(tmp_path, "a\n1\n")
    os.symlink(table, tmp_path / "link.csv")
    for name in (table, str(tmp_path / "link.csv")):
        with pytest.raises(Problem, match="also read by this command"):
            check_output(name, table)


@pytest.mark.parametrize("protected", ["t.csv", "."])
def test_write_protection_is_respected(tmp_path, monkeypatch, protected):
    path = tmp_path / "t.csv"
    path.write_text("old")
    forbidden = (tmp_path / protected).resolve()
    monkeypatch.setattr(os, "access", lambda name, mode: os.fspath(name) != str(forbidden))  # root may all
    with pytest.raises(Problem, match="permission denied"):
        check_output(str(path))


def test_errors_in_one_line():
    assert one_line(Problem("a\n b")) == "a b"
    assert one_line(OSError(2, "No such file", "x.csv")) == "x.csv: no such file"
    assert one_line(KeyError("k")) == "KeyError: 'k'"
    assert one_line(ValueError()) == "ValueError: "
    assert one_line(MemoryError("5 GB")) == "not enough memory: 5 GB"
    assert one_line("a\nb") == "a b"


def test_numbers_for_people_and_for_json():
    assert [duration(t) for t in (0.0123, 0.123, 1.26, 75.4)] == ["12 ms", "0.12 s", "1.3 s", "75 s"]
    assert [file_size(n) for n in (12, 39_300, 5_000_000, 2 * 10**9)] == [
        "12 bytes",
        "39.3 kB",
        "5 MB",
        "2 GB",
    ]
    assert (counted(1, "row"), counted(2000, "row")) == ("1 row", "2,000 rows")
    assert quoted(["a", "b", "c"], 2) == "'a', 'b' and 1 more"
    values = {"a": np.float64("nan"), "b": np.arange(2), "c": (1.5, float("inf")), "d": None}
    assert plain(values) == {"a": None, "b": [0, 1], "c": [1.5, None], "d": None}
