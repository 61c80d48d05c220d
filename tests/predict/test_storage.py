"""Models as files: the same answers after loading, clear errors for anything else."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from localegop import LocalEGOPRegressor
from localegop._data import archive as files
from localegop.datasets import make_helix
from localegop.schedules import EffectiveSampleSize, PowerLaw

X, Y = make_helix(260, 3, noise=0.1, random_state=0)
TRAIN, TEST = slice(0, 200), slice(200, None)
CASES = {
    "field": ({"n_iter": 2}, Y),
    "weights of ones own size": ({"schedule": EffectiveSampleSize(80.0, 20.0, 2), "n_iter": 2}, Y),
    "bandwidths": ({"schedule": PowerLaw(0.5), "n_iter": 3, "exclusion_radius": 5.0}, Y),
    "query": ({"strategy": "query", "n_iter": 2, "n_subsamples": 30}, Y),
    "given metric": ({"initial_metric": np.diag([1.0, 2.0, 3.0]), "n_iter": 1, "kernel": "student"}, Y),
    "shared outputs": ({"n_iter": 1}, np.column_stack([Y, X[:, 0]])),
    "separate outputs": ({"n_iter": 1, "outputs": "separate"}, np.column_stack([Y, X[:, 0]])),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], Y[TRAIN]).save(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_same_bit_for_bit(name, tmp_path):
    parameters, labels = CASES[name]
    model = LocalEGOPRegressor(**parameters).fit(X[TRAIN], labels[TRAIN])
    before = model.predict_interval(X[TEST], [0.5, 0.9]), model.localize(X[TEST], trace=True)
    model.save(tmp_path / "model")
    loaded = LocalEGOPRegressor.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_interval(X[TEST], [0.5, 0.9]), before[0])
    after = loaded.localize(X[TEST], trace=True)
    for field in ("value", "gradient", "metric", "agop", "noise", "loo_error", "variance_factor", "status"):
        assert np.array_equal(getattr(after, field), getattr(before[1], field)), field
    first = after.output(0), before[1].output(0)
    assert first[0].neighbors(3).weight.tolist() == first[1].neighbors(3).weight.tolist()
    assert np.array_equal(first[0].trace.loo_error, first[1].trace.loo_error)
    assert repr(loaded) == repr(model.set_params(random_state=0))
    assert repr(loaded.choice_) == repr(model.choice_) and loaded.n_samples_ == 200


def test_names_survive(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    LocalEGOPRegressor(n_iter=1).fit(frame[TRAIN], pd.Series(Y[TRAIN], name="out")).save(tmp_path / "m")
    loaded = LocalEGOPRegressor.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"] and loaded.output_names_ == ("out",)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a", "c"]])


def test_any_flipped_bit_is_noticed(saved, tmp_path):
    content = saved.read_bytes()
    for at in np.linspace(0, len(content) - 1, 60).astype(int):
        damaged = bytearray(content)
        damaged[at] ^= 4
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged or cut short|not a localegop model"):
            LocalEGOPRegressor.load(tmp_path / "damaged")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999])
def test_a_file_cut_short_is_noticed(saved, tmp_path, share):
    content = saved.read_bytes()
    (tmp_path / "short").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"damaged or cut short|not a localegop model"):
        LocalEGOPRegressor.load(tmp_path / "short")


def test_foreign_files_are_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    for name in ("arrays.npz", "text.csv"):
        with pytest.raises(ValueError, match=rf"{name}' is not a localegop model"):
            LocalEGOPRegressor.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        LocalEGOPRegressor.load(tmp_path / "nowhere")


POLYNOMIAL = {"kind": "polynomial", "degree": 1, "n_quadratic_directions": 0, "ridge": 0.1}
KRIGING = {"kind": "kriging", "length": 2.0, "ridge": 0.1}


def set_final(header, final, **more):
    header["models"][0]["choice"].update(final=final, **more)


def rewritten(saved, target, change):
    """Write the model again, with a right checksum, after ``change(header, arrays)``."""
    header, arrays = files.read(saved)
    change(header, arrays)
    header.pop("format", None)
    files.write(target, header, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: arrays.pop("0_rows"), "'rows' is missing"),
        (
            lambda header, arrays: arrays.update({"0_sample_weight": np.ones(3)}),
            "'sample_weight' has shape",
        ),
        (lambda header, arrays: arrays.update({"0_labels": arrays["0_labels"] * np.nan}), "not finite"),
        (
            lambda header, arrays: arrays.update({"0_position": arrays["0_position"] + 10**6}),
            "out of range",
        ),
        (lambda header, arrays: arrays.update({"0_center": np.array(["a"] * 3)}), "holds no numbers"),
        (lambda header, arrays: header["models"][0]["choice"].update(step=7), "fewer steps"),
        (lambda header, arrays: header["models"][0]["choice"].update(step=-1), "impossible choice"),
        (
            lambda header, arrays: set_final(header, POLYNOMIAL | {"n_quadratic_directions": 70}),
            "impossible p",
        ),
        (lambda header, arrays: set_final(header, POLYNOMIAL | {"degree": 3}), "impossible polynomial"),
        (lambda header, arrays: set_final(header, KRIGING | {"length": -1.0}), "without a length or size"),
        (lambda header, arrays: set_final(header, KRIGING, size=None), "without a length or size"),
        (lambda header, arrays: set_final(header, {"kind": "spline"}), "spline"),
        (lambda header, arrays: set_final(header, POLYNOMIAL | {"surprise": 1}), "surprise"),
        (lambda header, arrays: header["parameters"].update(strategy="other"), "strategy"),
        (lambda header, arrays: header["parameters"].update(surprise=1), "surprise"),
        (lambda header, arrays: header.update(n_features=5), "do not fit together"),
        (lambda header, arrays: header.pop("parameters"), "parameters"),
    ],
)
def test_hostile_content_is_refused(saved, tmp_path, change, message):
    rewritten(saved, tmp_path / "model", change)
    with pytest.raises(ValueError, match=message):
        LocalEGOPRegressor.load(tmp_path / "model")


def test_other_formats_are_named(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FORMAT", 99)
    with pytest.raises(ValueError, match="has format 3, but this version of localegop reads format 99"):
        LocalEGOPRegressor.load(saved)


def test_pickled_arrays_are_never_opened(saved, tmp_path):
    header, arrays = files.read(saved)
    header.pop("format")
    arrays["0_center"] = np.array([print, None, 3], dtype=object)
    files.write(tmp_path / "model", header, arrays)
    with pytest.raises(ValueError, match="allow_pickle"):
        LocalEGOPRegressor.load(tmp_path / "model")


def test_code_of_ones_own_cannot_be_saved(tmp_path):
    model = LocalEGOPRegressor(n_iter=1, kernel=lambda u: np.exp(-u)).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="pickle or joblib"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_is_a_plain_npz_archive(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(archive[files.HEADER].tobytes())
    assert header["format"] == files.FORMAT and header["n_samples"] == 200
