"""Fits on a Dask cluster against fits in one process; failures, bad input, files."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from localegop import LocalEGOPRegressor
from localegop._engine import settings
from localegop._engine.few_functions import FunctionKriging
from localegop._fit import averaged_trial, initial_curves, plan, robustness, trials
from localegop._selection import global_search
from localegop.datasets import make_helix

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

from localegop.distributed import DaskLocalEGOPRegressor
from localegop.distributed.cluster import Cluster

# Some queries lie far away on purpose: answers there have to be the same as well.
pytestmark = pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")

RNG = np.random.default_rng(0)
X, Y = make_helix(800, 3, noise=0.05, random_state=0)
X[:60], Y[:60] = X[60:120], Y[60:120]  # rows given twice
QUERIES = np.vstack([X[:60] + 0.02, 30.0 * X[:3], RNG.normal(size=(17, 3))])
QUICK = {"max_neighbors": 60, "initial_metric": "variance", "n_iter": 2}
FEW_CHOICES = QUICK | {"n_iter": 1, "degree": 1, "ridge": 1e-3}  # where the search is not what is looked at


@pytest.fixture(scope="module", autouse=True)
def few_anchors():
    """Learn at fewer points than there are rows; all of this is decided in the process that fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FEW_ANCHORS", 150)
        patch.setattr(trials, "FOLD_ANCHORS", 100)
        yield


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def plain():
    return LocalEGOPRegressor(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def straight():
    """Model of few choices in one process, which tests only ask."""
    return LocalEGOPRegressor(**FEW_CHOICES).fit(X, Y)


@pytest.fixture(scope="module")
def partitioned(client):
    return DaskLocalEGOPRegressor(**QUICK, n_partitions=5).fit(
        da.from_array(X, chunks=(300, 3)), da.from_array(Y, chunks=170)
    )


def same(lazy, eager):
    return np.array_equal(lazy.compute(), eager, equal_nan=True)


def test_everything_is_as_in_one_process(plain, partitioned):
    assert len(partitioned._partitioned[0].tables) == 5
    assert partitioned._partitioned[0].field.anchors.n == 150
    assert partitioned.choice_ == plain.choice_
    assert partitioned.gain_over_isotropic_ == plain.gain_over_isotropic_
    queries = da.from_array(QUERIES, chunks=(50, 3))
    guess = partitioned.predict(queries)
    assert guess.chunks == ((50, 30),)
    assert same(guess, plain.predict(QUERIES, exact=True))
    assert same(
        partitioned.predict(QUERIES, return_std=True)[1], plain.predict(QUERIES, return_std=True)[1]
    )
    assert same(
        partitioned.predict_interval(queries, [0.5, 0.9]), plain.predict_interval(QUERIES, [0.5, 0.9])
    )
    assert same(partitioned.loo_residuals_, plain.loo_residuals_)
    assert np.array_equal(partitioned.global_importance(), plain.global_importance(errors=False))
    assert partitioned.score(X, Y) == r2_score(Y, plain.predict(X, exact=True))
    with pytest.raises(ValueError, match="errors=True is not possible: a fit on a cluster"):
        partitioned.localize(QUERIES, errors=True)
    (fits,) = partitioned.localize(QUERIES, trace=True)
    there = plain.localize(QUERIES, trace=True, errors=False)
    fits = fits.compute()
    for name in ("gradient", "metric", "agop", "noise", "status"):
        assert np.array_equal(getattr(fits, name), getattr(there, name))
    assert np.array_equal(fits.trace.loo_error, there.trace.loo_error)
    with pytest.raises(ValueError, match="to_local"):
        fits.neighbors(0)


def test_to_local_is_the_plain_estimator(plain, partitioned):
    local = partitioned.to_local()
    assert type(local) is LocalEGOPRegressor
    assert np.array_equal(local.predict(QUERIES), plain.predict(QUERIES))
    ours, theirs = (each.localize(QUERIES[:1], errors=False).neighbors(0) for each in (local, plain))
    assert ours.index.tolist() == theirs.index.tolist()
    assert np.array_equal(local.loo_residuals_, plain.loo_residuals_)


@pytest.mark.parametrize(
    ("count", "parameters"),
    [
        (1, QUICK | {"final": "kriging"}),
        (6, QUICK | {"n_iter": 1, "final": "kriging"}),
        (
            3,
            FEW_CHOICES
            | {"schedule": "power", "exclusion_radius": 1.0, "covariance_cap": 1.0, "n_iter": 2},
        ),
        (2, FEW_CHOICES | {"outputs": "separate"}),
    ],
)
def test_weights_several_outputs_and_missing_values(client, count, parameters):
    rows, weight = X[:400], RNG.integers(0, 3, size=400).astype(float)
    y = np.column_stack([Y, X[:, 0] ** 2])[:400]
    y[5, 1] = np.nan
    plain = LocalEGOPRegressor(**parameters, missing="drop").fit(rows, y, weight)
    model = DaskLocalEGOPRegressor(**parameters, missing="drop", n_partitions=count)
    model.fit(da.from_array(rows, chunks=(150, 3)), y, weight)
    near = QUERIES[:60]
    assert same(model.predict(near), plain.predict(near, exact=True))
    assert same(model.predict_interval(near), plain.predict_interval(near))
    assert same(model.loo_residuals_, plain.loo_residuals_)


def test_wrong_labels_with_a_robust_loss(client, tmp_path, monkeypatch):
    monkeypatch.setattr(robustness, "MOST_COMPARED", 500)
    monkeypatch.setattr(robustness, "BLOCK", 300)
    y, weight = Y.copy(), RNG.integers(0, 3, size=len(X)).astype(float)
    y[200:230] += 50.0
    parameters = FEW_CHOICES | {"loss": "huber"}
    plain = LocalEGOPRegressor(**parameters).fit(X, y, weight)
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=4)
    model.fit(da.from_array(X, chunks=(300, 3)), y, weight)
    assert (plain.robustness_weights_[200:230][weight[200:230] == 1] == 0.0).all()
    assert model.choice_ == plain.choice_
    assert same(model.predict(QUERIES), plain.predict(QUERIES, exact=True))
    assert same(model.predict_interval(QUERIES), plain.predict_interval(QUERIES))
    local = model.to_local()
    assert np.array_equal(local.robustness_weights_, plain.robustness_weights_, equal_nan=True)
    assert "count for nothing; to_local().summary() names them" in model.summary()
    with pytest.raises(AttributeError, match="to_local"):
        _ = model.robustness_weights_
    model.save(tmp_path / "folder")
    loaded = DaskLocalEGOPRegressor.load(tmp_path / "folder", client)
    assert same(loaded.predict(QUERIES), plain.predict(QUERIES, exact=True))
    assert loaded.summary() == model.summary()


