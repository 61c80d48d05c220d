"""The command line: tables, models, predictions and reasons, and one clear line for every problem."""

import json
import os
import signal
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest

import localegop
from localegop import LocalEGOPRegressor
from localegop._data.archive import FORMAT
from localegop.cli import COMMANDS, main

ROWS = 200
FEATURES = ["a", "b", "c"]


def make_table(rows, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=FEATURES)
    table["y"] = np.sin(table.a) + 0.3 * table.b + 0.1 * rng.normal(size=rows)
    table["z"] = table.a * 2.0 + 0.1 * rng.normal(size=rows)
    return table


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with tables, and models of one and two targets fitted by the command line."""
    folder = tmp_path_factory.mktemp("cli")
    make_table(ROWS, 0).to_csv(folder / "train.csv", index=False)
    make_table(40, 1).to_csv(folder / "new.csv", index=False)
    fit = ["fit", str(folder / "train.csv"), "--quiet"]
    assert main([*fit, "--target", "y", "--ignore", "z", "-o", str(folder / "one.model")]) == 0
    assert main([*fit, "--target", "y,z", "-o", str(folder / "two.model")]) == 0
    return folder


@pytest.fixture
def run(home, tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own, to which the tables and models are linked."""
    monkeypatch.chdir(tmp_path)
    for path in home.iterdir():
        os.symlink(path, path.name)

    def call(command):
        capsys.readouterr()
        code = main(command if isinstance(command, list) else command.split())
        return code, *capsys.readouterr()

    return call


def refusal(result):
    """The one line of a command that failed."""
    code, out, err = result
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("localegop: error: ")
    return lines[0]


# --- what works -------------------------------------------------------------------------------------------


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
    assert table.importance_a.mean() > table.importance_c.mean()
    np.testing.assert_array_equal(table.loc[7, names[0]], fits.neighbors(7).index[:3] + 1)
    np.testing.assert_allclose(table.loc[7, names[1]].astype(float), fits.neighbors(7).weight[:3])
    assert "mean over these rows" in out


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
    assert {"value_y", "gradient_z_a", "importance_y_a", "neighbor_y_1", "weight_z_1"} <= names


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


def test_quiet_says_nothing_and_json_nothing_else(run):
    assert run("predict one.model new.csv -o out.csv --quiet") == (0, "", "")
    code, out, err = run("predict one.model new.csv -o out.csv --quiet --json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == 40


def test_progress_is_shown_when_asked_for(run, monkeypatch):
    from localegop._progress import ProgressBar

    asked = []
    monkeypatch.setattr(
        ProgressBar, "__exit__", lambda self, *_: asked.append((self.title, self.verbose)), raising=True
    )
    for option, shown in (("", False), ("--progress", True), ("--no-progress", False)):
        asked.clear()
        assert run(f"explain one.model new.csv -o out.csv {option}")[0] == 0
        assert ("explain", shown) in asked
        assert run(f"predict one.model new.csv -o out.csv {option}")[0] == 0
        assert ("predict", shown) in asked


def test_demo(run, monkeypatch):
    from localegop import _demo as demo

    small = demo.helix_errors, demo.annulus_localizations
    monkeypatch.setattr(demo, "helix_errors", lambda: small[0](n_train=200, n_queries=50))
    monkeypatch.setattr(demo, "annulus_localizations", lambda: small[1](n_samples=200))
    code, out, _ = run("demo pictures --json")
    facts = json.loads(out)
    assert code == 0
    assert facts["relative_errors"]["Local EGOP"] < facts["relative_errors"]["5 nearest neighbors"]
    assert os.path.getsize(facts["picture"]) > 10_000
    assert "cannot create the folder 'new.csv/x'" in refusal(run("demo new.csv/x"))


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,b,y\n1,x,3\n2,y,4\n",
            "not numeric: column 'b' (row 1: 'x'): use --ignore to leave out columns",
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


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit none.csv --target y -o m", "none.csv: no such file"),
        ("fit . --target y -o m", "does not tell the format of a table"),
        ("fit train.csv --target y -o .", "is a folder"),
        ("fit train.csv --target y -o none/m", "there is no folder"),
        ("fit train.csv --target y -o train.csv", "also read by this command"),
        ("fit train.csv --target y --weight a -o m", "weights in 'a' are negative: rows"),
        ("fit one.model --target y -o m", "ending '.model' does not tell the format of a table"),
        ("predict none.model new.csv -o o.csv", "none.model: no such file"),
        ("predict . new.csv -o o.csv", "is a folder"),
        ("predict one.model none.csv -o o.csv", "none.csv: no such file"),
        ("predict one.model new.csv -o o.txt", "ending '.txt' does not tell the format of a table"),
        ("predict one.model new.csv -o new.csv", "also read by this command"),
        ("info none.model", "no such file"),
    ],
)
def test_files_that_are_refused(run, command, words):
    assert words in refusal(run(command))


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


