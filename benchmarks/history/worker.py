"""Fit the version of localegop that PYTHONPATH names, and time it; started by `yardstick.py`.

``python worker.py VERSION_FOLDER ROWS.npz RESULT.json THREADS``. It needs NumPy and that version, and
nothing else from this folder, which an older version does not know.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

WARM_UP_ROWS, WARM_UP_COLUMNS = 40, 3
QUERIES = 1000  # that are timed: the held-out rows, several times over where they are fewer


def measure(version, X, y, X_test, threads):
    """Predictions, choice and times of one fit, after a small one that is not timed."""
    import localegop

    home = Path(localegop.__file__).resolve().parents[1]
    if home != Path(version).resolve():
        raise RuntimeError(f"localegop comes from {home}, not from {version}")
    estimator = localegop.LocalEGOPRegressor
    few = slice(WARM_UP_ROWS), slice(WARM_UP_COLUMNS)
    estimator(n_jobs=threads).fit(X[few], y[:WARM_UP_ROWS]).predict(X_test[:5, :WARM_UP_COLUMNS])
    model = estimator(n_jobs=threads, random_state=0)
    start = time.perf_counter()
    model.fit(X, y)
    fit_seconds = time.perf_counter() - start
    values = model.predict(X_test)
    queries = X_test[np.arange(QUERIES) % len(X_test)]
    start = time.perf_counter()
    model.predict(queries)
    predict_seconds = time.perf_counter() - start
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds_per_1000": predict_seconds * 1000 / QUERIES,
        "choice": str(getattr(model, "choice_", "")),
        "values": values.tolist(),
    }


def main(version, rows, result, threads):
    """Read rows, write the result."""
    with np.load(rows) as stored:
        parts = [stored[name] for name in ("X", "y", "X_test")]
    Path(result).write_text(json.dumps(measure(version, *parts, int(threads))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
