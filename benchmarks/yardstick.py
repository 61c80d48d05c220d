"""An older commit beside the present one: errors, times and choices of both on every data set.

``python benchmarks/yardstick.py --commit REV`` builds the version of that commit and the present one, each
once, and fits both in turn, in processes of their own. A quarter of the training rows of each set is held
out to compare predictions at, with labels before noise where they are known; test rows are never used.
Ratios are new over old, so less than 1 is better. ``--json FILE`` keeps what was measured, and a second run
goes on from there. Tables and molecules are read from LOCALEGOP_DATA.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from comparison.datasets import DATASETS, held_out_quarter, usual_sets
from fresh import thread_variables
from history import builds
from records import Records

WORKER = Path(__file__).parent / "history" / "worker.py"
ERROR, FIT, PREDICT = "mse_over_variance", "fit_seconds", "predict_seconds_per_1000"
RATIOS = {ERROR: "error", FIT: "fit time", PREDICT: "predict time"}
HEAD = (
    "| set | rows | error old | new | ratio | fit old | new | ratio "
    "| predict 1,000 old | new | ratio | choice of split 0 |\n" + "|---" * 12 + "|"
)


@dataclass(frozen=True)
class Version:
    """A commit, and the folder in which it is installed."""

    commit: str
    folder: Path


def fit_version(version, rows_file, threads):
    """What the worker measured with a version, or {"error": text}."""
    result = rows_file.with_name("result.json")
    result.unlink(missing_ok=True)
    # Without -S, a localegop installed in editable form would come before what PYTHONPATH names.
    command = [sys.executable, "-S", "-P", WORKER, version.folder, rows_file, result, str(threads)]
    folders = [str(version.folder), *(path for path in sys.path if path)]
    environment = os.environ | thread_variables(threads) | {"PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return {"error": lines[-1]}
    return json.loads(result.read_text(encoding="utf-8"))


def compare(versions, name, rows, seed, threads):
    """Record of one split: both versions fitted to the same rows; which comes first alternates."""
    parts = held_out_quarter(name, rows, seed)
    fits = {}
    with tempfile.TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.npz"
        np.savez(rows_file, X=parts.X, y=parts.y, X_test=parts.X_test)
        for which in ("old", "new") if seed % 2 == 0 else ("new", "old"):
            fits[which] = fit_version(versions[which], rows_file, threads)
    failed = [f"{which}: {fit['error']}" for which, fit in fits.items() if "error" in fit]
    if failed:
        return {"error": "; ".join(failed)}
    for fit in fits.values():
        squares = (np.array(fit.pop("values")) - parts.truth) ** 2
        fit[ERROR] = float(np.mean(squares)) / parts.variance
    return {"dataset": name, "seed": seed, "rows": len(parts.y) + len(parts.truth), **fits}


def ratio(records, column):
    """New over old, geometric mean over records."""
    logs = [np.log(max(r["new"][column], 1e-300) / max(r["old"][column], 1e-300)) for r in records]
    return float(np.exp(np.mean(logs)))


def line(name, records):
    """Row of the table: means over the splits of a set, and the choices of the first."""

    def columns(column, style):
        old, new = (np.mean([r[which][column] for r in records]) for which in ("old", "new"))
        return [f"{old:{style}}", f"{new:{style}}", f"{ratio(records, column):.3f}"]

    shown = [name, f"{records[0]['rows']:,}", *columns(ERROR, ".3e"), *columns(FIT, ".3f")]
    shown += columns(PREDICT, ".4f")
    old, new = (_shorten(records[0][which]["choice"]) for which in ("old", "new"))
    return "| " + " | ".join([*shown, f"{old}, both" if old == new else f"{old} -> {new}"]) + " |"


def _shorten(choice):
    """A choice without the error it had, and with four digits of long numbers."""
    text = re.sub(r",? ?\berror=[^,)]+", "", choice)
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda number: f"{float(number[0]):.4g}", text)


def closing(found):
    """Geometric means over sets, and the set that has become worst, for each ratio."""
    lines = []
    for column, label in RATIOS.items():
        by_set = {name: ratio(records, column) for name, records in found.items()}
        worst = max(by_set, key=by_set.__getitem__)
        mean = np.exp(np.mean(np.log(list(by_set.values()))))
        what = f"{label}, new over old: geometric mean {mean:.3f} over {len(by_set)} sets"
        lines.append(f"{what}, worst {by_set[worst]:.3f} ({worst})")
    return "\n".join(lines)


def run(given, versions):
    """Compare on all sets and print as it goes; return the records by set."""
    store, found = Records(given.json), {}
    pair = "..".join(versions[which].commit[:12] for which in ("old", "new"))
    print(HEAD, flush=True)
    for name in given.datasets:
        records = []
        for seed in range(given.seeds):
            key = f"{pair}/{name}/{given.rows or 'all'}/{seed}/{given.threads}"
            asked = (versions, name, given.rows, seed, given.threads)
            record = store.take(key, lambda asked=asked: compare(*asked))
            if "error" in record:
                print(f"<!-- {name}, split {seed}, {record['error']} -->", flush=True)
            else:
                records.append(record)
        if records:
            found[name] = records
            print(line(name, records), flush=True)
    return found


def arguments(given=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, metavar="REV", help="the older version")
    parser.add_argument(
        "--datasets", nargs="+", choices=list(DATASETS), metavar="NAME", default=usual_sets()
    )
    parser.add_argument("--rows", type=int, help="most rows of each set, a quarter of them held out")
    parser.add_argument("--seeds", type=int, default=1, help="how many splits: seeds 0, 1, ...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=builds.ROOT / "build" / "yardstick", metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep results, and go on from them")
    return parser.parse_args(given)


def main():
    """Build both versions, compare, close."""
    given = arguments()
    commits = {"old": builds.full_hash(given.commit), "new": builds.present_commit()}
    for which, commit in commits.items():
        print(f"{which}: {commit}", flush=True)
    versions = {which: Version(c, builds.installed(c, given.cache)) for which, c in commits.items()}
    found = run(given, versions)
    if not found:
        raise SystemExit("no set was compared")
    print(f"\n{closing(found)}")


if __name__ == "__main__":
    main()