def test_negative_weights_and_nothing_left(run, tmp_path):
    (tmp_path / "bad.csv").write_text("a,y,w\n1,,1\n2,6,0\n3,7,2\n")
    line = refusal(run("fit bad.csv --target y --weight w --drop-missing -o m --quiet"))
    assert "at least 2 rows are needed, but 1 of 3 can be used" in line
    (tmp_path / "bad.csv").write_text("a,b,c\n,1,1\n")
    assert "every row has a missing feature" in refusal(
        run("predict one.model bad.csv -o o.csv --drop-missing")
    )


@pytest.mark.parametrize(
    "command",
    [
        "",
        "bake",
        "fit train.csv -o m",
        "fit train.csv --target y",
        "fit train.csv --target y -o m --features a --ignore b",
        "fit train.csv --target y -o m --paper --strategy field",
        "fit train.csv --target y -o m --max-neighbors 1",
        "fit train.csv --target y -o m --max-neighbors many",
        "fit train.csv --target y -o m --seed -1",
        "fit train.csv --target y -o m --jobs 0",
        "predict one.model new.csv -o o.csv --interval 1.5",
        "predict one.model new.csv -o o.csv --interval most",
        "explain one.model new.csv -o o.csv --neighbors -1",
        "info",
    ],
)
def test_wrong_usage(run, command):
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert "usage: localegop" in err
    assert "error: " in err.splitlines()[-1]


@pytest.mark.parametrize("name", ["demo", "fit", "predict", "explain", "info"])
def test_every_command_has_an_example(run, name):
    code, out, _ = run(f"{name} --help")
    assert code == 0
    assert f"example:\n  localegop {name}" in out


def test_other_packages_add_commands(run, monkeypatch):
    def add_command(subparsers):
        parser = subparsers.add_parser("greet", help="say hello")
        parser.add_argument("name")
        parser.set_defaults(run=greet)

    def greet(args):
        if args.name == "nobody":
            raise ValueError("nobody is there")
        print("hello", args.name)
        return 0

    module = types.ModuleType("greetings")
    module.add_command = add_command
    monkeypatch.setitem(sys.modules, "greetings", module)
    monkeypatch.setattr("localegop.cli.COMMANDS", (*COMMANDS, "greetings"))
    assert run("greet you") == (0, "hello you\n", "")
    assert refusal(run("greet nobody")).endswith("nobody is there")
    assert "say hello" in run("--help")[1]


# --- damaged models ---------------------------------------------------------------------------------------


