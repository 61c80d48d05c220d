"""Fits on a Dask cluster, measured: agreement, speed, failures, a million rows, and the cost model.

Run with ``python benchmarks/scale.py [--only NAME ...] [--json FILE]``. Workers are processes
with one thread each on this machine. Every part has sizes that can be reduced: ``--rows``, ``--many``,
``--partitions``. With ``--tables FILE`` nothing is measured: the tables of docs/scaling.md are written into
it, from a JSON file of earlier runs and from the cost model.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import dask.array as da
import numpy as np
from bars import HEAD, Table
from dask.delayed import delayed
from distributed import Client, LocalCluster

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._engine.centers import Widths
from localegop._engine.gradient_field import spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._engine.settings import RIDGES
from localegop._engine.sites import LocalSite
from localegop._engine.work import PolynomialFits
from localegop._fit import plan as plan_of_fit
from localegop._fit.process import ProcessBackend
from localegop._progress import SILENT
from localegop.datasets import make_helix
from localegop.distributed import DaskLocalEGOPRegressor, plan
from localegop.distributed.halo import halo_region, halo_rows
from localegop.distributed.sites import prepare_site
from localegop.distributed.tables import take
from localegop.kernels import as_kernel
from localegop.research.runs.pages import markdown_table

MEMORY = "2.4GB"  # of each worker: what is more goes to disk
DIMENSION = 10


class ScaleTable(Table):
    """Rows against their bars, and facts about fits."""

    def __init__(self):
        super().__init__()
        self.fits, self.errors = [], []

    def fit(self, n, workers, model, seconds, memory):
        count = model._partitioned[0].data.source.n_partitions
        fact = {"n": n, "workers": workers, "partitions": count, "seconds": seconds, "memory": memory}
        self.fits.append(fact)
        print(f"<!-- {fact} {model.choice_} -->", flush=True)


def rows(seed, count, dimension):
    polynomial = make_helix(2, dimension, random_state=0, return_bunch=True).polynomial
    X, y = make_helix(count, dimension, polynomial=polynomial, random_state=seed)
    return np.column_stack([X, y])


def helix(n, block=25_000, first_seed=1):
    """Lazy rows, made on the workers; the same for any n up to the last block."""
    counts = [min(block, n - start) for start in range(0, n, block)]
    shapes = [(count, DIMENSION + 1) for count in counts]
    blocks = [
        da.from_delayed(delayed(rows)(first_seed + i, shape[0], DIMENSION), shape, float)
        for i, shape in enumerate(shapes)
    ]
    table = da.concatenate(blocks)
    return table[:, :-1], table[:, -1]


def queries(count=2000):
    table = rows(10**6, count, DIMENSION)
    return table[:, :-1], table[:, -1]


@contextmanager
def workers(count):
    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, memory_limit=MEMORY, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(count)
        yield client


def peak(client):
    """Largest memory of each worker process so far, in GB."""

    def own():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    return max(client.run(own).values())


def time_call(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def gap(guess, truth):
    return float(np.max(np.abs(guess - truth)) / np.max(np.abs(truth)))


def agreement(table, sizes):
    """Predictions against those of one process."""
    here = da.compute(*helix(sizes.rows or 50_000))  # once: workers would round differently
    X, y = (da.from_array(part, chunks=25_000) for part in here)
    asked, _ = queries()
    truth = LocalEGOPRegressor().fit(*here).predict(asked, exact=True)
    with workers(2) as client:
        for count in sizes.partitions or [1, 2, 3, 5, 8, 12, 16]:
            model = DaskLocalEGOPRegressor(n_partitions=count, client=client).fit(X, y)
            difference = gap(model.predict(asked).compute(), truth)
            table.add(
                f"{len(X):,} rows, {count} partitions: difference from one process", difference, 1e-10
            )


def speedup(table, sizes):
    """Two workers against one."""
    n = sizes.rows or 100_000
    seconds = {}
    for count in (1, 2):
        with workers(count) as client:
            X, y = client.persist(helix(n))
            model = DaskLocalEGOPRegressor(n_partitions=8, client=client)
            seconds[count], _ = time_call(lambda m=model, a=X, b=y: m.fit(a, b))
            table.fit(n, count, model, seconds[count], peak(client))
    table.add(f"two workers against one, fit of {n:,} rows", seconds[1] / seconds[2], 1.6, " x", True)


def kill_worker(client, delay):
    """SIGKILL one worker process, by the number that it gives itself, after some seconds."""
    done = []

    def strike():
        pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        done.append(time.perf_counter())

    timer = threading.Timer(delay, strike)
    timer.start()
    return timer, done


def killed(table, sizes):
    """A worker killed in the middle of fit and of predict."""
    n = sizes.rows or 20_000
    X, y = helix(n, block=5_000)
    asked = da.from_array(queries(20_000 if n >= 20_000 else n)[0], chunks=(2_000, DIMENSION))
    with workers(2) as client:
        took, model = time_call(lambda: DaskLocalEGOPRegressor(n_partitions=6, client=client).fit(X, y))
        span, truth = time_call(model.predict(asked).compute)
    for what, delay in (("fit", 0.5 * took), ("predict", 0.4 * span)):
        with workers(2) as client:
            model = DaskLocalEGOPRegressor(n_partitions=6, client=client)
            if what == "fit":
                timer, done = kill_worker(client, delay)
                model.fit(X, y)
                ended = time.perf_counter()
                guess = model.predict(asked).compute()
            else:
                model.fit(X, y)
                timer, done = kill_worker(client, delay)
                guess = model.predict(asked).compute()
                ended = time.perf_counter()
            timer.join()
            early = bool(done) and done[0] < ended
        print(f"<!-- worker killed before the end of {what}: {early} -->")
        table.add(f"worker killed during {what}, {n:,} rows: difference of answers", gap(guess, truth), 0.0)
        table.add(f"worker killed during {what}: kills that came in time", float(early), 1.0, "", True)


def start_process(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def gone(table, sizes):
    """The scheduler killed in the middle of a fit: how long until the error."""
    path = Path(f".scheduler-{os.getpid()}.json")
    scheduler = start_process(
        "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(path)
    )
    worker = start_process(
        "dask_worker", "--scheduler-file", str(path), "--nthreads", "1", "--no-dashboard", "--no-nanny"
    )
    try:
        while not path.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(path)) as client:
            client.wait_for_workers(1)
            X, y = helix(sizes.rows or 20_000, block=5_000)
            struck = []
            timer = threading.Timer(8.0, lambda: (scheduler.kill(), struck.append(time.perf_counter())))
            timer.start()
            try:
                DaskLocalEGOPRegressor(n_partitions=4, client=client).fit(X, y)
                message = "no error"
            except ConnectionError as error:
                message = str(error)
            waited = time.perf_counter() - struck[0] if struck else np.inf
            timer.cancel()
        print(f"<!-- {message} -->")
        table.add("scheduler killed during fit: seconds until the error", waited, 30.0, " s")
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
        path.unlink(missing_ok=True)


def million(table, sizes):
    """A million rows: memory of workers, time per point against a tenth of them, and test errors."""
    large = sizes.many or 1_000_000
    asked, truth = queries(5_000)
    per_row, memory, spread = {}, {}, {}
    for n, count in ((large // 100, 2), (large // 10, 2), (large, 16)):
        with workers(2) as client:
            X, y = helix(n)
            model = DaskLocalEGOPRegressor(n_partitions=count, client=client, verbose=1)
            seconds, _ = time_call(lambda m=model, a=X, b=y: m.fit(a, b))
            per_row[n], memory[n] = seconds / n, peak(client)
            table.fit(n, 2, model, seconds, memory[n])
            took, guess = time_call(model.predict(asked).compute)
            spread[n] = error(guess, truth)
            print(
                f"<!-- n={n}: predict {took / len(guess) * 1e3:.3g} ms a query, error {spread[n]:.3g} -->"
            )
    table.add(f"{large:,} rows in 16 partitions: peak memory of a worker", memory[large], 2.5, " GB")
    ratio = per_row[large] / per_row[large // 10]
    table.add(f"time per point, {large:,} rows against {large // 10:,}", ratio, 1.5, " x")
    inside = {}
    for n in spread:
        model = LocalEGOPRegressor().fit(*da.compute(*helix(n)))
        inside[n] = error(model.predict(asked, exact=True), truth)
        table.errors.append({"n": n, "cluster": spread[n], "one process": inside[n]})
        print(f"<!-- {table.errors[-1]} -->", flush=True)
    slopes = [slope(errors) for errors in (inside, spread)]
    print(f"<!-- slope of one process {slopes[0]:.3f}, of the cluster {slopes[1]:.3f} -->")
    what = f"slope of log error in log n up to {large:,}: cluster against one process"
    table.add(what, abs(slopes[1] - slopes[0]), 0.2)


def error(guess, truth):
    return float(np.mean((guess - truth) ** 2) / truth.var())


def slope(errors):
    return np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0]


def cost(table, sizes):
    """Costs from which plan() computes times, fitted by powers of the dimension and of max_neighbors."""
    n, found = sizes.rows or 40_000, []
    for dimension in (3, 10, 30):
        X, y = make_helix(n, dimension, random_state=0)
        for k in (250, 1000):
            each = {**cost_of_trial(X, y, k), **cost_of_points(X, y, k)}
            found.append([dimension, k, *each.values()])
            print(f"<!-- D={dimension}, k={k}: {each} -->", flush=True)
    found = np.log(np.array(found))
    design = np.column_stack([np.ones(len(found)), found[:, :2]])
    for column, name in enumerate(each, 2):
        factor, of_dimension, of_neighbors = np.linalg.lstsq(design, found[:, column], rcond=None)[0]
        print(f"{name} = ({np.exp(factor):.2g}, {of_dimension:.2f}, {of_neighbors:.2f})")


@contextmanager
def watched(owner, name, spent):
    """Add up the processor time of a function, for as long as this lasts."""
    function = getattr(owner, name)

    def watch(*arguments):
        start = time.process_time()
        found = function(*arguments)
        spent.append(time.process_time() - start)
        return found

    setattr(owner, name, watch)
    try:
        yield
    finally:
        setattr(owner, name, function)


def cost_of_trial(X, y, k):
    """Work around the centers of a trial, and the rest of it: a fit in fixed axes has just one trial."""
    work, search = [], []
    model = LocalEGOPRegressor(max_neighbors=k, initial_metric="variance", n_jobs=1)
    backend = ProcessBackend(merge_rows(X, y[:, None], np.ones(len(X))))
    start = plan_of_fit._start(backend, model._settings())
    begin = time.process_time()
    with (
        watched(LocalSite, "run", work),
        watched(ProcessBackend, "own_site", search),
        watched(ProcessBackend, "hold_out", search),
    ):
        plan_of_fit._find_best(backend, start, SILENT)
    rest = time.process_time() - begin - sum(work) - sum(search)
    return {"TRIAL": sum(work), "DRIVER": rest}


def cost_of_points(X, y, k, count=500):
    """One local fit, the searches for the neighbors and the halo of one point, and one row before them."""
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y / y.std())[:, None]
    options = {"kernel": as_kernel("gaussian"), "radius": None, "threads": 1, "max_neighbors": k}
    table = {"number": np.arange(len(X)), "rows": X, "labels": y, "sample_weight": np.ones(len(X))}
    points = spread_points(len(X), count)
    start = time.process_time()
    prepare_site(table, [], take(table, points[:1]), points[:0], (len(X), options), True)
    halo_rows(X, [halo_region(X, X[:1], k + 1, 1)], k + 1)
    row = time.process_time() - start
    start = time.process_time()
    halo_rows(X, [halo_region(X, X[points], k + 1, 1)], k + 1)
    halo = time.process_time() - start - row
    data = LocalData(X, y, table["sample_weight"], **options)
    data.neighbor_lists(X[:1])
    start = time.process_time()
    site = LocalSite.at(data, X[points], y[points], np.ones(count), points)
    search = time.process_time() - start
    widths = Widths.of_sizes((min(200.0, data.largest_size),), count)
    start = time.process_time()
    site.run(PolynomialFits(RIDGES, gradients=True), isotropic_shapes(count, X.shape[1]), widths)
    fits = time.process_time() - start
    each = {"PASS": fits, "SEARCH": search, "HALO": halo}
    return {name: seconds / count for name, seconds in each.items()} | {"ROW": row / len(X)}


PARTS = {f.__name__: f for f in (agreement, speedup, killed, gone, million, cost)}


def measured_tables(content):
    """Measured bars, and the cost model against measured fits."""
    fits = []
    for fit in content["fits"]:
        n, count, workers = fit["n"], fit["partitions"], fit["workers"]
        planned = plan(n, DIMENSION, workers, 1e15, n_partitions=count, show=False)
        times = [f"{seconds / 60:.3g} min" for seconds in (fit["seconds"], planned.fit_seconds)]
        memory = [f"{size:.3g} GB" for size in (fit["memory"], planned.needed / 1e9)]
        fits.append([f"{n:,}", str(workers), str(count), *times, *memory])
    errors = [
        [f"{each['n']:,}", f"{each['cluster']:.3g}", f"{each['one process']:.3g}"]
        for each in content.get("errors", [])
    ]
    head = ["rows", "workers", "partitions", "fit, measured", "planned", "memory, measured", "planned"]
    lines = [HEAD, *(row["line"] for row in content["rows"]), "", *markdown_table(head, fits), ""]
    return "\n".join(lines + markdown_table(["rows", "error, cluster", "error, one process"], errors))


def predicted_table():
    """The cost model for clusters larger than this machine."""
    rows = []
    for n, count in product((10**7, 10**8, 10**9), (16, 100, 1000)):
        found = plan(n, DIMENSION, count, 1e15, show=False)
        hours = [f"{found.fit_seconds / 3600:.3g} h", f"{found.task_seconds / 3600:.2g} h"]
        memory = f"{found.needed / 1e9:.3g} GB"
        rows.append([f"{n:,}", f"{count:,}", f"{found.partitions:,}", memory, *hours])
    head = ["rows", "workers", "partitions", "memory of each", "fit", "of it for tasks"]
    return "\n".join(markdown_table(head, rows))


def write_tables(source):
    """Put both tables between their marks in docs/scaling.md."""
    page = Path(__file__).parents[1] / "docs" / "scaling.md"
    text = page.read_text()
    content = json.loads(Path(source).read_text()) if source else None
    for mark, lines in (
        ("measured", content and measured_tables(content)),
        ("predicted", predicted_table()),
    ):
        if lines:
            before, rest = text.split(f"<!-- {mark} -->\n", 1)
            after = rest.split(f"<!-- end of {mark} -->", 1)[1]
            text = f"{before}<!-- {mark} -->\n{lines}\n<!-- end of {mark} -->{after}"
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--rows", type=int, help="rows of agreement, speedup, killed, gone and cost")
    parser.add_argument("--many", type=int, help="rows of the largest fit of million")
    parser.add_argument("--partitions", type=int, nargs="+", help="partitions of agreement")
    parser.add_argument("--json", help="add the results to this file")
    parser.add_argument(
        "--tables", nargs="?", const="", help="only write docs/scaling.md, from such a file if one is given"
    )
    arguments = parser.parse_args()
    if arguments.tables is not None:
        write_tables(arguments.tables)
        return
    table = ScaleTable()
    print(HEAD, flush=True)
    for name in arguments.only:
        PARTS[name](table, arguments)
    if arguments.json:
        path = Path(arguments.json)
        before = json.loads(path.read_text()) if path.exists() else {"rows": [], "fits": [], "errors": []}
        kept = {row["what"]: row for row in before["rows"]} | {row["what"]: row for row in table.rows}
        content = {"rows": list(kept.values()), "fits": before["fits"] + table.fits}
        content["errors"] = before.get("errors", []) + table.errors
        path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
