"""Whether boosting beside field Local EGOP helps: errors of both and of their blend, without test rows.

Run with ``python benchmarks/blend.py``. Every number is measured at a quarter of the training rows that was
held out (`held_out_quarter`), so that test rows of the comparison stay unseen.
"""

import argparse
import time

import numpy as np
from comparison.datasets import DATASETS, TABLE, held_out_quarter

from localegop.research.peers import make_method
from localegop.research.runs.pages import markdown_table

HEAD = ["data set", "local", "boosting / local", "blend / local", "weight of boosting", "processor s"]


def measure(name, rows, seed, tuning_rows=1000):
    """Mean squared errors over the variance of local, boosted and blended, the weight, and seconds."""
    split = held_out_quarter(name, rows, seed)
    start = time.process_time()
    model = make_method("local_egop_blend", tuning_rows=tuning_rows, random_state=seed).fit(
        split.X, split.y
    )
    seconds = time.process_time() - start
    parts = (model.local_, model.boosted_, model)
    errors = [np.mean((part.predict(split.X_test) - split.truth) ** 2) / split.variance for part in parts]
    return np.array([*errors, model.weight_, seconds])


def row_of(name, found):
    """Row of the table: geometric means of errors and their ratios over seeds."""
    found = np.array(found)
    local = found[:, :1]
    ratios = np.exp(np.mean(np.log(found[:, 1:3] / local), axis=0))
    return [
        DATASETS[name].label,
        f"{np.exp(np.mean(np.log(local))):.3g}",
        *(f"{ratio:.2f}" for ratio in ratios),
        f"{found[:, 3].mean():.2f}",
        f"{found[:, 4].mean():.0f}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = [name for name, each in DATASETS.items() if each.group == TABLE and not each.missing]
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), metavar="NAME", default=tables)
    parser.add_argument(
        "--rows", type=int, default=2000, help="most rows of a set, a quarter of them held out"
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    rows = []
    for name in given.datasets:
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        rows.append(row_of(name, [measure(name, given.rows, seed) for seed in seeds]))
        print(" | ".join(rows[-1]), flush=True)
    print("\n" + "\n".join(markdown_table(HEAD, rows)))


if __name__ == "__main__":
    main()
