"""Tables in markdown, figures, and the page ``benchmarks.md``: every number from stored records."""

from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from localegop.research.peers import METHODS
from localegop.research.runs.files import write_json
from localegop.research.runs.pages import markdown_table, save_figures

from .cells import COVERAGE
from .datasets import DATASETS, GROUPS
from .figures import draw
from .pairs import compare_all, rows_of
from .summary import (
    MAIN,
    RANKED,
    at_main_size,
    best_peer,
    common_seeds,
    complete_sets,
    errors,
    factor,
    main_size,
    mean_over_seeds,
    must_show,
    ranks,
    sets_of,
)

CAPTIONS = {
    "ranks": (
        "Mean rank of each method (dots) and its rank on each set (bars). Methods whose dots lie in the "
        "shaded band cannot be told from the best at the 5 % level (Nemenyi's critical difference)."
    ),
    "time": (
        "Error against the time that fitting took, tuning included. Error is the MSE as a multiple of that "
        "of the best method on each set; both are geometric means over sets. Lower left is better."
    ),
    "size": "Error against the number of training rows; a curve ends at the largest n of its method.",
}
_INTRODUCTION = """\
# Against its peers

How well does field Local EGOP do against the methods one would try otherwise, and what does it cost? Every
number below was measured by `python benchmarks/peers.py` and written here by `python benchmarks/peers.py
report`; [how it was run](#how-it-was-run) is said at the end.
"""
_PROTOCOL = """\
## How it was run

```sh
make bench       # the quick form: small sizes, one split, without the slowest; some 15 minutes on two cores
make bench-full  # all data sets at full size: hours
python benchmarks/peers.py list  # data sets and methods
```

All methods get the same training and test rows; test rows take no part in tuning, and the time of tuning is
counted: processor time where a fit has one thread, else time by the clock. Each fit runs in a process of
its own, after a small one that is not timed. Errors are mean squared
errors at test rows over the variance of the labels, averaged over the splits that all methods were run on
(one unless a table says otherwise); where label noise was added here, predictions are compared with the
labels before it. Memory is the peak of the process, with imports and
data. A method given more rows than it can handle gets as many as it can, and the table says so. Tables are
read from the folder `LOCALEGOP_DATA`.

"""
_CLOSE = 1.2
_ADVICE = f"""\
In parentheses the RMSE over that of the best method of each set, geometric mean over the sets that all
usual methods were run on. Close is within {_CLOSE:g} of the strongest; seconds are those of a fit with its
tuning."""
_ABSENT = """\
## Who is not here

- TabPFN and TabICL: their weights are downloaded at run time.
- laGP: a package for R; laGPy, which is here, is an independent port of its main method.
- The results of the competition of Heaton et al. (2019) belong to their file, which is read from
  `AllSatelliteTemps.csv` in `LOCALEGOP_DATA` (columns Lon, Lat, MaskTemp and TrueTemp) where it is there.

"""
_PAIRS = """\
On the sets that both finished, with the same test rows, strongest peer first. RMSEs within 5 % are ties;
their ratio is the geometric mean over sets. p is that of Wilcoxon's signed rank test over sets. Differences
on a set are certain where at least three splits make them so (t test with Nadeau and Bengio's correction,
5 %). The worst set is the one where the peer's RMSE is the smallest part of ours."""
_SURE = """\
CRPS is the continuous ranked probability score of labels, over their standard deviation, geometric mean
over sets; ranks are among the methods of this table that finished."""
_TELLING = """\
## How to tell beforehand

A fit knows. `model.gain_over_isotropic_` is the mean squared error that isotropic local linear regression
had at the held-out points, over that of the model. Near 1, the learned metric does not help: *isotropic
local linear would do as well*, and so, often, will a Gaussian process or kernel ridge. Well above 1, f
varies in few directions near each point, and a method that does not know them needs many more rows.

"""


def markdown_tables(records):
    """Errors by group, costs, and everything in one long table."""
    lines = [*_error_tables(records), *_cost_table(records), "", *_long_table(records)]
    return "\n".join(lines).rstrip() + "\n"


