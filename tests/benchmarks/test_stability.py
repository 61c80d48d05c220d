"""The table of stability: one tiny run, and lines from made-up fits."""

import numpy as np
import pytest
import stability


def made_up(spread_before, spread_after, error, count=400):
    rng = np.random.default_rng(0)
    names = (*stability.QUANTITIES, stability.PREDICTION)
    return [
        stability.Told(
            *(
                dict.fromkeys(names, scale * rng.standard_normal(50))
                for scale in (spread_before, spread_after)
            ),
            dict.fromkeys(names, np.full(50, error)),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("way", "error", "met"),
    [
        ("other seeds", 0.6, "yes"),
        ("other seeds", 0.4, "no"),
        ("fresh samples", 1.3, "yes"),
        ("fresh samples", 0.75, "yes"),
        ("fresh samples", 1.5, "no"),
        ("fresh samples", 0.6, "no"),
    ],
)
def test_lines_compare_the_spread_with_the_error(way, error, met):
    line = stability.line("here", way, "importance", made_up(2.0, 1.0, error))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["here", way, "importance"] and cells[-1] == met
    assert [float(cell) for cell in cells[3:6]] == pytest.approx([2.0, 1.0, error], rel=0.02)


@pytest.mark.parametrize(
    ("way", "error", "bar"),
    [
        ("other seeds", 4.5, ["<= 1.5", "yes"]),
        ("other seeds", 4.2, ["<= 1.4", "no"]),
        ("a tenth dropped", 1.5, ["<= 1.5", "yes"]),
        ("a tenth dropped", 1.3, ["<= 1.3", "no"]),
    ],
)
def test_predictions_are_compared_in_pairs(way, error, bar):
    line = stability.line("here", way, stability.PREDICTION, made_up(2.0, 1.0, error))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert float(cells[4]) == pytest.approx(np.sqrt(2.0), rel=0.02)
    assert cells[5:] == [str(error), *bar]


def test_a_tiny_run(capsys, monkeypatch):
    monkeypatch.setattr(stability, "SAMPLE", 40)
    stability.main(["--only", "collinear", "--refits", "2", "--queries", "3", "--threads", "1"])
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 + 5 + 5 + 4 and all("| collinear |" in row for row in rows[2:])
    quick = ["--predictions", "--ways", "other seeds"]
    stability.main(["--only", "collinear", "--refits", "2", "--queries", "3", "--threads", "1", *quick])
    assert capsys.readouterr().out.splitlines() == [*rows[:2], rows[6]]


def test_data_that_are_not_there_are_skipped(monkeypatch):
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    assert "skipped" in stability.measure("concrete", "other seeds", 2, 3, 1)[0]
    assert "too few rows" in stability.measure("diabetes", "fresh samples", 9, 3, 1)[0]
