"""Measure in a new process: nothing is left over from an earlier fit, and the peak of memory is its own."""

from collections.abc import Callable
from math import inf
from typing import Any

from localegop.research.runs.workers import Part, side_by_side

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def thread_variables(threads: int) -> dict[str, str]:
    """Environment of a process whose libraries are to use this many threads, read when they are loaded."""
    return dict.fromkeys(_VARIABLES, str(threads))


def measure_fresh(work: Callable[..., dict], *arguments: Any, time_limit: float = inf) -> dict:
    """Return what a function returns in a new process; {"error": text} if it fails, ends it or is late."""
    (outcome,) = side_by_side([Part(work.__name__, work, arguments)], 1, lambda name: None, time_limit)
    if outcome.error is not None:
        return {"error": str(outcome.error).strip().splitlines()[-1]}
    return outcome.value
