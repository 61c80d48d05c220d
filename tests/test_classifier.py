"""LocalEGOPClassifier: labels in, probabilities out."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_class_weight_classifiers

from localegop import ExtrapolationWarning, LocalEGOPClassifier, LocalEGOPRegressor

QUICK = {"n_iter": 1, "final": "polynomial"}


def ring(n=240, dim=2, seed=0):
    """Two classes of one mean and two variances: no line divides them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, dim)) * np.where(y == 0, 2.0, 0.7)[:, None], y


@pytest.fixture(scope="module")
def rings():
    X, y = ring()
    return X, y, LocalEGOPClassifier(n_jobs=2).fit(X, y)


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return X, names, LocalEGOPClassifier(**QUICK).fit(X[::2], names[::2])


def test_probabilities_are_positive_and_sum_to_one(rings):
    _, _, model = rings
    far = np.array([[0.0, 0.0], [40.0, -3.0], [1e6, 1e6]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = model.predict_proba(far)
    assert (p > 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


def test_rings_are_told_apart_nearly_as_well_as_can_be(rings):
    _, _, model = rings
    X, y = ring(1000, seed=1)
    squares = np.sum(X**2, axis=1)
    odds = np.log(0.49 / 4.0) + 0.5 * squares * (1.0 / 0.49 - 1.0 / 4.0)  # of class 0
    best = np.column_stack([1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))])
    p = model.predict_proba(X)
    assert log_loss(y, p) < log_loss(y, best) + 0.04


def test_answers_agree_with_each_other(irises):
    X, names, model = irises
    p = model.predict_proba(X)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), atol=1e-12)
    assert (model.decision_function(X).argmax(axis=1) == p.argmax(axis=1)).all()
    assert model.score(X[1::2], names[1::2]) > 0.9


def test_two_classes_have_one_log_odds(rings):
    X, _, model = rings
    p = model.predict_proba(X[:5])
    np.testing.assert_allclose(model.decision_function(X[:5]), np.log(p[:, 1] / p[:, 0]), atol=1e-9)


@pytest.mark.parametrize("labels", [[False, True], [3, 7], ["no", "yes"], [0.0, 1.0]])
def test_labels_of_any_type_come_back(labels, tmp_path):
    X, y = ring(60)
    given = np.array(labels)[y]
    model = LocalEGOPClassifier(**QUICK).fit(X, given)
    assert model.predict(X).dtype == given.dtype
    assert set(model.predict(X).tolist()) <= set(labels)
    model.save(tmp_path / "model.npz")
    again = LocalEGOPClassifier.load(tmp_path / "model.npz")
    assert again.classes_.tolist() == labels
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("final", ["auto", "polynomial", "logistic", "kriging", "global"])
def test_every_final_fit_is_saved_pickled_and_explained(final, tmp_path):
    X, y = ring(150)
    model = LocalEGOPClassifier(final=final, n_iter=1).fit(X, y)
    if final != "auto":
        kinds = ("global", "logistic process", "mixture") if final == "global" else (final,)
        assert model.choice_.final.kind in kinds
    p = model.predict_proba(X)
    assert np.mean(p.argmax(axis=1) == y) > 0.75
    model.save(tmp_path / "model.npz")
    for again in (pickle.loads(pickle.dumps(model)), LocalEGOPClassifier.load(tmp_path / "model.npz")):
        assert (again.predict_proba(X) == p).all()
    fits = model.localize(X[:3], errors=False)
    np.testing.assert_allclose(fits.value, model.predict_proba(X[:3], exact=True), atol=1e-12)
    assert fits.gradient.shape == (3, 2, 2)
    np.testing.assert_allclose(fits.gradient.sum(axis=1), 0.0, atol=1e-9)


def test_gradients_are_those_of_probabilities():
    X, y = ring(100)
    model = LocalEGOPClassifier(final="global").fit(
        X, y
    )  # a smooth function, unlike fits at single queries
    h, x = 1e-5, 0.5 * X[:4]
    gradient = model.localize(x, errors=False).gradient
    for d in range(2):
        step = h * np.eye(2)[d]
        slope = (model.predict_proba(x + step) - model.predict_proba(x - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, :, d], slope, atol=1e-5)