def write_report(results, docs: Path):
    """Write ``benchmarks.md``, ``benchmarks.json`` and ``figures/benchmarks_*.png``; return their paths."""
    if not results.cells:
        raise SystemExit(f"'{results.path}' holds no finished cell: run python benchmarks/peers.py first")
    figures = save_figures(draw(results.records()), docs / "figures", "benchmarks_")
    page, data = docs / "benchmarks.md", docs / "benchmarks.json"
    page.write_text(text(results, figures), encoding="utf-8")
    cells = {key: _without_traceback(record) for key, record in results.cells.items()}
    write_json(data, {"about": results.about, "cells": cells})
    return [page, data, *figures.values()]


def _without_traceback(record):
    """Record without the traceback, which names folders of the machine."""
    return {key: value for key, value in record.items() if key != "traceback"}


def text(results, figures):
    """Return the whole page."""
    records = results.records()
    lines = [_INTRODUCTION, _form(results), "", *_advice(records), "", *_wins_and_losses(records), ""]
    lines += [*_pairs(records), ""]
    lines += [*_distributions(records), "", "## Errors", ""]
    for name in ("ranks", "size"):
        lines += _figure(name, figures)
    lines += [*_error_tables(records), "## Costs", "", *_figure("time", figures), *_cost_table(records), ""]
    lines += [_TELLING + "\n".join(_gain_table(records)), "", *_failures(records)]
    lines += ["", _ABSENT + _PROTOCOL + _versions(results), "", "## What had to be shown", ""]
    lines.append(must_show(records).markdown())
    return "\n".join(lines).rstrip() + "\n"


def _form(results):
    about, records = results.about, results.records()
    seeds = len({r["seed"] for r in records})
    splits = "one split" if seeds == 1 else f"up to {seeds} splits"
    threads = " or ".join(sorted({str(r["threads"]) for r in records}))
    note = f" {about['note']}" if "note" in about else ""
    return (
        f"The {about['form']} form, {splits}, {len(records)} fits with {threads} threads each on "
        f"{about['processors']} processors. All records: [benchmarks.json](benchmarks.json).{note}"
    )


def _versions(results):
    versions = ", ".join(f"{name} {number}" for name, number in results.about["versions"].items())
    return f"With {versions}."


def _figure(name, figures):
    if name not in figures:
        return []
    return [f"![{CAPTIONS[name].split('.')[0]}](figures/{figures[name].name})", "", CAPTIONS[name], ""]


def _wins_and_losses(records):
    """Say where field Local EGOP has the least error, and who has it elsewhere."""
    wins, losses = [], []
    for name in (n for group in GROUPS for n in sets_of(records, group)):
        rank, gap = ranks(records, name).get(MAIN), factor(records, name)
        peer, _ = best_peer(records, name)
        if rank is None or not peer or np.isnan(gap):
            continue
        label, other = DATASETS[name].label, METHODS[peer].label
        if gap >= 1.0:
            wins.append(f"- {label}: the best peer, {other}, has {gap:.3g} times the error.")
        else:
            losses.append(f"- {label}: rank {rank:g}; {other} has {gap:.2g} times our error.")
    lines = ["## Where field Local EGOP wins", "", *(wins or ["Nowhere in this run."]), ""]
    return [*lines, "## Where it does not", "", *(losses or ["Nowhere in this run."])]


def _advice(records):
    """Which method for which data: the strongest of each group, and the fastest that comes close."""
    rows = []
    for group, meaning in GROUPS.items():
        names = complete_sets(records, group)
        excess = _excess(records, names)
        if MAIN not in excess or len(excess) < 3 or len(names) < 2:
            continue
        order = sorted(excess, key=excess.__getitem__)
        close = [method for method in order if excess[method] <= _CLOSE * excess[order[0]]]
        seconds = {method: _mean_seconds(records, names, method) for method in close}
        fastest = min(seconds, key=seconds.__getitem__)
        strongest = [f"{METHODS[method].label} ({excess[method]:.2f})" for method in order[:3]]
        ours = f"{order.index(MAIN) + 1} of {len(order)} ({excess[MAIN]:.2f})"
        fast = f"{METHODS[fastest].label} ({seconds[fastest]:.2g} s)"
        rows.append([group, f"{meaning}.", f"{len(names)}", "; ".join(strongest), ours, fast])
    if not rows:
        return []
    head = ["data", "what they are", "sets", "strongest", "place of ours", "fastest that is close"]
    return ["## Which method for which data", "", *markdown_table(head, rows), "", _ADVICE]


