"""Files of arrays: a header, arrays, a checksum."""

import numpy as np
import pytest

from localegop._data import archive


def test_what_is_written_is_read(tmp_path):
    header = {"names": ["a", "b"], "count": 3, "nothing": None}
    arrays = {"x": np.arange(6.0).reshape(2, 3), "n": np.array([1, 2])}
    archive.write(tmp_path / "file", header, arrays)
    again, found = archive.read(tmp_path / "file")
    assert again == {"format": archive.FORMAT, **header}
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    archive.write(tmp_path / "file", {"old": True}, {})

    def interrupt(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        archive.write(tmp_path / "file", {"old": False}, {})
    assert archive.read(tmp_path / "file")[0]["old"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_arrays_are_taken_by_name_and_checked():
    arrays = {"0_x": np.ones((2, 3), dtype=np.float32), "0_n": np.array([1, 2], dtype=np.int16)}
    take = archive.taker(arrays | {"0_s": np.array(["a"]), "0_i": np.array([np.inf])}, "0_")
    assert take("x", (2, 3)).dtype == np.float64 and take("n", ndim=1).dtype == np.int64
    for name, options, problem in (
        ("y", {}, "'y' is missing"),
        ("x", {"shape": (3, 2)}, r"'x' has shape \(2, 3\)"),
        ("x", {"ndim": 1}, "'x' has 2 axes"),
        ("s", {}, "holds no numbers"),
        ("i", {}, "not finite"),
    ):
        with pytest.raises(ValueError, match=problem):
            take(name, **options)
