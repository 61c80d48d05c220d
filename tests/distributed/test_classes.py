"""Classes on a Dask cluster against classes in one process."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from localegop import LocalEGOPClassifier
from localegop._fit import plan, trials
from localegop.datasets import make_class_helix

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
from distributed import Client

from localegop.distributed import DaskLocalEGOPClassifier, DaskLocalEGOPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")

X, NUMBERS = make_class_helix(500, 3, random_state=0)
X[:30], NUMBERS[:30] = X[30:60], NUMBERS[30:60]  # rows given twice
Y = np.array(["low", "middle", "high"])[NUMBERS]
QUERIES = np.vstack([X[:40] + 0.02, 30.0 * X[:3]])
QUICK = {"max_neighbors": 60, "initial_metric": "variance", "n_iter": 1}


@pytest.fixture(scope="module", autouse=True)
def few_anchors():
    """Learn at fewer points than there are rows; all of this is decided in the process that fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FEW_ANCHORS", 120)
        patch.setattr(trials, "FOLD_ANCHORS", 80)
        yield


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=2) as client:
        yield client


@pytest.fixture(scope="module")
def plain():
    return LocalEGOPClassifier(**QUICK, final="polynomial").fit(X, Y)


@pytest.fixture(scope="module")
def partitioned(client):
    model = DaskLocalEGOPClassifier(**QUICK, final="polynomial", n_partitions=3)
    return model.fit(da.from_array(X, chunks=(200, 3)), da.from_array(Y, chunks=170))


def test_everything_is_as_in_one_process(plain, partitioned):
    assert partitioned.classes_.tolist() == plain.classes_.tolist()
    assert partitioned.choice_ == plain.choice_
    assert partitioned.output_names_ == plain.output_names_
    lazy = da.from_array(QUERIES, chunks=(20, 3))
    p = plain.predict_proba(QUERIES, exact=True)
    assert (partitioned.predict_proba(lazy).compute() == p).all()
    both = zip(
        partitioned.predict_proba(QUERIES, return_std=True),
        plain.predict_proba(QUERIES, return_std=True),
        strict=True,
    )
    assert all((found.compute() == wanted).all() for found, wanted in both)
    assert (partitioned.predict(lazy).compute() == plain.classes_[p.argmax(axis=1)]).all()
    assert (partitioned.predict_log_proba(lazy).compute() == np.log(p)).all()
    assert (partitioned.decision_function(lazy).compute() == np.log(p)).all()
    sets = partitioned.predict_set(lazy, [0.5, 0.9])
    assert sets.dtype == bool
    assert (sets.compute() == plain._calibration.sets(p, np.array([0.5, 0.9]))).all()
    assert partitioned.score(X, Y) == pytest.approx(plain.score(X, Y), abs=0.02)
    (fits,) = partitioned.localize(QUERIES)
    wanted = plain.localize(QUERIES, errors=False)
    assert (fits.compute().gradient == wanted.gradient).all()
    np.testing.assert_array_equal(partitioned.global_importance(), plain.global_importance(errors=False))


def test_to_local_is_the_plain_estimator(plain, partitioned):
    local = partitioned.to_local()
    assert type(local) is LocalEGOPClassifier
    assert (local.predict(X) == plain.predict(X)).all()
    assert (local.predict_proba(QUERIES) == plain.predict_proba(QUERIES)).all()


@pytest.mark.parametrize("final", ["logistic", "auto"])
def test_every_kind_weights_and_missing_values(client, final):
    options = QUICK | {"final": final, "class_weight": {1: 3.0}, "missing": "drop"}
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    labels = (NUMBERS[:300] > 0).astype(float)
    labels[[4, 250]] = np.nan
    rows = X[:300].copy()
    rows[7, 1] = np.nan
    plain = LocalEGOPClassifier(**options).fit(rows, labels, weight)
    lazy = [da.from_array(value, chunks=(110, 3)[: value.ndim]) for value in (rows, labels, weight)]
    model = DaskLocalEGOPClassifier(**options, n_partitions=2).fit(*lazy)
    assert model.choice_ == plain.choice_
    p = plain.predict_proba(QUERIES, exact=True)
    assert (model.predict_proba(QUERIES).compute() == p).all()
    odds = model.decision_function(QUERIES).compute()
    assert (odds == np.log(p)[:, 1] - np.log(p)[:, 0]).all()


