"""Folders of distributed models: what an index and its partitions may not say."""

import re
import shutil

import numpy as np
import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster
from tests.predict.hostile_files import Parts, sealed

from localegop._data import archive
from localegop.distributed import DaskLocalEGOPRegressor

X = np.random.default_rng(0).uniform(-1.0, 1.0, (90, 2))
QUICK = {"n_iter": 1, "degree": 1, "ridge": 0.1, "max_neighbors": 20, "n_partitions": 3}
PART = "model-0-part-00001.npz"


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def saved(client, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    DaskLocalEGOPRegressor(**QUICK).fit(X, np.sin(3.0 * X[:, 0])).save(folder)
    return folder


def refusal(saved, folder, name, change):
    """Load a copy in which one file was changed; return the error, which must be one line."""
    shutil.copytree(saved, folder)
    parts = Parts(*archive.read(folder / name))
    change(parts.header, parts.arrays)
    (folder / name).write_bytes(sealed(parts))
    with pytest.raises(ValueError, match=r"not a valid localegop model|another model than") as caught:
        DaskLocalEGOPRegressor.load(folder)
    text = str(caught.value)
    assert str(folder) in text and "\n" not in text and text.count("not a valid") <= 1
    return text


def test_loads_unchanged(saved):
    model = DaskLocalEGOPRegressor.load(saved)
    assert model.n_partitions == 3 and np.isfinite(model.predict(X[:2]).compute()).all()


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("tables", 10**9, "lists of other lengths"),
        ("tables", True, "partitioned.tables is True"),
        ("boxes", [0, 1, 1], "a box twice"),
        ("boxes", [0, 1, 7], "one that does not exist"),
        ("box_count", 0, "box_count is 0"),
        ("box_count", 4, r"'axis' has shape \(2,\), but must have \(3,\)"),
        ("first", [0, 5, 5], "does not rise"),
        ("first", [0, "x", 5], r"first\[1\] is 'x'"),
        ("n", 91, "belongs to another model than the index.npz beside it"),
        ("surprise", 1, "'surprise' is unknown"),
    ],
)
def test_what_an_index_may_not_say(client, saved, tmp_path, entry, value, message):
    def change(header, arrays):
        header["models"][0]["partitioned"][entry] = value

    assert re.search(message, refusal(saved, tmp_path / "altered", "index.npz", change))


@pytest.mark.parametrize(
    ("file", "name", "change", "message"),
    [
        ("index.npz", "0_children", lambda array: array[:, ::-1] * 0, "not a tree"),
        ("index.npz", "0_axis", lambda array: array + 2, "'axis' has an entry"),
        ("index.npz", "0_label_scale", lambda array: array * 0.0, "'label_scale' has an entry 0.0"),
        ("index.npz", "7_axis", lambda array: np.ones(3), "'7_axis' is unknown"),
        (PART, "row_number", lambda array: array[::-1].copy(), "'number' is not sorted"),
        (PART, "row_number", lambda array: array * 0, "rows out of order"),
        (PART, "row_rows", lambda array: array[1:], "'rows' has shape"),
        (PART, "row_sample_weight", lambda array: -array, "'sample_weight' has an entry -1.0"),
        ("index.npz", "0_scores", lambda array: array * np.nan, "'scores' has entries that are not finite"),
        ("index.npz", "0_loo_noise", lambda array: array[1:], r"has shape \(90, .*but must have \(89,"),
        (
            "index.npz",
            "0_loo_noise",
            lambda array: np.tile(array, (9, 1)),
            "but there are 90 to learn from",
        ),
        ("index.npz", "0_gradients_7", lambda array: np.ones((90, 1, 2)), "'gradients_7' is unknown"),
        (PART, "row_number", lambda array: array + (array == array[-1]), "rows twice|has an entry"),
        (PART, "input_input_row", lambda array: array + 90, "'input_row' has an entry"),
        (PART, "surprise_rows", lambda array: np.ones(3), "table 'surprise' is unknown"),
    ],
)
def test_what_arrays_may_not_hold(client, saved, tmp_path, file, name, change, message):
    def change_array(header, arrays):
        arrays[name] = change(arrays.get(name))

    assert re.search(message, refusal(saved, tmp_path / "altered", file, change_array))


@pytest.mark.slow
def test_a_global_process_needs_all_rows(client, tmp_path):
    DaskLocalEGOPRegressor(final="global", n_iter=1, n_partitions=2).fit(X, np.sin(3.0 * X[:, 0])).save(
        tmp_path / "saved"
    )

    def fewer(header, arrays):
        for name in ("loo_residuals", "loo_noise", "loo_gradients", "scores", "weight_below"):
            arrays[f"0_{name}"] = arrays[f"0_{name}"][:50]

    text = refusal(tmp_path / "saved", tmp_path / "altered", "index.npz", fewer)
    assert "50 anchors and 90 rows" in text
