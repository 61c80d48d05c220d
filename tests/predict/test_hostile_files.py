"""Altered model files: each gives a clear error or finite predictions, in bounded time and memory."""

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("limits of memory are those of Linux", allow_module_level=True)

from tests.predict.hostile_files import QUERIES, examine, outcome, save_examples

from localegop import LocalEGOPRegressor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("examples")
    save_examples(place)
    return place


def test_examples_are_of_all_kinds(folder):
    models = {path.stem: LocalEGOPRegressor.load(path) for path in folder.glob("*.npz")}
    kinds = {name: getattr(model.choice_, "final", model.choice_) for name, model in models.items()}
    assert kinds["kriging"].kind == "kriging" and kinds["polynomial"].kind == "polynomial"
    assert kinds["global"].kind == "global" and models["polynomial"].choice_.step > 0
    assert kinds["mixture"].kind == "mixture" and len(kinds["mixture"].parts) > 1
    assert models["query"].strategy == "query"
    assert models["two outputs"].predict(QUERIES).shape == (2, 2)
    assert len(kinds["separate outputs"]) == 2
    assert {outcome(path) for path in folder.glob("*.npz")} == {"predictions"}


def check(folder, first, count):
    found = examine(folder, first, count)
    assert [line for line in found if line.startswith("failure")] == []
    assert sum(found.values()) == count
    assert min(found["error"], found["predictions"]) > 0.05 * count  # neither all refused nor all as before


def test_altered_files(folder):
    check(folder, 0, 200)


@pytest.mark.slow
def test_many_altered_files(folder):
    check(folder, 1000, 5000)
