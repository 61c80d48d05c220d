"""The command line on targets that are classes."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from localegop.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("classes")
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["species"] = np.array(["setosa", "versicolor", "virginica"])[y]
    table["number"] = y
    table.iloc[::2].to_csv(path / "train.csv", index=False)
    table.iloc[1::2].to_csv(path / "test.csv", index=False)
    code = main(
        [
            "fit",
            f"{path}/train.csv",
            "--target",
            "species",
            "--ignore",
            "number",
            "-o",
            f"{path}/model",
            "--quiet",
        ]
    )
    assert code == 0
    return path


def test_text_targets_are_classes(folder, capsys):
    assert main(["info", f"{folder}/model", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["targets"] == ["species"]
    assert facts["classes"] == ["setosa", "versicolor", "virginica"]


def test_predictions_have_classes_probabilities_and_sets(folder, capsys):
    command = ["predict", f"{folder}/model", f"{folder}/test.csv", "-o", f"{folder}/out.csv", "--std"]
    assert main([*command, "--interval", "0.9", "--json"]) == 0
    quality = json.loads(capsys.readouterr().out)["quality"]
    assert quality["rows"] == 75
    assert quality["error"] < 0.1
    out = pd.read_csv(folder / "out.csv")
    names = ["setosa", "versicolor", "virginica"]
    assert out.columns.tolist() == [
        "prediction",
        *(f"probability_{name}" for name in names),
        *(f"std_{name}" for name in names),
        "set_0.9",
    ]
    np.testing.assert_allclose(out.iloc[:, 1:4].sum(axis=1), 1.0, atol=1e-9)
    assert all(one in held.split("|") for one, held in zip(out["prediction"], out["set_0.9"], strict=True))


def test_few_whole_numbers_are_classes_unless_the_task_is_given(folder, capsys):
    fit = ["fit", f"{folder}/train.csv", "--target", "number", "--ignore", "species", "--json"]
    assert main([*fit, "-o", f"{folder}/numbered"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["classes"] == [0, 1, 2]
    assert "'number' is taken for classes" in told.err
    assert main([*fit, "-o", f"{folder}/numbers", "--task", "regression"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] is None


def test_options_of_regression_are_refused_for_classes(folder, capsys):
    fit = ["fit", f"{folder}/train.csv", "--target", "species", "-o", f"{folder}/none"]
    assert main([*fit, "--loss", "huber"]) != 0
    assert "--loss: for regression only" in capsys.readouterr().err
    assert main([*fit, "--target", "number", "--task", "classification"]) != 0
    assert "takes one target" in capsys.readouterr().err


def test_classes_are_explained(folder):
    assert (
        main(["explain", f"{folder}/model", f"{folder}/test.csv", "-o", f"{folder}/why.csv", "--quiet"])
        == 0
    )
    why = pd.read_csv(folder / "why.csv")
    assert {"value_setosa", "gradient_virginica_c", "importance_a"} <= set(why.columns)
    np.testing.assert_allclose(why.filter(regex="^value_").sum(axis=1), 1.0, atol=1e-9)