@pytest.mark.slow
@pytest.mark.parametrize("final", ["global", "auto"])
def test_global_processes(client, final, tmp_path):
    """All rows are needed at once, wherever they are; slopes and axes come from a process of them too."""
    weight = RNG.integers(0, 3, size=200).astype(float)
    given, parameters = (X[:200], Y[:200], weight), {"final": final, "n_iter": 1}
    plain = LocalEGOPRegressor(**parameters).fit(*given)
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=3).fit(
        da.from_array(X[:200], chunks=(70, 3)), *given[1:]
    )
    assert model.choice_ == plain.choice_
    assert final == "auto" or plain.choice_.final.kind in ("global", "jagged", "mixture")
    assert np.array_equal(model.initial_metric_, plain.initial_metric_)
    model.save(tmp_path / "folder")
    for one in (model, DaskLocalEGOPRegressor.load(tmp_path / "folder")):
        assert same(one.predict(QUERIES), plain.predict(QUERIES, exact=True))
        for ours, theirs in zip(
            one.predict(QUERIES, return_std=True), plain.predict(QUERIES, return_std=True), strict=True
        ):
            assert same(ours, theirs)
        assert same(one.predict_interval(QUERIES), plain.predict_interval(QUERIES))
        assert same(one.loo_residuals_, plain.loo_residuals_)
    local = model.to_local()
    assert np.array_equal(local.predict(QUERIES), plain.predict(QUERIES))
    ours, theirs = local.localize(QUERIES[:1]).neighbors(0), plain.localize(QUERIES[:1]).neighbors(0)
    assert ours.index.tolist() == theirs.index.tolist() and np.array_equal(ours.weight, theirs.weight)


@pytest.mark.slow
def test_axes_from_slopes(client):
    X, y = make_helix(5000, 3, random_state=1)
    wide = np.hstack([X, np.random.default_rng(1).normal(size=(5000, 2))])
    parameters = {"max_neighbors": 60, "n_iter": 3, "ridge": 1e-4, "degree": 1}
    plain = LocalEGOPRegressor(**parameters).fit(wide, y)
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=3).fit(wide, y)
    assert model.choice_ == plain.choice_
    assert np.array_equal(model.initial_metric_, plain.initial_metric_)
    assert same(model.predict(wide[:50] + 0.01), plain.predict(wide[:50] + 0.01, exact=True))


