"""Comparisons from records: mean errors, ranks, factors, and the bars that had to be met."""

from collections import defaultdict

import numpy as np
from bars import Table
from scipy.stats import rankdata, studentized_range

from localegop.research.peers import METHODS, OURS, PEERS

from .datasets import DATASETS, INDEX, SCALE, TABLE

MAIN = "local_egop"
RANKED = (MAIN, *PEERS)  # our other settings are tested on fewer rows
KERNEL_RIDGE = ("kernel_ridge", "kernel_ridge_laplace")
_FACTOR, _SETS_WITH_FACTOR = 2.0, 5
_TOP, _RIDGE_RATIO = 3, 1.3
_MEMORY, _MEMORY_AT_SCALE = 2.0, 6.0


def main_size(records, dataset):
    """Training rows of a set that it is ranked with: the most there are, 0 without records."""
    return max((r["n_train"] for r in records if r["dataset"] == dataset), default=0)


def at_main_size(records):
    """Records of each set at the size that it is ranked with."""
    sizes = {name: main_size(records, name) for name in {r["dataset"] for r in records}}
    return [r for r in records if r["n_train"] == sizes[r["dataset"]]]


def mean_over_seeds(records, column, **where):
    """Mean of a column over seeds; NaN without records or if one of them failed."""
    chosen = [r for r in records if all(r[key] == value for key, value in where.items())]
    if not chosen or any(r["status"] != "ok" or r.get(column) is None for r in chosen):
        return np.nan
    return float(np.mean([r[column] for r in chosen]))


def errors(records, dataset, methods=RANKED, column="mse_over_variance"):
    """Errors by method at the main size: a failed method has NaN, one that was not run is not there."""
    shared = common_seeds(records, dataset)
    own = [r for r in at_main_size(records) if r["dataset"] == dataset and r["seed"] in shared]
    present = {r["method"] for r in own}
    return {m: mean_over_seeds(own, column, method=m) for m in methods if m in present}


def common_seeds(records, dataset):
    """Seeds of the splits that all ranked methods of a set were run on, at its main size."""
    by_method = defaultdict(set)
    for record in at_main_size(records):
        if record["dataset"] == dataset:
            by_method[record["method"]].add(record["seed"])
    ranked = [seeds for method, seeds in by_method.items() if method in RANKED]
    return set.intersection(*ranked) if ranked else set()


def ranks(records, dataset):
    """Ranks by error, 1 is best; ties share the mean of their ranks, methods that failed the last ones."""
    found = errors(records, dataset)
    values = [np.inf if np.isnan(value) else value for value in found.values()]
    return dict(zip(found, rankdata(values).tolist(), strict=True))


def complete_sets(records, group):
    """Sets of a group on which all methods were run that were run on at least half of them."""
    names = sets_of(records, group)
    run = {name: set(ranks(records, name)) for name in names}
    usual = {m for m in RANKED if 2 * sum(m in found for found in run.values()) >= len(names)}
    return [name for name in names if usual <= run[name]]


def mean_ranks(records, datasets):
    """Mean rank over sets of the methods that were run on all of them."""
    by_method = defaultdict(list)
    for name in datasets:
        for method, rank in ranks(records, name).items():
            by_method[method].append(rank)
    return {m: float(np.mean(found)) for m, found in by_method.items() if len(found) == len(datasets)}


