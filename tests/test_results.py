"""What LocalFits tells: slopes, importance, neighbors, tables; several outputs; missing values."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix
from localegop.results import Status

X, Y = make_helix(400, 3, random_state=0)
NAMES = ["a", "b", "c"]
TRAIN, TEST = slice(0, 300), slice(300, None)


@pytest.fixture(scope="module")
def linear():
    x = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 10.0, 1.0]
    y = 2.0 * x[:, 0] + 0.1 * x[:, 1]
    return LocalEGOPRegressor(n_iter=1).fit(pd.DataFrame(x, columns=NAMES), pd.Series(y, name="out")), x


def test_a_linear_function_is_explained_exactly(linear):
    model, x = linear
    fits = model.localize(pd.DataFrame(x[:5] + 0.1, columns=NAMES))
    assert fits.gradient == pytest.approx(np.tile([2.0, 0.1, 0.0], (5, 1)), abs=1e-4)
    scale = x.std(axis=0)
    assert fits.sensitivity == pytest.approx(
        np.tile([2.0 * scale[0], 0.1 * scale[1], 0.0], (5, 1)), abs=1e-3
    )
    wanted = fits.sensitivity**2 / np.sum(fits.sensitivity**2, axis=1, keepdims=True)
    assert fits.importance == pytest.approx(wanted) and fits.importance.sum(axis=1) == pytest.approx(1.0)
    assert model.global_importance() == pytest.approx(fits.importance[0], abs=1e-4)
    assert fits.intrinsic_dimension == pytest.approx(1.0, abs=1e-4)
    values, vectors = fits.spectrum
    assert vectors[:, :, 0] == pytest.approx(np.tile([1.0, 0.05, 0.0] / np.sqrt(1.0025), (5, 1)), abs=1e-4)
    assert values[:, 0] == pytest.approx(4.01, rel=1e-4) and np.all(values[:, 1:] < 1e-6)


def test_tables_have_named_columns(linear):
    model, x = linear
    frame = model.localize(pd.DataFrame(x[:5], columns=NAMES)).to_frame()
    assert list(frame.columns[:6]) == ["value", "std", "noise", "gradient_a", "gradient_b", "gradient_c"]
    assert list(frame.columns[6:9]) == ["gradient_std_a", "gradient_std_b", "gradient_std_c"]
    assert list(frame.columns[-6:-3]) == ["importance_a", "importance_b", "importance_c"]
    assert list(frame.columns[-3:]) == ["importance_std_a", "importance_std_b", "importance_std_c"]
    assert np.isfinite(frame["intrinsic_dimension_std"]).all()
    assert len(frame) == 5 and set(frame["status"]) <= {status.name.lower() for status in Status}
    assert model.output_names_ == ("out",)


def test_neighbors_are_rows_as_given_with_their_weights():
    order = np.random.default_rng(1).permutation(300)
    x, y = np.vstack([X[:300][order], X[:1]]), np.append(Y[:300][order], Y[0])  # row 0 appears twice
    model = LocalEGOPRegressor(n_iter=1, degree=0).fit(x, y)
    fits = model.localize(X[TEST])
    for i in (0, 7, -1):
        near = fits.neighbors(i)
        assert np.all(np.diff(near.weight) <= 0.0) and near.weight.sum() == pytest.approx(1.0)
        assert len(set(near.index)) == len(near)
        assert near.weight @ y[near.index] == pytest.approx(fits.value[i], rel=1e-9)  # a weighted mean
    near = model.localize(X[:1]).neighbors(0)
    twins = {int(np.flatnonzero(order == 0)[0]), 300}
    assert set(near.index[:2].tolist()) == twins and near.weight[0] == near.weight[1]
    with pytest.raises(IndexError, match="100 fits"):
        fits.neighbors(100)
    again = pickle.loads(pickle.dumps(fits))
    assert again.neighbors(0).index.tolist() == fits.neighbors(0).index.tolist()


@pytest.mark.slow
def test_one_metric_for_all_outputs_or_one_each():
    both = pd.DataFrame({"f": Y, "first": X[:, 0]})
    shared = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], both[TRAIN])
    fits = shared.localize(X[TEST], trace=True)
    assert fits.metric.shape == (100, 3, 3) and fits.gradient.shape == (100, 2, 3)
    assert fits.output(1).value.tolist() == fits.value[:, 1].tolist()
    assert fits.output(0).trace.value.shape == fits.trace.value.shape[:2]
    separate = LocalEGOPRegressor(n_iter=1, outputs="separate").fit(X[TRAIN], both[TRAIN])
    fits = separate.localize(X[TEST], trace=True)
    assert fits.metric.shape == (100, 2, 3, 3) and fits.importance.shape == (100, 2, 3)
    alone = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], both["first"][TRAIN])
    assert np.array_equal(fits.value[:, 1], alone.predict(X[TEST]))
    assert fits.output(1).neighbors(0).index.tolist() == alone.localize(X[TEST]).neighbors(0).index.tolist()
    assert fits.output(1).trace is not None and len(separate.choice_) == 2
    assert fits.importance[:, 1, 0].min() > 0.99  # the second output is the first feature
    frame = fits.to_frame()
    assert {"value_f", "gradient_first_x0", "importance_first_x2", "step_f"} <= set(frame.columns)
    with pytest.raises(ValueError, match="neighbors of its own"):
        fits.neighbors(0)
    with pytest.raises(IndexError, match="these fits have 2"):
        fits.output(2)


def test_missing_rows_are_dropped_only_on_request():
    x, y = X[:200].copy(), Y[:200].copy()
    x[3, 1], y[7] = np.nan, np.nan
    with pytest.raises(ValueError, match="NaN"):
        LocalEGOPRegressor(n_iter=1).fit(x, y)
    model = LocalEGOPRegressor(n_iter=1, missing="drop").fit(x, y)
    kept = np.setdiff1d(np.arange(200), [3, 7])
    clean = LocalEGOPRegressor(n_iter=1).fit(X[kept], Y[kept])
    assert np.array_equal(model.predict(X[TEST]), clean.predict(X[TEST]))
    assert np.flatnonzero(np.isnan(model.loo_residuals_)).tolist() == [3, 7]
    assert not set(model.localize(X[3:4]).neighbors(0).index) & {3, 7}
    with pytest.raises(ValueError, match="all 200 rows"):
        LocalEGOPRegressor(missing="drop").fit(x * np.nan, y)
    x[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        LocalEGOPRegressor(missing="drop").fit(x, y)


def test_queries_beyond_the_data_are_marked():
    model = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], Y[TRAIN])
    far = model.localize(np.vstack([X[TEST][:1], [[30.0, -30.0, 30.0]]]))
    assert far.status.tolist() == [Status.OK, Status.EXTRAPOLATED]
    assert far.std[1] > 5.0 * far.std[0]


def test_the_covariance_is_the_inverse_of_the_metric_and_huge_where_that_is_singular(linear):
    model, x = linear
    fits = model.localize(pd.DataFrame(x[:4], columns=NAMES))
    roots = np.random.default_rng(0).normal(size=(4, 3, 3))
    regular = replace(fits, metric=roots @ np.swapaxes(roots, 1, 2))
    assert regular.covariance @ regular.metric == pytest.approx(np.tile(np.eye(3), (4, 1, 1)), abs=1e-9)
    singular = replace(fits, metric=np.tile(np.diag([1.0, 0.0, 4.0]), (4, 1, 1))).covariance
    assert np.isfinite(singular).all() and singular[0, 1, 1] >= 1e300
    assert singular[:, [0, 2], [0, 2]] == pytest.approx(np.tile([1.0, 0.25], (4, 1)))