def test_averaged_labels_and_gradients_of_wide_neighborhoods_under_noise(client, monkeypatch, tmp_path):
    rules = {
        "LARGEST_RADIUS": 1.0,
        "SURELY": 1e9,
        "FEWEST_LABELS": 500,
        "WIDE_GRADIENTS": 60.0,
        "SMALL_VARIANCE": 1.0,
    }
    for name, value in rules.items():
        monkeypatch.setattr(averaged_trial, name, value)
    monkeypatch.setattr(settings, "NEAREST", 90)
    y = np.sin(4.0 * X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=len(X))
    parameters = {"initial_metric": "variance", "final": "polynomial", "random_state": 0}
    plain = LocalEGOPRegressor(**parameters).fit(X, y)
    assert plain.choice_.gradient_size is not None
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=3).fit(X, y)
    assert model.choice_ == plain.choice_
    assert same(model.predict(QUERIES), plain.predict(QUERIES, exact=True))
    model.save(tmp_path / "folder")
    loaded = DaskLocalEGOPRegressor.load(tmp_path / "folder")
    assert same(loaded.predict(QUERIES), plain.predict(QUERIES, exact=True))
    plain.save(tmp_path / "model.npz")
    again = LocalEGOPRegressor.load(tmp_path / "model.npz")
    assert again.choice_ == plain.choice_
    assert np.array_equal(again.predict(QUERIES, exact=True), plain.predict(QUERIES, exact=True))
    assert "gradients learned from" in again.choice_._repr_html_()


@pytest.mark.parametrize("crowd", [100, 1000], ids=["many", "all"])
def test_wide_neighborhoods_under_noise(client, monkeypatch, tmp_path, crowd):
    for name, value in (("NEAREST", 60), ("FARTHEST", 500), ("CROWD", crowd)):
        monkeypatch.setattr(settings, name, value)
    y = X @ [1.0, 2.0, -1.0] + RNG.normal(size=len(X))
    parameters = {"initial_metric": "variance", "n_iter": 1, "degree": 1, "ridge": 1e-2}
    plain = LocalEGOPRegressor(**parameters).fit(X, y)
    assert plain.choice_.size > 30.0  # more than half of the nearest
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=3).fit(X, y)
    assert model.choice_ == plain.choice_
    assert same(model.predict(QUERIES), plain.predict(QUERIES, exact=True))
    assert same(model.loo_residuals_, plain.loo_residuals_)
    model.save(tmp_path)
    assert same(
        DaskLocalEGOPRegressor.load(tmp_path).predict_interval(QUERIES), plain.predict_interval(QUERIES)
    )
    plain.save(tmp_path / "plain")
    again = LocalEGOPRegressor.load(tmp_path / "plain")
    assert np.array_equal(again.predict(QUERIES), plain.predict(QUERIES))


def test_ties_are_broken_alike(client):
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    y = np.sin(grid[:, 0] / 3.0) + grid[:, 1]
    parameters = {"max_neighbors": 30, "initial_metric": "identity", "n_iter": 1, "degree": 1}
    plain = LocalEGOPRegressor(**parameters).fit(grid, y)
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=4).fit(grid, y)
    assert same(model.predict(grid[:40] + 0.5), plain.predict(grid[:40] + 0.5, exact=True))


def test_files(partitioned, tmp_path):
    partitioned.save(tmp_path / "model")
    names = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert names == ["index.npz", *(f"model-0-part-{p:05d}.npz" for p in range(5))]
    again = DaskLocalEGOPRegressor.load(tmp_path / "model")
    assert again.get_params() == partitioned.get_params() | {"random_state": 0}
    assert again.choice_ == partitioned.choice_
    assert again.gain_over_isotropic_ == partitioned.gain_over_isotropic_
    assert same(again.predict_interval(QUERIES), partitioned.predict_interval(QUERIES).compute())
    assert same(again.loo_residuals_, partitioned.loo_residuals_.compute())
    local = again.to_local().predict(QUERIES, exact=True)
    assert np.array_equal(local, partitioned.predict(QUERIES).compute())
    part = tmp_path / "model" / names[2]
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="is damaged or cut short"):
        DaskLocalEGOPRegressor.load(tmp_path / "model")
    part.unlink()
    with pytest.raises(ValueError, match="a worker cannot find"):
        DaskLocalEGOPRegressor.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"has no file index\.npz"):
        DaskLocalEGOPRegressor.load(tmp_path)


