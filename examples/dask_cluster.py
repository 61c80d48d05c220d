"""Half a million rows on a Dask cluster: two worker processes here, or a real one at its address.

Run with ``python examples/dask_cluster.py``, or ``--scheduler tcp://host:8786`` for a cluster whose workers
have localegop installed. Rows are made on the workers, so that no process ever holds all of them.
"""

import argparse
import time

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster

from localegop.datasets import make_helix
from localegop.distributed import DaskLocalEGOPRegressor, plan


def rows(seed: int, count: int, dimension: int) -> np.ndarray:
    """One block of rows: features, then the label, by the same polynomial in all blocks."""
    polynomial = make_helix(2, dimension, random_state=0, return_bunch=True).polynomial
    X, y = make_helix(count, dimension, noise=0.05, polynomial=polynomial, random_state=seed)
    return np.column_stack([X, y])


def helix(n: int, dimension: int, block: int, first_seed: int = 0) -> tuple[da.Array, da.Array]:
    """Lazy features and labels of n rows."""
    counts = [min(block, n - start) for start in range(0, n, block)]
    blocks = [
        da.from_delayed(delayed(rows)(first_seed + i, count, dimension), (count, dimension + 1), float)
        for i, count in enumerate(counts)
    ]
    table = da.concatenate(blocks)
    return table[:, :-1], table[:, -1]


def run(client: Client, n: int, dimension: int) -> None:
    """Plan, fit, predict."""
    threads = client.nthreads()
    memory = min(worker["memory_limit"] for worker in client.scheduler_info()["workers"].values())
    plan(n, dimension, len(threads), memory or 64e9, threads=max(threads.values()))
    X, y = helix(n, dimension, block=50_000)
    start = time.perf_counter()
    model = DaskLocalEGOPRegressor(verbose=1, client=client).fit(X, y)
    print(f"fit {time.perf_counter() - start:.0f} s: {model.choice_}")
    queries, truth = helix(min(20_000, n), dimension, block=5_000, first_seed=10**6)
    start = time.perf_counter()
    ends = model.predict_interval(queries, 0.9)
    guess, ends, truth = da.compute(model.predict(queries), ends, truth)
    print(f"predict {time.perf_counter() - start:.0f} s for {len(guess):,} queries")
    inside = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    print(f"R2 {1 - np.mean((guess - truth) ** 2) / truth.var():.4f}, 90 % intervals hold {inside:.1%}")


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--scheduler", help="address of a running scheduler; without it, two local workers")
    arguments = parser.parse_args()
    if arguments.scheduler:
        with Client(arguments.scheduler) as client:
            run(client, arguments.rows, arguments.dimension)
    else:
        with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
            run(client, arguments.rows, arguments.dimension)


if __name__ == "__main__":
    main()
