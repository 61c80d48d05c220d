"""One cell: a method fitted and tested on one split, with what it cost. Runs in its own process."""

import os
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import localegop
from localegop.research.peers import METHODS, make_method
from localegop.research.runs.workers import peak_memory

from .datasets import DATASETS, split
from .scores import EVEN, are_inside, rank_score

COVERAGE = 0.9
WARM_UP_ROWS, WARM_UP_COLUMNS = 40, 3
_PACKAGE = str(Path(localegop.__file__).parent)


@dataclass(frozen=True)
class Cell:
    """What is measured at once."""

    dataset: str
    method: str
    n_train: int
    seed: int
    n_test: int
    tuning_rows: int
    threads: int

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.dataset}/{self.method}/{self.n_train}/{self.seed}"


def measure(cell: Cell) -> dict:
    """Record of a cell: errors, times, memory, warnings; the text of the error if it failed."""
    record = asdict(cell)
    try:
        with collect_own_warnings() as texts:
            record |= _fit_and_test(cell) | {"status": "ok"}
    except Exception as error:
        trace = traceback.format_exc(limit=-3)
        record |= {"status": "error", "error": f"{type(error).__name__}: {error}", "traceback": trace}
    return record | {"warnings": len(texts), "warning_texts": sorted(set(texts))[:5]}


def _fit_and_test(cell: Cell) -> dict:
    entry, method = DATASETS[cell.dataset], METHODS[cell.method]
    rows = split(entry, cell.n_train, cell.n_test, cell.seed)
    n_fit, n_test = _at_most(len(rows.y), method.largest_n), _at_most(len(rows.y_test), method.most_queries)
    X, y, queries, truth = rows.X[:n_fit], rows.y[:n_fit], rows.X_test[:n_test], rows.truth[:n_test]
    _warm_up(cell, X, y, queries)
    before = peak_memory()
    model = _estimator(cell, cell.tuning_rows)
    # A busy machine lengthens what the clock says, but not the processor time of one thread.
    clock = time.process_time if cell.threads == 1 else time.perf_counter
    start = clock()
    model.fit(X, y)
    fitted = clock()
    values = model.predict(queries)
    predicted = clock()
    memory = peak_memory()
    squares = (values - truth) ** 2
    if not np.isfinite(squares).all():
        raise ValueError(f"{int(np.sum(~np.isfinite(squares)))} of {n_test} predictions are not finite")
    mse = float(squares.mean())
    return {
        "n_fit": n_fit,
        "n_queries": n_test,
        "n_features": X.shape[1],
        "fit_seconds": fitted - start,
        "predict_seconds_per_1000": 1000 * (predicted - fitted) / n_test,
        "memory_gb": memory,
        "memory_before_gb": before,
        "rmse": mse**0.5,
        "r2": 1.0 - mse / (float(truth.var()) or 1.0),
        "mse_over_variance": mse / rows.variance,
        **(_distribution(model, queries, rows.y_test[:n_test]) if method.intervals else _NO_DISTRIBUTION),
        "gain_over_isotropic": _gain(model),
    }


def _at_most(count, limit):
    return count if limit is None else min(count, limit)


def _estimator(cell, tuning_rows):
    entry = DATASETS[cell.dataset]
    model = make_method(cell.method, tuning_rows=tuning_rows, random_state=cell.seed, threads=cell.threads)
    return model.set_params(**entry.settings.get(cell.method, {}))


def _warm_up(cell, X, y, queries):
    """Fit to few rows and columns, so that imports and first calls are not counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows may well be too few
        model, few = _estimator(cell, WARM_UP_ROWS), slice(WARM_UP_COLUMNS)
        model.fit(X[:WARM_UP_ROWS, few], y[:WARM_UP_ROWS]).predict(queries[:5, few])


_NO_DISTRIBUTION = {"coverage": None, "crps_over_deviation": None}


def _distribution(model, queries, labels):
    """Share of the labels, noise and all, within the intervals, and how close their quantiles are."""
    intervals = model.predict_interval(queries, np.append(EVEN, COVERAGE))
    return {
        "coverage": float(are_inside(labels, intervals)[:, -1].mean()),
        "crps_over_deviation": rank_score(labels, intervals) / (float(labels.std()) or 1.0),
    }


def _gain(model):
    gain = getattr(model, "gain_over_isotropic_", None)
    return None if gain is None or not np.isfinite(gain) else float(gain)


@contextmanager
def collect_own_warnings():
    """Collect the texts of warnings raised by localegop's own code, whichever file they name."""
    texts = []

    def note(message, category, filename, lineno, file=None, line=None):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == warnings.__file__:
            frame = frame.f_back
        origin = filename if frame is None else frame.f_code.co_filename
        if os.path.abspath(origin).startswith(_PACKAGE + os.sep):
            texts.append(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield texts
