"""Error and time against n: one tiny run, and slopes, tables and figure from made-up records."""

import growth
import growth_page
import numpy as np
import pytest
from records import Records

TINY = ["--dimensions", "2", "3", "--noises", "0", "0.5", "--samples", "1", "--threads", "1"]


def record(n, sample, error, method="local_egop", noise=0.1, dimension=5):
    fit = growth.Fit(method, noise, dimension, n, sample)
    return vars(fit) | {"mse_over_variance": error, "fit_seconds": 1e-3 * n, "threads": 1}


def made_up():
    """Errors that fall like n^-1 in one sample and n^-2 in the other; a peer with one sample."""
    ours = [record(n, sample, n ** -(1.0 + sample)) for n in (100, 1000, 10_000) for sample in (0, 1)]
    return [*ours, record(100, 0, 0.5, "neighbors"), record(100, 0, 0.2, noise=0.0, dimension=2)]


def test_small_fits_come_first_and_methods_end_at_their_largest_n():
    given = growth.arguments(["--methods", "local_egop", "mlkr", "--samples", "2", "--largest", "4000"])
    fits = growth.plan(given)
    assert [fit.n for fit in fits] == sorted(fit.n for fit in fits)
    assert {fit.n for fit in fits if fit.method == "local_egop"} == {500, 1000, 4000}
    assert {fit.n for fit in fits if fit.method == "mlkr"} == {500, 1000}
    assert len({fit.key for fit in fits}) == len(fits) == 2 * 3 * 4 * (3 + 2)


def test_fresh_points_have_clean_labels_of_the_same_function():
    few, many = (growth.draw(growth.Fit("local_egop", 0.5, 3, n, 0)) for n in (50, 100))
    for one, other in zip(few[2:], many[2:], strict=True):
        np.testing.assert_array_equal(one, other)
    clean = growth.draw(growth.Fit("local_egop", 0.0, 3, 2000, 0))
    noisy = growth.draw(growth.Fit("local_egop", 0.5, 3, 2000, 0))
    np.testing.assert_array_equal(clean[0], noisy[0])
    assert np.std(noisy[1] - clean[1]) == pytest.approx(0.5 * np.std(clean[1]), rel=0.05)
    as_many = growth.draw(growth.Fit("local_egop", 0.0, 3, growth.QUERIES, 0))
    assert not np.isin(as_many[2], as_many[0]).any()
    other = growth.draw(growth.Fit("local_egop", 0.0, 3, 2000, 1))
    assert not np.array_equal(other[3], clean[3])


def test_a_run_is_kept_and_goes_on(tmp_path, monkeypatch, capsys):
    given = growth.arguments([*TINY, "--sizes", "60", "120", "--methods", "neighbors"])
    monkeypatch.setattr(growth, "measure_fresh", lambda work, *others, time_limit: work(*others))
    path = tmp_path / "growth.json"
    found = growth.run(given, Records(path))
    assert len(found) == 8 and all(0.0 < each["mse_over_variance"] < 1.0 for each in found)
    assert "[8/8] neighbors/noise 0.5/D=3/n=120/sample 0: error" in capsys.readouterr().out
    monkeypatch.setattr(growth, "measure", lambda *others: pytest.fail("measured again"))
    assert growth.run(given, Records(path)) == found


def test_a_fit_that_fails_is_told_and_left_out(monkeypatch, capsys):
    given = growth.arguments([*TINY, "--sizes", "60", "--dimensions", "2", "--noises", "0"])
    given.time_limit = 0.01
    assert growth.run(given, Records(None)) == []
    assert "sample 0: not finished after 0.01 s" in capsys.readouterr().out


def test_slopes_are_means_over_whole_samples():
    (samples,) = [
        each
        for curve, each in growth_page.by_curve(made_up(), "mse_over_variance").items()
        if curve == (0.1, 5, "local_egop")
    ]
    assert growth_page.slope(samples) == pytest.approx((-1.5, 0.5))  # slopes -1 and -2: 0.707 / sqrt(2)
    del samples[1][1000]
    value, error = growth_page.slope(samples)
    assert value == pytest.approx(-1.0) and np.isnan(error)
    assert np.isnan(growth_page.slope({0: {100: 1.0}})).all()


def test_the_page_has_tables_and_a_figure(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'localegop[plot]'")
    growth_page.write_page(tmp_path / "docs" / "growth.md", made_up(), {"abc"})
    text = (tmp_path / "docs" / "growth.md").read_text()
    assert "Other work went on" not in text
    growth_page.write_page(tmp_path / "busy.md", made_up(), {"abc"}, busy=True)
    assert "Other work went on meanwhile" in (tmp_path / "busy.md").read_text()
    assert "| 0.1 | 5 | field Local EGOP | 0.001 | 3.16e-05 | 1e-06 | -1.50 ± 0.50 |" in text
    assert "| 0.1 | 5 | field Local EGOP | 0.1 | 1 | 10 | 1.00 ± 0.00 |" in text
    assert "| 0.1 | 5 | k nearest neighbors | 0.5 |  |  |  |" in text
    assert "figures/growth.png" in text and "at commit abc" in text
    assert (tmp_path / "docs" / "figures" / "growth.png").stat().st_size > 0