def test_same_bits_for_any_threads_and_chunks(rings):
    X, y, model = rings
    p = model.predict_proba(X)
    order = np.random.default_rng(0).permutation(len(X))
    other = LocalEGOPClassifier(n_jobs=1).fit(X[order], y[order])
    assert (other.predict_proba(X) == p).all()
    assert (np.vstack([model.predict_proba(X[:7]), model.predict_proba(X[7:])]) == p).all()


def test_standard_errors_shrink_with_more_rows():
    queries = np.array([[0.5, 0.5], [1.0, 1.0], [2.0, 0.0]])
    found = []
    for n in (60, 500):
        X, y = ring(n)
        _, std = (
            LocalEGOPClassifier(final="polynomial", n_iter=0)
            .fit(X, y)
            .predict_proba(queries, return_std=True)
        )
        found.append(std.mean())
    assert 0.0 < found[1] < found[0] < 0.5


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_prediction_sets_cover_as_asked(rings):
    _, _, model = rings
    X, y = ring(2000, seed=2)
    sets = model.predict_set(X, coverage=[0.5, 0.8, 0.95])
    covered = sets[np.arange(len(y)), :, y].mean(axis=0)
    np.testing.assert_allclose(covered, [0.5, 0.8, 0.95], atol=0.06)
    assert not sets[:, 0].any(axis=1).all()  # right more often than asked
    full = model.predict_set(X, coverage=0.5, never_empty=True)
    assert full[np.arange(len(y)), model.predict(X)].all()
    assert (full >= sets[:, 0]).all()
    assert (model.predict_set(X[:5], 0.8) == sets[:5, 1]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_set(X, coverage=1.5)


def test_class_weights_are_weights_of_rows_of_which_only_ratios_matter():
    X, y = ring(120)
    found = [
        LocalEGOPClassifier(**QUICK, class_weight=factors).fit(X, y).predict_proba(X)
        for factors in ({0: 2.0, 1: 0.5}, {0: 8192.0, 1: 2048.0})
    ]
    assert (found[0] == found[1]).all()
    factors = np.where(y == 0, 2.0, 0.5)
    same = LocalEGOPClassifier(**QUICK).fit(X, y, sample_weight=factors / factors.mean())
    np.testing.assert_allclose(found[0], same.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("final", ["polynomial", "logistic"])
def test_the_heaviest_class_wins_with_every_local_fit(final):
    check_class_weight_classifiers("", LocalEGOPClassifier(final=final, n_jobs=1))


def test_class_weights_are_saved(tmp_path):
    X, y = ring(60)
    names = np.array(["a", "b"])[y]
    model = LocalEGOPClassifier(**QUICK, class_weight={"a": 3.0}).fit(X, names)
    model.save(tmp_path / "model.npz")
    assert LocalEGOPClassifier.load(tmp_path / "model.npz").class_weight == {"a": 3.0}


def test_balanced_classes_count_alike():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.1).astype(int)
    X = rng.normal(size=(300, 1))  # says nothing
    p = LocalEGOPClassifier(**QUICK, class_weight="balanced").fit(X, y).predict_proba(X)
    assert p[:, 1].mean() == pytest.approx(0.5, abs=0.15)


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_pandas_pipelines_and_cross_validation():
    X, names = load_iris(return_X_y=True, as_frame=True)
    labels = pd.Series(pd.Categorical.from_codes(names, ["a", "b", "c"]))
    pipeline = make_pipeline(StandardScaler(), LocalEGOPClassifier(**QUICK))
    assert cross_val_score(pipeline, X, labels, cv=2).mean() > 0.9
    model = LocalEGOPClassifier(**QUICK).fit(X, labels)
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_files_know_what_they_hold(tmp_path, irises):
    X, _, model = irises
    model.save(tmp_path / "classes.npz")
    with pytest.raises(ValueError, match=r"LocalEGOPClassifier\.load"):
        LocalEGOPRegressor.load(tmp_path / "classes.npz")
    LocalEGOPRegressor(n_iter=0, degree=1).fit(X[:50], X[:50, 0]).save(tmp_path / "numbers.npz")
    with pytest.raises(ValueError, match=r"LocalEGOPRegressor\.load"):
        LocalEGOPClassifier.load(tmp_path / "numbers.npz")


def test_one_class_only_is_refused():
    with pytest.raises(ValueError, match="one class only, 'a'"):
        LocalEGOPClassifier().fit(np.eye(4), list("aaaa"))


def test_a_class_with_one_row_is_refused():
    X, y = ring(50)
    with pytest.raises(ValueError, match="at least 2 rows, but 1 of 3 classes have one: 2"):
        LocalEGOPClassifier().fit(X, np.append(np.minimum(y[1:], 1), 2))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_refused_or_left_out(missing):
    X, y = ring(60)
    labels = np.array(["a", "b"], dtype=object)[y]
    labels[[3, 5]] = missing
    with pytest.raises(ValueError, match="2 of 60 rows is not known, the first of them row 3"):
        LocalEGOPClassifier().fit(X, labels)
    model = LocalEGOPClassifier(**QUICK, missing="drop").fit(X, labels)
    kept = np.setdiff1d(np.arange(60), [3, 5])
    same = LocalEGOPClassifier(**QUICK).fit(X[kept], labels[kept])
    assert (model.predict_proba(X) == same.predict_proba(X)).all()


def test_missing_features_are_refused_or_left_out():
    X, y = ring(60)
    X[7, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LocalEGOPClassifier().fit(X, y)
    model = LocalEGOPClassifier(**QUICK, missing="drop").fit(X, y)
    same = LocalEGOPClassifier(**QUICK).fit(np.delete(X, 7, axis=0), np.delete(y, 7))
    asked = ring(20)[0]
    assert (model.predict_proba(asked) == same.predict_proba(asked)).all()


def test_continuous_labels_are_refused():
    X, _ = ring(50)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        LocalEGOPClassifier().fit(X, X[:, 0])


def test_labels_that_cannot_be_sorted_are_refused():
    with pytest.raises(ValueError, match="cannot be sorted, int, str"):
        LocalEGOPClassifier().fit(np.eye(4), np.array([1, "a", 1, "a"], dtype=object))


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ({0: 1.0, "x": 2.0}, "names 'x', which y has not"),
        ({0: -1.0}, "positive numbers, got -1.0 for class 0"),
    ],
)
def test_wrong_class_weights_are_refused(class_weight, match):
    X, y = ring(50)
    with pytest.raises(ValueError, match=match):
        LocalEGOPClassifier(class_weight=class_weight).fit(X, y)


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
@pytest.mark.parametrize("final", ["polynomial", "logistic", "global"])
def test_separable_classes_are_no_trouble(final):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] > 0.0).astype(int)
    X[:, 0] += np.where(y == 1, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ExtrapolationWarning)
        model = LocalEGOPClassifier(final=final).fit(X, y)
        fits = model.localize(X[:10], errors=False)
    assert np.isfinite(fits.gradient).all()
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.score(X, y) == 1.0


