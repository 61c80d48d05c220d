"""Stored tables of experiments: exact, and damage is seen."""

import json

import numpy as np
import pytest

from localegop.research.paper import store
from localegop.research.paper.experiment import Finding, join_tables, select_rows, table_of_rows
from localegop.research.paper.store import Damaged, Store


def same(first, second):
    assert list(first) == list(second)
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


def test_tables_are_stored_exactly(tmp_path):
    table = {
        "number": np.array([0.1, 1e-300, np.nan, -np.inf, 1 / 3]),
        "count": np.array([1, -2, 3, 2**62, 0]),
        "flag": np.array([True, False, True, True, False]),
        "text": np.array(["a", 'with "quotes", commas', "", "new\nline", "µ"]),
    }
    kept = Store(tmp_path, {"a": [1, 2]}, 3)
    kept.save("part", table, 1.25)
    found = kept.load("part")
    same(found.table, table)
    assert found.record["seconds"] == 1.25 and found.record["seed"] == 3
    assert {"python", "numpy", "localegop"} <= set(found.record["versions"])
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": np.zeros(2), "b": np.zeros(3)}, "columns of one length"),
        ({"a": np.zeros((2, 2))}, "columns of one length"),
        ({"a": np.array([None])}, "numbers or strings"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, table, message):
    with pytest.raises(ValueError, match=message):
        Store(tmp_path, {}, 0).save("part", table, 0.0)


def test_part_names_cannot_leave_the_folder(tmp_path):
    with pytest.raises(ValueError, match="letters, digits"):
        Store(tmp_path, {}, 0).load("../part")


def test_columns_that_do_not_fit_their_record_are_damage(tmp_path):
    kept = Store(tmp_path, {}, 0)
    kept.save("part", {"a": np.array(["x"])}, 0.0)
    record = json.loads((tmp_path / "part.json").read_text())
    (tmp_path / "part.json").write_text(json.dumps(record | {"columns": {"a": "float"}}))
    with pytest.raises(Damaged, match="could not convert"):
        kept.load("part")


def test_helpers_of_tables():
    table = table_of_rows([{"n": 1, "name": "a"}, {"n": 2, "name": "b"}])
    same(
        select_rows(join_tables([table, table]), name="b"),
        {"n": np.array([2, 2]), "name": np.array(["b", "b"])},
    )
    assert join_tables([]) == select_rows({}, n=1) == {}
    with pytest.raises(ValueError, match="same keys"):
        table_of_rows([{"n": 1}, {"m": 1}])
    with pytest.raises(ValueError, match="at least one row"):
        table_of_rows([])
    with pytest.raises(ValueError, match="'in part'"):
        Finding("claim", "paper", "ours", "perhaps")


def test_versions_name_the_packages():
    assert store.versions()["numpy"] == np.__version__