def test_dataframes_keep_names_and_index(client, straight):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = DaskLocalEGOPRegressor(**FEW_CHOICES, n_partitions=2).fit(
        dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(Y, name="height"), npartitions=4)
    )
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    queries = pd.DataFrame(QUERIES, columns=["a", "b", "c"], index=np.arange(500, 580))
    guess = model.predict(dd.from_pandas(queries, npartitions=2)).compute()
    assert guess.name == "height" and guess.index.tolist() == queries.index.tolist()
    assert np.array_equal(guess.to_numpy(), straight.predict(QUERIES, exact=True))
    with pytest.raises(ValueError, match=r"columns of fit, \['a', 'b', 'c'\]"):
        model.predict(dd.from_pandas(queries[["b", "a", "c"]], npartitions=2))


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # of old versions of dask
def test_a_plain_model_predicts_on_dask_arrays(plain):
    queries = da.from_array(QUERIES, chunks=(30, 3))
    assert np.array_equal(plain.predict(queries).compute(scheduler="sync"), plain.predict(QUERIES))
    lazy = plain.predict_interval(queries, [0.5, 0.8])
    assert np.array_equal(lazy.compute(scheduler="sync"), plain.predict_interval(QUERIES, [0.5, 0.8]))
    last = plain.localize(queries)[-1].compute(scheduler="sync")
    assert np.array_equal(last.metric, plain.localize(QUERIES, errors=False).metric[60:])
    frame = dd.from_pandas(pd.DataFrame(QUERIES), npartitions=2)
    _, std = plain.predict(frame, return_std=True)
    assert np.array_equal(std.compute(scheduler="sync"), plain.predict(QUERIES, return_std=True)[1])
    with pytest.raises(ValueError, match="rows of 3 features"):
        plain.predict(queries[:, :2]).compute(scheduler="sync")


def test_unknown_sizes_and_empty_chunks(client, straight):
    lazy, labels = da.from_array(X, chunks=(100, 3)), da.from_array(Y, chunks=100)
    far = da.from_array(X + 100.0, chunks=(100, 3))
    rows = da.concatenate([lazy, far])
    keep = rows[:, 0] < 50.0  # leaves empty chunks of unknown sizes
    model = DaskLocalEGOPRegressor(**FEW_CHOICES, n_partitions=2)
    model.fit(rows[keep], da.concatenate([labels, labels])[keep])
    guess = model.predict(rows[keep])
    assert np.isnan(guess.shape[0])
    assert same(guess, straight.predict(X, exact=True))


def test_bad_input_is_named(client):
    lazy, labels = da.from_array(X, chunks=(100, 3)), da.from_array(Y, chunks=100)
    model = DaskLocalEGOPRegressor(**QUICK)
    holes = X.copy()
    holes[321, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"X contains NaN in chunk 3 \(rows 300 to 399\), first in row 321"
    ):
        model.fit(da.from_array(holes, chunks=(100, 3)), labels)
    with pytest.raises(ValueError, match="X has 800 rows, y has 700 rows"):
        model.fit(lazy, labels[:700])
    with pytest.raises(ValueError, match="sample_weight must be one finite number"):
        model.fit(lazy, labels, -np.ones(len(X)))
    words = dd.from_pandas(pd.DataFrame({"a": ["one", "two"] * 400}), npartitions=2)
    with pytest.raises(ValueError, match=r"X must contain numbers only, but chunk \d"):
        model.fit(words, labels)
    with pytest.raises(ValueError, match="at least 2 rows"):
        model.fit(lazy[:1], labels[:1])
    with pytest.raises(ValueError, match="strategy='field'"):
        DaskLocalEGOPRegressor("query").fit(lazy, labels)
    with pytest.raises(ValueError, match="'n_partitions' parameter"):
        DaskLocalEGOPRegressor(n_partitions=0).fit(lazy, labels)
    assert not hasattr(model, "choice_")