def test_damaged_and_foreign_models_are_refused(run, home, tmp_path):
    whole = (home / "one.model").read_bytes()
    damaged = {
        "truncated.model": whole[: len(whole) // 2],
        "header_only.model": whole[:10],
        "flipped.model": whole[: len(whole) // 2]
        + bytes([whole[len(whole) // 2] ^ 1])
        + whole[len(whole) // 2 + 1 :],
        "foreign.model": b"PK\x03\x04 this is not a model",
        "text.model": (home / "train.csv").read_bytes(),
        "empty.model": b"",
    }
    lines = set()
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        for command in (
            f"info {name}",
            f"predict {name} new.csv -o out.csv",
            f"explain {name} new.csv -o o.csv",
        ):
            line = refusal(run(command))
            assert name in line
            lines.add(line.replace(name, ""))
    assert len(lines) > 1  # says what is wrong, not only that something is
    assert not (tmp_path / "out.csv").exists()


# --- what can happen on the way ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["fit new.csv --target y --strategy query -o kept.csv", "predict one.model new.csv -o kept.csv"],
)
def test_ctrl_c_leaves_no_half_written_file(run, tmp_path, monkeypatch, heed_ctrl_c, command):
    written = []

    def interrupt(source, target):
        written.append(os.path.getsize(source))
        os.kill(os.getpid(), signal.SIGINT)

    (tmp_path / "kept.csv").write_text("old")
    before = sorted(os.listdir())
    monkeypatch.setattr(os, "replace", interrupt)  # at the last moment: the new file is all there
    assert run(command) == (130, "", "localegop: interrupted\n")
    assert written[0] > 100
    assert (tmp_path / "kept.csv").read_text() == "old"
    assert sorted(os.listdir()) == before


def test_failed_writing_leaves_the_old_table(run, tmp_path, monkeypatch):
    def write_half(self, path, **_):
        with open(path, "w") as file:
            file.write("half")
        raise OSError(28, "No space left on device", str(path))

    (tmp_path / "kept.csv").write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", write_half)
    assert "no space left on device" in refusal(run("predict one.model new.csv -o kept.csv"))
    assert (tmp_path / "kept.csv").read_text() == "old"
    assert not [name for name in os.listdir() if name.startswith(".")]


@pytest.mark.parametrize(("module", "table"), [("pandas", "new.csv"), ("pyarrow", "new.parquet")])
def test_missing_packages_are_named_with_the_extra(run, monkeypatch, module, table):
    pd.read_csv("new.csv").to_parquet("new.parquet")
    monkeypatch.setitem(sys.modules, module, None)
    line = refusal(run(f"predict one.model {table} -o out.csv"))
    assert f"tables need {module}" in line
    assert "pip install 'localegop[table]'" in line


def test_the_unexpected_is_one_line_too(run, monkeypatch):
    def fail(self, X, **_):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr(LocalEGOPRegressor, "localize", fail)
    assert refusal(run("explain one.model new.csv -o o.csv")).endswith("RuntimeError: something odd")
    code, _, err = run("explain one.model new.csv -o o.csv --traceback")
    assert code == 1
    assert "Traceback" in err


def test_warnings_of_the_estimator_are_one_line(run, monkeypatch, recwarn):
    import warnings

    predict = LocalEGOPRegressor.predict

    def warn(self, X, **options):
        warnings.simplefilter("always")  # as outside of the tests, where warnings are no errors
        warnings.warn("the queries\nare far away", UserWarning, stacklevel=1)
        return predict(self, X, **options)

    monkeypatch.setattr(LocalEGOPRegressor, "predict", warn)
    code, _, err = run("predict one.model new.csv -o out.csv")
    assert (code, err) == (0, "localegop: warning: the queries are far away\n")
    assert run("predict one.model new.csv -o out.csv --quiet") == (0, "", "")


def started(*arguments, **options):
    """Start the command line in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, "-m", "localegop", *arguments], **pipes)


def test_as_a_process(home, tmp_path):
    new, model, out = home / "new.csv", home / "one.model", tmp_path / "out.csv"
    with started("predict", str(model), str(new), "-o", str(out), "--json") as process:
        text, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(text)["output"] == str(out)
    assert len(pd.read_csv(out)) == 40
    with started("info", str(new)) as process:
        text, errors = process.communicate()
    assert (process.returncode, text) == (1, "")
    assert errors.startswith("localegop: error: ")
    assert errors.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(home):
    with started("info", str(home / "one.model")) as process:
        process.stdout.close()  # before anything is written: starting takes longer
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, "")


def test_parsing_imports_nothing_heavy():
    """Without the package's own __init__, which is not the command line's business."""
    code = f"""
import sys, types
package = types.ModuleType("localegop")
package.__path__ = {list(localegop.__path__)!r}
sys.modules["localegop"] = package
from localegop.cli import main
assert main(["fit", "--help"]) == 0
assert main(["fit", "x"]) == 2
heavy = {{"numpy", "scipy", "sklearn", "pandas", "joblib", "matplotlib"}} & set(sys.modules)
assert not heavy, heavy
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