def critical_difference(n_methods, n_sets, level=0.05):
    """Difference of mean ranks that is significant in Nemenyi's test after Friedman's."""
    quantile = studentized_range.ppf(1.0 - level, n_methods, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def best_peer(records, dataset):
    """Name and error of the best peer; ("", NaN) if none finished."""
    found = {m: e for m, e in errors(records, dataset, PEERS).items() if not np.isnan(e)}
    return min(found.items(), key=lambda item: item[1]) if found else ("", np.nan)


def factor(records, dataset):
    """MSE of the best peer over that of field Local EGOP."""
    ours = errors(records, dataset, (MAIN,)).get(MAIN, np.nan)
    return best_peer(records, dataset)[1] / ours if ours > 0.0 else np.nan


def ridge_ratio(records, dataset):
    """RMSE of field Local EGOP over that of the better tuned kernel ridge."""
    ours = errors(records, dataset, (MAIN,), "rmse").get(MAIN, np.nan)
    theirs = list(errors(records, dataset, KERNEL_RIDGE, "rmse").values())
    return ours / np.nanmin(theirs) if theirs and not np.isnan(theirs).all() else np.nan


def total_seconds(records, dataset, method):
    """Fit and prediction of all test rows."""
    own = [r for r in at_main_size(records) if r["dataset"] == dataset and r["method"] == method]
    if not own or any(r["status"] != "ok" for r in own):
        return np.nan
    each = [r["fit_seconds"] + r["predict_seconds_per_1000"] * r["n_queries"] / 1000 for r in own]
    return float(np.mean(each))


def sets_of(records, group):
    """Names of the sets of a group that have records, in the order of their entries."""
    present = {r["dataset"] for r in records}
    return [name for name, entry in DATASETS.items() if entry.group == group and name in present]


def must_show(records):
    """Table of the requirements, called bars, and whether the records meet them."""
    table = Table(silent=True)
    _index_bars(table, records)
    _table_bars(table, records)
    for name in ("malonaldehyde", "malonaldehyde_md17"):
        ratio = total_seconds(records, name, MAIN) / total_seconds(records, name, "xrfm")
        table.add(f"{DATASETS[name].label}: fit + predict time against xRFM's", ratio, 1.0, " x")
    count = sum(r.get("warnings", 0) for r in records) if records else np.nan
    table.add("warnings from our own code", count, 0)
    for what, scale, bar in (("", False, _MEMORY), (", 200,000 rows", True, _MEMORY_AT_SCALE)):
        chosen = [r for r in records if (DATASETS[r["dataset"]].group == SCALE) == scale]
        peaks = [r["memory_gb"] for r in chosen if r["status"] == "ok" and r["method"] in OURS]
        table.add(f"peak memory of field Local EGOP{what}", max(peaks, default=np.nan), bar, " GB")
    failed = sum(r["status"] != "ok" for r in records if r["method"] == MAIN) if records else np.nan
    table.add("cells in which field Local EGOP failed", failed, 0)
    return table


def _index_bars(table, records):
    every = [name for name, entry in DATASETS.items() if entry.group == INDEX]
    factors = []
    for name in every:
        label = DATASETS[name].label
        table.add(f"{label}: rank by MSE", ranks(records, name).get(MAIN, np.nan), 1)
        factors.append(factor(records, name))
        peer = best_peer(records, name)[0]
        against = f" ({METHODS[peer].label})" if peer else ""
        table.add(f"{label}: MSE of the best peer{against} / ours", factors[-1], 1.0, " x", at_least=True)
    known = [f for f in factors if not np.isnan(f)]
    count = sum(f >= _FACTOR for f in known) if known else np.nan
    table.add("continuous-index sets with a factor of 2 in MSE", count, _SETS_WITH_FACTOR, at_least=True)


def _table_bars(table, records):
    names = complete_sets(records, TABLE)
    means = mean_ranks(records, names)
    place = np.nan
    if MAIN in means:
        place = 1 + sum(mean < means[MAIN] for mean in means.values())
    detail = f" (mean rank {means[MAIN]:.1f} of {len(means)} methods)" if MAIN in means else ""
    table.add(f"place by mean rank over {len(names)} tables{detail}", place, _TOP)
    ratios = {name: ridge_ratio(records, name) for name in names}
    known = {name: ratio for name, ratio in ratios.items() if not np.isnan(ratio)}
    worst = max(known, key=known.__getitem__, default=None)
    where = "" if worst is None else f" ({DATASETS[worst].label})"
    table.add(
        f"worst RMSE against the better kernel ridge{where}", known.get(worst, np.nan), _RIDGE_RATIO, " x"
    )
