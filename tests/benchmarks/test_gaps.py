"""The benchmark of gaps: problems with gaps, the score, and one tiny run."""

import gaps
import numpy as np
import pytest
from bars import Table
from comparison import scores
from scipy.stats import norm


class Normal:
    """Knows that labels have mean zero and standard deviation one."""

    name = "normal"

    def fit(self, X, y):
        return self

    def intervals(self, X):
        half = norm.ppf((1.0 + gaps.LEVELS) / 2.0)
        return np.tile(np.stack([-half, half], axis=1), (len(X), 1, 1))


def test_queries_in_gaps_are_far_from_the_rows():
    for draw in (gaps.draw_field, gaps.draw_helix):
        problem = draw(0, rows=1000, queries=200)
        assert problem.X.shape[0] == len(problem.y) == 1000
        assert [len(y) for _, y in (problem.gaps, problem.random)] == [200, 200]
        distances = [gaps.cKDTree(problem.X).query(X)[0] for X, _ in (problem.gaps, problem.random)]
        assert np.median(distances[0]) > 1.2 * np.median(distances[1])
        nearest = [distances[0][problem.quarters == k].max() for k in range(4)]
        assert nearest == sorted(nearest) and np.bincount(problem.quarters).tolist() == [50] * 4


def test_the_field_has_variance_one_and_is_smooth():
    X = np.random.default_rng(0).uniform(0.0, 10.0, (4000, 2))
    values, moved = gaps.random_field(X, 0), gaps.random_field(X + 0.001, 0)
    assert np.var(values) == pytest.approx(1.0, abs=0.15)
    assert np.abs(values - moved).max() < 0.1


def test_the_score_is_that_of_the_normal_distribution():
    y = np.random.default_rng(1).standard_normal(20_000)
    intervals = Normal().intervals(y)
    assert scores.rank_score(y, intervals) == pytest.approx(1.0 / np.sqrt(np.pi), rel=0.03)
    assert scores.are_inside(y, intervals).mean(axis=0) == pytest.approx(scores.LEVELS, abs=0.02)
    wide = scores.rank_score(y, 3.0 * intervals), scores.rank_score(y, intervals + 1.0)
    assert min(wide) > 1.2 * scores.rank_score(y, intervals)


def test_a_tiny_run_fills_the_table(capsys):
    table = Table(silent=True)
    gaps.compare(table, "fields", [gaps.draw_field(0, rows=400, queries=60)], Normal)
    assert [row["bar"] for row in table.rows] == [0.05] * 4 + [0.03] + [1.0] * 2
    ratio = table.rows[-2]["measured"]  # a fit to 400 rows knows more than the mean of all
    assert 0.1 < ratio < 1.0
    assert "RMSE in gaps" in capsys.readouterr().out
