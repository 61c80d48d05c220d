"""How much memory and time a fit will take, from a cost model with measured constants.

Work around centers is that of some trials, each at some thousand centers, whatever the number of rows. What
grows with the rows is to move them to partitions and to make them ready for the search of neighbors. Wide
neighborhoods, which ``max_neighbors="auto"`` takes under much noise, are not counted.
``benchmarks/scale.py --only cost`` measures the constants anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dask.utils import parse_bytes

from localegop._engine.settings import Settings
from localegop._fit.initial_axes import MOST_ROUNDS
from localegop._fit.pilot_fits import PILOT_POINTS
from localegop._fit.plan import FEW_ANCHORS, MOST_ANCHORS
from localegop._fit.trials import FOLD_ANCHORS
from localegop._selection.folds import FEWEST_POINTS, MOST_TESTED, N_FOLDS, ONE_FOLD
from localegop.distributed.estimator import DaskLocalEGOPRegressor
from localegop.distributed.shuffling import shuffle_tasks
from localegop.distributed.splitting import partition_count

# Seconds of one thread, on a processor with AVX2: factor, power of D, power of max_neighbors.
TRIAL = (0.27, 0.02, 0.33)  # work around the centers of one trial
DRIVER = (0.044, 0.57, 0.10)  # of one trial in the process that fits: averages of gradients, decisions
PASS = (4.9e-8, 0.66, 0.80)  # one local fit, or one average of gradients, at one point
SEARCH = (5.4e-6, 0.45, 0.29)  # search for the neighbors of one point
HALO = (9.4e-7, 0.78, 0.70)  # search for the halo of one point
ROW = (9.9e-7, 0.16, -0.08)  # one row made ready for both searches, or moved to a partition
TASK = 2e-3  # seconds of the scheduler for one task
QUERY_PASSES = 2.0  # cost of a final fit, as a multiple of PASS
TRIALS = 3  # where axes are learned: in the initial axes and in two others
RUNS = 40  # times that a trial asks for work around its centers

PROCESS = 0.25e9  # bytes of a worker without data
CHUNK = 0.2e9  # bytes of working memory of a task, in addition to its rows
COPIES = 3.0  # of a row and its halo in a task that searches: merged, for the search and for fits


@dataclass(frozen=True)
class Plan:
    """How much memory and time a fit will take.

    Attributes
    ----------
    n, D, workers, threads : int
    memory : float
        Bytes of each worker.
    partitions : int
    anchors : int
        Rows at which gradients are learned; the process that fits has all of them.
    halo_fraction : float
        Rows of other partitions that a partition may need copies of, as a fraction of its own rows.
    memory_by_use : dict of str to float
        Bytes that a worker needs, by what they are for.
    fit_seconds, driver_seconds, task_seconds, query_seconds : float
        Time of the fit, the parts of it in the process that fits and for the scheduler's tasks, and time of
        a million queries.

    Examples
    --------
    >>> from localegop.distributed import plan
    >>> found = plan(10_000_000, 10, workers=16, memory="8GB", show=False)
    >>> found.partitions, found.needed < found.memory
    (200, True)
    """

    n: int
    D: int
    workers: int
    threads: int
    memory: float
    partitions: int
    anchors: int
    halo_fraction: float
    memory_by_use: dict[str, float]
    fit_seconds: float
    driver_seconds: float
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
            f"  partitions  {self.partitions}, of {rows:,} rows, in halos {self.halo_fraction:.0%} more",
            f"  a worker    {_size(self.needed)}: "
            + ", ".join(f"{use} {_size(size)}" for use, size in self.memory_by_use.items()),
            f"  fit         {_time(self.fit_seconds)}, with {_time(self.driver_seconds)} in the process "
            f"that fits and {_time(self.task_seconds)} for the scheduler",
            f"  predict     {_time(self.query_seconds)} for a million queries",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Counts:
    """What a fit does, in numbers.

    Attributes
    ----------
    trials, sites, layouts : int
        Trials, sets of centers whose neighbors are searched for, and times that rows are moved.
    centers : int
        In all of these sets.
    anchors, steps : int
        Of the field that is learned at last.
    """

    trials: int
    sites: int
    layouts: int
    centers: int
    anchors: int
    steps: int

    @classmethod
    def of(cls, settings: Settings, n: int, D: int) -> Counts:
        """Count what a fit to n rows does with these parameters."""
        by_length = settings.has_lengths
        learns_axes = settings.metric_is_free and not by_length and settings.n_steps > 0 and D > 1
        trials = 0 if n < FEWEST_POINTS else TRIALS if learns_axes else 1
        folds = 1 if n >= ONE_FOLD else N_FOLDS
        pilots = 2 * settings.metric_is_free + MOST_ROUNDS * learns_axes
        anchors = n if by_length else min(n, max(FEW_ANCHORS, n // 10), MOST_ANCHORS)
        layouts = 2 + settings.metric_is_free + 2 * learns_axes  # sorted; in two units; in two sets of axes
        in_folds = folds * min(n, FOLD_ANCHORS) + min(n, folds * MOST_TESTED)
        centers = pilots * PILOT_POINTS + trials * in_folds + anchors
        sites = pilots + 2 * folds * trials + 1
        return cls(trials, sites, layouts, centers, anchors, settings.n_steps)


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
        ``initial_metric``, and lengths in the data's units matter here.

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
    size, settings = float(parse_bytes(memory)), model._settings()
    count = partition_count(n, workers * threads, settings.nearest, model.n_partitions)
    k = n if settings.nearest is None else min(n, settings.nearest)
    halo = _halo_fraction(n / count, n, k, min(intrinsic_dimension, D)) if count > 1 else 0.0
    does = Counts.of(settings, n, D)
    busy = min(count, workers * threads)
    driver, tasks = does.trials * _cost(DRIVER, D, k), TASK * _tasks(count, does)
    seconds = _work(does, n, D, k) / busy + driver + tasks
    query = (does.steps + QUERY_PASSES) * _cost(PASS, D, k) + _cost(SEARCH, D, k)
    own = -(-count // workers) * n / count
    uses = _memory_by_use(does, n, own, count, halo, D, n_outputs, k)
    found = Plan(
        n, D, workers, threads, size, count, does.anchors, halo, uses, seconds, driver, tasks,
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


def _work(does: Counts, n: int, D: int, k: int) -> float:
    """Seconds of one thread for what is done in partitions."""
    searching = does.centers * (_cost(SEARCH, D, k) + _cost(HALO, D, k))
    learning = does.anchors * (does.steps + 2) * _cost(PASS, D, k)
    rows = n * (does.layouts + does.sites) * _cost(ROW, D, k)
    return does.trials * _cost(TRIAL, D, k) + searching + learning + rows


def _halo_fraction(rows: float, n: int, k: int, d: int) -> float:
    """Rows around a cube in d dimensions, as far away as a ball of k rows is wide, over the rows in it."""
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    radius = (k / rows / ball) ** (1 / d)
    return float(min((1.0 + 2.0 * radius) ** d - 1.0, n / rows - 1.0))


def _memory_by_use(
    does: Counts, n: int, own: float, count: int, halo: float, D: int, outputs: int, k: int
) -> dict[str, float]:
    """Bytes that a worker needs for ``own`` rows, in partitions of n / count, by what they are for."""
    row, around = 8.0 * (D + outputs + 2), (1.0 + halo) * n / count
    centers = does.centers * own / n
    return {
        "rows": own * row * (does.layouts + 1.0),
        "sites": 2.0 * row * min(centers * k, (2 * does.trials + 1) * own * (1.0 + halo)),
        "lists": 4.0 * centers * k,
        "task": CHUNK + COPIES * row * around,
        "process": PROCESS,
    }


def _tasks(count: int, does: Counts) -> float:
    """Approximate number of tasks of a fit; a partition has 8 neighbors."""
    neighbors = min(count - 1, 8)
    runs = does.trials * RUNS + does.sites + does.steps
    return does.layouts * shuffle_tasks(count) + does.sites * count * (5 + neighbors) + runs * count


def _refusal(found: Plan, k: int) -> str:
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
    if found.needed - found.memory_by_use["task"] + CHUNK < 0.9 * found.memory:
        return line + "work on a single partition needs too much; raise n_partitions"
    return line + "raise workers, or the memory of each one"


def _size(size: float) -> str:
    return f"{size / 1e9:.3g} GB"


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
