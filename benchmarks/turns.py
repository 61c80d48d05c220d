"""Methods that take turns: each repetition runs all of them, every one in a process of its own."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from fresh import measure_fresh


def take_turns(work: Callable[..., dict], methods: Sequence[str], repeats: int, *others: Any) -> dict:
    """Records of ``work(method, *others)`` by method, a list with one for each repetition.

    A method that fails has the text of its error in place of the list, and no further turn.
    """
    found: dict[str, Any] = {method: [] for method in methods}
    for _ in range(repeats):
        for method in [each for each, runs in found.items() if isinstance(runs, list)]:
            record = measure_fresh(work, method, *others)
            if "error" in record:
                found[method] = record["error"]
            else:
                found[method].append(record)
    return found


def median(found: dict, method: str, column: str) -> float:
    """Median of a column over the repetitions; NaN if the method failed or took no part."""
    runs = found.get(method, "")
    return float(np.median([run[column] for run in runs])) if isinstance(runs, list) else np.nan
