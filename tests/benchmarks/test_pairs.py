"""Ours against each peer, from made-up results."""

import numpy as np
import pytest
from comparison.pairs import compare, compare_all, rows_of, split_test
from scipy.stats import ttest_1samp
from tests.benchmarks.examples import failed, record


def test_wins_ties_and_losses_are_counted_by_rmse():
    ratios = {"diabetes": 1.2, "uci_yacht": 1.04, "uci_wine": 0.5, "helix_5": 2.0}
    records = [record(name, "local_egop", 1.0) for name in ratios]
    records += [record(name, "forest", ratio**2) for name, ratio in ratios.items()]
    pair = compare(records, "forest")
    assert (pair.wins, pair.ties, pair.losses) == (2, 1, 1) and pair.worst == (
        "uci_wine",
        pytest.approx(0.5),
    )
    assert pair.ratio == pytest.approx(np.prod(list(ratios.values())) ** 0.25) and np.isnan(pair.p)
    assert compare(records, "xrfm") is None
    head, rows = rows_of(compare_all(records))
    assert (
        len(rows) == 1
        and len(rows[0]) == len(head)
        and rows[0][:5] == ["random forest", "4", "2", "1", "1"]
    )


def test_only_splits_that_both_finished_with_the_same_queries_count():
    records = [record("diabetes", "local_egop", 1.0, seed=seed) for seed in range(3)]
    records += [record("diabetes", "forest", 4.0), failed("diabetes", "forest", seed=1)]
    records += [record("diabetes", "forest", 100.0, seed=2, n_queries=10)]
    assert compare(records, "forest").ratio == pytest.approx(2.0)


def test_differences_over_splits_need_to_exceed_what_shared_rows_explain():
    values = np.array([0.10, 0.12, 0.08, 0.11, 0.05])
    assert split_test(values, 0.0) == pytest.approx(ttest_1samp(values, 0.0).pvalue)
    assert split_test(values, 0.25) > split_test(values, 0.0)
    assert split_test(np.zeros(4), 0.25) == 1.0
    logs = {"certain": [1.10, 1.11, 1.12, 1.10], "not": [0.5, 2.0, 0.6, 1.5]}
    for what, found in logs.items():
        records = [record("diabetes", "local_egop", 1.0, seed=seed) for seed in range(4)]
        records += [record("diabetes", "forest", r**2, seed=seed) for seed, r in enumerate(found)]
        assert compare(records, "forest").certain == ((1, 0) if what == "certain" else (0, 0))


def test_many_sets_are_tested_together():
    names = ["diabetes", "uci_yacht", "uci_wine", "helix_5", "helix_20", "torus_20", "friedman1", "image"]
    records = [record(name, "local_egop", 1.0) for name in names]
    records += [record(name, "forest", 1.5 + 0.1 * i) for i, name in enumerate(names)]
    assert compare(records, "forest").p == pytest.approx(2 / 2**8)