def test_lazy_queries_have_lazy_answers(irises):
    array = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    X, _, model = irises
    lazy = array.from_array(X, chunks=(40, 4))
    asks = [model.predict, model.predict_proba, model.predict_log_proba, model.decision_function]
    asks += [lambda at: model.predict_set(at, [0.5, 0.9]), lambda at: model.predict_set(at, 0.8)]
    for ask in asks:
        found, wanted = ask(lazy), ask(X)
        assert isinstance(found, array.Array)
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype
        assert (found.compute(scheduler="synchronous") == wanted).all()
    frame = frames.from_pandas(
        pd.DataFrame(X, columns=list("abcd"), index=np.arange(150) + 7), npartitions=2
    )
    p = model.predict_proba(frame).compute(scheduler="synchronous")
    assert list(p.columns) == ["setosa", "versicolor", "virginica"]
    assert p.index[0] == 7
    names = model.predict(frame).compute(scheduler="synchronous")
    assert names.tolist() == model.predict(X).tolist()


def test_each_class_has_an_importance_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * [1.0, 10.0]
    y = np.where(X[:, 0] < -0.5, "left", np.where(X[:, 1] > 0.0, "up", "down"))
    model = LocalEGOPClassifier(final="global", n_iter=0).fit(X, y)
    edge = np.array([[0.9, 0.0]])  # between "down" and "up", far from "left"
    fits = model.localize(np.vstack([edge, [[-0.5, 8.0]]]), errors=False)  # and between "left" and "up"
    shares = fits.slope_importance
    assert shares.shape == (2, 3, 2)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    assert (fits.output(2).slope_importance == shares[:, 2]).all()
    expected = (fits.gradient[:, 2] * X.std(axis=0)) ** 2
    np.testing.assert_allclose(shares[:, 2], expected / expected.sum(axis=1, keepdims=True), atol=0.02)
    assert shares[0, 2, 1] > 0.8
    assert shares[1, 2, 0] > 0.8
