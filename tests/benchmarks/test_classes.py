"""The benchmark of classifiers: its measures, ranks and tables."""

import classes
import numpy as np
import pytest


def test_measures_are_what_they_say():
    p = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    y = np.array([0, 1, 1])
    assert classes.log_loss(p, y) == pytest.approx(-np.mean(np.log([0.8, 0.4, 0.9])))
    assert classes.calibration_error(p, y) == pytest.approx((abs(1 - 0.8) + 0.6 + abs(1 - 0.9)) / 3)


def test_right_probabilities_have_an_error_by_chance_that_more_rows_make_smaller():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 1.0, 1.0], 4000)
    drawn = np.array([[rng.choice(3, p=each) for each in p] for _ in range(5)])
    seen = np.mean([classes.calibration_error(p, y) for y in drawn])
    assert classes.chance_error(p) == pytest.approx(seen, rel=0.3)
    assert classes.chance_error(p[:250]) == pytest.approx(4.0 * classes.chance_error(p), rel=0.2)
    assert classes.chance_error(np.tile([1.0, 0.0], (50, 1))) == 0.0


def test_shares_of_covered_rows_vary_as_those_of_exact_sets_do():
    rng = np.random.default_rng(2)
    scores = rng.random((3000, 2, 300))  # of calibrating and of test rows
    limits = np.sort(scores[:, 0, :100], axis=1)[:, 90]  # the share of 101 that is asked for, rounded up
    covered = np.mean(scores[:, 1] <= limits[:, None], axis=1)
    assert classes.chance_of_coverage(100, 300, 1) == pytest.approx(covered.std(), rel=0.1)
    assert classes.chance_of_coverage(100, 300, 4) == classes.chance_of_coverage(100, 300, 1) / 2.0


def test_ranks_are_over_real_sets_that_all_have():
    table = {
        "iris": {"a": 0.1, "b": 0.2},
        "wine": {"a": 0.3, "b": 0.1},
        "banana": {"a": 0.1},  # b was not run
        "ring": {"a": 0.1, "b": 0.9},  # not a real set
    }
    assert classes.mean_ranks(table, ["a", "b"]) == {"a": 1.5, "b": 1.5}
    assert classes.mean_ranks({"iris": {"a": 0.0, "b": 0.0}}, ["a", "b"]) == {"a": 1.5, "b": 1.5}


def test_generated_sets_have_the_truth_and_sets_that_are_not_there_are_none(monkeypatch):
    for name in classes.MADE:
        data = classes.load(name, 50, 0)
        assert data["X"].shape[0] == 50
        np.testing.assert_allclose(data["truth"].sum(axis=1), 1.0)
        assert classes.log_loss(data["truth"], data["y_test"]) < np.log(data["truth"].shape[1])
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    assert classes.load("banana", 50, 0) is None


def test_a_run_is_kept_and_reported(tmp_path, monkeypatch):
    few = {key: classes.CLASSIFIERS[key] for key in ("logistic", "neighbors")}
    monkeypatch.setattr(classes, "CLASSIFIERS", few)
    kept = tmp_path / "results.json"
    results = classes.run(["iris", "annulus"], 60, [0], kept)
    assert classes.run(["iris", "annulus"], 60, [0], kept) == results
    text = "\n".join(classes.report(results, 60))
    assert "| iris |" in text
    assert "mean rank, real sets" in text
    assert classes.draw(results, 60).axes


def test_times_are_compared_where_both_were_run():
    table = {
        "a": {"local_egop": 2.0, "xrfm": 1.0},
        "b": {"local_egop": 8.0, "xrfm": 1.0},
        "c": {"xrfm": 9.0},
    }
    assert classes.time_ratio(table) == pytest.approx(4.0)


def test_some_methods_go_into_a_block_of_their_own(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- few: begin -->\nold\n<!-- few: end -->\n")
    options = ["--rows", "60", "--sets", "iris", "--methods", "logistic", "--block", "few"]
    monkeypatch.setattr("sys.argv", ["classes.py", *options, "--page", str(page)])
    classes.main()
    text = page.read_text()
    assert "old" not in text
    assert "| iris |" in text
    assert "--methods logistic --block few" in text
    assert "k nearest" not in text
    assert list(tmp_path.iterdir()) == [page]