def test_a_worker_without_the_package_is_named(client, tmp_path):
    (tmp_path / "without.py").write_text("import sys\nsys.modules['localegop'] = None\n")
    address = client.scheduler.address
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen(
        [*command, "--nthreads", "1", "--preload", str(tmp_path / "without.py")],
        stderr=subprocess.DEVNULL,
    )
    try:
        client.wait_for_workers(3, timeout=60)
        with pytest.raises(RuntimeError, match=r"ModuleNotFoundError.*on all workers"):
            DaskLocalEGOPRegressor(**QUICK).fit(X, Y)
    finally:
        worker.kill()
        worker.wait()
        while len(client.nthreads()) > 2:
            time.sleep(0.05)


@pytest.mark.slow
def test_a_worker_may_die_during_fit_and_predict(client, plain):
    def kill_a_worker():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Timer(1.0, kill_a_worker)
    killer.start()
    model = DaskLocalEGOPRegressor(**QUICK, n_partitions=4).fit(X, Y)
    killer.join()
    client.wait_for_workers(2, timeout=60)
    kill_a_worker()  # half of the field is lost
    assert same(model.predict(QUERIES), plain.predict(QUERIES, exact=True))
    client.wait_for_workers(2, timeout=60)


def test_a_lost_scheduler_is_an_error(client):
    other = Client(client.scheduler.address, set_as_default=False)
    cluster = Cluster(other)
    waiting = cluster.submit(time.sleep, 3)
    threading.Timer(0.3, other.close).start()
    with pytest.raises(ConnectionError, match="is gone or was restarted"):
        cluster.gather([waiting])
    with pytest.raises(ConnectionError, match="not connected"):
        DaskLocalEGOPRegressor(client=other).fit(X, Y)


@pytest.mark.slow
def test_interrupted_fits_leave_nothing_behind(client, monkeypatch):
    def keys():
        return set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))

    def interrupted(self, futures, *rest, **more):
        raise KeyboardInterrupt

    before = keys()
    monkeypatch.setattr(Cluster, "gather", interrupted)
    model = DaskLocalEGOPRegressor(**QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(da.from_array(X, chunks=(100, 3)), Y)
    assert not hasattr(model, "choice_")
    for _ in range(100):
        if keys() <= before:
            break
        time.sleep(0.1)
    assert keys() <= before


@pytest.mark.parametrize("metric", ["power", "auto"])
def test_curves_of_skewed_features(client, metric, tmp_path, monkeypatch):
    monkeypatch.setattr(initial_curves, "SAMPLE", 100)  # every 8th row
    skewed = np.column_stack([np.exp(6.0 * X[:, 0]), X[:, 1:]])
    skewed[500, 2] = 1e6
    parameters = {"max_neighbors": 60, "initial_metric": metric, "n_iter": 1, "degree": 1, "ridge": 1e-4}
    plain = LocalEGOPRegressor(**parameters).fit(skewed, Y)
    model = DaskLocalEGOPRegressor(**parameters, n_partitions=3).fit(
        da.from_array(skewed, chunks=(300, 3)), Y
    )
    found, expected = (each._decisions[0].units.curves for each in (model, plain))
    assert expected.curved.any() and expected.drawn_in.any()
    for name in ("middle", "spread", "skew", "drawn_in"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    near = skewed[:40] * 1.01
    assert same(model.predict(near), plain.predict(near, exact=True))
    assert model.global_importance() == pytest.approx(plain.global_importance(errors=False))
    model.save(tmp_path / "model")
    again = DaskLocalEGOPRegressor.load(tmp_path / "model")
    assert same(again.predict(near), plain.predict(near, exact=True))
    fits, there = again.to_local().localize(near), plain.localize(near, errors=False)
    assert np.array_equal(fits.gradient, there.gradient)
    assert np.array_equal(fits.feature_scale, there.feature_scale)


def test_a_process_of_few_functions_is_that_of_one_process(client, monkeypatch):
    """Rows are gathered for it; as many of them as one process can hold."""
    for module in (settings, plan):
        monkeypatch.setattr(module, "MOST_ROWS", 100)
    monkeypatch.setattr(global_search, "FEW_PLACES", 30)
    plain = LocalEGOPRegressor(final="global", n_jobs=1).fit(X[:300], Y[:300])
    model = DaskLocalEGOPRegressor(final="global", n_partitions=3).fit(
        da.from_array(X[:300], chunks=(100, 3)), da.from_array(Y[:300], chunks=170)
    )
    assert isinstance(plain.choice_.final, FunctionKriging) and model.choice_ == plain.choice_
    queries = da.from_array(QUERIES, chunks=(40, 3))
    assert same(model.predict(queries), plain.predict(QUERIES))
    assert same(model.predict_interval(queries), plain.predict_interval(QUERIES))