def _excess(records, names):
    """RMSE over that of the best method of each set, geometric mean, of methods that finished all sets."""
    found = [errors(records, name, column="rmse") for name in names]
    methods = [m for m in RANKED if found and all(not np.isnan(each.get(m, np.nan)) for each in found)]
    best = [max(min(value for value in each.values() if value >= 0.0), 1e-300) for each in found]
    return {m: _geometric([each[m] / b for each, b in zip(found, best, strict=True)]) for m in methods}


def _mean_seconds(records, names, method):
    main = at_main_size(records)
    return _geometric([mean_over_seeds(main, "fit_seconds", dataset=n, method=method) for n in names])


def _pairs(records):
    """Ours against each peer, over all sets that both finished."""
    pairs = compare_all(records)
    if not pairs:
        return []
    return ["## Against each peer", "", *markdown_table(*rows_of(pairs)), "", _PAIRS]


def _distributions(records):
    """Methods that say how sure they are: rank by CRPS, and coverage."""
    scores = {}
    for name in (n for group in GROUPS for n in sets_of(records, group)):
        found = errors(records, name, METHODS, "crps_over_deviation")
        known = {method: value for method, value in found.items() if not np.isnan(value)}
        if MAIN in known and len(known) > 1:
            scores[name] = known
    methods = [m for m in METHODS if any(m in found for found in scores.values())]
    if not methods:
        return []
    placed = {
        name: dict(zip(found, rankdata(list(found.values())), strict=True))
        for name, found in scores.items()
    }
    rows = []
    for method in methods:
        own = [name for name in scores if method in scores[name]]
        covered = [errors(records, name, (method,), "coverage")[method] for name in own]
        off = np.abs(np.array(covered) - COVERAGE)
        rows.append(
            [
                METHODS[method].label,
                f"{len(own)}",
                f"{_geometric([scores[name][method] for name in own]):.3g}",
                f"{_geometric([scores[name][MAIN] for name in own]):.3g}",
                f"{np.mean([placed[name][method] for name in own]):.2f}",
                f"{np.mean(covered):.3f}",
                f"{off.max():.3f} ({DATASETS[own[int(off.argmax())]].label})",
            ]
        )
    head = ["method", "sets", "CRPS", "ours there", "mean rank", "coverage at 0.9", "farthest from 0.9"]
    return ["## How sure they are", "", *markdown_table(head, rows), "", _SURE]


def _error_tables(records):
    """MSE over label variance, with ranks: one table per group, methods down, sets across."""
    lines = []
    for group, meaning in GROUPS.items():
        names = sets_of(records, group)
        if not names:
            continue
        shown = {name: errors(records, name, METHODS) for name in names}
        placed = {name: ranks(records, name) for name in names}
        head = [f"{DATASETS[n].label} (n={main_size(records, n):,}{_splits(records, n)})" for n in names]
        rows = [
            [METHODS[method].label, *(_error(records, n, method, shown[n], placed[n]) for n in names)]
            for method in METHODS
            if any(method in found for found in shown.values())
        ]
        lines += [f"### {group.capitalize()}", "", f"{meaning}.", ""]
        lines += [*markdown_table(["method", *head], rows), ""]
    lines += ["In parentheses the rank. Our other settings are tested on fewer rows and not ranked.", ""]
    return lines


def _splits(records, name):
    count = len(common_seeds(records, name))
    return "" if count == 1 else f", {count} splits"


