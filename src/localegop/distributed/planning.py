"""How much memory and time a fit will take, from a cost model with measured constants.

``benchmarks/scale.py --only cost`` measures the constants anew; docs/scaling.md shows the model against
measured fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dask.utils import parse_bytes

from localegop._engine.settings import RIDGES
from localegop._fit.attempts import steps_of_first_attempt
from localegop._fit.pilot_fits import pilot_neighbor_count
from localegop._selection.folds import FEWEST_POINTS, count_folds
from localegop.distributed.estimator import DaskLocalEGOPRegressor
from localegop.distributed.shuffling import shuffle_tasks
from localegop.distributed.splitting import partition_count

# Seconds of one thread, on a processor with AVX2: factor, power of D, power of max_neighbors.
PASS = (0.21e-6, 0.80, 0.64)  # one local fit, or one average of gradients, at one point
SEARCH = (13e-6, 0.70, 0.27)  # search for the neighbors of one point
TASK = 2e-3  # seconds of the scheduler for one task
QUERY_PASSES = 2.0  # cost of a final fit, as a multiple of PASS
ROUNDS = 8  # of pilot fits for the initial axes, at most

PROCESS = 0.25e9  # bytes of a worker without data
CHUNK = 0.2e9  # bytes of working memory of a task, in addition to its partition
LIST = 1.1  # bytes for one neighbor in a list


@dataclass(frozen=True)
class Plan:
    """How much memory and time a fit will take.

    Attributes
    ----------
    n, D, workers, threads : int
    memory : float
        Bytes of each worker.
    partitions : int
    halo_fraction : float
        Rows of other partitions that a partition needs copies of, as a fraction of its own rows.
    memory_by_use : dict of str to float
        Bytes that a worker needs, by what they are for.
    fit_seconds, task_seconds, query_seconds : float
        Time of the fit, the part of it that the scheduler needs for tasks, and time of a million queries.
    """

    n: int
    D: int
    workers: int
    threads: int
    memory: float
    partitions: int
    halo_fraction: float
    memory_by_use: dict[str, float]
    fit_seconds: float
    task_seconds: float
    query_seconds: float

    @property
    def needed(self) -> float:
        """Bytes that each worker needs."""
        return sum(self.memory_by_use.values())

    def __str__(self) -> str:
        rows = -(-self.n // self.partitions)
        lines = [
            f"{self.n:,} rows x {self.D} features on {self.workers} workers of {self.threads} "
            f"thread{'s' * (self.threads > 1)} and {_size(self.memory)} each",
            f"  partitions  {self.partitions}, of {rows:,} rows and {self.halo_fraction:.0%} more in halos",
            f"  a worker    {_size(self.needed)}: "
            + ", ".join(f"{use} {_size(size)}" for use, size in self.memory_by_use.items()),
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
    """Estimate the memory of each worker and the time of a fit; refuse what does not fit into memory.

    Parameters
    ----------
    n, D : int
        Rows and features.
    workers : int
    memory : float or str
        Memory of each worker, as in 4e9 or "4GB".
    threads : int, default=1
        Threads of each worker.
    n_outputs : int, default=1
    intrinsic_dimension : int, default=3
        Dimension of the set that rows lie on or near; it decides how many rows are in the halos.
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
        If memory is too small; the message says which parameter to change.

    Examples
    --------
    >>> from localegop.distributed import plan
    >>> found = plan(1_000_000, 10, workers=2, memory="4GB", n_partitions=16, show=False)
    >>> found.partitions, found.needed < 4e9
    (16, True)
    """
    for name, value in {"n": n, "D": D, "workers": workers, "threads": threads}.items():
        if not (isinstance(value, int) and value > 0):
            raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    model = DaskLocalEGOPRegressor(**parameters)
    model._validate_params()
    size = float(parse_bytes(memory))
    count = partition_count(n, workers * threads, model.max_neighbors, model.n_partitions)
    k = n if model.max_neighbors is None else min(n, model.max_neighbors)
    halo = _halo_fraction(n / count, n, k, min(intrinsic_dimension, D)) if count > 1 else 0.0
    steps = model._settings().n_steps
    learns_axes = isinstance(model.initial_metric, str) and model.initial_metric == "auto" and D > 1
    pilot = (max(steps_of_first_attempt(n, tuple(range(steps + 1)))), pilot_neighbor_count(n, k))
    attempts = [pilot, (steps, k)] if learns_axes else [(steps, k)]  # steps and neighbors
    attempts = attempts * count_folds(n) if n >= FEWEST_POINTS else []
    folds = len(attempts)
    each = -(-count // workers)
    uses = _memory_by_use(n / count, each, halo, D, n_outputs, k, steps, model.ridge == "auto")
    learning = [(max(2 * t - 1, 0), near) for t, near in attempts] + [(2 * steps + 2, k)]
    busy = min(count, workers * threads)
    rounds = -(-count // busy) * busy / count  # the last round of partitions may leave threads idle
    tasks = TASK * _tasks(count, folds, steps, ROUNDS * count_folds(n) if learns_axes else 0)
    passes = sum(times * _cost(PASS, D, near) for times, near in learning)
    work = n * (passes + (folds + 1) * _cost(SEARCH, D, k))
    query = (steps + QUERY_PASSES) * _cost(PASS, D, k) + _cost(SEARCH, D, k)
    found = Plan(
        n, D, workers, threads, size, count, halo, uses, work / busy * rounds + tasks, tasks,
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


def _halo_fraction(rows: float, n: int, k: int, d: int) -> float:
    """Rows around a cube in d dimensions, as far away as a ball of k rows is wide, over the rows in it."""
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    radius = (k / rows / ball) ** (1 / d)
    return float(min((1.0 + 2.0 * radius) ** d - 1.0, n / rows - 1.0))


def _memory_by_use(
    rows: float, each: int, halo: float, D: int, outputs: int, k: int, steps: int, grid: bool
) -> dict[str, float]:
    """Bytes that a worker needs for ``each`` partitions of ``rows`` rows, by what they are for."""
    ridges = len(RIDGES) if grid else 1
    lists = 0.0 if k >= rows * (1.0 + halo) else LIST * k
    row, gradient = 8.0 * (D + outputs + 2), 8.0 * outputs * D
    total = each * rows
    return {
        "rows": total * row * (3.0 + 2.0 * halo),
        "lists": total * lists,
        "shapes": total * 8.0 * D**2,
        "gradients": total * gradient * (ridges + (steps + 1) * (1.0 + halo)),
        "task": CHUNK + rows * (8.0 * D**2 + gradient * ridges + 2.0 * row * (1.0 + halo)),
        "process": PROCESS,
    }


def _tasks(count: int, folds: int, steps: int, rounds: int) -> float:
    """Approximate number of tasks of a fit; each fold has new partitions, with 8 neighbors each."""
    neighbors = min(count - 1, 8)
    learning = (folds + 1) * (steps + 2) * count * (4 + neighbors)
    return (folds + 4) * shuffle_tasks(count) + learning + rounds * count * (8 + 2 * neighbors)


def _refusal(found: Plan, k: int) -> str:
    uses = found.memory_by_use
    line = (
        f"each worker would need {_size(found.needed)}, but has {_size(found.memory)} (n={found.n:,}, "
        f"D={found.D}, {found.workers} workers, {found.partitions} partitions): "
    )
    if k >= found.n:
        return (
            line + "with a max_neighbors of all rows they must stay in one partition; lower max_neighbors"
        )
    if found.halo_fraction > 1.0:
        return (
            line + f"halos have {found.halo_fraction:.1f} times the rows of partitions; lower max_neighbors"
        )
    if found.needed - uses["task"] + CHUNK < 0.9 * found.memory:
        return line + "work on a single partition needs too much; raise n_partitions"
    if uses["lists"] > 0.5 * found.needed:
        return line + "most of it is for lists of neighbors; lower max_neighbors or raise workers"
    return line + "raise workers, or the memory of each one"


def _size(size: float) -> str:
    return f"{size / 1e9:.3g} GB"


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
