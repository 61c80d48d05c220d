"""Models as files: the same answers after loading, clear errors for anything else."""

import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.predict.hostile_files import Parts, sealed

from localegop import LocalEGOPRegressor
from localegop._data import archive as files
from localegop._data.table_columns import Column, Columns
from localegop._predict.file_rules import check_file
from localegop.datasets import make_helix
from localegop.schedules import EffectiveSampleSize, PowerLaw

X, Y = make_helix(260, 3, noise=0.1, random_state=0)
TRAIN, TEST = slice(0, 200), slice(200, None)
SKEWED = np.column_stack([np.exp(2.0 * X[:, 0]), X[:, 1:]])
CASES = {
    "field": ({"n_iter": 2}, Y),
    "weights of ones own size": ({"schedule": EffectiveSampleSize(80.0, 20.0, 2), "n_iter": 2}, Y),
    "bandwidths": ({"schedule": PowerLaw(0.5), "n_iter": 2, "exclusion_radius": 5.0, "degree": 1}, Y),
    "query": ({"strategy": "query", "n_iter": 2, "n_subsamples": 30}, Y),
    "given metric": ({"initial_metric": np.diag([1.0, 2.0, 3.0]), "n_iter": 1, "kernel": "student"}, Y),
    "mixture": ({}, Y + 0.5 * np.random.default_rng(1).normal(size=260)),
    "jagged": ({}, np.sign(X[:, 0]) + X[:, 1]),
    "huber": ({"loss": "huber", "n_iter": 1, "degree": 1}, Y),
    "huber, query": ({"loss": "huber", "strategy": "query", "n_iter": 2, "n_subsamples": 30}, Y),
    "curves": ({"initial_metric": "power", "n_iter": 1}, Y, SKEWED),
    "shared outputs": ({"n_iter": 1}, np.column_stack([Y, X[:, 0]])),
    "separate outputs": ({"n_iter": 1, "degree": 1, "outputs": "separate"}, np.column_stack([Y, X[:, 0]])),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    LocalEGOPRegressor(n_iter=1, degree=1, ridge=1e-4).fit(X[TRAIN], Y[TRAIN]).save(path)
    return path


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "mixture.npz"
    model = LocalEGOPRegressor(n_jobs=1).fit(X[TRAIN], CASES["mixture"][1][TRAIN])
    assert len(model.choice_.final.parts) > 1
    model.save(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_same_bit_for_bit(name, tmp_path):
    parameters, labels, rows = (*CASES[name], X)[:3]
    model = LocalEGOPRegressor(**parameters).fit(rows[TRAIN], labels[TRAIN])
    assert (model._decisions[0].units.curves is None) == (name != "curves")
    before = (
        model.predict_interval(rows[TEST], [0.5, 0.9]),
        model.localize(rows[TEST], trace=True, errors=False),
    )
    model.save(tmp_path / "model")
    loaded = LocalEGOPRegressor.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_interval(rows[TEST], [0.5, 0.9]), before[0])
    after = loaded.localize(rows[TEST], trace=True, errors=False)
    fields = ("value", "gradient", "metric", "agop", "noise", "loo_error", "variance_factor", "status")
    for field in (*fields, "feature_scale"):
        assert np.array_equal(getattr(after, field), getattr(before[1], field)), field
    first = after.output(0), before[1].output(0)
    assert first[0].neighbors(3).weight.tolist() == first[1].neighbors(3).weight.tolist()
    assert np.array_equal(first[0].trace.loo_error, first[1].trace.loo_error)
    assert repr(loaded) == repr(model.set_params(random_state=0))
    assert repr(loaded.choice_) == repr(model.choice_) and loaded.n_samples_ == 200


def test_names_survive(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    LocalEGOPRegressor(n_iter=1, degree=1).fit(frame[TRAIN], pd.Series(Y[TRAIN], name="out")).save(
        tmp_path / "m"
    )
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
KRIGING = {"kind": "kriging", "length": 2.0, "ridge": 0.1, "trend": True, "rough": False}


def rewritten(saved, target, change):
    """Write the model again, with a right checksum, after ``change(header, arrays)``."""
    parts = Parts(*files.read(saved))
    change(parts.header, parts.arrays)
    target.write_bytes(sealed(parts))


def refusal(path):
    """The one line that says what is wrong with a file."""
    with pytest.raises(ValueError, match="is not a valid localegop model") as caught:
        LocalEGOPRegressor.load(path)
    text = str(caught.value)
    assert repr(str(path)) in text and "\n" not in text and text.endswith("; fetch or fit the model again")
    return text


# Where in the header, what is put there, and what the error says.
HEADERS = [
    ("n_features", 5, "do not fit together"),
    ("n_features", 3.0, "header.n_features is 3.0, but must be a whole number from 1"),
    ("n_samples", 199, r"'position' has shape \(200,\), but must have \(199,\)"),
    ("n_samples", True, "header.n_samples is True"),
    ("flat_output", 1, "header.flat_output is 1, but must be true or false"),
    ("output_names", [], "header.output_names is .*not empty"),
    ("output_names", [7], r"output_names\[0\] is 7, but must be a text"),
    ("output_names", ["a", "b"], "flat_output is true for several outputs"),
    ("feature_names", ["a"], "another number than header.n_features"),
    ("models", [], "header.models is .*not empty"),
    ("models", [1], r"models\[0\] is 1, but must be an object"),
    ("surprise", 1, "entry of header 'surprise' is unknown"),
    ("parameters", ..., "entry of header 'parameters' is missing"),
    ("parameters", [], "header.parameters is .*an object"),
    ("parameters.strategy", ..., "parameter 'strategy' is missing"),
    ("parameters.strategy", "other", "'strategy' parameter"),
    ("parameters.strategy", "query", "model.steps is 0 with strategy='query'"),
    ("parameters.loss", ..., "parameter 'loss' is missing"),
    ("parameters.loss", "huber", "array 'robustness' is missing"),
    ("parameters.surprise", 1, "parameter 'surprise' is unknown"),
    ("parameters.n_jobs", 100_000, "parameter 'n_jobs' is unknown"),
    ("parameters.ridge", "x", "'ridge' parameter"),
    ("parameters.ridge", -1.0, "'ridge' parameter"),
    ("parameters.momentum", True, "parameter 'momentum' is True, but must not be true or false"),
    ("parameters.momentum", 1e-300, "parameter 'momentum' is 1e-300"),
    ("parameters.momentum", float("nan"), "holds NaN, but numbers must be finite"),
    ("parameters.initial_scale", float("inf"), "holds Infinity, but numbers must be finite"),
    ("parameters.initial_scale", 1e300, "parameter 'initial_scale' is 1e[+]300"),
    ("parameters.max_neighbors", 0, "'max_neighbors' parameter"),
    ("parameters.n_iter", 10**9, "parameter 'n_iter' is 1000000000.* from 0 to 10000"),
    ("parameters.n_subsamples", 10**9, "parameter 'n_subsamples' is 1000000000"),
    ("parameters.kernel", "x", "kernel must be one of"),
    ("parameters.initial_metric", [1.0], r"'initial_metric' has shape \(1,\), but there are 3"),
    ("parameters.initial_metric", [[1.0], "x"], "neither a vector nor a matrix"),
    ("parameters.initial_metric", [[1.0], [1.0, 2.0]], "neither a vector nor a matrix"),
    ("parameters.kernel", [1.0], "parameter 'kernel' is .*must not be a list"),
    ("parameters.schedule", {"schedule": "os"}, "which is no schedule"),
    ("parameters.schedule", {"schedule": "PowerLaw"}, "entry of the schedule 'exponent' is missing"),
    (
        "parameters.schedule",
        {"schedule": "Geometric", "ratio": 0.5, "scale": 1e-300},
        "'scale' of the sched",
    ),
    ("parameters.ridge", {"schedule": "PowerLaw"}, "must not be an object"),
    ("models.0.max_neighbors", 0, "model.max_neighbors is 0, but must be a whole number from 2"),
    ("models.0.max_neighbors", 40_000, "does not fit to parameter max_neighbors='auto'"),
    ("models.0.radius", 1.0, "model.radius is 1.0, which does not fit to the parameters"),
    ("models.0.covariance_cap", -1.0, "model.covariance_cap is -1.0"),
    ("models.0.cutoff", 0.0, "model.cutoff is 0.0"),
    ("models.0.cutoff", "x", "model.cutoff is 'x'"),
    ("models.0.steps", 7, "array 'gradients_0' is missing"),
    ("models.0.steps", None, "model.steps is None with strategy='field'"),
    ("models.0.steps", ..., "entry of model 'steps' is missing"),
    ("models.0.isotropic_error", -1.0, "model.isotropic_error is -1.0"),
    ("models.0.initial_metric", "x", "initial_metric is 'x', but must be one of 'identity', 'variance'"),
    ("models.0.choice.step", 7, "model.choice.step is 7, but there are 1 steps"),
    ("models.0.choice.step", -1, "model.choice.step is -1"),
    ("models.0.choice.size", 0, "model.choice.size is 0"),
    ("models.0.choice.final", {"kind": "spline"}, "final.kind is 'spline', but must be one of"),
    ("models.0.choice.final", {}, "final.kind is None"),
    ("models.0.choice.final", POLYNOMIAL | {"surprise": 1}, "'surprise' is unknown"),
    ("models.0.choice.final", POLYNOMIAL | {"degree": 3}, "degree is 3"),
    ("models.0.choice.final", POLYNOMIAL | {"degree": 2}, "n_quadratic_directions=0 with degree=2"),
    (
        "models.0.choice.final",
        POLYNOMIAL | {"degree": 2, "n_quadratic_directions": 70},
        "=70 with degree=2",
    ),
    ("models.0.choice.final", POLYNOMIAL | {"ridge": "x"}, "ridge is 'x', but must be a number"),
    ("models.0.choice.final", KRIGING | {"length": -1.0}, "length is -1.0"),
    ("models.0.choice.final", KRIGING | {"length": 1e-300}, "length is 1e-300"),
    ("models.0.choice.final", KRIGING | {"trend": 1}, "trend is 1, but must be true or false"),
    ("models.0.rivals", ..., "entry of model 'rivals' is missing"),
    ("models.0.rivals", None, "array 'initial_transform' is unknown"),
    ("models.0.rivals", {}, "entry of model.rivals 'every' is missing"),
    ("models.0.rivals.picks", [0, 0], "model.rivals.picks are 2, but must be 16"),
    ("models.0.rivals.picks", [0] * 15 + [99], "picks has a number that no rival has"),
    ("models.0.rivals.picks", [0] * 15 + [-1], r"model.rivals.picks\[15\] is -1"),
    ("models.0.rivals.every", [], "model.rivals.every is .*not empty"),
    ("models.0.rivals.every.0.origin", "x", "origin is 'x', but must be one of 'initial', 'slopes'"),
    ("models.0.rivals.every.0.choice.step", 7, "model.rivals.every does not begin with model.choice"),
]


def test_whole_numbers_beyond_those_of_numpy_are_numbers(saved, tmp_path):
    def change(header, arrays):
        header["models"][0]["reach"] = 10**30

    rewritten(saved, tmp_path / "model", change)
    loaded, before = LocalEGOPRegressor.load(tmp_path / "model"), LocalEGOPRegressor.load(saved)
    assert loaded._decisions[0].reach == 1e30
    assert np.array_equal(loaded.predict(X[TEST]), before.predict(X[TEST]))


@pytest.mark.parametrize(("place", "value", "message"), HEADERS)
def test_what_a_header_may_not_say(saved, tmp_path, place, value, message):
    def change(header, arrays):
        *way, last = place.split(".")
        for key in way:
            header = header[int(key)] if isinstance(header, list) else header[key]
        if value is ...:
            del header[last]
        else:
            header[last] = value

    rewritten(saved, tmp_path / "model", change)
    assert re.search(message, refusal(tmp_path / "model"))


def turned(parts):
    """Give the first part axes of its own."""
    parts[0]["axes"] = np.eye(3).tolist()
    return parts[0]


PARTS = [
    (lambda parts: parts.clear(), "parts is .*not empty"),
    (lambda parts: parts.extend(8 * parts[:1]), "a mean of processes has"),
    (lambda parts: parts[0].update(share=parts[0]["share"] + 0.01), "shares of a mean of processes add up"),
    (lambda parts: parts[0].update(share=-1.0), "parts.share is -1.0"),
    (lambda parts: parts[0]["process"].update(length=1e-300), "parts.process.length is 1e-300"),
    (lambda parts: parts[0]["process"].update(kind="kriging"), "parts.process.kind is 'kriging'"),
    (lambda parts: parts[0]["process"].update(kind="logistic process"), "the labels are no classes"),
    (lambda parts: turned(parts)["axes"].pop(), "no matrix with 3 rows"),
    (lambda parts: turned(parts)["axes"][1].pop(), "no matrix with 3 rows"),
    (lambda parts: turned(parts)["axes"][1].__setitem__(0, 3e12), r"axes\[1\]\[0\] is 3000000000000"),
]


@pytest.mark.parametrize(("change", "message"), PARTS)
def test_what_a_mean_of_processes_may_not_hold(mixture, tmp_path, change, message):
    def spoil(header, arrays):
        model = header["models"][0]
        change(model["choice"]["final"]["parts"])
        model["rivals"]["every"][0]["choice"]["final"] = model["choice"]["final"]

    rewritten(mixture, tmp_path / "model", spoil)
    assert re.search(message, refusal(tmp_path / "model"))


def with_entry(value, at=0):
    def change(array):
        array = array.copy()
        array.flat[at] = value
        return array

    return change


ARRAYS = [
    ("rows", lambda array: None, "array 'rows' is missing"),
    ("rows", lambda array: array[:0], "array 'rows' has shape .*must not be empty"),
    ("rows", with_entry(1e80), r"'rows' has an entry 1e[+]80, but all must be from -1e[+]75 to 1e[+]75"),
    ("labels", with_entry(np.nan), "'labels' has entries that are not finite"),
    ("labels", lambda array: array.astype(np.float32), "'0_labels' has type float32"),
    ("sample_weight", lambda array: np.ones(3), r"'sample_weight' has shape \(3,\)"),
    ("sample_weight", with_entry(0.0), "'sample_weight' has an entry 0.0"),
    ("sample_weight", with_entry(-1.0, 5), "'sample_weight' has an entry -1.0"),
    ("position", lambda array: array + 10**6, "'position' has an entry"),
    ("position", with_entry(-2), "'position' has an entry -2, but all must be from -1 to 199"),
    ("position", lambda array: array * 1.0, "'position' has type float64, but must be int64"),
    ("part", with_entry(-0.5), "'part' has an entry -0.5"),
    ("center", lambda array: np.array(["a"] * 3), "'0_center' has type <U1, but must hold 64-bit numbers"),
    ("center", lambda array: np.array([print, 1, 2], dtype=object), "'0_center' has type object"),
    ("transform", lambda array: np.ones((3, 4)), "has 4 columns, but there are 3 features"),
    ("label_scale", with_entry(0.0), "'label_scale' has an entry 0.0"),
    ("label_scale", with_entry(1e300), "'label_scale' has an entry 1e[+]300"),
    ("feature_scale", with_entry(1e149), "slopes too large"),
    ("loo_noise", with_entry(-1.0), "'loo_noise' has an entry -1.0"),
    ("loo_noise", lambda array: array[:-1].copy(), r"has shape \(200, .*must have \(199, "),
    (
        "loo_noise",
        lambda array: np.ones((201, 1)),
        "'loo_noise' has 201 rows, but there are 200 to learn from",
    ),
    ("loo_noise", lambda array: None, "array 'loo_noise' is missing"),
    ("scores", with_entry(-1.0), "'scores' has an entry -1.0"),
    ("scores", lambda array: array[::-1].copy(), "'scores' is not sorted"),
    ("weight_below", lambda array: array[::-1].copy(), "'weight_below' is not sorted"),
    ("features", with_entry(7.0), "array 'features' does not fit to array 'rows'"),
    ("features", with_entry(np.inf), "'features' has entries that are not finite"),
    ("features", lambda array: array[:, :2].copy(), r"'features' has shape \(200, 2\)"),
    ("initial_transform", lambda array: None, "array 'initial_transform' is missing"),
    ("initial_transform", with_entry(1e200), "'initial_transform' has an entry 1e[+]200"),
    ("initial_transform", with_entry(1e90), "'features' is too large in its initial units"),
    (
        "initial_transform",
        lambda array: 1e-200 * array,
        "'features' varies too little in its initial units",
    ),
    ("surprise", lambda array: np.ones(3), "array 'surprise' is unknown"),
]


@pytest.mark.parametrize(("name", "change", "message"), ARRAYS)
def test_what_arrays_may_not_hold(saved, tmp_path, name, change, message):
    def change_array(header, arrays):
        found = change(arrays.pop(f"0_{name}", None))
        if found is not None:
            arrays[f"0_{name}"] = found

    rewritten(saved, tmp_path / "model", change_array)
    assert re.search(message, refusal(tmp_path / "model"))


CURVES = [
    ("spread", lambda array: None, "array 'curve_middle' is unknown"),
    ("skew", lambda array: None, "array 'curve_skew' is missing"),
    ("spread", with_entry(-1.0), "'curve_spread' has an entry -1.0"),
    ("spread", with_entry(1e-200), "'curve_spread' has entries below 1e-100 that are not 0"),
    ("skew", with_entry(50.0), "'curve_skew' has an entry 50.0, but all must be from -4 to 4"),
    ("middle", with_entry(np.nan), "'curve_middle' has entries that are not finite"),
    ("drawn_in", lambda array: np.ones(2), r"'curve_drawn_in' has shape \(2,\)"),
]


@pytest.mark.parametrize(("name", "change", "message"), CURVES)
def test_what_curves_may_not_hold(tmp_path, name, change, message):
    model = LocalEGOPRegressor(n_iter=0, degree=1, ridge=1e-4, initial_metric="power")
    model.fit(SKEWED[TRAIN], Y[TRAIN]).save(tmp_path / "curves")

    def change_array(header, arrays):
        found = change(arrays.pop(f"0_curve_{name}"))
        if found is not None:
            arrays[f"0_curve_{name}"] = found

    rewritten(tmp_path / "curves", tmp_path / "model", change_array)
    assert re.search(message, refusal(tmp_path / "model"))


def test_a_schedule_must_last_for_the_steps(tmp_path):
    model = LocalEGOPRegressor("query", schedule=PowerLaw(0.5), n_iter=2, n_subsamples=9, ridge=0.1)
    model.fit(X[TRAIN], Y[TRAIN]).save(tmp_path / "model")

    def change(header, arrays):
        header["parameters"]["schedule"]["exponent"] = 1e9

    rewritten(tmp_path / "model", tmp_path / "altered", change)
    assert "what the schedule gives at step 1 is 0.0, but must be a number" in refusal(tmp_path / "altered")


def test_arrays_of_no_model_are_unknown(saved, tmp_path):
    rewritten(saved, tmp_path / "model", lambda header, arrays: arrays.update({"7_rows": np.ones(2)}))
    assert "array '7_rows' is unknown" in refusal(tmp_path / "model")


def test_a_model_that_a_file_cannot_hold_is_not_saved(tmp_path):
    model = LocalEGOPRegressor("query", n_iter=20_000, ridge=0.1).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(
        ValueError, match=r"beyond what a model file can hold .*'n_iter' is 20000.*: fit it in"
    ):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", [1, 3, 99])
def test_other_formats_are_named(saved, tmp_path, other):
    header, arrays = files.read(saved)
    files.write(tmp_path / "other", header | {"format": other}, arrays)
    with pytest.raises(
        ValueError,
        match=rf"' has format {other}, but this version of localegop reads format 6: install .* again$",
    ):
        LocalEGOPRegressor.load(tmp_path / "other")


def test_code_of_ones_own_cannot_be_saved(tmp_path):
    model = LocalEGOPRegressor(n_iter=1, degree=1, ridge=0.1, kernel=lambda u: np.exp(-u)).fit(
        X[:60], Y[:60]
    )
    with pytest.raises(ValueError, match="pickle or joblib"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_is_a_plain_npz_archive(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(archive[files.HEADER].tobytes())
    assert header["format"] == files.FORMAT and header["n_samples"] == 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"missing": "guess"}, "header.columns.missing is 'guess'"),
        ({"columns": []}, "must be a list that is not empty"),
        ({"more": 1}, "entry of header.columns 'more' is unknown"),
        ({"kind": "color"}, "kind is 'color'"),
        ({"categories": None}, "column 'b' has kind 'categories' and categories"),
        ({"categories": ["u", "v", "w"]}, "header.columns do not give header.feature_names"),
        ({"categories": ["u", 3]}, "must be a text"),
        ({"fill": 2}, "column 'b' is filled with category 2, which is none"),
        ({"fill": 0.5}, "column 'b' is filled with category 0.5, which is none"),
        ({"fill": "u"}, "fill is 'u'"),
        ({"name": "a"}, "twice"),
    ],
)
def test_columns_of_a_file_are_checked(tmp_path, change, words):
    columns = Columns((Column("a", fill=0.5), Column("b", "categories", ("u", "v"), fill=1.0)), "impute")
    model = LocalEGOPRegressor(n_iter=1, degree=1, ridge=1e-4)
    model.fit(pd.DataFrame(X[TRAIN], columns=columns.features), Y[TRAIN])
    model.columns_ = columns
    model.save(tmp_path / "model")
    assert LocalEGOPRegressor.load(tmp_path / "model").columns_ == columns
    header, arrays = files.read(tmp_path / "model")
    about = header["columns"]
    place = about if set(change) <= {"missing", "columns", "more"} else about["columns"][1]
    place.update(change)
    with pytest.raises(ValueError, match=re.escape(words)):
        check_file(header, arrays)


def test_files_that_say_nothing_of_columns_are_read(saved):
    header, arrays = files.read(saved)
    assert header.pop("columns") is None
    check_file(header, arrays)