def _error(records, name, method, found, placed):
    if method not in found:
        return ""
    if np.isnan(found[method]):
        return "failed"
    own = [r for r in at_main_size(records) if r["dataset"] == name and r["method"] == method]
    text = f"{found[method]:.2e}"
    if method in placed:
        text += f" ({placed[method]:g})"
    notes = []
    if own[0]["n_fit"] < main_size(records, name) and METHODS[method].largest_n == own[0]["n_fit"]:
        notes.append(f"{own[0]['n_fit']:,} rows")
    if method not in placed:
        notes.append(f"{own[0]['n_queries']} queries")
    return text + (f", {', '.join(notes)}" if notes else "")


def _cost_table(records):
    """How each method is tuned, and what it costs: geometric means over sets at their main sizes."""
    head = ["method", "tuning", "most rows", "fit s", "predict s per 1,000", "peak GB", "coverage at 0.9"]
    rows = []
    main = [r for r in at_main_size(records) if r["status"] == "ok"]
    for method, entry in METHODS.items():
        own = [r for r in main if r["method"] == method]
        if not own:
            continue
        covered = [r["coverage"] for r in own if r.get("coverage") is not None]
        rows.append(
            [
                entry.label,
                entry.tuning,
                "any" if entry.largest_n is None else f"{entry.largest_n:,}",
                f"{_geometric([r['fit_seconds'] for r in own]):.3g}",
                f"{_geometric([r['predict_seconds_per_1000'] for r in own]):.2g}",
                f"{max(r['memory_gb'] for r in own):.2f}",
                f"{np.mean(covered):.3f}" if covered else "",
            ]
        )
    return [
        *markdown_table(head, rows),
        "",
        "Times are geometric means over the data sets, memory is the largest.",
    ]


_COLUMNS = {
    "rmse": ("RMSE", ".4g"),
    "r2": ("R2", ".5f"),
    "mse_over_variance": ("MSE/variance", ".2e"),
    "fit_seconds": ("fit s", ".3g"),
    "predict_seconds_per_1000": ("predict s per 1,000", ".3g"),
    "memory_gb": ("peak GB", ".2f"),
    "coverage": ("coverage at 0.9", ".3f"),
}


def _long_table(records):
    """Every set, size and method, means over seeds."""
    head = ["data set", "n", "method", *(label for label, _ in _COLUMNS.values())]
    rows = []
    for name, n, method in dict.fromkeys((r["dataset"], r["n_train"], r["method"]) for r in records):
        where = {"dataset": name, "n_train": n, "method": method}
        found = {column: mean_over_seeds(records, column, **where) for column in _COLUMNS}
        shown = ["" if np.isnan(v) else f"{v:{_COLUMNS[column][1]}}" for column, v in found.items()]
        rows.append([DATASETS[name].label, f"{n:,}", METHODS[method].label, *shown])
    return markdown_table(head, rows)


def _geometric(values):
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-9)))))


def _gain_table(records):
    """What the fit said about the gain, and what the test rows say."""
    rows = []
    main = at_main_size(records)
    for name in (n for group in GROUPS for n in sets_of(records, group)):
        reported = mean_over_seeds(main, "gain_over_isotropic", dataset=name, method=MAIN)
        found = errors(records, name, (MAIN, "local_linear"))
        if np.isnan(reported) or np.isnan([found.get(m, np.nan) for m in (MAIN, "local_linear")]).any():
            continue
        seen = found["local_linear"] / found[MAIN] if found[MAIN] > 0.0 else np.inf
        rows.append(
            (DATASETS[name].label, f"{reported:.3g}", f"{seen:.3g}", f"{factor(records, name):.3g}")
        )
    if not rows:
        return []
    head = ["data set", "`gain_over_isotropic_`", "isotropic / ours at test rows", "best peer / ours"]
    return markdown_table(head, rows)


def _failures(records):
    failed = [r for r in records if r["status"] != "ok"]
    if not failed:
        return []
    lines = ["## Fits that failed", ""]
    for record in failed:
        where = f"{DATASETS[record['dataset']].label}, {METHODS[record['method']].label}"
        lines.append(f"- {where}, n={record['n_train']:,}, seed {record['seed']}: {record['error']}")
    return lines
