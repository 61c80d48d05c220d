"""The robustness table: what each case changes, verdicts, and one small run."""

import numpy as np
import pytest
import robustness
from records import Records
from sklearn.dummy import DummyRegressor

FAST = {"squared": lambda dimension: DummyRegressor(), "boosting": robustness.boosting}


@pytest.mark.parametrize("case", robustness.CASES)
def test_a_case_changes_the_training_rows_as_it_says(case):
    X, y, fresh, truth = robustness.draw(case, 1, 200, 50)
    plain, labels, _, clean_truth = robustness.draw("clean", 1, 200, 50)
    assert X.shape[1] == fresh.shape[1] and len(fresh) == len(truth) == 50
    assert np.isfinite(X).all() and np.isfinite(y).all()
    if case == "integer features":
        assert np.array_equal(X, np.round(X)) and np.array_equal(fresh, np.round(fresh))
        assert np.array_equal(truth, robustness.f(fresh / 2.0))
        return
    assert np.array_equal(truth, clean_truth)
    off = np.abs(y - labels) > 50.0 * labels.std()
    assert off.sum() == (10 if case == "5 % gross labels" else 0)
    far = np.abs(X) > 1e3
    assert far.sum() == 1 if case.startswith("one feature") else not far.any() or "sigma 3" in case
    assert not (np.abs(fresh) > 1e3).any() or "sigma 3" in case
    same_labels = case not in ("t(2) labels", "5 % gross labels")
    assert np.array_equal(y, labels) == same_labels
    if case.startswith("lognormal"):
        sigma = float(case[-1])
        assert np.log(X) / sigma == pytest.approx(plain)


def test_verdicts_compare_with_the_best_of_the_others():
    means = {"squared": 0.95, "huber": 0.99, "boosting": 0.8, "kernel ridge": 0.98}
    gaps = robustness.behind(means)
    assert gaps == pytest.approx({"squared": 0.03, "huber": -0.01})
    printed = robustness.table({"clean": means, "other": means | {"squared": 0.961}})
    lines = printed.splitlines()
    assert lines[2].endswith("| no, 0.030 behind | yes |")
    assert lines[3].endswith("| yes | yes |") and lines[3].startswith("| other | 0.961 |")
    assert {line.count("|") for line in lines} == {8}
    alone = robustness.table({"clean": {"squared": 0.9}})
    assert alone.endswith("| clean | 0.900 | nothing to compare with |")


def test_a_small_run_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(robustness, "METHODS", FAST)
    path = tmp_path / "robustness.json"
    options = ["--cases", "clean", "5 % gross labels", "--methods", "squared", "boosting"]
    given = robustness.arguments([*options, "--seeds", "1", "--rows", "100", "--json", str(path)])
    found = robustness.run(given, Records(path))
    assert found["clean"]["boosting"] > 0.3 > found["clean"]["squared"]
    assert found["5 % gross labels"]["boosting"] < 0.0
    monkeypatch.setattr(robustness, "measure", None)  # nothing is measured twice
    assert robustness.run(given, Records(path)) == found
    assert "clean, boosting: 0." in capsys.readouterr().out


def test_ours_with_a_robust_loss():
    record = robustness.measure("5 % gross labels", "huber", 0, rows=200, queries=200)
    assert record["r2"] > 0.6 and record["seconds"] > 0.0
