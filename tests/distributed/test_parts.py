"""Parts of the distributed fit that need no cluster: halos, sites, splits, plans."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed")

import localegop.distributed
from localegop._engine.centers import Widths
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._engine.work import PolynomialFits
from localegop._fit.process import ProcessBackend
from localegop.distributed import plan, sites
from localegop.distributed.halo import halo_region, halo_rows
from localegop.distributed.partitions import Partition, PartitionedData, Partitioning, rank_to_number
from localegop.distributed.shuffling import shuffle
from localegop.distributed.sites import make_site
from localegop.distributed.splitting import partition_count, split_space
from localegop.distributed.tables import stack, take
from localegop.kernels import as_kernel

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("cell", [1, 16])
def test_halos_contain_all_nearest_rows(cell):
    rows = RNG.normal(size=(900, 3))
    home = (rows[:, 0] > 0.2).astype(int) + (rows[:, 1] > 0.0)
    centers = np.vstack([rows[home == 0][:50], 20.0 * RNG.normal(size=(5, 3))])
    region = halo_region(rows[home == 0], centers, 40, cell)
    known = home == 0
    for other in (1, 2):
        theirs = np.flatnonzero(home == other)
        known[theirs[halo_rows(rows[theirs], [region], 40)[0]]] = True
    assert known.sum() < len(rows)
    for center in centers:
        nearest = np.argsort(np.sum((rows - center) ** 2, axis=1))[:40]
        assert known[nearest].all()


def test_halos_of_few_rows_are_unbounded():
    rows = RNG.normal(size=(30, 2))
    region = halo_region(rows[:5], rows[:5], 10)
    assert np.isinf(region.radius).all()
    found, nothing = halo_rows(rows[5:], [region, halo_region(rows, rows[:0], 10)], 10)
    assert set(found) >= set(np.argsort(np.sum((rows[5:] - rows[0]) ** 2, axis=1))[:10])
    assert len(nothing) == 0
    assert len(halo_rows(rows[5:9], [region], 10)[0]) == 4
    assert len(halo_rows(rows[:0], [region], 10)[0]) == 0


def test_splits_are_balanced_and_cover_space():
    rows = RNG.normal(size=(4000, 3)) * [1.0, 5.0, 0.1]
    for count in (1, 2, 5, 16):
        counts = np.bincount(split_space([rows[:2000], rows[2000:]], count).box_of(rows), minlength=count)
        assert len(counts) == count
        assert counts.min() > 0.9 * 4000 / count
    far = split_space([rows], 4).box_of(np.full((1, 3), 1e9))
    assert 0 <= far[0] < 4


class Here:
    """A cluster whose tasks are done at once."""

    def submit(self, function, *arguments):
        return function(*arguments)

    def each(self, function, first, *rest):
        return [function(one, *rest) for one in first]

    def gather(self, found):
        return found


@pytest.mark.parametrize("limit", [25, None])
def test_sites_in_partitions_give_what_one_process_does(limit, monkeypatch):
    monkeypatch.setattr(sites, "BLOCK_BYTES", 800.0)  # so that a partition gets several tasks
    rows, labels, weight = RNG.normal(size=(300, 3)), RNG.normal(size=(300, 2)), RNG.uniform(size=300)
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": limit, "radius": None, "threads": 1}
    whole, box = LocalData(rows, labels, weight, **options), split_space([rows], 4).box_of(rows)
    columns = {"number": np.arange(300), "rows": rows, "labels": labels, "sample_weight": weight}
    tables = [take(columns, box == p) for p in range(4)]
    partitions = [Partition(each, each["rows"].min(axis=0), each["rows"].max(axis=0)) for each in tables]
    partitioning = Partitioning(None, list(range(4)), partitions)
    in_units = SimpleNamespace(units=SimpleNamespace(transform=np.eye(3)), axes=None)
    data = PartitionedData(SimpleNamespace(cluster=Here(), n=300), in_units, options)
    held_out, points = RNG.permutation(300)[:60], np.arange(0, 240, 7)
    rest, backend = data.without(held_out), ProcessBackend(None)
    rest_here, out_here = backend.hold_out(whole, held_out)
    for site, here in (
        (make_site(rest, partitioning, held_out, own=False), out_here),
        (
            make_site(rest, partitioning, rank_to_number(points, rest.held_out), own=True),
            backend.own_site(rest_here, points),
        ),
    ):
        for some in (np.arange(len(here)), np.array([20, 3, 3, 31]), np.array([5])):
            ours, theirs = site.pick(some), here.pick(some)
            arguments = (isotropic_shapes(len(some), 3), Widths.of_sizes((10.0, 6.0), len(some)))
            work = PolynomialFits((1e-3, 1e-1), gradients=True, variances=True)
            for name in ("rows", "labels", "sample_weight"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name))
            for a, b in zip(ours.run(work, *arguments), theirs.run(work, *arguments), strict=True):
                assert np.array_equal(a, b)


@pytest.mark.parametrize("count", [5, 40])
def test_every_piece_arrives_in_order(count):
    sources = [[{"row": np.array([[r, p]])} for p in range(count)] for r in range(37)]
    for p, tables in enumerate(shuffle(Here(), sources, count)):
        assert stack(tables)["row"].tolist() == [[r, p] for r in range(37)]
    assert len(tables) == (37 if count == 5 else 7)


def test_numbers_of_rows_that_are_not_held_out():
    held_out = np.array([0, 3, 4, 9])
    rest = np.setdiff1d(np.arange(12), held_out)
    assert rank_to_number(np.arange(8), held_out).tolist() == rest.tolist()


def test_plans_grow_with_the_problem(capsys):
    small = plan(10**6, 10, 2, "4GB", n_partitions=16)
    assert "1,000,000 rows x 10 features on 2 workers" in capsys.readouterr().out
    large = plan(10**7, 10, 2, "64GB", n_partitions=160, show=False)
    assert 2 * small.fit_seconds < large.fit_seconds < 20 * small.fit_seconds
    assert large.needed > 2 * small.needed
    more = plan(10**7, 10, 20, "64GB", n_partitions=160, show=False)
    assert more.fit_seconds < 0.9 * large.fit_seconds and more.needed < large.needed
    assert plan(10**6, 20, 2, "16GB", n_partitions=16, show=False).fit_seconds > small.fit_seconds


def test_plans_know_what_a_fit_will_do():
    anchors = {n: plan(n, 10, 2, "4GB", show=False).anchors for n in (500, 5_000, 30_000, 10**6)}
    assert list(anchors.values()) == [500, 1000, 2000, 2000]
    free = plan(10**6, 10, 2, "4GB", show=False)
    fixed = plan(10**6, 10, 2, "4GB", initial_metric="variance", show=False)
    assert fixed.fit_seconds < 0.5 * free.fit_seconds and fixed.needed < free.needed
    by_length = plan(10**6, 10, 2, "64GB", schedule="power", show=False)
    assert by_length.anchors == 10**6 and by_length.fit_seconds > free.fit_seconds


@pytest.mark.parametrize(
    ("arguments", "parameters", "advice"),
    [
        ((10**8, 10, 2, "4GB"), {"max_neighbors": 100}, "raise workers"),
        ((10**6, 10, 4, "0.5GB"), {"max_neighbors": None}, "lower max_neighbors"),
        ((10**6, 10, 16, "0.5GB"), {"intrinsic_dimension": 10}, "lower max_neighbors"),
        ((10**6, 40, 2, "2.5GB"), {"n_partitions": 2, "max_neighbors": 100}, "raise n_partitions"),
    ],
)
def test_plans_that_do_not_fit_say_what_to_change(arguments, parameters, advice):
    with pytest.raises(ValueError, match=advice):
        plan(*arguments, **parameters)


def test_plans_refuse_nonsense():
    with pytest.raises(ValueError, match="n must be a positive whole number"):
        plan(-1, 10, 2, "4GB")
    with pytest.raises(ValueError, match="'max_neighbors' parameter"):
        plan(10, 10, 2, "4GB", max_neighbors=1)
    assert partition_count(1000, 4, None, 8) == 1
    assert partition_count(1000, 4, 300, 8) == 3
    assert partition_count(10**6, 4, 1000, None) == 20


def test_modules_do_not_import_each_other_in_circles():
    package = "localegop.distributed"
    imports = {}
    for path in Path(localegop.distributed.__file__).parent.glob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        names = {node.module for node in nodes if node.module != package}
        names |= {
            f"{package}.{alias.name}" for node in nodes if node.module == package for alias in node.names
        }
        imports[f"{package}.{path.stem}"] = names
    order = list(TopologicalSorter(imports).static_order())  # raises CycleError, also for lazy imports
    assert order.index(f"{package}.estimator") < order.index(f"{package}.planning")
    users = [name for name, names in imports.items() if "localegop.regressor" in names]
    assert users == [f"{package}.estimator"]