def test_files(client, partitioned, tmp_path):
    partitioned.save(tmp_path / "model")
    again = DaskLocalEGOPClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == partitioned.classes_.tolist()
    found, wanted = (model.predict_proba(QUERIES).compute() for model in (again, partitioned))
    assert (found == wanted).all()
    with pytest.raises(ValueError, match=r"DaskLocalEGOPClassifier\.load"):
        DaskLocalEGOPRegressor.load(tmp_path / "model")


def test_dataframes_keep_names_and_index(client, plain):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(len(X)) + 100)
    labels = pd.Series(Y, index=frame.index, name="level")
    lazy = dd.from_pandas(frame, npartitions=3)
    model = DaskLocalEGOPClassifier(**QUICK, final="polynomial").fit(
        lazy, dd.from_pandas(labels, npartitions=3)
    )
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.target_name_ == "level"
    some = dd.from_pandas(frame.iloc[:50], npartitions=2)
    p = model.predict_proba(some).compute()
    assert list(p.columns) == ["high", "low", "middle"]
    assert (p.to_numpy() == plain.predict_proba(X[:50], exact=True)).all()
    named = model.predict(some).compute()
    assert named.name == "level"
    assert named.index.tolist() == frame.index[:50].tolist()
    assert named.tolist() == np.array(list(p.columns))[p.to_numpy().argmax(axis=1)].tolist()


def test_rows_in_memory_are_welcome(client, plain):
    model = DaskLocalEGOPClassifier(**QUICK, final="polynomial").fit(X, Y)
    p = plain.predict_proba(QUERIES, exact=True)
    assert (model.predict_proba(QUERIES).compute() == p).all()


def test_bad_labels_are_named(client):
    rows = da.from_array(X, chunks=(200, 3))

    def fit(labels, **options):
        DaskLocalEGOPClassifier(**QUICK, **options).fit(rows, da.from_array(labels, chunks=250))

    unknown = Y.astype(object)
    unknown[[210, 220]] = None
    with pytest.raises(ValueError, match=r"y contains .* chunk 1 .*first in row 210"):
        fit(unknown)
    mixed = Y.astype(object)
    mixed[260:] = 3
    with pytest.raises(ValueError, match="cannot be sorted, int, str"):
        fit(mixed)
    with pytest.raises(ValueError, match="one class only, 'a'"):
        fit(np.full(len(X), "a"))
    with pytest.raises(ValueError, match="have one: 'odd'"):
        fit(np.append(Y[1:], "odd"))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fit(X[:, 0])
    with pytest.raises(ValueError, match="names 'x', which y has not"):
        fit(Y, class_weight={"x": 2.0})
    with pytest.raises(ValueError, match=r"infinity in chunk 0 .*row 3"):
        fit(np.where(np.arange(len(X)) == 3, np.inf, NUMBERS))
    with pytest.raises(ValueError, match="one column of labels"):
        fit(np.eye(3)[NUMBERS])


def test_parameters_are_those_of_the_plain_estimator():
    model = DaskLocalEGOPClassifier(final="logistic", n_partitions=4)
    plain = LocalEGOPClassifier(final="logistic").get_params()
    assert clone(model).get_params() == plain | {"n_partitions": 4, "client": None}
    assert "class_weight : dict" in DaskLocalEGOPClassifier.__doc__
    assert "n_partitions : int" in DaskLocalEGOPClassifier.__doc__
    with pytest.raises(TypeError, match="bandwidth"):
        DaskLocalEGOPClassifier(bandwidth=1.0)
