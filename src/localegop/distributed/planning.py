"""What a fit will take: memory of each worker and time, from a cost model with measured constants.

``benchmarks/scale.py --only cost`` measures the constants anew; docs/scaling.md shows the model against
measured fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dask.utils import parse_bytes

from localegop._fit.pilot_fits import seen_first
from localegop._fit.plan import steps_of_first
from localegop._fit.setup import RIDGES
from localegop._selection.search_grid import N_FOLDS, n_folds
from localegop.distributed.shuffling import shuffle_tasks

ROWS = 50_000  # of a partition, where nothing else is said,
MOST = 1000  # unless there would be more partitions than this: each is many tasks

# Seconds of one thread, on a processor with AVX2: factor, power of D, power of max_neighbors.
PASS = (0.21e-6, 0.80, 0.64)  # one pass over one point: local fit, or average of gradients
SEARCH = (13e-6, 0.70, 0.27)  # its neighbors
TASK = 2e-3  # of the scheduler, for one task
QUERY_PASSES = 2.0  # final fit, in passes
ROUNDS = 8  # of trials for axes, at most

PROCESS = 0.25e9  # bytes of a worker that holds nothing
CHUNK = 0.2e9  # working memory of a task beside its partition
LIST = 1.1  # bytes for one neighbor in a list


def partitions_for(n: int, threads: int, max_neighbors: int | None, wanted: int | None) -> int:
    """Tell how many partitions: as wanted, but not so many that centers look beyond the next."""
    if max_neighbors is None or max_neighbors >= n:
        return 1
    count = wanted if wanted is not None else max(threads, min(-(-n // ROWS), MOST))
    return max(1, min(count, n // max_neighbors))


@dataclass(frozen=True)
class Plan:
    """What a fit will take.

    Attributes
    ----------
    n, D, workers, threads : int
    memory : float
        Bytes of each worker.
    partitions : int
    borrowed : float
        Rows that a partition borrows, as a share of its own.
    held : dict of str to float
        Bytes that a worker holds, by what for.
    fit_seconds, task_seconds, query_seconds : float
        Time of the fit, the part of it that the scheduler needs for tasks, and time of one query.
    """

    n: int
    D: int
    workers: int
    threads: int
    memory: float
    partitions: int
    borrowed: float
    held: dict[str, float]
    fit_seconds: float
    task_seconds: float
    query_seconds: float

    @property
    def needed(self) -> float:
        """Bytes of memory that each worker needs."""
        return sum(self.held.values())

    def __str__(self) -> str:
        rows = -(-self.n // self.partitions)
        lines = [
            f"{self.n:,} rows x {self.D} features on {self.workers} workers of {self.threads} "
            f"thread{'s' * (self.threads > 1)} and {_size(self.memory)} each",
            f"  partitions  {self.partitions}, of {rows:,} rows and {self.borrowed:.0%} more borrowed",
            f"  a worker    {_size(self.needed)}: "
            + ", ".join(f"{what} {_size(size)}" for what, size in self.held.items()),
            f"  fit         {_time(self.fit_seconds)}, with {_time(self.task_seconds)} for the scheduler",
            f"  predict     {_time(self.query_seconds)} for a million queries",
        ]
        return "\n".join(lines)


def plan(
    n: int,
    D: int,
    workers: int,
    memory: float | str,
    *,
    threads: int = 1,
    n_outputs: int = 1,
    intrinsic_dimension: int = 3,
    show: bool = True,
    **parameters: Any,
) -> Plan:
    """Tell what each worker will hold and how long a fit takes; refuse what cannot fit.

    Parameters
    ----------
    n, D : int
        Rows and features.
    workers : int
    memory : float or str
        Of each worker, as in 4e9 or "4GB".
    threads : int, default=1
        Of each worker.
    n_outputs : int, default=1
    intrinsic_dimension : int, default=3
        Dimension of the set that rows lie on or near, which tells how many rows partitions borrow.
    show : bool, default=True
        Whether to print the plan.
    **parameters
        Parameters of :class:`DaskLocalEGOPRegressor`: ``max_neighbors``, ``n_partitions``, ``n_iter``,
        ``initial_metric`` and ``ridge`` matter here.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If it does not fit; the message says which parameter to change.

    Examples
    --------
    >>> from localegop.distributed import plan
    >>> found = plan(1_000_000, 10, workers=2, memory="4GB", n_partitions=16, show=False)
    >>> found.partitions, found.needed < 4e9
    (16, True)
    """
    from localegop.distributed.estimator import DaskLocalEGOPRegressor

    for name, value in {"n": n, "D": D, "workers": workers, "threads": threads}.items():
        if not (isinstance(value, int) and value > 0):
            raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    model = DaskLocalEGOPRegressor(**parameters)
    model._validate_params()
    size = float(parse_bytes(memory))
    count = partitions_for(n, workers * threads, model.max_neighbors, model.n_partitions)
    k = n if model.max_neighbors is None else min(n, model.max_neighbors)
    borrowed = _borrowed(n / count, n, k, min(intrinsic_dimension, D)) if count > 1 else 0.0
    steps = model._settings().schedule_for(D)[1]
    slopes = isinstance(model.initial_metric, str) and model.initial_metric == "auto" and D > 1
    look = (max(steps_of_first(n, tuple(range(steps + 1)))), seen_first(n, k))
    attempts = [look, (steps, k)] if slopes else [(steps, k)]  # steps and neighbors
    attempts = attempts * n_folds(n) if n >= 2 * N_FOLDS else []
    folds = len(attempts)
    each = -(-count // workers)
    held = _held(n / count, each, borrowed, D, n_outputs, k, steps, model.ridge == "loo")
    learning = [(max(2 * t - 1, 0), near) for t, near in attempts] + [(2 * steps + 2, k)]
    busy = min(count, workers * threads)
    rounds = -(-count // busy) * busy / count  # the last round of partitions may leave threads idle
    tasks = TASK * _tasks(count, folds, steps, ROUNDS * n_folds(n) if slopes else 0)
    passes = sum(times * _cost(PASS, D, near) for times, near in learning)
    work = n * (passes + (folds + 1) * _cost(SEARCH, D, k))
    query = (steps + QUERY_PASSES) * _cost(PASS, D, k) + _cost(SEARCH, D, k)
    found = Plan(
        n, D, workers, threads, size, count, borrowed, held, work / busy * rounds + tasks, tasks,
        1e6 * query / (workers * threads),
    )  # fmt: skip
    if found.needed > size:
        raise ValueError(_refusal(found, k))
    if show:
        print(found)
    return found


def _cost(constants: tuple[float, float, float], D: int, k: int) -> float:
    factor, of_dimension, of_neighbors = constants
    return float(factor * D**of_dimension * k**of_neighbors)


def _borrowed(rows: float, n: int, k: int, d: int) -> float:
    """Share of rows that a cube of rows in d dimensions borrows for balls of k rows."""
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    radius = (k / rows / ball) ** (1 / d)
    return float(min((1.0 + 2.0 * radius) ** d - 1.0, n / rows - 1.0))


def _held(
    rows: float, each: int, borrowed: float, D: int, outputs: int, k: int, steps: int, grid: bool
) -> dict[str, float]:
    """Bytes of a worker with so many partitions of so many rows, by what they are for."""
    ridges = len(RIDGES) if grid else 1
    lists = 0.0 if k >= rows * (1.0 + borrowed) else LIST * k
    row, gradient = 8.0 * (D + outputs + 2), 8.0 * outputs * D
    mine = each * rows
    return {
        "rows": mine * row * (3.0 + 2.0 * borrowed),
        "lists": mine * lists,
        "shapes": mine * 8.0 * D**2,
        "gradients": mine * gradient * (ridges + (steps + 1) * (1.0 + borrowed)),
        "task": CHUNK + rows * (8.0 * D**2 + gradient * ridges + 2.0 * row * (1.0 + borrowed)),
        "process": PROCESS,
    }


def _tasks(count: int, folds: int, steps: int, rounds: int) -> float:
    """Tasks of a fit, about: partitions are made anew for every fold; some 8 lend to each."""
    lenders = min(count - 1, 8)
    learning = (folds + 1) * (steps + 2) * count * (4 + lenders)
    return (folds + 4) * shuffle_tasks(count) + learning + rounds * count * (8 + 2 * lenders)


def _refusal(found: Plan, k: int) -> str:
    held = found.held
    line = (
        f"a worker would need {_size(found.needed)}, but has {_size(found.memory)} (n={found.n:,}, "
        f"D={found.D}, {found.workers} workers, {found.partitions} partitions): "
    )
    if k >= found.n:
        return line + "max_neighbors covers all rows, so that they stay together; lower max_neighbors"
    if found.borrowed > 1.0:
        return line + f"partitions borrow {found.borrowed:.1f} times their rows; lower max_neighbors"
    if found.needed - held["task"] + CHUNK < 0.9 * found.memory:
        return line + "work on a single partition takes too much; raise n_partitions"
    if held["lists"] > 0.5 * found.needed:
        return line + "most of it are lists of neighbors; lower max_neighbors or raise workers"
    return line + "raise workers, or the memory of each"


def _size(size: float) -> str:
    return f"{size / 1e9:.3g} GB"


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
