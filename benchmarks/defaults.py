"""Ablation of the defaults: what another setting would do to the error, on rows that no test ever sees.

For every data set of ``peers.py`` a quarter of the training rows is held out; the model is fitted to the
others with its defaults and with one of them changed. The table shows the error with the change over that
without it: the geometric mean over sets and splits, the best and the worst set. Run with
``python benchmarks/defaults.py [--rows N] [--seeds S] [--datasets ...] [--variants ...]``; tables and
molecules are read from LOCALEGOP_DATA. ``--json FILE`` keeps all errors, and a second run goes on
from there; ``--page FILE`` writes a page.
"""

import argparse
import json
import time
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from comparison.datasets import DATASETS, held_out_quarter, usual_sets

from localegop import LocalEGOPRegressor
from localegop._engine import final_fits, gradient_field, settings
from localegop._fit import initial_axes, initial_units, pilot_fits, plan, trials
from localegop._selection import final, kriging, race, search_grid
from localegop.research.runs.pages import markdown_table
from localegop.schedules import EffectiveSampleSize

PAGE = """# Why these defaults

What another setting would do to the error. A quarter of {rows:,} training rows of each set of the
[benchmark](benchmarks.md) was held out (test rows are never used here), the model fitted to the others
with its defaults and with one thing changed, on {seeds}. Numbers are errors with the change over errors
without it: geometric mean over {sets} sets, the set that gains most and the one that loses most. Single
sets scatter by some percent. Written by `python benchmarks/defaults.py --page FILE`.

{table}
"""


def mean_errors(errors, sample_weight, variances, is_process):
    """Errors as they were seen, whatever the variances."""
    return sample_weight @ errors / sample_weight.sum()


# What is changed: parameters of the estimator, and constants of modules.
VARIANTS = {
    "final='polynomial'": ({"final": "polynomial"}, {}),
    "final='kriging'": ({"final": "kriging"}, {}),
    "final='global'": ({"final": "global"}, {}),
    "no global processes": ({}, {(settings, "MOST_ROWS"): 0}),
    "degree=0": ({"degree": 0}, {}),
    "degree=1": ({"degree": 1}, {}),
    "degree=2": ({"degree": 2}, {}),
    "n_iter=0": ({"n_iter": 0}, {}),
    "n_iter=2": ({"n_iter": 2}, {}),
    "n_iter=8": ({"n_iter": 8}, {}),
    "schedule from 400": ({"schedule": EffectiveSampleSize(400.0, 40.0, 4)}, {}),
    "schedule to 20": ({"schedule": EffectiveSampleSize(200.0, 20.0, 4)}, {}),
    "schedule to 80": ({"schedule": EffectiveSampleSize(200.0, 80.0, 4)}, {}),
    "momentum=0.3": ({"momentum": 0.3}, {}),
    "momentum=0.7": ({"momentum": 0.7}, {}),
    "momentum=1": ({"momentum": 1.0}, {}),
    "ridge=1e-6": ({"ridge": 1e-6}, {}),
    "ridge=1e-2": ({"ridge": 1e-2}, {}),
    "max_neighbors=None": ({"max_neighbors": None}, {}),
    "max_neighbors=100": ({"max_neighbors": 100}, {}),
    "max_neighbors=300": ({"max_neighbors": 300}, {}),
    "initial_metric='variance'": ({"initial_metric": "variance"}, {}),
    "initial_metric='identity'": ({"initial_metric": "identity"}, {}),
    "initial_metric='power'": ({"initial_metric": "power"}, {}),
    "no curves of skewed features": ({}, {(initial_units, "CLEARLY_BETTER"): 0.0}),
    "AGOPs over as many points as fits": ({}, {(gradient_field, "AGOP_WIDENING"): 1.0}),
    "AGOPs over six times the points": ({}, {(gradient_field, "AGOP_WIDENING"): 6.0}),
    "1,000 points for units": ({}, {(pilot_fits, "PILOT_POINTS"): 1000}),
    "axes kept down to 0.2 of the longest": ({}, {(initial_axes, "KEPT_SCALE"): 0.2}),
    "kriging of 100 points": ({}, {(final_fits, "MAX_KRIGING_POINTS"): 100}),
    "kriging of 400 points": ({}, {(final_fits, "MAX_KRIGING_POINTS"): 400}),
    "kriging with lengths to 16": ({}, {(kriging, "LENGTHS"): (1.0, 2.0, 4.0, 8.0, 16.0)}),
    "kriging with lengths from 0.5": ({}, {(kriging, "LENGTHS"): (0.5, 1.0, 2.0, 4.0, 8.0)}),
    "kriging with ridges to 1": ({}, {(kriging, "RIDGES"): (*kriging.RIDGES, 1.0)}),
    "kriging always with a trend": ({}, {(kriging, "NOISY_RIDGES"): ()}),
    "kriging never rough": ({}, {(kriging, "ROUGH_LENGTHS"): ()}),
    "250 anchors of a fold": ({}, {(trials, "FOLD_ANCHORS"): 250}),
    "all points anchors": ({}, {(trials, "FOLD_ANCHORS"): 10**9, (plan, "FEW_ANCHORS"): 10**9}),
    "a first look at 30 points": ({}, {(race.Looks, "first"): 30}),
    "a first look at 300 points": ({}, {(race.Looks, "first"): 300}),
    "no finer sizes": ({}, {(search_grid, "FINER"): 1.0}),
    "no larger ridges": ({}, {(search_grid, "LARGE_RIDGES"): ()}),
    "the least error seen": ({}, {(module, "expected_errors"): mean_errors for module in (final, race)}),
    "the first look decides between axes": ({}, {(plan, "_may_be_better"): lambda *_: False}),
    "no trial ends after a look": ({}, {(plan, "_may_be_better"): lambda *_: True}),
    "slopes of 200 rows": ({}, {(initial_axes, "SAMPLE"): 200}),
    "slopes of 1,000 rows": ({}, {(initial_axes, "SAMPLE"): 1000}),
    "no refined axes": ({}, {(plan, "MOST_REFINED"): 0}),
    "one round of slopes": ({}, {(initial_axes, "MOST_ROUNDS"): 1}),
}


