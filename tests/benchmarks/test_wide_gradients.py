"""The table of gradients from wider neighborhoods."""

import pytest
import wide_gradients


def test_the_table_has_every_step_of_every_pair_of_sizes(capsys, monkeypatch):
    monkeypatch.setattr(wide_gradients, "ANCHORS", 60)
    monkeypatch.setattr(wide_gradients, "QUERIES", 40)
    lines = wide_gradients.table(3, 1000, 0.2, 0, (100.0, 200.0), [(100.0, 16.0), (200.0, 100.0)])
    assert [line[:2] for line in lines] == [
        (sizes, str(step)) for sizes in ("100 to 16", "200 to 100") for step in range(5)
    ]
    first = [float(line[2]) for line in lines]
    assert first[0] == pytest.approx(first[5])  # nothing is learned yet
    assert all(0.0 < error < 0.04 for error in first)
