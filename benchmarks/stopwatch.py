"""One fit timed: after a small one that is not, followed by predictions, with the peak of memory."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from comparison.cells import WARM_UP_COLUMNS, WARM_UP_ROWS

from localegop.research.runs.workers import peak_memory


def time_fit(make: Callable[[], Any], X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> dict:
    """Fit a fresh model and predict at the queries; call it in a process of its own.

    Returns ``values`` (the predictions), ``fit_seconds``, ``predict_seconds_per_1000`` and ``memory_gb``,
    the peak of the process with imports and data.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warm-up has few rows, and others warn of much
        few = slice(WARM_UP_COLUMNS)
        make().fit(X[:WARM_UP_ROWS, few], y[:WARM_UP_ROWS]).predict(queries[:5, few])
        model = make()
        start = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        values = model.predict(queries)
        predicted = time.perf_counter()
    return {
        "values": values,
        "fit_seconds": fitted - start,
        "predict_seconds_per_1000": 1000 * (predicted - fitted) / len(queries),
        "memory_gb": peak_memory(),
    }