def error(parts, parameters, constants):
    """Mean squared error at held-out rows over the variance of the labels."""
    with ExitStack() as stack:
        for (module, name), value in constants.items():
            stack.enter_context(patch.object(module, name, value))
        guess = LocalEGOPRegressor(n_jobs=1, **parameters).fit(parts.X, parts.y).predict(parts.X_test)
    return float(np.mean((guess - parts.y_test) ** 2) / np.var(parts.y_test))


def measure(name, rows, seed, variants):
    """Errors by variant; the defaults are called ''."""
    parts = held_out_quarter(name, rows, seed)
    return {"": error(parts, {}, {})} | {each: error(parts, *VARIANTS[each]) for each in variants}


def table(found, variants):
    """Markdown: one row per variant, from errors by set and split."""
    rows = []
    sets = sorted({name for name, _ in found})
    for each in variants:
        logs = {
            name: np.mean([np.log(e[each] / e[""]) for (s, _), e in found.items() if s == name])
            for name in sets
        }
        best, worst = min(logs, key=logs.get), max(logs, key=logs.get)
        shown = [f"{np.exp(logs[name]):.2f} x ({DATASETS[name].label})" for name in (best, worst)]
        rows.append([each, f"{np.exp(np.mean(list(logs.values()))):.3f} x", *shown])
    return "\n".join(markdown_table(["change", "error, mean", "best set", "worst set"], rows))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=800, help="of each set, a quarter of them held out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=usual_sets())
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--json", type=Path, help="keep all errors in this file")
    parser.add_argument("--page", type=Path, help="write a page to this file")
    given = parser.parse_args()
    found = {}
    if given.json and given.json.exists():
        found = {
            (each["dataset"], each["seed"]): each["errors"] for each in json.loads(given.json.read_text())
        }
    for name, seed in product(given.datasets, range(given.seeds)):
        if found.get((name, seed), {}).keys() >= set(given.variants):
            continue
        begun = time.perf_counter()
        found[name, seed] = measure(name, given.rows, seed, given.variants)
        print(f"{name}, split {seed}: {time.perf_counter() - begun:.0f} s", flush=True)
        if given.json:
            records = [{"dataset": s, "seed": k, "errors": e} for (s, k), e in found.items()]
            given.json.write_text(json.dumps(records, indent=1))
    shown = table(found, given.variants)
    print(f"\n{shown}")
    if given.page:
        seeds = "one split" if given.seeds == 1 else f"{given.seeds} splits"
        facts = {"rows": given.rows, "seeds": seeds, "sets": len(given.datasets), "table": shown}
        given.page.write_text(PAGE.format(**facts))


if __name__ == "__main__":
    main()
