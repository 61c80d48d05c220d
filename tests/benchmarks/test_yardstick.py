"""Two versions side by side, with a made-up old one that needs no build."""

import json

import numpy as np
import pytest
import records
import yardstick
from comparison.datasets import held_out_quarter
from history import builds

MADE_UP = '''
"""A localegop that predicts the mean, and says so."""
import numpy as np

class LocalEGOPRegressor:
    def __init__(self, **parameters): self.parameters = parameters
    def fit(self, X, y):
        self.mean, self.choice_ = y.mean(), f"Choice(mean={factor}, error=0.123456)"
        return self
    def predict(self, X): return np.full(len(X), {factor} * self.mean)
'''


def version(folder, factor, text=MADE_UP):
    """Version whose predictions are the mean times a factor, in a folder named like a commit."""
    commit = f"{factor}" * 40
    home = folder / commit / "localegop"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text(text.replace("{factor}", str(factor)))
    return yardstick.Version(commit, builds.installed(commit, folder))


def asked(*more):
    return yardstick.arguments(["--commit", "HEAD", "--datasets", "diabetes", "--rows", "80", *more])


def test_versions_are_compared_and_results_kept(tmp_path, capsys, monkeypatch):
    versions = {"old": version(tmp_path, 1), "new": version(tmp_path, 2)}
    given = asked("--json", str(tmp_path / "kept" / "results.json"), "--seeds", "2")
    found = yardstick.run(given, versions)
    printed = capsys.readouterr().out
    (row,) = [text for text in printed.splitlines() if text.startswith("| diabetes | 80 |")]
    assert "| Choice(mean=1) -> Choice(mean=2) |" in row
    old, new = (
        [each[which]["mse_over_variance"] for each in found["diabetes"]] for which in ("old", "new")
    )
    assert 2.0 * max(old) < min(new)  # twice the mean is far off
    assert "worst" in yardstick.closing(found) and "(diabetes)" in yardstick.closing(found)
    monkeypatch.setattr(yardstick, "compare", lambda *others: pytest.fail("measured again"))
    assert yardstick.run(given, versions) == found
    assert capsys.readouterr().out == printed


def test_predictions_are_compared_with_labels_before_noise(tmp_path):
    versions = {"old": version(tmp_path, 1), "new": version(tmp_path, 2)}
    record = yardstick.compare(versions, "helix_20_noise", 80, 0, 1)
    parts = held_out_quarter("helix_20_noise", 80, 0)
    for which, factor in (("old", 1), ("new", 2)):
        error = np.mean((factor * parts.y.mean() - parts.truth) ** 2) / parts.variance
        assert record[which]["mse_over_variance"] == pytest.approx(error, rel=1e-9)


def test_a_version_that_fails_is_told_and_tried_again(tmp_path, capsys):
    broken = version(tmp_path, 1, "raise ValueError('too old')")
    given = asked("--json", str(tmp_path / "results.json"))
    assert yardstick.run(given, {"old": broken, "new": version(tmp_path, 2)}) == {}
    assert "<!-- diabetes, split 0, old: ValueError: too old -->" in capsys.readouterr().out
    repaired = {"old": version(tmp_path / "b", 1), "new": version(tmp_path / "b", 2)}
    assert yardstick.run(given, repaired).keys() == {"diabetes"}


def test_a_version_from_elsewhere_is_refused(tmp_path):
    (tmp_path / ("3" * 40)).mkdir()
    nothing = yardstick.Version("3" * 40, tmp_path / ("3" * 40))
    record = yardstick.compare({"old": nothing, "new": version(tmp_path, 1)}, "diabetes", 80, 0, 1)
    assert "old: " in record["error"] and "new" not in record["error"]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit, in which builds are looked for."""
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a = 1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"]):
        builds.git(*command, **builds.FIXED)
    return tmp_path


def test_the_present_version_has_changes_that_are_not_committed(checkout):
    assert builds.present_commit() == builds.full_hash("HEAD")
    (checkout / "src" / "a.py").write_text("a = 2\n")
    changed = builds.present_commit()
    assert changed != builds.full_hash("HEAD") and changed == builds.present_commit()
    assert builds.git("show", f"{changed}:src/a.py") == "a = 2"
    with builds._checkout(changed) as sources:
        assert (sources / "src" / "a.py").read_text() == "a = 2\n"
    assert not sources.exists() and builds.git("stash", "list") == ""
    (checkout / "src" / "b.py").touch()
    with pytest.raises(SystemExit, match=r"src/b.py: git add it"):
        builds.present_commit()


def test_an_unknown_commit_is_told(checkout):
    with pytest.raises(SystemExit, match="git rev-parse: fatal"):
        builds.full_hash("no-such-branch")


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps([1, 2]))
    with pytest.raises(SystemExit, match="holds no records"):
        records.Records(path)


def test_records_of_other_commits_are_told(tmp_path, capsys, monkeypatch):
    path = tmp_path / "results.json"
    monkeypatch.setattr(records, "described_commit", lambda: "one")
    records.Records(path).take("a", lambda: {"x": 1})
    records.Records(path).tell_of_other_commits()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(records, "described_commit", lambda: "two")
    records.Records(path).tell_of_other_commits()
    assert "1 of 1 records" in capsys.readouterr().out
